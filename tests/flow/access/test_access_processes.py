"""Two processes: what is revoked in one is refused by the other, and its open streams end."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from foja.app import App
from tests.flow.access.access_scene import bearer, log_in
from tests.flow.client.client import SAY
from tests.flow.command import Process, Run

LIST = "/v1/conversations"
LIMIT = 60  # seconds, for a busy machine; a quiet one needs milliseconds


async def refused_after(client: httpx.AsyncClient, headers: dict[str, str]) -> float:
    """Ask until the answer is 401; return how many seconds it took."""
    start = time.monotonic()
    while (await client.get(LIST, headers=headers)).status_code != 401:
        assert time.monotonic() < start + LIMIT
    return time.monotonic() - start


@pytest.mark.usefixtures("home")
async def test_a_revocation_reaches_another_process_and_ends_its_streams(
    open_app: Callable[..., App], spawn: Callable[..., Process], tmp_path: Path
) -> None:
    async with open_app(home=tmp_path / "home") as app:
        key = await app.access.keys.create("default", ["read"])
        other = await app.access.keys.create("default", ["read"])
        talk = await app.conversations.open()
        await talk.append(SAY, {"content": "hi"})
        server = spawn("web", "--port", 0, "--json")
        url = json.loads(await asyncio.to_thread(server.line))["web"]
        async with httpx.AsyncClient(base_url=url, timeout=LIMIT) as client:
            path = f"{LIST}/{talk.id}/stream"
            async with (
                client.stream("GET", path, headers=bearer(key.text)) as ending,
                client.stream("GET", path, headers=bearer(other.text)) as going,
            ):
                lines, others = ending.aiter_lines(), going.aiter_lines()
                assert await anext(lines) == await anext(others) == "retry: 1000"
                waiting = asyncio.create_task(
                    client.get(f"{LIST}/{talk.id}/events?after=0&wait=60", headers=bearer(key.text))
                )
                await log_in(client, other.text)
                await app.access.keys.revoke(key.id)
                print(f"refused after {await refused_after(client, bearer(key.text)):.3f} s")
                async with asyncio.timeout(LIMIT):
                    assert [line async for line in lines][-1:] == [""]  # it ended, and was not cut
                    assert (await waiting).status_code == 401
                await talk.append(SAY, {"content": "still here"})
                async with asyncio.timeout(LIMIT):
                    while "still here" not in await anext(others):
                        pass
            [session] = await app.access.sessions.list()
            await app.access.sessions.revoke(session.id)
            await refused_after(client, {})


def test_a_public_address_needs_a_key_first(run: Run, spawn: Callable[..., Process]) -> None:
    refused = run("web", "--host", "0.0.0.0", "--port", 0)
    assert (refused.code, "foja access create" in refused.err) == (2, True)
    made = run("access", "create", "--scopes", "operate", "--installation", "--json").document
    server = spawn("web", "--host", "0.0.0.0", "--port", 0, "--json")
    port = json.loads(server.line())["web"].rpartition(":")[2]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=LIMIT) as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/metrics").status_code == 401
        assert client.get("/metrics", headers=bearer(made["key"])).status_code == 200


def test_keys_on_the_command_line(run: Run) -> None:
    assert "foja access create" in run("access").out
    made = run(
        "access", "create", "--scopes", "read,write", "--name", "crm", "--tenant", "acme", "--as", "ana"
    )
    key, advice = made.lines
    assert (made.code, key.startswith("foja_"), "cannot be shown again" in advice) == (0, True, True)
    [row] = run("access", "list", "--json").document
    assert (row["tenant"], row["scopes"], row["created_by"]) == ("acme", ["read", "write"], "ana")
    assert row["expires_at"] is not None
    assert key not in run("access").out
    rotated = run("access", "rotate", row["id"], "--overlap", "1h", "--json").document
    assert rotated["id"] == row["id"] != rotated["key"]
    assert run("access", "revoke", row["id"]).out.endswith("within a second\n")
    assert "before" in run("access", "revoke", row["id"]).out
    assert "revoked" in run("access", "list").out
    assert run("access", "revoke", "000000000000").code == 1
    assert run("access", "rotate", row["id"]).code == 1
    assert run("access", "create", "--scopes", "root").code == 2
    assert run("access", "create", "--expires", "soon").code == 2
    assert run("access", "create", "--expires", "2020-01-01").code == 2
    assert run("access", "create", "--expires", "never", "--json").document["expires_at"] is None
    assert run("access", "sessions").out == "nobody is logged in\n"
