"""`/v1/conversations/{id}/ag-ui`: a conversation for AG-UI clients. Needs the extra `foja[ag-ui]`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from ag_ui.core import RunAgentInput
from fastapi import APIRouter, Query, Response

from foja.conversations.service import Conversation
from foja.integrations.ag_ui import AgUiFrame, encode, frames
from foja.web.bodies import JSON, body_of
from foja.web.conversations.feed import HEARTBEAT_FRAME
from foja.web.conversations.routes import Context
from foja.web.conversations.stream import EventStream

# The schema of a run's input is AG-UI's own; https://docs.ag-ui.com describes it.
INPUT = {"requestBody": {"required": True, "content": {JSON: {"schema": {"type": "object"}}}}}
routes = APIRouter(prefix="/v1/conversations", tags=["ag-ui"])
Last = Annotated[int | None, Query(ge=1, le=10_000, description="how many events the snapshot goes back")]


@routes.get("/{conversation_id}/ag-ui")
async def follow(ctx: Context, conversation_id: str, last: Last = None) -> Response:
    """Follow as AG-UI events, from a snapshot on, for ever."""
    talk = await ctx.conversation(conversation_id)
    return EventStream(_pieces(frames(talk, last=last), ctx.beat), ctx)


@routes.post("/{conversation_id}/ag-ui", openapi_extra=INPUT)
async def run(
    ctx: Context, conversation_id: str, body: Annotated[RunAgentInput, body_of(RunAgentInput)]
) -> Response:
    """Say the client's last message, then follow until the run it began is over."""
    talk = await ctx.conversation(conversation_id)
    await _say(talk, body)
    shown = [message.id for message in body.messages]
    return EventStream(_pieces(frames(talk, one_run=True, shown=shown), ctx.beat), ctx)


async def _say(talk: Conversation, asked: RunAgentInput) -> None:
    """Append what the user said last, once, under the id the client gave it."""
    last = asked.messages[-1] if asked.messages else None
    if last is None or last.role != "user":
        return
    message: dict[str, Any] = last.model_dump(by_alias=True, exclude_none=True, mode="json")
    payload = {"content": message["content"], "ag_ui_id": message["id"]}
    await talk.append("user_message_sent", payload, idempotency_key=f"ag-ui:{message['id']}")


async def _pieces(source: AsyncGenerator[AgUiFrame, None], beat: float) -> AsyncGenerator[bytes]:
    """Yield frames as bytes, and a heartbeat where nothing happens."""
    async with aclosing(source):
        coming = asyncio.ensure_future(anext(source, None))
        try:
            while True:
                await asyncio.wait({coming}, timeout=beat)
                if not coming.done():
                    yield HEARTBEAT_FRAME
                    continue
                if (frame := coming.result()) is None:
                    return
                yield encode(frame)
                coming = asyncio.ensure_future(anext(source, None))
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
