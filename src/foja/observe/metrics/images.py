"""Gauges of images: the views of the seed, as metrics."""

from __future__ import annotations

from foja import sql
from foja.metrics import (
    GALLERY_VIOLATIONS,
    IMAGES,
    THUMBNAIL_ATTEMPTS,
    THUMBNAIL_FAILED_ATTEMPTS,
    THUMBNAIL_JOBS,
    THUMBNAIL_SECONDS,
)
from foja.observe.metrics.reader import Rows

STATUSES = ("queued", "processing", "error", "success")
VIOLATIONS = ("gap", "duplicate", "no_main")
WINDOWS = (("50", "1d"), ("95", "1d"), ("50", "7d"), ("95", "7d"))


async def gauge_thumbnails(database: Rows) -> None:
    """Set the gauges of the jobs that render variants."""
    THUMBNAIL_SECONDS.clear()
    [row] = await database.rows(sql.query("thumbnail_gauges"))
    for status, count in zip(STATUSES, row[:4], strict=True):
        THUMBNAIL_JOBS.labels(status).set(count)
    THUMBNAIL_ATTEMPTS.set(row[4])
    THUMBNAIL_FAILED_ATTEMPTS.set(row[5])
    for (percentile, window), milliseconds in zip(WINDOWS, row[6:], strict=True):
        if milliseconds is not None:
            THUMBNAIL_SECONDS.labels(percentile, window).set(milliseconds / 1000)


async def gauge_galleries(database: Rows) -> None:
    """Set the gauges of the order of all galleries."""
    [(images, *found)] = await database.rows(sql.query("gallery_gauges"))
    IMAGES.set(images)
    for violation, count in zip(VIOLATIONS, found, strict=True):
        GALLERY_VIOLATIONS.labels(violation).set(count)
