"""`/v1/conversations/{id}/ag-ui`: a conversation for AG-UI clients. Needs the extra `foja[ag-ui]`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from ag_ui.core import RunAgentInput
from pydantic import Field
from starlette.responses import Response

from foja.engine.tasks import end
from foja.integrations.ag_ui import AgUiFrame, encode, frames
from foja.interfaces.operations.records.conversations import OpenConversation, known
from foja.interfaces.web.bodies import JSON, parse_body
from foja.interfaces.web.caller import http_caller
from foja.interfaces.web.conversations.feed import HEARTBEAT_FRAME
from foja.interfaces.web.conversations.stream import EventStream
from foja.interfaces.web.operation import EVENT_STREAM, HttpOperation, describe_body
from foja.pure.models.access.principal import Scope

# The schema of a run's input is AG-UI's own; https://docs.ag-ui.com describes it.
INPUT = describe_body({JSON: {"type": "object"}})
Last = Annotated[int | None, Field(ge=1, le=10_000), "how many events the snapshot goes back"]


async def follow(opened: OpenConversation, *, last: Last = None) -> Response:
    """Follow as AG-UI events: a snapshot, then live events without end."""
    return _stream(opened, frames(opened.stream, last=last))


async def run(opened: OpenConversation, *, last: Last = None) -> Response:
    """Append the client's last message, then follow until its run ends."""
    run_input = await parse_body(http_caller(opened.caller).http, RunAgentInput)
    await _append_last(opened, run_input)
    shown = [message.id for message in run_input.messages]
    return _stream(opened, frames(opened.stream, one_run=True, shown=shown, last=last))


def _stream(opened: OpenConversation, source: AsyncGenerator[AgUiFrame, None]) -> Response:
    caller = http_caller(opened.caller)
    return EventStream(_pieces(source, caller.ctx.heartbeat), caller)


async def _append_last(opened: OpenConversation, run_input: RunAgentInput) -> None:
    """Append the user's last message once, under the client's own id."""
    last = run_input.messages[-1] if run_input.messages else None
    if last is None or last.role != "user":
        return
    message: dict[str, Any] = last.model_dump(by_alias=True, exclude_none=True, mode="json")
    payload = {"content": message["content"], "ag_ui_id": message["id"]}
    key, actor = f"ag-ui:{message['id']}", opened.caller.author(None)
    await opened.stream.append("user_message_sent", payload, idempotency_key=key, actor=actor)


async def _pieces(source: AsyncGenerator[AgUiFrame, None], heartbeat: float) -> AsyncGenerator[bytes]:
    """Yield encoded frames, and a heartbeat after every pause."""
    async with aclosing(source):
        upcoming = asyncio.ensure_future(anext(source, None))
        try:
            while True:
                await asyncio.wait({upcoming}, timeout=heartbeat)
                if not upcoming.done():
                    yield HEARTBEAT_FRAME
                    continue
                if (frame := upcoming.result()) is None:
                    return
                yield encode(frame)
                upcoming = asyncio.ensure_future(anext(source, None))
        finally:
            await end([upcoming])


ONE = "/v1/conversations/{conversation_id}/ag-ui"
OPERATIONS = (
    HttpOperation("ag_ui.follow", f"GET {ONE}", follow, Scope.READ, known, answers=EVENT_STREAM),
    HttpOperation(
        *("ag_ui.run", f"POST {ONE}", run, Scope.WRITE, known),
        queried=True,
        answers=EVENT_STREAM,
        reads=INPUT,
    ),
)
