"""A real Prometheus scrapes a real server: every alert and every query of the dashboard has series."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from foja.app import App
from foja.domains.alerts.assembly import RUNBOOKS
from foja.engine import sql
from foja.interfaces.web.probes.measure import Failures
from foja.interfaces.web.server import address, bind, serving
from foja.pure.models.alerts.grafana import queries
from foja.pure.models.alerts.prometheus import rule_file
from foja.pure.models.alerts.table import ALERTS
from tests.counterparties.ports import free_port

Admin = psycopg.Connection[Any]
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not shutil.which("prometheus"), reason="no Prometheus (apt install prometheus)"),
]


async def fill(app: App, admin: Admin) -> None:
    """Record what makes every metric have a value: jobs, images, a balance, a failure, a scan."""
    document = await app.documents.add(b"We agree.", name="contract.txt")
    await document.protect(["tsa"])
    entity = uuid4()
    admin.execute(
        """insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, max_tries, state)
        select 'run_tsa', %(id)s, %(id)s, 'default', n::text, 5,
            case when n < 2 then 'dead' else 'succeeded' end
        from generate_series(1, 25) n""",
        {"id": entity},
    )
    admin.execute(
        """insert into public.image_thumbnail_jobs
            (product_id, product_image_id, status, attempts, duration_ms, completed_at, tenant)
        select gen_random_uuid(), gen_random_uuid(), 'success', 1, 100 + n, now(), 'default'
        from generate_series(1, 25) n"""
    )
    await app.operator.rows(sql.query("note_balance"), network="polygon", balance=10**18, price=10**16)
    await app.webhooks.create("https://receiver.example/hook")
    failures = Failures(app.database)
    failures.add("/v1/conversations")
    await failures.flush()
    await app.orphans.scanner.scan()


@contextlib.asynccontextmanager
async def running_prometheus(folder: Path, target: str) -> AsyncIterator[httpx.AsyncClient]:
    port = free_port()
    limits: dict[str, float | None] = {name: alert.limit for name, alert in ALERTS.items()}
    (folder / "alerts.yml").write_text(rule_file(limits, RUNBOOKS))
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [alerts.yml]\n"
        f"scrape_configs: [{{job_name: foja, static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
    command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    process = subprocess.Popen(
        [*command, f"--web.listen-address=127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/api/v1", timeout=30) as client:
            yield client
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, 60)


async def series(client: httpx.AsyncClient, query: str) -> int:
    """Return how many series a query has now."""
    with contextlib.suppress(httpx.TransportError):
        answer = await client.get("/query", params={"query": query})
        assert answer.status_code in (200, 503), answer.text  # 503: it starts
        return len(answer.json()["data"]["result"]) if answer.status_code == 200 else 0
    return 0


async def eventually(true: Callable[[], Any]) -> None:
    while not await true():
        await asyncio.sleep(0.5)


async def firing(client: httpx.AsyncClient) -> set[str]:
    found = (await client.get("/alerts")).json()["data"]["alerts"]
    return {each["labels"]["alertname"] for each in found if each["state"] == "firing"}


async def test_every_expression_has_series_and_an_alert_fires_and_clears(
    open_app: Callable[..., App], admin: Admin, tmp_path: Path
) -> None:
    async with (
        open_app(metrics_cache_seconds=0, alert_seconds=1) as app,
        contextlib.AsyncExitStack() as closing,
    ):
        await fill(app, admin)
        work = asyncio.create_task(app.work())
        closing.callback(work.cancel)
        listener = closing.enter_context(bind("127.0.0.1", 0, expose=False))
        server = contextlib.AsyncExitStack()
        await closing.enter_async_context(server)
        await server.enter_async_context(serving(app, listener))
        target = address(listener).removeprefix("http://")
        client = await closing.enter_async_context(running_prometheus(tmp_path, target))
        asked = [alert.query for alert in ALERTS.values() if alert.built_in] + queries()
        for query in asked:
            await eventually(partial(series, client, query))
        groups = (await client.get("/rules")).json()["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        assert len(rules) == len(ALERTS)
        await eventually(lambda: _all_healthy(client))
        assert "FojaLogHalted" not in await firing(client)
        admin.execute("update foja.log set halted = 'a test'")
        await eventually(lambda: _has(client, "FojaLogHalted", fires=True))
        admin.execute("update foja.log set halted = null")
        await eventually(lambda: _has(client, "FojaLogHalted", fires=False))
        assert await series(client, ALERTS["scrape_absent"].query) == 0
        await server.aclose()
        await eventually(lambda: series(client, ALERTS["scrape_absent"].query))


async def _all_healthy(client: httpx.AsyncClient) -> bool:
    groups = (await client.get("/rules")).json()["data"]["groups"]
    return all(rule["health"] == "ok" for group in groups for rule in group["rules"])


async def _has(client: httpx.AsyncClient, alert: str, *, fires: bool) -> bool:
    return (alert in await firing(client)) is fires
