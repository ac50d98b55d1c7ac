"""Several tools at once: results in any order, read in the order they were asked for.

Each request names the number kept for its result, so whatever becomes of a tool is
explained: by an answer, by a refusal, or by a voided number.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from foja.conversations.model.events import CONVERSATION
from foja.errors import BadPayload, BadReservation, FojaError, SlotVoided
from foja.ledger.event import Event, bounded, new_id
from foja.ledger.ledger import Ledger
from foja.ledger.slots import Slots

MAX_TOOLS = 128
ASKED, DONE = "tool_use_requested", "tool_use_completed"
Payload = Mapping[str, Any]
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One tool that was asked for. Answer it: `complete`, `fail` or `deny`."""

    tool_use_id: str
    tool_name: str
    tool_args: Mapping[str, Any]
    _ordinal: int
    _tools: Tools

    async def complete(self, result: object) -> Event:
        """Record what the tool returned."""
        return await self._answer(tool_result=result, success=True, error_message=None)

    async def fail(self, message: str, *, result: object = None) -> Event:
        """Record that the tool ran and failed."""
        return await self._answer(tool_result=result, success=False, error_message=message)

    async def deny(self, reason: str) -> Event:
        """Record that the tool never ran because somebody said no."""
        return await self._answer(tool_result=None, success=False, error_message=reason, denied=True)

    async def run(self, function: Function | None) -> Event:
        """Call a function with the tool's arguments and record what came of it."""
        if function is None:
            return await self.fail(f"there is no tool named {self.tool_name!r}")
        try:
            result = function(**self.tool_args)
            result = await result if inspect.isawaitable(result) else result
        except Exception as error:
            return await self.fail(f"{type(error).__name__}: {error}")
        try:
            return await self.complete(result)
        except BadPayload as error:  # what it returned cannot be recorded, but that can
            return await self.fail(f"{type(error).__name__}: {error}")

    async def _answer(self, **outcome: Any) -> Event:
        named = {"tool_use_id": self.tool_use_id, "tool_name": self.tool_name}
        return await self._tools.answer(self._ordinal, {**named, **outcome})


class Tools:
    """Tools that were asked for together, in the order they were asked for."""

    def __init__(
        self, ledger: Ledger, slots: Slots, calls: Sequence[Payload], place: Payload, actor: str | None
    ):
        self._ledger, self._slots, self._place, self._actor = ledger, slots, place, actor
        self._calls, self._filled = calls, set[int]()
        # Numbers for the requests, if any, come first; those for the results are the last.
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
        """Run every tool at once, by its name; return the results in the order they were asked for."""
        running = [asyncio.ensure_future(use.run(functions.get(use.tool_name))) for use in self._uses]
        try:
            await asyncio.wait(running)
        finally:
            for each in running:
                each.cancel()
        return [each.result() for each in running]

    async def ask(self) -> None:
        """Write the requests, each with the number of its result."""
        kept = self._slots.seqs[self._first :]
        asked = [{**call, "result_seq": seq} for call, seq in zip(self._calls, kept, strict=True)]
        await asyncio.gather(*[self._fill(n, ASKED, payload) for n, payload in enumerate(asked)])

    async def answer(self, ordinal: int, payload: Payload) -> Event:
        """Record an answer at its number, or at the head if it comes too late for that."""
        said, place = {**payload, **self._place}, self._first + ordinal
        try:
            return await self._fill(place, DONE, said)
        except SlotVoided:
            key = f"slot:{self._slots.token}:{self._slots.seqs[place]}"  # as `fill` has it
            draft = self._ledger.draft(
                CONVERSATION, self._slots.entity_id, DONE, said, actor=self._actor, idempotency_key=key
            )
            return await self._ledger.append(draft)

    async def keep(self, ttl: float) -> None:
        """Keep the numbers while this process lives; if it dies, their deadline voids them."""
        while True:
            await asyncio.sleep(ttl / 3)
            try:
                await self._slots.extend(ttl)
            except SlotVoided:
                return
            except FojaError:
                continue  # not now; there is time for another two

    async def abandon(self, reason: str) -> None:
        """Void what holds nothing, and say why. What cannot be voided now, its deadline will."""
        for ordinal in set(range(len(self._slots.seqs))) - self._filled:
            with contextlib.suppress(FojaError):
                await self._slots.void(ordinal, reason=f"abandoned: {reason}")

    async def _fill(self, ordinal: int, kind: str, payload: Payload) -> Event:
        event = await self._slots.fill(ordinal, kind, payload, actor=self._actor)
        self._filled.add(ordinal)
        return event


@contextlib.asynccontextmanager
async def use_tools(
    ledger: Ledger,
    conversation_id: UUID,
    calls: Sequence[Payload],
    *,
    ttl: float,
    place: Payload,
    actor: str | None,
    requested: bool,
) -> AsyncIterator[Tools]:
    """Ask for tools and keep a number for the result of each; on leaving, void what has no answer."""
    asked = [_checked({"tool_use_id": str(new_id()), **call, **place}) for call in calls]
    if not 1 <= len(asked) <= MAX_TOOLS:
        raise BadReservation(f"1 to {MAX_TOOLS} tools can be asked for at once, not {len(asked)}")
    kinds = [DONE] if requested else [ASKED, DONE]
    intents = [{"kind": kind, "tool_use_id": each["tool_use_id"]} for kind in kinds for each in asked]
    slots = await ledger.reserve(CONVERSATION, conversation_id, len(intents), ttl, intents)
    tools = Tools(ledger, slots, asked, place, actor)
    beat = asyncio.ensure_future(tools.keep(ttl))
    try:
        if not requested:
            await tools.ask()
        yield tools
    except BaseException as error:
        await tools.abandon(type(error).__name__)
        raise
    else:
        await tools.abandon("nobody answered")
    finally:
        beat.cancel()
        await asyncio.wait([beat])


def _checked(call: Payload) -> Payload:
    """Return a request that can be written; a number is taken only for such."""
    CONVERSATION.kind(ASKED, 1, "api").check(call)
    bounded(call)
    return call
