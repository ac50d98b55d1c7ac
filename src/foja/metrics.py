"""What is counted, under the names that `/metrics` shows. Add yours here and to docs/operations.md.

Kept below the ledger, so that whoever does something may count it.
"""

from __future__ import annotations

from prometheus_client import REGISTRY, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST as CONTENT_TYPE

__all__ = [
    "ALLOCATION",
    "BUFFERS_LOST",
    "CONTENT_TYPE",
    "FALLBACKS",
    "GAPS",
    "JOBS_DEAD",
    "JOBS_PAST_LEASE",
    "JOBS_SETTLED",
    "JOB_AGE",
    "JOB_CORRECTIONS",
    "JOB_SECONDS",
    "LANE_MOVES",
    "LEASES_LOST",
    "METRIC_NAMES",
    "STREAMS",
    "TIMESTAMPS",
    "TIMESTAMP_SECONDS",
    "exposition",
]

QUICK = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)

FALLBACKS = Counter(
    "foja_sequence_fallbacks_total", "Appends that PostgreSQL numbered although a Redis is set."
)
LANE_MOVES = Counter("foja_lane_moves_total", "Fences given out or withdrawn.", ["reason"])
ALLOCATION = Histogram(
    "foja_sequence_allocation_seconds",
    "Time to get a number: from Redis alone, from PostgreSQL with the append that takes it.",
    ["lane"],
    buckets=QUICK,
)
GAPS = Counter("foja_sequence_gaps_total", "Numbers that were given, never used, and voided.")

JOBS_SETTLED = Counter("foja_jobs_settled_total", "Jobs by how a claim of them ended.", ["type", "verdict"])
JOB_SECONDS = Histogram("foja_job_seconds", "Time from the claim of a batch to its end.", ["type"])
JOB_CORRECTIONS = Counter(
    "foja_job_corrections_total", "Jobs that came with a correlation not their stream's."
)
JOB_AGE = Gauge(
    "foja_job_oldest_ready_seconds", "How long the oldest job that could be claimed has waited.", ["type"]
)
JOBS_DEAD = Gauge("foja_jobs_dead", "Jobs that died and whose stream does not say so.", ["type"])
JOBS_PAST_LEASE = Gauge("foja_jobs_past_lease", "Jobs whose worker did not come back yet.", ["type"])
LEASES_LOST = Counter("foja_job_leases_lost_total", "Jobs whose work was stopped because the lease was lost.")

TIMESTAMPS = Counter(
    "foja_timestamps_total", "What authorities answered: `confirmed`, or why not.", ["authority", "outcome"]
)
TIMESTAMP_SECONDS = Histogram(
    "foja_timestamp_seconds", "Time from asking an authority to having checked its answer.", ["authority"]
)

STREAMS = Gauge("foja_streams_open", "Event streams over HTTP that are open now.")
BUFFERS_LOST = Counter(
    "foja_stream_buffers_lost_total", "Times a stream over HTTP was too slow and was served from rows again."
)

METRIC_NAMES = frozenset(family.name for family in REGISTRY.collect() if family.name.startswith("foja_"))


def exposition() -> bytes:
    """Return every metric of this process in Prometheus's text format."""
    return generate_latest(REGISTRY)
