"""The metrics of `/metrics`. Add new ones here and to docs/operations.md.

This module imports nothing of Foja, so that every other module can import it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import REGISTRY, Counter, Gauge, Histogram, generate_latest

QUICK = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)

FALLBACKS = Counter(
    "foja_sequence_fallbacks_total", "Appends numbered by PostgreSQL although a Redis is set."
)
LANE_MOVES = Counter("foja_lane_moves_total", "Moves of streams between fences and lanes.", ["reason"])
ALLOCATION = Histogram(
    "foja_sequence_allocation_seconds",
    "Time to get a number; for PostgreSQL the whole append.",
    ["lane"],
    buckets=QUICK,
)
EVENTS = Counter("foja_events_total", "Events that are sealed, of all streams and tenants.")
GAPS = Counter("foja_sequence_gaps_total", "Numbers that were given, never used, and voided.")
HELD_STREAMS = Gauge(
    "foja_streams_held", "Streams whose row another session holds; their appends are retried apart."
)
LOCK_TIMEOUTS = Counter("foja_lock_timeouts_total", "Statements that gave up waiting for a lock.")
STREAM_GAPS = Gauge("foja_stream_gaps", "Gaps of the streams that have the most.", ["entity_id"])

JOBS_SETTLED = Counter("foja_jobs_settled_total", "Settled claims of jobs, by verdict.", ["type", "verdict"])
JOB_SECONDS = Histogram("foja_job_seconds", "Time from the claim of a batch to its end.", ["type"])
JOB_CORRECTIONS = Counter(
    "foja_job_corrections_total", "Jobs queued with a correlation id other than their stream."
)
JOB_AGE = Gauge(
    "foja_job_oldest_ready_seconds", "Age of the oldest job that is ready to be claimed.", ["type"]
)
JOBS_DEAD = Gauge("foja_jobs_dead", "Dead jobs without an event in their stream.", ["type"])
JOBS_PAST_LEASE = Gauge("foja_jobs_past_lease", "Running jobs whose lease has expired.", ["type"])
JOBS_WAITING = Gauge(
    "foja_jobs_waiting", "Jobs that are queued or scheduled, counted up to 10,000.", ["type"]
)
JOBS_UNHANDLED = Gauge(
    "foja_jobs_unhandled", "Jobs that are ready, of types that no living worker does.", ["type"]
)
JOBS_RECENT = Gauge(
    "foja_jobs_recent", "The newest 10,000 jobs of the last day, by state.", ["type", "state"]
)
LEASES_LOST = Counter("foja_job_leases_lost_total", "Jobs stopped because their lease was lost.")

TIMESTAMPS = Counter(
    "foja_timestamps_total", "Timestamp requests: `confirmed`, or why not.", ["authority", "outcome"]
)
TIMESTAMP_SECONDS = Histogram(
    "foja_timestamp_seconds", "Time of a timestamp request, including the check of the reply.", ["authority"]
)

ANCHORS_HELD = Gauge(
    "foja_anchors_held", "1 if no new batch of a network is made: daily cap, balance, node.", ["network"]
)
ANCHORS_WAITING = Gauge("foja_anchors_waiting", "Digests that are in no batch yet.", ["network"])
ANCHORS_PENDING = Gauge("foja_anchors_pending", "Batches that are not confirmed yet.", ["network"])
ANCHOR_PENDING_SECONDS = Gauge(
    "foja_anchor_pending_seconds", "Age of the oldest batch that is not confirmed.", ["network"]
)
ANCHOR_WINDOW = Gauge(
    "foja_anchor_window_seconds", "How long an attempt at an anchor may stay open.", ["network"]
)
ANCHOR_BALANCE = Gauge(
    "foja_anchor_balance_batches", "Batches that the balance pays for at the highest fee.", ["network"]
)

LOG_HALTED = Gauge("foja_log_halted", "1 if the open log is halted, else 0.")
LOG_LAG = Gauge("foja_log_lag_seconds", "How long the oldest unpublished event has waited.")
COSIGNERS_FAULTY = Gauge("foja_cosigners_faulty", "Cosigners of the open log that have a fault.")
POLICY_UNMET = Gauge(
    "foja_cosigner_policy_unmet_seconds", "How long published checkpoints lack the cosigners of the policy."
)

IMAGES = Gauge("foja_images", "Images in all galleries.")
GALLERY_VIOLATIONS = Gauge(
    "foja_gallery_violations",
    "Places in galleries that are missing or double, galleries without main image.",
    ["kind"],
)
THUMBNAIL_JOBS = Gauge(
    "foja_thumbnail_jobs", "Jobs that render variants, one per image, except skipped ones.", ["status"]
)
THUMBNAILS_SKIPPED = Gauge("foja_thumbnails_skipped", "Images of which nothing is rendered.")
THUMBNAIL_ATTEMPTS = Gauge("foja_thumbnail_attempts", "Attempts at the variants of all images.")
THUMBNAIL_FAILED_ATTEMPTS = Gauge("foja_thumbnail_failed_attempts", "Attempts that failed, of all images.")
THUMBNAIL_SECONDS = Gauge(
    "foja_thumbnail_seconds",
    "Time to render the variants of an image: quantiles of a day, and of the week before it.",
    ["percentile", "window"],
)
THUMBNAIL_LATENCY = Gauge(
    "foja_thumbnail_latency_seconds",
    "Time from the request to the variants of an image: quantiles of a day, and of the week before it.",
    ["percentile", "window"],
)

OBJECTS_MISSING = Gauge("foja_objects_missing", "Objects that the last scan did not find in the store.")
ORPHAN_CANDIDATES = Gauge("foja_orphan_candidates", "Objects that nothing refers to and that are not purged.")
ORPHAN_SCAN_AGE = Gauge(
    "foja_orphan_scan_age_seconds", "Time since the last complete scan for orphans, or the installation."
)
ORPHAN_FALSE_POSITIVES = Gauge(
    "foja_orphan_false_positives", "Candidates of seven days that something had referred to before."
)
ORPHANS_RESCUED_LATE = Gauge(
    "foja_orphans_rescued_late", "Candidates of seven days that were rescued after their grace period."
)
ORPHANS = Counter("foja_orphans_total", "What became of objects, over all runs.", ["outcome"])
ORPHAN_RUNS = Counter("foja_orphan_runs_total", "Scans and purges that ended.", ["action", "outcome"])

DATABASE_CONNECTIONS = Gauge("foja_database_connections", "Connections of clients to the database server.")
DATABASE_MAX_CONNECTIONS = Gauge("foja_database_connections_limit", "Connections that the server accepts.")
DATABASE_IDLE = Gauge(
    "foja_database_idle_in_transaction_seconds", "Age of the oldest transaction whose session is idle."
)
DATABASE_BYTES = Gauge("foja_database_bytes", "Size of the database.")
DATABASE_TRANSACTION_AGE = Gauge(
    "foja_database_transaction_age", "Transactions since the oldest unfrozen one; autovacuum keeps it low."
)
DISK_FREE = Gauge("foja_disk_free_bytes", "Free space of the disk that has the home.")
DISK_BYTES = Gauge("foja_disk_bytes", "Size of the disk that has the home.")

STORE_FREE = Gauge(
    "foja_store_free_bytes", "Free space of the store's disk; of a bucket 1, or 0 if it is full."
)
STORE_BYTES = Gauge("foja_store_bytes", "Size of the store's disk; of a bucket 1.")

HEALTH_FAILING = Gauge(
    "foja_health_failing_seconds",
    "How long a part has failed or been paused; 0 if it does not.",
    ["kind", "part"],
)
HEALTH_UNTRIED = Gauge(
    "foja_health_untried", "1 if a part was not tried for so long that nothing is known.", ["kind", "part"]
)
WEBHOOK_FAILING = Gauge(
    "foja_webhook_failing_seconds",
    "How long a webhook that is on has taken no message; 0 if it took the last.",
    ["webhook"],
)
DOCUMENTS_GIVEN_UP = Gauge(
    "foja_documents_given_up", "Documents whose evidence was given up, counted up to 100."
)

HTTP_REQUESTS = Counter(
    "foja_http_requests_total", "Answered requests of this process.", ["method", "route", "code"]
)
HTTP_SECONDS = Histogram("foja_http_request_seconds", "Time until the head of the answer is sent.", ["route"])
HTTP_FAILURES = Counter(
    "foja_http_failures_total", "Answers with a status of 500 or more, of all processes.", ["route"]
)
HTTP_FAILURES_DAY = Gauge("foja_http_failures_day", "Answers with a status of 500 or more, of 24 hours.")
WEBHOOK_ATTEMPTS = Counter(
    "foja_webhook_attempts_total", "Attempts to deliver to webhooks: `delivered` or `failed`.", ["outcome"]
)

STREAMS = Gauge("foja_streams_open", "Event streams over HTTP that are open now.")
BUFFERS_LOST = Counter(
    "foja_stream_buffers_lost_total", "Times an HTTP stream was too slow and continued from the database."
)
ALERTS_FIRING = Gauge("foja_alerts_firing", "Alerts that the built-in evaluation says fire.", ["alert"])
BUILD = Gauge("foja_build_info", "Always 1; the version of Foja is a label.", ["version"])
PART_FAILED = Gauge("foja_metrics_part_failed", "1 if a part of these metrics could not be read.", ["part"])
PART_SECONDS = Gauge("foja_metrics_part_seconds", "Time to read a part of these metrics.", ["part"])

METRIC_NAMES = frozenset(family.name for family in REGISTRY.collect() if family.name.startswith("foja_"))


def exposition(names: Iterable[str] | None = None) -> bytes:
    """Return all metrics of this process, or those with these names, in the Prometheus text format."""
    return generate_latest(REGISTRY if names is None else REGISTRY.restricted_registry(names))


def set_total(counter: Counter, total: float) -> None:
    """Set a counter that is counted elsewhere, in events or rows."""
    counter.reset()
    counter.inc(float(total))


def samples() -> Iterator[tuple[str, dict[str, str], float]]:
    """Yield the name, the labels and the value of every sample of Foja in this process."""
    for family in REGISTRY.collect():
        if family.name.startswith("foja_"):
            for sample in family.samples:
                yield sample.name, sample.labels, sample.value
