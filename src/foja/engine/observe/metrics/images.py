"""Gauges of images: the views of the seed, as metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from foja.engine import sql
from foja.engine.metrics import (
    GALLERY_VIOLATIONS,
    IMAGES,
    THUMBNAIL_ATTEMPTS,
    THUMBNAIL_FAILED_ATTEMPTS,
    THUMBNAIL_JOBS,
    THUMBNAIL_LATENCY,
    THUMBNAIL_SECONDS,
    THUMBNAILS_SKIPPED,
)
from foja.engine.observe.metrics.reader import Rows

STATUSES = ("queued", "processing", "error", "success")
VIOLATIONS = ("gap", "duplicate", "no_main")
WINDOWS = (("50", "1d"), ("95", "1d"), ("50", "7d"), ("95", "7d"))


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
        THUMBNAIL_JOBS.labels(status).set(count)
    THUMBNAILS_SKIPPED.set(found.skipped)
    THUMBNAIL_ATTEMPTS.set(found.attempts)
    THUMBNAIL_FAILED_ATTEMPTS.set(found.failed_attempts)
    for gauge, times in ((THUMBNAIL_SECONDS, found.rendering), (THUMBNAIL_LATENCY, found.latency)):
        gauge.clear()
        for (percentile, window), milliseconds in zip(WINDOWS, times, strict=True):
            if milliseconds is not None:
                gauge.labels(percentile, window).set(milliseconds / 1000)


async def gauge_galleries(database: Rows) -> None:
    """Set the gauges of the order of all galleries."""
    [found] = await database.rows(sql.query("gallery_gauges"), GalleryRow)
    IMAGES.set(found.images)
    for violation, count in zip(VIOLATIONS, found.violations, strict=True):
        GALLERY_VIOLATIONS.labels(violation).set(count)
