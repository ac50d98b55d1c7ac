"""Records a stream of Anthropic's Messages API: transient chunks, and a persisted event per block.

    async with client.messages.stream(...) as stream:     # or client.messages.create(stream=True)
        message = await record(conversation, stream, turn="t1")
    for tool in message.tools:                            # in any order, also concurrently
        await message.complete(tool.id, result)
    client.messages.stream(messages=messages(await conversation.events(limit=10_000)), ...)

Events of the stream may be the objects of the `anthropic` package or dicts of the same form.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from foja.domains.conversations.service import PLACED, Conversation
from foja.engine.ledger.event import Event
from foja.engine.ledger.slots import Slots
from foja.errors import FojaError, StreamBroken
from foja.integrations.anthropic.blocks import CHUNKS, BlockBuilder, event_of

Stream: TypeAlias = AsyncIterable[Any] | Iterable[Any]
BLOCK_WAIT_SECONDS = 0.25  # how long a complete block waits for the event after it


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool use that the model requested."""

    id: str
    name: str
    args: dict[str, Any]


@dataclass(slots=True)
class RecordedMessage:
    """A recorded message: its events, the requested tool uses, and the slots of their results."""

    events: list[Event] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)
    slots: Slots | None = None
    stop_reason: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)

    async def complete(self, tool_use_id: str, result: Any) -> Event:
        """Record the result of a tool use, in the slot of its request."""
        return await self._answer(tool_use_id, result, None)

    async def fail(self, tool_use_id: str, message: str) -> Event:
        """Record that a tool failed."""
        return await self._answer(tool_use_id, None, message)

    async def deny(self, tool_use_id: str, reason: str) -> None:
        """Void the slot of a tool use; the conversation records the reason."""
        ordinal, slots = self._slot_of(tool_use_id)
        await slots.void(ordinal, reason=reason)

    async def _answer(self, tool_use_id: str, result: Any, error: str | None) -> Event:
        ordinal, slots = self._slot_of(tool_use_id)
        tool = self.tools[ordinal]
        outcome = {"tool_result": result, "success": error is None, "error_message": error}
        named = {"tool_use_id": tool.id, "tool_name": tool.name}
        return await slots.fill(ordinal, "tool_use_completed", {**named, **outcome})

    def _slot_of(self, tool_use_id: str) -> tuple[int, Slots]:
        for ordinal, tool in enumerate(self.tools):
            if tool.id == tool_use_id and self.slots:
                return ordinal, self.slots
        raise StreamBroken(f"no slot is reserved for {tool_use_id!r}; append its result at the head")


async def record(
    conversation: Conversation, stream: Stream, *, turn: str | int, ttl: float | None = 300
) -> RecordedMessage:
    """Record a stream in a conversation while it arrives.

    A block is appended when it is complete. Slots for the results of tools are reserved for `ttl`
    seconds, in the order of the requests; None reserves none, as when a person must approve first.
    If the stream breaks, followers get an `error`, a `turn_paused` is appended, and the error is raised.
    """
    recorder = _Recorder(conversation, turn)
    try:
        await recorder.run(_as_dicts(stream))
    except Exception as error:
        await recorder.abort(str(error) or type(error).__name__)
        raise
    except asyncio.CancelledError:
        await recorder.abort("it was cancelled")
        raise
    if ttl is not None and recorder.message.tools:
        tools = recorder.message.tools
        intents = [{"tool_use_id": tool.id, "tool_name": tool.name} for tool in tools]
        recorder.message.slots = await conversation.reserve(len(tools), ttl=ttl, intents=intents)
    return recorder.message


class _Recorder:
    """Records one message."""

    def __init__(self, conversation: Conversation, turn: str | int) -> None:
        self.message = RecordedMessage()
        self._conversation, self._turn = conversation, turn
        self._open: dict[int, BlockBuilder] = {}
        self._header: dict[str, Any] = {}
        self._tool_names: dict[str, str] = {}
        self._ended = self._told = False

    async def run(self, stream: AsyncIterator[Mapping[str, Any]]) -> None:
        """Record every event; read one ahead, because the outcome follows the last block."""
        upcoming = _next(stream)
        try:
            while (event := await upcoming) is not None:
                upcoming = _next(stream)
                outcome = await _outcome(event, upcoming)
                await self._record(event, outcome)
        finally:
            upcoming.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await upcoming
        if not self._ended:
            raise StreamBroken("the stream ended before its message did; ask again")

    async def abort(self, reason: str) -> None:
        """Send an `error` to followers and record the failure."""
        with contextlib.suppress(FojaError):  # the first error is raised; it may come from the ledger
            if not self._told:
                await self._emit("error", {"message": reason})
            await self._append("turn_paused", {"reason": f"the stream broke: {reason}"})

    async def _record(self, event: Mapping[str, Any], outcome: Mapping[str, Any]) -> None:
        kind = event["type"]
        if kind == "message_start":
            self._header = dict(event["message"])
        elif kind == "content_block_start":
            self._open[event["index"]] = BlockBuilder(event["content_block"])
        elif kind == "content_block_delta":
            await self._add_delta(event["index"], event["delta"])
        elif kind == "content_block_stop":
            await self._close(event["index"], outcome)
        elif kind == "message_delta":
            self.message.stop_reason = event["delta"].get("stop_reason")
            self.message.usage = {**self._header.get("usage", {}), **event.get("usage", {})}
        elif kind == "message_stop":
            await self._end()
        elif kind == "error":
            raise StreamBroken(f"{event['error'].get('type')}: {event['error'].get('message')}")

    async def _add_delta(self, index: int, delta: Mapping[str, Any]) -> None:
        block = self._open[index]
        place = block.chunks
        block.add(delta)
        if chunk := CHUNKS.get(delta["type"]):
            text = delta.get("text", delta.get("thinking"))
            await self._emit(chunk, {"text": text}, block_index=index, event_index=place)

    async def _close(self, index: int, outcome: Mapping[str, Any]) -> None:
        try:
            block = self._open.pop(index).build()
        except ValueError as error:
            raise StreamBroken(f"block {index} cannot be read ({error}); ask again") from None
        kind, payload = event_of(block, self._tool_names)
        if kind == "agent_message_sent":
            payload = {**payload, "model": self._header.get("model", "unknown"), **_ending(outcome)}
        if block["type"] == "tool_use":
            self.message.tools.append(Tool(block["id"], block["name"], block["input"]))
        if "name" in block:
            self._tool_names[block["id"]] = block["name"]
        await self._append(kind, {**payload, "block_index": index}, key=self._key(index))

    async def _end(self) -> None:
        self._ended = True
        reason = self.message.stop_reason
        if reason == "refusal":
            await self._append("content_refused", {"reason": "refusal"}, key=self._key("refusal"))
        elif reason == "pause_turn":
            await self._append("turn_paused", {"reason": "pause_turn"}, key=self._key("pause"))
        await self._emit("complete", {"reason": "success", "stop_reason": reason})

    async def _append(self, kind: str, payload: dict[str, Any], key: str | None = None) -> None:
        placed = {**payload, "turn": self._turn}
        try:
            event = await self._conversation.append(kind, placed, idempotency_key=key)
        except FojaError as error:
            self._told = not isinstance(error, PLACED)  # the failed append sent an `error` itself
            raise
        self.message.events.append(event)

    async def _emit(self, kind: str, payload: dict[str, Any], **place: int) -> None:
        await self._conversation.emit(kind, payload, turn=self._turn, **place)

    def _key(self, part: int | str) -> str | None:
        message_id = self._header.get("id")
        return f"anthropic:{message_id}:{part}" if message_id else None


def _ending(outcome: Mapping[str, Any]) -> dict[str, Any]:
    if not outcome:
        return {}
    return {"stop_reason": outcome["delta"].get("stop_reason"), "tokens": dict(outcome.get("usage") or {})}


async def _outcome(event: Mapping[str, Any], upcoming: asyncio.Future[Any]) -> Mapping[str, Any]:
    """Return the event that ends the message, if the given event closes the last block."""
    if event["type"] != "content_block_stop":
        return {}
    await asyncio.wait({upcoming}, timeout=BLOCK_WAIT_SECONDS)
    if not upcoming.done() or upcoming.exception():
        return {}
    following: Mapping[str, Any] | None = upcoming.result()
    return following if following and following["type"] == "message_delta" else {}


def _next(stream: AsyncIterator[Mapping[str, Any]]) -> asyncio.Task[Mapping[str, Any] | None]:
    async def one() -> Mapping[str, Any] | None:
        return await anext(stream, None)

    return asyncio.ensure_future(one())


async def _as_dicts(stream: Stream) -> AsyncIterator[Mapping[str, Any]]:
    """Yield the events as dicts."""
    if isinstance(stream, AsyncIterable):
        async for event in stream:
            yield _as_dict(event)
    else:
        for event in stream:
            yield _as_dict(event)


def _as_dict(event: Any) -> Mapping[str, Any]:
    if isinstance(event, Mapping):
        return event
    found: Mapping[str, Any] = event.model_dump(mode="json")
    return found
