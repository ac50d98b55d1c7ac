"""A stream of Anthropic's Messages API as a conversation: chunks while it comes, blocks that stay.

    async with client.messages.stream(...) as stream:     # or client.messages.create(stream=True)
        heard = await record(talk, stream, turn="t1")
    for tool in heard.tools:                              # run them at once, in any order
        await heard.complete(tool.id, result)
    client.messages.stream(messages=messages(await talk.events(limit=10_000)), ...)

Events of the stream may be the objects of the `anthropic` package or dicts of the same form.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from foja.conversations.service import Conversation
from foja.errors import FojaError, StreamBroken
from foja.integrations.anthropic.blocks import CHUNKS, Growing, saying
from foja.ledger.event import Event
from foja.ledger.slots import Slots

Stream: TypeAlias = AsyncIterable[Any] | Iterable[Any]
BLOCK_WAIT_SECONDS = 0.25  # how long a whole block waits to hear whether it was the last


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the model asked for."""

    id: str
    name: str
    args: dict[str, Any]


@dataclass(slots=True)
class Heard:
    """What a stream left behind: its events, the tools it asked for, and numbers kept for their results."""

    events: list[Event] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)
    slots: Slots | None = None
    stop_reason: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)

    async def complete(self, tool_use_id: str, result: Any) -> Event:
        """Write what a tool returned, at the place it was asked for."""
        return await self._answer(tool_use_id, result, None)

    async def fail(self, tool_use_id: str, why: str) -> Event:
        """Write that a tool failed."""
        return await self._answer(tool_use_id, None, why)

    async def deny(self, tool_use_id: str, why: str) -> None:
        """Give the number of a tool back; the stream says why nothing stands there."""
        ordinal, slots = self._place(tool_use_id)
        await slots.void(ordinal, reason=why)

    async def _answer(self, tool_use_id: str, result: Any, error: str | None) -> Event:
        ordinal, slots = self._place(tool_use_id)
        tool = self.tools[ordinal]
        told = {"tool_result": result, "success": error is None, "error_message": error}
        named = {"tool_use_id": tool.id, "tool_name": tool.name}
        return await slots.fill(ordinal, "tool_use_completed", {**named, **told})

    def _place(self, tool_use_id: str) -> tuple[int, Slots]:
        for ordinal, tool in enumerate(self.tools):
            if tool.id == tool_use_id and self.slots:
                return ordinal, self.slots
        raise StreamBroken(f"no number is kept for {tool_use_id!r}; append its result at the head")


async def record(talk: Conversation, stream: Stream, *, turn: str | int, ttl: float | None = 300) -> Heard:
    """Write a stream into a conversation as it comes.

    A block is written when it is whole. Numbers for the results of tools are kept for `ttl`
    seconds, in the order asked; with None they are not, as when a person must approve first.
    A stream that breaks leaves an `error` for whoever follows, a `turn_paused` that says why,
    and raises.
    """
    recording = _Recording(talk, turn)
    try:
        await recording.run(_plain(stream))
    except Exception as error:
        await recording.give_up(str(error) or type(error).__name__)
        raise
    except asyncio.CancelledError:
        await recording.give_up("it was cancelled")
        raise
    if ttl is not None and recording.heard.tools:
        tools = recording.heard.tools
        intents = [{"tool_use_id": tool.id, "tool_name": tool.name} for tool in tools]
        recording.heard.slots = await talk.reserve(len(tools), ttl=ttl, intents=intents)
    return recording.heard


class _Recording:
    """One message on its way into a conversation."""

    def __init__(self, talk: Conversation, turn: str | int) -> None:
        self.heard = Heard()
        self._talk, self._turn = talk, turn
        self._open: dict[int, Growing] = {}
        self._message: dict[str, Any] = {}
        self._tool_names: dict[str, str] = {}
        self._ended = False

    async def run(self, stream: AsyncIterator[Mapping[str, Any]]) -> None:
        """Take every event; look one ahead, since the outcome follows the last block."""
        coming = _next(stream)
        try:
            while (event := await coming) is not None:
                coming = _next(stream)
                outcome = await _outcome(event, coming)
                await self._take(event, outcome)
        finally:
            coming.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await coming
        if not self._ended:
            raise StreamBroken("the stream ended before its message did; ask again")

    async def give_up(self, why: str) -> None:
        """Say that no more will come, to those who follow and to those who read later."""
        with contextlib.suppress(FojaError):  # what broke the stream is raised, and may be the ledger
            await self._emit("error", {"message": why})
            await self._append("turn_paused", {"reason": f"the stream broke: {why}"})

    async def _take(self, event: Mapping[str, Any], outcome: Mapping[str, Any]) -> None:
        kind = event["type"]
        if kind == "message_start":
            self._message = dict(event["message"])
        elif kind == "content_block_start":
            self._open[event["index"]] = Growing(event["content_block"])
        elif kind == "content_block_delta":
            await self._grow(event["index"], event["delta"])
        elif kind == "content_block_stop":
            await self._close(event["index"], outcome)
        elif kind == "message_delta":
            self._judge(event)
        elif kind == "message_stop":
            await self._end()
        elif kind == "error":
            raise StreamBroken(f"{event['error'].get('type')}: {event['error'].get('message')}")

    async def _grow(self, index: int, delta: Mapping[str, Any]) -> None:
        block = self._open[index]
        place = block.chunks
        block.take(delta)
        if chunk := CHUNKS.get(delta["type"]):
            text = delta.get("text", delta.get("thinking"))
            await self._emit(chunk, {"text": text}, block_index=index, event_index=place)

    async def _close(self, index: int, outcome: Mapping[str, Any]) -> None:
        try:
            block = self._open.pop(index).whole()
        except ValueError as error:
            raise StreamBroken(f"block {index} cannot be read ({error}); ask again") from None
        kind, payload = saying(block, self._tool_names)
        if kind == "agent_message_sent":
            payload = {**payload, "model": self._message.get("model", "unknown"), **_ending(outcome)}
        if block["type"] == "tool_use":
            self.heard.tools.append(Tool(block["id"], block["name"], block["input"]))
        if "name" in block:
            self._tool_names[block["id"]] = block["name"]
        await self._append(kind, {**payload, "block_index": index}, key=self._key(index))

    def _judge(self, event: Mapping[str, Any]) -> None:
        self.heard.stop_reason = event["delta"].get("stop_reason")
        self.heard.usage = {**self._message.get("usage", {}), **event.get("usage", {})}

    async def _end(self) -> None:
        self._ended = True
        reason = self.heard.stop_reason
        if reason == "refusal":
            await self._append("content_refused", {"reason": "refusal"}, key=self._key("refusal"))
        elif reason == "pause_turn":
            await self._append("turn_paused", {"reason": "pause_turn"}, key=self._key("pause"))
        await self._emit("complete", {"reason": "success", "stop_reason": reason})

    async def _append(self, kind: str, payload: dict[str, Any], key: str | None = None) -> None:
        said = {**payload, "turn": self._turn}
        self.heard.events.append(await self._talk.append(kind, said, idempotency_key=key))

    async def _emit(self, kind: str, payload: dict[str, Any], **place: int) -> None:
        await self._talk.emit(kind, payload, turn=self._turn, **place)

    def _key(self, part: int | str) -> str | None:
        message_id = self._message.get("id")
        return f"anthropic:{message_id}:{part}" if message_id else None


def _ending(outcome: Mapping[str, Any]) -> dict[str, Any]:
    if not outcome:
        return {}
    return {"stop_reason": outcome["delta"].get("stop_reason"), "tokens": dict(outcome.get("usage") or {})}


async def _outcome(event: Mapping[str, Any], coming: asyncio.Future[Any]) -> Mapping[str, Any]:
    """Return how the message ended, if this event closes its last block."""
    if event["type"] != "content_block_stop":
        return {}
    await asyncio.wait({coming}, timeout=BLOCK_WAIT_SECONDS)
    if not coming.done() or coming.exception():
        return {}
    following: Mapping[str, Any] | None = coming.result()
    return following if following and following["type"] == "message_delta" else {}


def _next(stream: AsyncIterator[Mapping[str, Any]]) -> asyncio.Task[Mapping[str, Any] | None]:
    async def one() -> Mapping[str, Any] | None:
        return await anext(stream, None)

    return asyncio.ensure_future(one())


async def _plain(stream: Stream) -> AsyncIterator[Mapping[str, Any]]:
    """Yield the events as dicts, whatever they came as."""
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
