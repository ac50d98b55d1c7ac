"""Gauges of the health of every part, of the store's space, of documents that were given up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from foja.engine import sql
from foja.engine.blobs.store import WRITE, Store
from foja.engine.health.service import Health
from foja.engine.metrics import (
    DOCUMENTS_GIVEN_UP,
    HEALTH_FAILING,
    HEALTH_UNTRIED,
    STORE_BYTES,
    STORE_FREE,
    WEBHOOK_FAILING,
)
from foja.engine.observe.metrics.reader import Rows
from foja.pure.models.health.part import NO_WORKER, Part, State

MOST = 100
HEALTH: Final = (
    "foja_health_failing_seconds",
    "foja_health_untried",
)  # no secret: `/readyz` says it, too


async def gauge_health(health: Health) -> None:
    """Set the gauges of every part. While the database does not answer, they say that."""
    show_parts(await health.read())


def show_parts(parts: Sequence[Part]) -> None:
    """Set the gauges of these parts, and of no other."""
    for gauge in (HEALTH_FAILING, HEALTH_UNTRIED):
        gauge.clear()
    for part in parts:
        kind = "worker" if part.code == NO_WORKER else part.kind  # the alert `worker_missing` names it
        HEALTH_FAILING.labels(kind, part.name).set(part.failing_seconds)
        HEALTH_UNTRIED.labels(part.kind, part.name).set(part.state is State.UNTRIED)


async def gauge_store(store: Store, health: Health) -> None:
    """Set the space of the store. A bucket tells none: it is full if its last write failed for that."""
    if space := await store.space():
        free, total = space
    else:
        full = any(part.name == WRITE and part.code == "store_full" for part in await health.read())
        free, total = int(not full), 1
    STORE_FREE.set(free)
    STORE_BYTES.set(total)


async def gauge_webhooks(database: Rows) -> None:
    """Set how long each webhook has failed; of very many, those that fail."""
    WEBHOOK_FAILING.clear()
    for webhook_id, seconds in await database.rows(sql.query("failing_webhooks"), most=MOST):
        WEBHOOK_FAILING.labels(str(webhook_id)).set(seconds)


async def gauge_documents(database: Rows) -> None:
    """Set how many documents were given up."""
    [(count,)] = await database.rows(sql.query("count_given_up"), most=MOST)
    DOCUMENTS_GIVEN_UP.set(count)
