"""Pages of events and long polling, for clients that cannot stream.

A cursor does not advance above an open slot. The address of the next page therefore
also lists the open numbers, so that a client does not get the same page again.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from foja.engine.ledger.event import Event, Reset
from foja.engine.ledger.live.follower import POLL_SECONDS, Follower
from foja.engine.ledger.reader import NUMBER, Position, parse_cursor
from foja.engine.tasks import end
from foja.errors import CursorLost, NotAuthenticated
from foja.interfaces.web.caller import Caller

MAX_HOLES = 10_000
RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")
After = Annotated[str | None, "the cursor or the number of an event"]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The requested page, and how many seconds to wait for it."""

    after: str | int | None
    holes: str
    limit: int
    wait: float


def parse_after(text: str | None) -> str | int | None:
    """Return the cursor or number after which a request reads."""
    return int(text) if text and NUMBER.fullmatch(text) else text or None


async def poll(caller: Caller, entity_id: UUID, request: PageRequest) -> dict[str, Any]:
    """Return a page of events and the address of the next; wait up to `wait` seconds for it."""
    ledger, closing = caller.app.ledger, caller.ctx.closing
    follower = ledger.follower(entity_id, request.after, _position(request), request.limit)
    clock = asyncio.get_running_loop().time
    deadline = clock() + request.wait
    with ledger.watch(entity_id) as wake, caller.lasting() as ended:
        while True:
            wake.clear()
            events = _events(request, await follower.step())
            left = deadline - clock()
            if events or left <= 0 or closing.is_set():
                return _page(request, follower, events, caller.address)
            await _wait_any(min(left, POLL_SECONDS), wake.wait(), closing.wait(), ended.wait())
            if ended.is_set():
                raise NotAuthenticated("your key or session ended while you waited; log in again")


def _position(request: PageRequest) -> Position | None:
    """Return the position of a reader that knows the open numbers."""
    if not request.holes:
        return None
    epoch, head = parse_cursor(request.after)
    if epoch is None:
        raise CursorLost("`holes` is valid only with the cursor of the same page; use the address in `next`")
    return Position(epoch, head, set(parse_ranges(request.holes)))


def _events(request: PageRequest, frames: Sequence[Event | Reset]) -> list[Event]:
    events = []
    for frame in frames:
        if not isinstance(frame, Reset):
            events.append(frame)
        elif not (isinstance(request.after, int) and frame.reason == "future"):
            raise CursorLost(
                f"the cursor {request.after!r} is of another history ({frame.reason}); read without it"
            )
    return events


def _page(request: PageRequest, follower: Follower, events: Sequence[Event], address: str) -> dict[str, Any]:
    position = follower.position
    query: dict[str, object] = {}
    if position and position.head >= 0:
        query["after"] = f"{position.epoch}:{position.head}"
        if position.holes:
            query["holes"] = format_ranges(position.holes)
    query["limit"] = request.limit
    if request.wait:
        query["wait"] = f"{request.wait:g}"
    return {
        "events": [event.envelope() for event in events],
        "cursor": f"{position.epoch}:{position.prefix}" if position and position.prefix >= 0 else None,
        "next": f"{address}?{urlencode(query, safe=':,')}",
    }


async def _wait_any(seconds: float, *waited: Coroutine[Any, Any, Any]) -> None:
    """Wait until one of these is done, up to `seconds`."""
    waits = [asyncio.ensure_future(each) for each in waited]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await end(waits)


def format_ranges(holes: Iterable[int]) -> str:
    """Return numbers as ranges: `4,7-9`."""
    runs: list[list[int]] = []
    for seq in sorted(holes):
        if runs and runs[-1][1] == seq - 1:
            runs[-1][1] = seq
        else:
            runs.append([seq, seq])
    return ",".join(f"{low}-{high}" if high > low else f"{low}" for low, high in runs)


def parse_ranges(text: str) -> list[int]:
    """Return the numbers of these ranges. Raise `CursorLost` if there are too many."""
    numbers: list[int] = []
    for part in text.split(","):
        found = RANGE.fullmatch(part)
        low, high = (int(found[1]), int(found[2] or found[1])) if found else (0, -1)
        if not low <= high < low + MAX_HOLES - len(numbers):
            raise CursorLost(f"not a valid range of open numbers: {part!r}; use the address in `next`")
        numbers.extend(range(low, high + 1))
    return numbers
