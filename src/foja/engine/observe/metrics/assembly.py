"""The parts of `/metrics`, put together for an installation."""

from __future__ import annotations

from functools import partial

from foja.engine.blobs.store import Store
from foja.engine.driver.database import Database
from foja.engine.health.service import Health
from foja.engine.ledger.cosigners.configuration import read_cosigners, read_quorum
from foja.engine.observe.metrics import gauges
from foja.engine.observe.metrics.scrape import Part, Scrape, TimedReader
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
            Part("log", partial(gauges.gauge_log, reader, quorum)),
            Part("jobs", partial(gauges.gauge_jobs, reader, wakes, tenant)),
            Part("gaps", partial(gauges.count_gaps, reader, tenant)),
            Part("anchors", partial(gauges.gauge_anchors, reader, settings)),
            Part("objects", partial(gauges.gauge_objects, reader, settings.orphan_grace_seconds)),
            Part("thumbnails", partial(gauges.gauge_thumbnails, reader)),
            Part("galleries", partial(gauges.gauge_galleries, reader)),
            Part("http", partial(gauges.count_failures, reader)),
            Part("alerts", partial(gauges.gauge_alerts, reader)),
            Part("database", partial(gauges.gauge_server, reader)),
            Part("disk", partial(gauges.gauge_disk, settings.home), asks_database=False),
            Part("documents", partial(gauges.gauge_documents, reader)),
            Part("health", partial(gauges.gauge_health, health), asks_database=False),
            Part("webhooks", partial(gauges.gauge_webhooks, reader)),
            Part("store", partial(gauges.gauge_store, store, health), asks_database=False),
        ],
        settings.metrics_cache_seconds,
        health.check_database,
    )
