"""Every door offers each act as it is declared; a planted difference is found at the door that has it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from foja.app import App
from foja.engine.jobs.admin import Jobs
from foja.engine.ledger.event import Event
from foja.interfaces.mcp.agent import Agent, acting
from foja.interfaces.mcp.server import build_server
from foja.interfaces.operations import OPERATIONS
from foja.interfaces.operations.operation import Operation
from foja.pure.models.access.principal import Principal, Scope
from foja.pure.models.jobs.view import ChangedJobs, JobPage
from tests.docs import acts
from tests.flow.client.client import served

[RETRY] = [each for each in OPERATIONS if each.name == "jobs.retry"]
[APPEND] = [each for each in OPERATIONS if each.name == "conversation.append"]


async def test_every_door_offers_each_act_as_it_is_declared() -> None:
    assert await acts.differences(OPERATIONS) == []


async def test_every_act_needs_its_scope_over_http(app: App) -> None:
    async with served(app) as server:
        assert await acts.other_scopes(OPERATIONS, app, server) == []
        planted = replace(RETRY, scope=Scope.PURGE)
        assert await acts.other_scopes([planted], app, server) == ["jobs.retry"]


async def test_a_planted_scope_is_found() -> None:
    assert await acts.differences([replace(RETRY, scope=Scope.OPERATE)]) == ["docs jobs.retry needs"]


async def test_a_planted_field_is_found_at_every_door() -> None:
    async def retry(jobs: Jobs, *, hurry: bool = False, actor: str | None = None) -> ChangedJobs:
        """Queue dead jobs anew."""
        raise AssertionError

    async def append(opened: Any, kind: str, *, mood: str = "", actor: str | None = None) -> Any:
        """Append an event."""
        raise AssertionError

    found = await acts.differences([replace(RETRY, run=retry), replace(APPEND, run=append, answer=Event)])
    assert [each for each in found if each.endswith("takes")] == [
        *(f"{door} jobs.retry takes" for door in ("http", "python", "javascript", "command")),
        *(f"{door} conversation.append takes" for door in ("http", "python", "javascript", "tool")),
    ]


async def test_a_planted_answer_is_found() -> None:
    found = await acts.differences([replace(RETRY, answer=JobPage)])
    assert found == ["http jobs.retry answers", "python jobs.retry answers"]


async def test_a_tool_needs_the_scope_of_its_act(app: App) -> None:
    for each in OPERATIONS:
        if each.tool and each.scope:
            assert f"scope `{each.scope}`" in await refusal(app, each)


async def refusal(app: App, operation: Operation) -> str:
    """Return what a tool says to an agent without its scope."""
    scopes = frozenset(Scope) - {operation.scope, Scope.ADMIN}
    given = {"conversation_id": "1", "seq": 0, "kind": "x", "payload": {}}
    with acting(Agent(Principal("default", "key:x", scopes), app)):
        tool = build_server(with_files=False)
        [found] = [each for each in await tool.list_tools() if each.name == operation.tool]
        taken = {name: value for name, value in given.items() if name in found.input_schema["properties"]}
        with pytest.raises(ToolError) as refused:
            await tool.call_tool(found.name, taken)
        return str(refused.value)
