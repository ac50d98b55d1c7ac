"""Several tool uses at once: results in any order, read in the order of the requests.

Each request names the slot of its result, so the outcome of every tool use is recorded:
a result, a refusal, or a voided slot.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foja.engine.ledger.event import Event, bounded, new_id
from foja.engine.ledger.slots import Slots
from foja.engine.ledger.stream import Stream
from foja.engine.tasks import end
from foja.errors import BadPayload, BadReservation, FojaError, SlotVoided
from foja.pure.models.conversations.events import CONVERSATION

MAX_TOOLS = 128
REQUESTED, COMPLETED = "tool_use_requested", "tool_use_completed"
Payload = Mapping[str, Any]
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One requested tool use. Settle it with `complete`, `fail` or `deny`."""

    tool_use_id: str
    tool_name: str
    tool_args: Mapping[str, Any]
    _ordinal: int
    _tools: Tools

    async def complete(self, result: object) -> Event:
        """Record the tool's result."""
        return await self._answer(tool_result=result, success=True, error_message=None)

    async def fail(self, message: str, *, result: object = None) -> Event:
        """Record that the tool ran and failed."""
        return await self._answer(tool_result=result, success=False, error_message=message)

    async def deny(self, reason: str) -> Event:
        """Record that the tool did not run because it was denied."""
        return await self._answer(tool_result=None, success=False, error_message=reason, denied=True)

    async def run(self, function: Function | None) -> Event:
        """Call a function with the tool's arguments and record its result or its error."""
        if function is None:
            return await self.fail(f"there is no tool named {self.tool_name!r}")
        try:
            result = function(**self.tool_args)
            result = await result if inspect.isawaitable(result) else result
        except Exception as error:
            return await self.fail(f"{type(error).__name__}: {error}")
        try:
            return await self.complete(result)
        except BadPayload as error:  # the result cannot be stored, but the error can
            return await self.fail(f"{type(error).__name__}: {error}")

    async def _answer(self, **outcome: Any) -> Event:
        named = {"tool_use_id": self.tool_use_id, "tool_name": self.tool_name}
        return await self._tools.answer(self._ordinal, {**named, **outcome})


class Tools:
    """Tool uses that were requested together, in the order of the requests."""

    def __init__(
        self, stream: Stream, slots: Slots, calls: Sequence[Payload], place: Payload, actor: str | None
    ):
        self._stream, self._slots, self._place, self._actor = stream, slots, place, actor
        self._calls, self._filled = calls, set[int]()
        # The slots of the requests, if any, come first; the slots of the results are the last.
        self._first = len(slots.seqs) - len(calls)
        self._uses = [
            ToolUse(call["tool_use_id"], call["tool_name"], call["tool_args"], ordinal, self)
            for ordinal, call in enumerate(calls)
        ]

    def __iter__(self) -> Iterator[ToolUse]:
        return iter(self._uses)

    def __len__(self) -> int:
        return len(self._uses)

    def __getitem__(self, ordinal: int) -> ToolUse:
        return self._uses[ordinal]

    async def run(self, functions: Mapping[str, Function]) -> list[Event]:
        """Run all tools concurrently, by name; return the results in the order of the requests."""
        running = [asyncio.ensure_future(use.run(functions.get(use.tool_name))) for use in self._uses]
        try:
            await asyncio.wait(running)
        finally:
            for each in running:
                each.cancel()
        return [each.result() for each in running]

    async def request(self) -> None:
        """Record the requests, each with the number of its result."""
        seqs = self._slots.seqs[self._first :]
        payloads = [{**call, "result_seq": seq} for call, seq in zip(self._calls, seqs, strict=True)]
        await asyncio.gather(*[self._fill(n, REQUESTED, payload) for n, payload in enumerate(payloads)])

    async def answer(self, ordinal: int, payload: Payload) -> Event:
        """Record a result in its slot, or at the head if the slot was voided."""
        result, place = {**payload, **self._place}, self._first + ordinal
        try:
            return await self._fill(place, COMPLETED, result)
        except SlotVoided:
            key = f"slot:{self._slots.token}:{self._slots.seqs[place]}"  # the key that `fill` uses
            return await self._stream.append(COMPLETED, result, actor=self._actor, idempotency_key=key)

    async def extend_slots(self, ttl: float) -> None:
        """Extend the slots while this process lives; if it dies, their deadline voids them."""
        while True:
            await asyncio.sleep(ttl / 3)
            try:
                await self._slots.extend(ttl)
            except SlotVoided:
                return
            except FojaError:
                continue  # there is time for two more attempts

    async def abandon(self, reason: str) -> None:
        """Void the slots that are not filled. Where that fails, the deadline voids them."""
        for ordinal in set(range(len(self._slots.seqs))) - self._filled:
            with contextlib.suppress(FojaError):
                await self._slots.void(ordinal, reason=f"abandoned: {reason}", actor=self._actor)

    async def _fill(self, ordinal: int, kind: str, payload: Payload) -> Event:
        event = await self._slots.fill(ordinal, kind, payload, actor=self._actor)
        self._filled.add(ordinal)
        return event


@contextlib.asynccontextmanager
async def use_tools(
    stream: Stream,
    calls: Sequence[Payload],
    *,
    ttl: float = 30,
    turn: str | int | None = None,
    actor: str | None = None,
    requested: bool = False,
) -> AsyncIterator[Tools]:
    """Request tools, each `{tool_name, tool_args, tool_use_id?}`, and reserve a slot for every result.

    The reservation lasts while the context is open, and `ttl` seconds longer if this process
    is killed. On exit, slots without a result are voided. `requested` means that the requests
    were appended before.
    """
    place = {} if turn is None else {"turn": turn}
    requests = [_check_call({"tool_use_id": str(new_id()), **call, **place}) for call in calls]
    if not 1 <= len(requests) <= MAX_TOOLS:
        raise BadReservation(f"1 to {MAX_TOOLS} tool uses can be requested at once, not {len(requests)}")
    kinds = [COMPLETED] if requested else [REQUESTED, COMPLETED]
    intents = [{"kind": kind, "tool_use_id": each["tool_use_id"]} for kind in kinds for each in requests]
    slots = await stream.reserve(len(intents), ttl=ttl, intents=intents)
    tools = Tools(stream, slots, requests, place, actor)
    extending = asyncio.ensure_future(tools.extend_slots(ttl))
    try:
        if not requested:
            await tools.request()
        yield tools
    except BaseException as error:
        await tools.abandon(type(error).__name__)
        raise
    else:
        await tools.abandon("nobody answered")
    finally:
        await end([extending])


def _check_call(call: Payload) -> Payload:
    """Return the request if it is valid: slots are reserved only for valid requests."""
    CONVERSATION.kind(REQUESTED, 1, "api").check(call)
    bounded(call)
    return call
