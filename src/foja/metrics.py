"""The metrics of `/metrics`. Add new ones here and to docs/operations.md.

This module imports nothing of Foja, so that every other module can import it.
"""

from __future__ import annotations

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

LOG_HALTED = Gauge("foja_log_halted", "1 if the open log is halted, else 0.")
LOG_LAG = Gauge("foja_log_lag_seconds", "How long the oldest unpublished event has waited.")

WEBHOOK_ATTEMPTS = Counter(
    "foja_webhook_attempts_total", "Attempts to deliver to webhooks: `delivered` or `failed`.", ["outcome"]
)

STREAMS = Gauge("foja_streams_open", "Event streams over HTTP that are open now.")
BUFFERS_LOST = Counter(
    "foja_stream_buffers_lost_total", "Times an HTTP stream was too slow and continued from the database."
)

METRIC_NAMES = frozenset(family.name for family in REGISTRY.collect() if family.name.startswith("foja_"))


def exposition() -> bytes:
    """Return all metrics of this process in the Prometheus text format."""
    return generate_latest(REGISTRY)
