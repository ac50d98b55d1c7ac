"""Reading a page, and waiting for one: the twin of the stream for clients that cannot stream.

Above an open slot a cursor does not move, so the address of the next page also
names the numbers that were open: nobody is sent the same page again and again.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from foja.errors import CursorLost
from foja.ledger.event import Event, Reset
from foja.ledger.live.follower import POLL_SECONDS, Follower
from foja.ledger.live.notifier import Subscription
from foja.ledger.reader import Position, parse_cursor
from foja.web.context import WebContext

MAX_HOLES = 10_000
RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which page somebody asks for, and how long there is time for it."""

    entity_id: UUID
    after: str | int | None
    holes: str
    limit: int
    wait: float


async def poll(ctx: WebContext, wanted: Wanted) -> dict[str, Any]:
    """Return a page of events and where the next one is; wait for it if there is time."""
    follower = ctx.app.ledger.follower(wanted.entity_id, wanted.after, _position(wanted), wanted.limit)
    clock = asyncio.get_running_loop().time
    deadline = clock() + wanted.wait
    with ctx.app.ledger.watch(wanted.entity_id) as wake:
        while True:
            wake.clear()
            events = _events(wanted, await follower.step())
            left = deadline - clock()
            if events or left <= 0 or ctx.closing.is_set():
                return _page(wanted, follower, events)
            await _either(wake, ctx.closing, min(left, POLL_SECONDS))


def _position(wanted: Wanted) -> Position | None:
    """Return the place of a reader that knows which numbers were open."""
    if not wanted.holes:
        return None
    epoch, head = parse_cursor(wanted.after)
    if epoch is None:
        raise CursorLost("`holes` goes with the cursor it was given with; use the address in `next`")
    return Position(epoch, head, set(read_holes(wanted.holes)))


def _events(wanted: Wanted, frames: Sequence[Event | Reset]) -> list[Event]:
    events = []
    for frame in frames:
        if not isinstance(frame, Reset):
            events.append(frame)
        elif not isinstance(wanted.after, int):
            raise CursorLost(
                f"the cursor {wanted.after!r} is of another history ({frame.reason}); read again without it"
            )
    return events


def _page(wanted: Wanted, follower: Follower, events: Sequence[Event]) -> dict[str, Any]:
    position = follower.position
    words: dict[str, object] = {}
    if position and position.head >= 0:
        words["after"] = f"{position.epoch}:{position.head}"
        if position.holes:
            words["holes"] = write_holes(position.holes)
    words["limit"] = wanted.limit
    if wanted.wait:
        words["wait"] = f"{wanted.wait:g}"
    return {
        "events": [event.envelope() for event in events],
        "cursor": f"{position.epoch}:{position.prefix}" if position and position.prefix >= 0 else None,
        "next": f"/v1/conversations/{wanted.entity_id}/events?{urlencode(words, safe=':,')}",
    }


async def _either(wake: Subscription, closing: asyncio.Event, seconds: float) -> None:
    """Wait for a wake-up or for the end, at most so long."""
    waits = [asyncio.ensure_future(wake.wait()), asyncio.ensure_future(closing.wait())]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


def write_holes(holes: Iterable[int]) -> str:
    """Return numbers as ranges, `4,7-9`."""
    runs: list[list[int]] = []
    for seq in sorted(holes):
        if runs and runs[-1][1] == seq - 1:
            runs[-1][1] = seq
        else:
            runs.append([seq, seq])
    return ",".join(f"{low}-{high}" if high > low else f"{low}" for low, high in runs)


def read_holes(text: str) -> list[int]:
    """Return the numbers of some ranges; too many of them are refused."""
    numbers: list[int] = []
    for part in text.split(","):
        found = RANGE.fullmatch(part)
        low, high = (int(found[1]), int(found[2] or found[1])) if found else (0, -1)
        if not low <= high < low + MAX_HOLES - len(numbers):
            raise CursorLost(f"{part!r} is no range of open numbers; use the address in `next`")
        numbers.extend(range(low, high + 1))
    return numbers
