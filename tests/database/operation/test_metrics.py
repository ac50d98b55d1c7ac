"""Metrics that are read from the database: right, the same after a restart, in time, apart from others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from foja.app import App
from foja.engine.blobs.store import object_key
from foja.engine.metrics import METRIC_NAMES, PART_FAILED
from foja.engine.observe.metrics.scrape import Part, Scrape, TimedReader
from foja.errors import LedgerUnavailable, Unavailable
from foja.interfaces.web.probes.measure import Failures
from tests.database.images.scans import orphans_of
from tests.database.schema.rows import value
from tests.png import png

Admin = psycopg.Connection[Any]


async def test_counters_survive_a_restart(open_app: Callable[..., App]) -> None:
    async with open_app() as app:
        talk = await app.conversations.open()
        for number in range(3):
            await talk.append("user_message_sent", {"content": str(number)})
        await app.metrics.read()
        before = value("foja_events_total")
        await app.work(until_idle=True)
    async with open_app(metrics_cache_seconds=0) as app:
        await app.metrics.read()
        assert value("foja_events_total") == before
        await (await app.conversations.open(talk.id)).append("user_message_sent", {"content": "more"})
        await app.metrics.read()
        assert value("foja_events_total") == (before or 0) + 1


async def test_what_failed_is_counted_over_all_processes(open_app: Callable[..., App], admin: Admin) -> None:
    async with open_app(metrics_cache_seconds=0) as app:
        for route, times in (("/v1/a/{id}", 2), ("/v1/b", 1), ("/readyz", 5)):
            failures = Failures(app.database)
            for _ in range(times):
                failures.add(route)
            await failures.flush()
            await failures.flush()
        admin.execute("update foja.http_failure set hour = hour - interval '25 hours' where route = '/v1/b'")
        await app.metrics.read()
        assert value("foja_http_failures_total", route="/v1/a/{id}") == 2
        assert value("foja_http_failures_total", route="/v1/b") == 1
        assert value("foja_http_failures_total", route="/readyz") is None
        assert value("foja_http_failures_day") == 2


async def test_old_hours_are_added_up(app: App, admin: Admin) -> None:
    failures = Failures(app.database)
    for days in (9, 10, 0):
        failures.add("/v1/a")
        await failures.flush()
        admin.execute(
            "update foja.http_failure set hour = hour - %s where hour > '-infinity'", [timedelta(days=days)]
        )
    failures.add("/v1/a")
    await failures.flush()
    rows = admin.execute("select hour = '-infinity', count from foja.http_failure order by hour").fetchall()
    assert rows == [(True, 2), (False, 2)]


async def test_failures_that_cannot_be_saved_stay_counted(app: App, admin: Admin) -> None:
    failures = Failures(app.database)
    failures.add("/v1/a")
    admin.execute("alter table foja.http_failure rename to hidden")
    await failures.flush()
    failures.add("/v1/a")
    admin.execute("alter table foja.hidden rename to http_failure")
    await failures.flush()
    assert admin.execute("select route, count from foja.http_failure").fetchall() == [("/v1/a", 2)]


async def test_a_part_that_takes_too_long_is_marked_and_the_others_are_read(
    open_app: Callable[..., App], admin: Admin
) -> None:
    settings = {"metrics_cache_seconds": 0, "metrics_timeout_seconds": 0.2}
    async with open_app(**settings) as app:
        with admin.transaction():
            admin.execute("lock table foja.anchor_batch in access exclusive mode")
            await app.metrics.read()
            assert app.metrics.failed == {"anchors"}
            assert value("foja_metrics_part_failed", part="anchors") == 1
            assert value("foja_metrics_part_failed", part="log") == 0
            assert value("foja_anchors_pending", network="polygon") is None
        await app.metrics.read()
        assert app.metrics.failed == set()
        assert value("foja_anchors_pending", network="polygon") == 0


async def _answers() -> None:
    """The database answers."""


async def test_scrapes_share_a_reading_and_slow_parts_are_read_seldom() -> None:
    read = list[str]()

    async def quick() -> None:
        read.append("quick")

    async def slow() -> None:
        read.append("slow")
        await asyncio.sleep(0.05)  # a twentieth of a second: not again within a second

    async def broken() -> None:
        read.append("broken")
        raise Unavailable("no")

    scrape = Scrape([Part("quick", quick), Part("slow", slow), Part("broken", broken)], 1e-6, _answers)
    await asyncio.gather(scrape.read(), scrape.read())
    assert (read.count("slow"), read.count("quick") >= 2, set(scrape.failed)) == (1, True, {"broken"})
    kept = Scrape([Part("quick", quick)], 3600, _answers)
    read.clear()
    await asyncio.gather(kept.read(), kept.read())
    assert read == ["quick"]
    PART_FAILED.remove("quick")
    PART_FAILED.remove("slow")
    PART_FAILED.remove("broken")


async def test_jobs_galleries_objects_and_server_are_measured(
    open_app: Callable[..., App], admin: Admin
) -> None:
    async with open_app(metrics_cache_seconds=0) as app:
        entity = uuid4()
        for number, state in enumerate(["dead", "succeeded", "succeeded", "queued"]):
            admin.execute(
                """insert into foja.job
                    (type, entity_id, correlation_id, tenant, dedupe_key, max_tries, state) values
                    ('run_tsa', %s, %s, 'default', %s, 5, %s)""",
                [entity, entity, str(number), state],
            )
        image = await app.images.add(uuid4(), png())
        await app.images.add_url(uuid4(), "https://cdn.example/1.jpg")
        await app.work(until_idle=True, only=["render_image"])
        assert image.object is not None
        await app.store.delete([object_key(image.object, 0)])
        await app.objects.put(b"orphan")
        await orphans_of(app).scanner.scan()
        await app.metrics.read()
        assert app.metrics.failed == set()
        assert value("foja_jobs_recent", type="run_tsa", state="succeeded") == 2
        assert value("foja_jobs_waiting", type="run_tsa") == 1
        assert value("foja_objects_missing") == 1
        assert value("foja_orphans_total", outcome="staged") == 1
        assert value("foja_orphan_runs_total", action="scan", outcome="complete") == 1
        assert (value("foja_orphans_rescued_late"), value("foja_orphan_false_positives")) == (0, 0)
        assert value("foja_gallery_violations", kind="gap") == 0
        assert [value("foja_thumbnail_jobs", status=each) for each in ("success", "error")] == [1, 0]
        assert value("foja_thumbnails_skipped") == 1
        rendering, latency = (
            value(f"foja_thumbnail_{name}", percentile="95", window="1d")
            for name in ("seconds", "latency_seconds")
        )
        assert 0 < (rendering or 0) <= (latency or 0)
        assert (value("foja_database_connections") or 0) >= 1
        assert (value("foja_database_connections_limit") or 0) >= 20
        assert (value("foja_disk_free_bytes") or 0) > 0


async def test_a_transaction_that_was_left_open_is_measured(
    open_app: Callable[..., App], database_url: str
) -> None:
    async with open_app(metrics_cache_seconds=0) as app:
        with psycopg.connect(database_url) as forgotten:
            forgotten.execute("select pg_sleep(0.05)")
            await app.metrics.read()
            assert (value("foja_database_idle_in_transaction_seconds") or 0) > 0
        await app.metrics.read()
        assert value("foja_database_idle_in_transaction_seconds") == 0


@pytest.mark.parametrize("signed", [1, 2])
async def test_a_policy_of_cosigners_that_is_not_met_is_measured(app: App, admin: Admin, signed: int) -> None:
    from foja.engine.ledger.cosigners.configuration import Quorum
    from foja.engine.observe.metrics.gauges import gauge_log

    await (await app.conversations.open()).append("user_message_sent", {"content": "x"})
    await app.publish()
    admin.execute("alter table foja.checkpoint disable trigger all")
    admin.execute("update foja.checkpoint set published_at = now() - interval '10 minutes'")
    keys = [bytes([number]) * 32 for number in range(2)]
    for key in keys[:signed]:
        admin.execute(
            r"""insert into foja.cosignature (origin, size, public_key, line)
            select origin, size, %s, E'— a line\n' from foja.checkpoint""",
            [key],
        )
    await gauge_log(app.operator, Quorum(tuple(keys), 2, 1.0))
    unmet = value("foja_cosigner_policy_unmet_seconds") or 0
    assert unmet == 0 if signed == 2 else 600 <= unmet < 4_000


async def test_a_balance_is_shown_in_batches(open_app: Callable[..., App]) -> None:
    from foja.engine import sql

    async with open_app(metrics_cache_seconds=0) as app:
        amounts = {"network": "polygon", "balance": 10**18, "price": 3 * 10**17}
        await app.operator.rows(sql.query("note_balance"), **amounts)
        await app.metrics.read()
        assert value("foja_anchor_balance_batches", network="polygon") == 3


def test_names_of_metrics_are_ours() -> None:
    assert all(name.startswith("foja_") for name in METRIC_NAMES)


async def test_a_read_that_takes_too_long_ends(app: App) -> None:
    with pytest.raises(LedgerUnavailable):
        await TimedReader(app.operator, 0.05).rows("select pg_sleep(30)")
    assert await TimedReader(app.operator, 60).rows("select %(n)s + 1", n=1) == [(2,)]


@pytest.mark.parametrize("moment", [0, 0.001, 0.01, 0.2])  # at the beginning of the group, and later
async def test_a_read_that_is_cancelled_is_not_rolled_back_by_hand(
    app: App, caplog: pytest.LogCaptureFixture, moment: float
) -> None:
    """A process that stops while it reads metrics says nothing about it."""
    reader = TimedReader(app.operator, 60)
    reading = asyncio.create_task(reader.rows("select pg_sleep(30)"))
    await asyncio.sleep(moment)
    reading.cancel()
    await asyncio.sleep(0)
    reading.cancel()  # while psycopg still tells the server of the first
    assert isinstance((await asyncio.gather(reading, return_exceptions=True))[0], asyncio.CancelledError)
    assert [record.getMessage() for record in caplog.records if record.name.startswith("psycopg")] == []
    assert await reader.rows("select 1") == [(1,)]
