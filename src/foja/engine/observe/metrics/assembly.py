"""The parts of `/metrics`, put together for an installation."""

from __future__ import annotations

from functools import partial

from foja.engine.blobs.store import Store
from foja.engine.driver.database import Database
from foja.engine.health.service import Health
from foja.engine.ledger.cosigners.configuration import read_cosigners, read_quorum
from foja.engine.observe.metrics.anchors import gauge_anchors
from foja.engine.observe.metrics.gaps import count_gaps
from foja.engine.observe.metrics.health import gauge_documents, gauge_health, gauge_store, gauge_webhooks
from foja.engine.observe.metrics.images import gauge_galleries, gauge_thumbnails
from foja.engine.observe.metrics.jobs import gauge_jobs
from foja.engine.observe.metrics.log import gauge_log
from foja.engine.observe.metrics.objects import gauge_objects
from foja.engine.observe.metrics.reader import TimedReader
from foja.engine.observe.metrics.scrape import Part, Scrape
from foja.engine.observe.metrics.server import count_failures, gauge_alerts, gauge_disk, gauge_server
from foja.engine.settings import Settings


def open_scrape(
    settings: Settings, database: Database, operator: Database, health: Health, store: Store
) -> Scrape:
    """Return what reads the metrics of an installation; `operator` queues the executors that were woken."""
    reader, wakes = (TimedReader(each, settings.metrics_timeout_seconds) for each in (database, operator))
    tenant = settings.tenant or None
    quorum = read_quorum(settings, read_cosigners(settings))
    return Scrape(
        [
            Part("log", partial(gauge_log, reader, quorum)),
            Part("jobs", partial(gauge_jobs, reader, wakes, tenant)),
            Part("gaps", partial(count_gaps, reader, tenant)),
            Part("anchors", partial(gauge_anchors, reader, settings)),
            Part("objects", partial(gauge_objects, reader, settings.orphan_grace_seconds)),
            Part("thumbnails", partial(gauge_thumbnails, reader)),
            Part("galleries", partial(gauge_galleries, reader)),
            Part("http", partial(count_failures, reader)),
            Part("alerts", partial(gauge_alerts, reader)),
            Part("database", partial(gauge_server, reader)),
            Part("disk", partial(gauge_disk, settings.home), asks_database=False),
            Part("documents", partial(gauge_documents, reader)),
            Part("health", partial(gauge_health, health), asks_database=False),
            Part("webhooks", partial(gauge_webhooks, reader)),
            Part("store", partial(gauge_store, store, health), asks_database=False),
        ],
        settings.metrics_cache_seconds,
        health.check_database,
    )
