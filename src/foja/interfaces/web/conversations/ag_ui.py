"""`/v1/conversations/{id}/ag-ui`: a conversation for AG-UI clients. Needs the extra `foja[ag-ui]`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from ag_ui.core import RunAgentInput
from fastapi import Query, Response

from foja.domains.conversations.service import Conversation
from foja.engine.tasks import end
from foja.integrations.ag_ui import AgUiFrame, encode, frames
from foja.interfaces.web.bodies import JSON, body_of
from foja.interfaces.web.caller import Caller, Reader, Writer
from foja.interfaces.web.conversations.address import ReadConversation, WrittenConversation
from foja.interfaces.web.conversations.feed import HEARTBEAT_FRAME
from foja.interfaces.web.conversations.stream import EventStream
from foja.interfaces.web.reference.openapi import EVENT_STREAM
from foja.interfaces.web.routers import api_router

# The schema of a run's input is AG-UI's own; https://docs.ag-ui.com describes it.
INPUT = {"requestBody": {"required": True, "content": {JSON: {"schema": {"type": "object"}}}}}
routes = api_router("/v1/conversations", "ag-ui")
Last = Annotated[int | None, Query(ge=1, le=10_000, description="how many events the snapshot goes back")]


@routes.get("/{conversation_id}/ag-ui", response_class=Response, responses=EVENT_STREAM)
async def follow(caller: Reader, conversation: ReadConversation, last: Last = None) -> Response:
    """Follow as AG-UI events: a snapshot, then live events without end."""
    return EventStream(_pieces(frames(conversation, last=last), caller.ctx.heartbeat), caller)


@routes.post("/{conversation_id}/ag-ui", response_class=Response, responses=EVENT_STREAM, openapi_extra=INPUT)
async def run(
    caller: Writer,
    body: Annotated[RunAgentInput, body_of(RunAgentInput)],
    conversation: WrittenConversation,
    last: Last = None,
) -> Response:
    """Append the client's last message, then follow until its run ends."""
    await _append_last(caller, conversation, body)
    shown = [message.id for message in body.messages]
    found = frames(conversation, one_run=True, shown=shown, last=last)
    return EventStream(_pieces(found, caller.ctx.heartbeat), caller)


async def _append_last(caller: Caller, conversation: Conversation, run_input: RunAgentInput) -> None:
    """Append the user's last message once, under the client's own id."""
    last = run_input.messages[-1] if run_input.messages else None
    if last is None or last.role != "user":
        return
    message: dict[str, Any] = last.model_dump(by_alias=True, exclude_none=True, mode="json")
    payload = {"content": message["content"], "ag_ui_id": message["id"]}
    key, actor = f"ag-ui:{message['id']}", caller.author(None)
    await conversation.append("user_message_sent", payload, idempotency_key=key, actor=actor)


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
