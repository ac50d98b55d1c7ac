"""`/readyz` says which part does not work; requests are counted by the template of their route."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from foja.app import App
from foja.engine.observe import readiness
from foja.interfaces.web.probes.routes import PATHS
from tests.flow.client.client import served

Admin = psycopg.Connection[Any]


@pytest.fixture
async def app(open_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 0)
    async with open_app(metrics_cache_seconds=0) as app:
        yield app


@pytest.fixture
async def client(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with served(app) as client:
        yield client


async def parts(client: httpx.AsyncClient) -> tuple[int, set[str]]:
    """Return the status of `/readyz`, and the parts for which it cannot serve."""
    answer = await client.get("/readyz")
    body = answer.json()
    failed = {name for name, part in body["parts"].items() if part.get("detail")}
    assert (body["status"] == "failed") == bool(failed)
    assert set(body["parts"]) >= {*readiness.NEEDED, "store:write", "authority:local", "job:run_tsa"}
    assert not any(body["parts"][name]["ok"] for name in failed)
    assert not any("error" in part for part in body["parts"].values())  # without a key
    return answer.status_code, failed


async def test_a_process_is_ready_when_every_part_works(client: httpx.AsyncClient) -> None:
    assert await parts(client) == (200, set())


async def test_a_halted_log_and_another_schema_are_named(client: httpx.AsyncClient, admin: Admin) -> None:
    await client.post("/v1/conversations", json={})
    admin.execute("insert into foja.log (origin, name) values (1, 'a log') on conflict do nothing")
    admin.execute("update foja.log set halted = 'a test'")
    assert await parts(client) == (503, {"log"})
    admin.execute("update foja.log set halted = null")
    admin.execute("update foja.migration set digest = 'another' where number = 2")
    assert await parts(client) == (503, {"schema"})


async def test_a_store_that_does_not_answer_is_named(
    client: httpx.AsyncClient, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = app.settings.home / "store"
    store.rename(store.with_name("elsewhere"))
    store.mkdir()  # where a disk is not mounted
    assert await parts(client) == (503, {"store"})
    store.rmdir()
    store.with_name("elsewhere").rename(store)
    assert await parts(client) == (200, set())
    monkeypatch.setattr(type(app.store._backend), "read", _refuse)
    assert await parts(client) == (503, {"store"})


async def _refuse(*_: object) -> None:
    raise OSError(5, "Input/output error")


async def test_a_database_that_is_gone_is_named(client: httpx.AsyncClient, app: App, admin: Admin) -> None:
    admin.execute("alter table foja.migration rename to hidden")
    assert await parts(client) == (503, {"schema"})
    admin.execute("alter table foja.hidden rename to migration")
    await app.reader.close()
    code, failed = await parts(client)
    assert (code, failed) == (503, {"database", "schema", "log"})


async def test_networks_that_are_not_set_up_are_no_parts(client: httpx.AsyncClient) -> None:
    """Job types of networks that nobody had set up counted as untried."""
    text = (await client.get("/metrics")).text
    untried = set(re.findall(r'foja_health_untried\{kind="\w+",part="([^"]+)"\}', text))
    assert {"job:run_tsa", "database", "store"} <= untried
    assert not any(name in part for part in untried for name in ("polygon", "bitcoin", "rekor"))
    named = (await client.get("/readyz")).json()["parts"]
    assert untried == named.keys()


async def test_requests_are_counted_by_template(client: httpx.AsyncClient) -> None:
    ids = [uuid4() for _ in range(3)]
    for each in ids:
        await client.get(f"/v1/conversations/{each}")
    await client.get(f"/nothing/{ids[0]}")
    await client.request("PROPFIND", "/healthz")
    text = (await client.get("/metrics")).text
    counted = re.findall(
        r'foja_http_requests_total\{code="(\d+)",method="(\w+)",route="([^"]+)"\} (\d+)', text
    )
    routes = {route for _, _, route, _ in counted}
    assert "/v1/conversations/{conversation_id}" in routes
    assert "unmatched" in routes
    assert not any(str(each) in text for each in ids)
    assert ("405", "other") in {(code, method) for code, method, _, _ in counted}
    assert 'foja_http_request_seconds_bucket{le="0.1",route="/healthz"}' in text


async def test_failures_of_routes_are_in_the_database(app: App, admin: Admin) -> None:
    async with served(app) as client:
        admin.execute("alter table foja.entity rename to hidden")
        answer = await client.get("/v1/conversations")
        assert (answer.status_code, answer.json()["code"]) == (503, "schema_differs")
        admin.execute("alter table foja.hidden rename to entity")
        await client.get("/readyz")
    rows = admin.execute("select route, count from foja.http_failure").fetchall()
    assert rows == [("/v1/conversations", 1)]
    assert not any(route in PATHS for route, _ in rows)


@pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool (apt install prometheus)")
async def test_promtool_accepts_every_metric(client: httpx.AsyncClient) -> None:
    await client.get("/v1/conversations")
    text = (await client.get("/metrics")).text
    ours = re.compile(r"^(# (HELP|TYPE) )?foja_")
    lines = "".join(f"{line}\n" for line in text.splitlines() if ours.match(line))
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=lines, capture_output=True, text=True, check=False, timeout=60
    )
    assert (checked.returncode, checked.stderr) == (0, "")
