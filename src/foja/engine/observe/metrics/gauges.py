"""Gauges that are read from the database, the store and the disk, and totals that are counted there.

The log: events in all, halted, late, cosigned as the policy says; numbers that were given and voided.
Jobs: how many wait and how long, how the newest ended, past their lease, dead.
Anchors: held, waiting, pending, their age and what they can be paid with.
Orphans: candidates, runs, missing objects, rescues. Images: the views of the seed.
Health of every part, space of the store, documents that were given up; the database server, the home's disk.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

from foja.engine import metrics, sql
from foja.engine.anchors.admin import NetworkRow
from foja.engine.blobs.store import WRITE, Store
from foja.engine.health.service import Health
from foja.engine.jobs.announcement import find_unhandled
from foja.engine.ledger.cosigners.configuration import Quorum
from foja.engine.observe.metrics.scrape import Rows
from foja.engine.settings import Settings
from foja.pure.models.health.part import NO_WORKER, Part, State

MAX_STREAMS = 10
MAX_COUNTED = 10_000  # the newest jobs, and the waiting ones of a type
ANCHORS = (
    metrics.ANCHORS_HELD,
    metrics.ANCHORS_WAITING,
    metrics.ANCHORS_PENDING,
    metrics.ANCHOR_PENDING_SECONDS,
    metrics.ANCHOR_WINDOW,
    metrics.ANCHOR_BALANCE,
)
OUTCOMES = ("staged", "rescued", "false_positive", "quarantined", "deleted")
STATUSES = ("queued", "processing", "error", "success")
VIOLATIONS = ("gap", "duplicate", "no_main")
WINDOWS = (("50", "1d"), ("95", "1d"), ("50", "7d"), ("95", "7d"))
MOST = 100
HEALTH: Final = (
    "foja_health_failing_seconds",
    "foja_health_untried",
)  # no secret: `/readyz` says it, too


class Lag(NamedTuple):
    """What waits for the log: the next event of a stream, or a leaf."""

    entity_id: UUID
    seq: int
    seconds: int
    leaf: int | None = None


async def gauge_log(database: Rows, quorum: Quorum | None = None) -> None:
    """Set the gauges of the open log from the database, as the role of the sequencer."""
    waiting = [
        *await database.rows(sql.query("audit_sealing"), Lag, limit=0),
        *await database.rows(sql.query("audit_numbering"), Lag, limit=0),
        *await database.rows(sql.query("audit_publishing"), Lag, limit=0),
    ]
    metrics.LOG_LAG.set(max((each.seconds for each in waiting), default=0))
    metrics.LOG_HALTED.set(len(await database.rows(sql.query("halted_logs"))))
    [(events, faulty)] = await database.rows(sql.query("log_totals"))
    metrics.set_total(metrics.EVENTS, events)
    metrics.COSIGNERS_FAULTY.set(faulty)
    unmet = 0.0
    if quorum:
        keys, required = list(quorum.keys), quorum.required
        [(unmet,)] = await database.rows(sql.query("cosigning_late"), keys=keys, required=required)
    metrics.POLICY_UNMET.set(unmet)


class GapRow(NamedTuple):
    """A stream and its voided numbers, beside those of all streams."""

    entity_id: UUID
    gaps: int
    total: int


async def count_gaps(database: Rows, tenant: str | None) -> None:
    """Set the metrics from the database: sweepers, callers and SQL clients all void numbers."""
    rows = await database.rows(sql.query("most_gaps"), GapRow, tenant=tenant, limit=MAX_STREAMS)
    metrics.STREAM_GAPS.clear()
    metrics.set_total(metrics.GAPS, rows[0].total if rows else 0)
    for row in rows:
        metrics.STREAM_GAPS.labels(str(row.entity_id)).set(row.gaps)


class JobTypeRow(NamedTuple):
    """A job type: seconds that the oldest job waits, jobs past their lease, dead ones."""

    type: str
    age: float
    past_lease: int
    dead: int


async def gauge_jobs(database: Rows, operator: Rows, tenant: str | None) -> None:
    """Set the gauges from the database. They stay empty if it does not answer."""
    for gauge in (
        metrics.JOB_AGE,
        metrics.JOBS_PAST_LEASE,
        metrics.JOBS_DEAD,
        metrics.JOBS_WAITING,
        metrics.JOBS_RECENT,
        metrics.JOBS_UNHANDLED,
    ):
        gauge.clear()
    unhandled = {each.type: each.jobs for each in await find_unhandled(operator, tenant)}
    for row in await database.rows(sql.query("job_gauges"), JobTypeRow, tenant=tenant):
        metrics.JOBS_UNHANDLED.labels(row.type).set(unhandled.get(row.type, 0))
        metrics.JOB_AGE.labels(row.type).set(row.age)
        metrics.JOBS_PAST_LEASE.labels(row.type).set(row.past_lease)
        metrics.JOBS_DEAD.labels(row.type).set(row.dead)
    counted = {"tenant": tenant, "most": MAX_COUNTED}
    for job_type, count in await database.rows(sql.query("jobs_waiting"), **counted):
        metrics.JOBS_WAITING.labels(job_type).set(count)
    for job_type, state, count in await database.rows(sql.query("jobs_recent"), **counted):
        metrics.JOBS_RECENT.labels(job_type, state).set(count)


async def gauge_anchors(database: Rows, settings: Settings) -> None:
    """Set the gauges from the database. They stay empty if it does not answer."""
    for gauge in ANCHORS:
        gauge.clear()
    for row in await database.rows(sql.query("anchor_networks"), NetworkRow):
        network = row.network
        metrics.ANCHORS_HELD.labels(network).set(row.held is not None)
        metrics.ANCHORS_WAITING.labels(network).set(row.waiting)
        metrics.ANCHORS_PENDING.labels(network).set(row.pending)
        metrics.ANCHOR_WINDOW.labels(network).set(settings.networks[network].window_seconds)
    for network, seconds, batches in await database.rows(sql.query("anchor_ages")):
        metrics.ANCHOR_PENDING_SECONDS.labels(network).set(seconds)
        if batches is not None:
            metrics.ANCHOR_BALANCE.labels(network).set(batches)


class OrphanRow(NamedTuple):
    """Candidates, what the last scan missed, what was taken back in seven days, and what all runs did."""

    candidates: int
    missing: int
    scan_age: float
    false_positives: int
    rescued_late: int
    totals: Sequence[int]  # by outcome


async def gauge_objects(database: Rows, grace_seconds: float) -> None:
    """Set the metrics from the runs that were recorded."""
    [found] = await database.rows(sql.query("orphan_gauges"), OrphanRow, grace=grace_seconds)
    metrics.ORPHAN_CANDIDATES.set(found.candidates)
    metrics.OBJECTS_MISSING.set(found.missing)
    metrics.ORPHAN_SCAN_AGE.set(found.scan_age)
    metrics.ORPHAN_FALSE_POSITIVES.set(found.false_positives)
    metrics.ORPHANS_RESCUED_LATE.set(found.rescued_late)
    for outcome, total in zip(OUTCOMES, found.totals, strict=True):
        metrics.set_total(metrics.ORPHANS.labels(outcome), total)
    for action, outcome, count in await database.rows(sql.query("orphan_run_totals")):
        metrics.set_total(metrics.ORPHAN_RUNS.labels(action, outcome), count)


class ThumbnailRow(NamedTuple):
    """The jobs that render variants: how many there are of each status, and what they took."""

    jobs: Sequence[int]
    skipped: int
    attempts: int
    failed_attempts: int
    rendering: Sequence[float | None]  # milliseconds
    latency: Sequence[float | None]


class GalleryRow(NamedTuple):
    """All images, and what breaks the order of galleries."""

    images: int
    violations: Sequence[int]


async def gauge_thumbnails(database: Rows) -> None:
    """Set the gauges of the jobs that render variants."""
    [found] = await database.rows(sql.query("thumbnail_gauges"), ThumbnailRow)
    for status, count in zip(STATUSES, found.jobs, strict=True):
        metrics.THUMBNAIL_JOBS.labels(status).set(count)
    metrics.THUMBNAILS_SKIPPED.set(found.skipped)
    metrics.THUMBNAIL_ATTEMPTS.set(found.attempts)
    metrics.THUMBNAIL_FAILED_ATTEMPTS.set(found.failed_attempts)
    for gauge, times in (
        (metrics.THUMBNAIL_SECONDS, found.rendering),
        (metrics.THUMBNAIL_LATENCY, found.latency),
    ):
        gauge.clear()
        for (percentile, window), milliseconds in zip(WINDOWS, times, strict=True):
            if milliseconds is not None:
                gauge.labels(percentile, window).set(milliseconds / 1000)


async def gauge_galleries(database: Rows) -> None:
    """Set the gauges of the order of all galleries."""
    [found] = await database.rows(sql.query("gallery_gauges"), GalleryRow)
    metrics.IMAGES.set(found.images)
    for violation, count in zip(VIOLATIONS, found.violations, strict=True):
        metrics.GALLERY_VIOLATIONS.labels(violation).set(count)


async def gauge_health(health: Health) -> None:
    """Set the gauges of every part. While the database does not answer, they say that."""
    show_parts(await health.read())


def show_parts(parts: Sequence[Part]) -> None:
    """Set the gauges of these parts, and of no other."""
    for gauge in (metrics.HEALTH_FAILING, metrics.HEALTH_UNTRIED):
        gauge.clear()
    for part in parts:
        kind = "worker" if part.code == NO_WORKER else part.kind  # the alert `worker_missing` names it
        metrics.HEALTH_FAILING.labels(kind, part.name).set(part.failing_seconds)
        metrics.HEALTH_UNTRIED.labels(part.kind, part.name).set(part.state is State.UNTRIED)


async def gauge_store(store: Store, health: Health) -> None:
    """Set the space of the store. A bucket tells none: it is full if its last write failed for that."""
    if space := await store.space():
        free, total = space
    else:
        full = any(part.name == WRITE and part.code == "store_full" for part in await health.read())
        free, total = int(not full), 1
    metrics.STORE_FREE.set(free)
    metrics.STORE_BYTES.set(total)


async def gauge_webhooks(database: Rows) -> None:
    """Set how long each webhook has failed; of very many, those that fail."""
    metrics.WEBHOOK_FAILING.clear()
    for webhook_id, seconds in await database.rows(sql.query("failing_webhooks"), most=MOST):
        metrics.WEBHOOK_FAILING.labels(str(webhook_id)).set(seconds)


async def gauge_documents(database: Rows) -> None:
    """Set how many documents were given up."""
    [(count,)] = await database.rows(sql.query("count_given_up"), most=MOST)
    metrics.DOCUMENTS_GIVEN_UP.set(count)


class ServerRow(NamedTuple):
    """How the database server stands."""

    connections: int
    connection_limit: int
    idle_seconds: float
    bytes: int
    transaction_age: float


async def gauge_server(database: Rows) -> None:
    """Set the gauges of connections, idle transactions, size and age of the database."""
    [found] = await database.rows(sql.query("database_state"), ServerRow)
    metrics.DATABASE_CONNECTIONS.set(found.connections)
    metrics.DATABASE_MAX_CONNECTIONS.set(found.connection_limit)
    metrics.DATABASE_IDLE.set(found.idle_seconds)
    metrics.DATABASE_BYTES.set(found.bytes)
    metrics.DATABASE_TRANSACTION_AGE.set(found.transaction_age)


async def count_failures(database: Rows) -> None:
    """Set the failures of HTTP routes, of all processes and since the installation began."""
    metrics.HTTP_FAILURES_DAY.set(0)
    day = 0
    for route, total, of_day in await database.rows(sql.query("http_failures")):
        metrics.set_total(metrics.HTTP_FAILURES.labels(route), total)
        day += of_day
    metrics.HTTP_FAILURES_DAY.set(day)


async def gauge_alerts(database: Rows) -> None:
    """Set which alerts of the built-in evaluation fire."""
    metrics.ALERTS_FIRING.clear()
    for alert, count in await database.rows(sql.query("alerts_firing")):
        metrics.ALERTS_FIRING.labels(alert).set(count)


async def gauge_disk(home: Path) -> None:
    """Set the space of the disk that has the home: the keys, the embedded database, the local store."""
    usage = await asyncio.to_thread(shutil.disk_usage, home)
    metrics.DISK_FREE.set(usage.free)
    metrics.DISK_BYTES.set(usage.total)
