"""The scope `approve`: a key that may only write decides no approval, by whatever route it appends."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from mcp.server.mcpserver.exceptions import ToolError

from foja.app import App
from foja.interfaces.mcp.agent import Agent, acting
from foja.interfaces.mcp.server import build_server
from foja.pure.models.access.principal import Principal, Scope
from tests.flow.access.access_scene import bearer, make_key
from tests.flow.client.client import served

DECIDED: dict[str, Any] = {
    "kind": "approval_completed",
    "payload": {"approval_id": "refund", "decision": "approved", "reason": None},
}


async def requested(app: App) -> str:
    """Return the address of a conversation with an approval that waits."""
    talk = await app.conversations.open()
    await talk.request_approval("refund", {"order": 7}, approval_id="refund")
    return f"/v1/conversations/{talk.id}"


async def attempts(client: httpx.AsyncClient, address: str, key: str) -> list[httpx.Response]:
    """Append a decision as a single event, in both sorts of batch, and into a slot."""
    headers = bearer(key)
    slots = (await client.post(f"{address}/slots", json={"count": 1, "ttl": 60}, headers=headers)).json()
    slot = f"{address}/slots/{slots['token']}/{slots['seqs'][0]}"
    batch = f"{address}/events/batch"
    return [
        await client.post(f"{address}/events", json=DECIDED, headers=headers),
        await client.post(batch, json={"events": [DECIDED], "atomic": True}, headers=headers),
        await client.post(slot, json=DECIDED, headers=headers),
        await client.post(batch, json={"events": [DECIDED]}, headers=headers),
    ]


async def state(client: httpx.AsyncClient, address: str, key: str) -> Any:
    return (await client.get(f"{address}/approvals/refund", headers=bearer(key))).json()["state"]


async def test_a_key_that_may_only_write_decides_no_approval(app: App) -> None:
    address = await requested(app)
    key = await make_key(app, ["read", "write"])
    async with served(app) as client:
        *single, batch = await attempts(client, address, key)
        assert [(each.status_code, each.json()["code"]) for each in single] == [(403, "not_allowed")] * 3
        assert [each["problem"]["code"] for each in batch.json()["results"]] == ["not_allowed"]
        opened = {"id": address.rpartition("/")[2], "event": DECIDED}
        again = await client.post("/v1/conversations", json=opened, headers=bearer(key))
        assert again.status_code == 403
        assert await state(client, address, key) == "requested"


async def test_a_key_that_may_approve_appends_a_decision(app: App) -> None:
    address = await requested(app)
    key = await make_key(app, ["read", "write", "approve"])
    async with served(app) as client:
        first, *others = await attempts(client, address, key)
        assert first.status_code == 201
        assert [each.status_code for each in others] == [200] * 3  # the same decision again
        assert await state(client, address, key) == "approved"


async def test_an_agent_that_may_only_write_decides_no_approval(app: App) -> None:
    address = await requested(app)
    scopes = frozenset({Scope.READ, Scope.WRITE})
    agent = Agent(
        Principal(app.settings.own_tenant, "key:agent", scopes), app.tenant(app.settings.own_tenant)
    )
    arguments = {"conversation_id": address.rpartition("/")[2], **DECIDED}
    with acting(agent), pytest.raises(ToolError, match="`approve`"):
        await build_server(with_files=False).call_tool("append_event", arguments)
