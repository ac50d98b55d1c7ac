"""A machine that does to the ledger whatever callers, crashes and clocks do, next to a model of lists."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

import foja
from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.ledger.event import OPEN, Event, StreamItem
from foja.engine.ledger.slots import Slots
from foja.errors import IdempotencyConflict, SlotFilled, SlotVoided, WrongExpectedSeq
from foja.pure.models.conversations.events import CONVERSATION
from tests.races.auditor import audit_idle, audit_stream
from tests.races.writers import SAY, TOOL, result, streams, words

Result = TypeVar("Result")
VOIDED = "slot.voided"
QUICK = settings(max_examples=25, stateful_step_count=30)
LONG = settings(max_examples=400, stateful_step_count=60)
APPEND_SQL = "select seq from foja.append_event(%s, 'conversation', %s, %s::jsonb)"

numbers = st.integers(0, 2)
texts = st.sampled_from(["a", "b"])
which = st.integers(0, 1)


@dataclass
class Cell:
    """What the model knows of one number: what it holds, and under which id."""

    kind: str
    text: str = ""
    id: UUID | None = None


@dataclass
class Reservation:
    """Numbers of one stream, as the model and as the ledger hold them."""

    stream: int
    first: int
    slots: Slots
    lapsed: bool = False

    def seq(self, ordinal: int) -> tuple[int, int]:
        """Return an ordinal that this reservation has, and its number."""
        ordinal %= len(self.slots.seqs)
        return ordinal, self.first + ordinal


@dataclass
class Reader:
    """A client that remembers the last frame of each number and the last cursor."""

    frames: dict[int, Cell] = field(default_factory=dict)
    cursor: str | None = None

    def take(self, frame: StreamItem) -> None:
        assert isinstance(frame, Event), frame
        self.frames[frame.seq] = cell_of(frame)
        self.cursor = frame.cursor or self.cursor

    def cells(self) -> list[Cell]:
        assert sorted(self.frames) == list(range(len(self.frames)))
        return [self.frames[seq] for seq in sorted(self.frames)]


def cell_of(event: Event) -> Cell:
    text = (
        "" if event.kind in (OPEN, VOIDED) else event.payload.get("content") or event.payload["tool_use_id"]
    )
    return Cell(event.kind, text, None if event.kind == VOIDED else event.id)


class World:
    """One database, one loop, and an app that may be torn away and replaced."""

    def __init__(self, url: str, home: Path) -> None:
        self.url, self._home = url, home
        self._runner = asyncio.Runner()
        self.admin = psycopg.connect(url, autocommit=True)
        self.app = self._open()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._runner.run(asyncio.wait_for(work, 60))

    def crash(self) -> None:
        """Cut every connection, then let another process take over."""
        self.admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
        self._close_app()
        self.app = self._open()

    def close(self) -> None:
        self._close_app()
        self.admin.close()
        self._runner.close()

    def _open(self) -> App:
        return self.run(foja.connect(database_url=self.url, home=self._home).__aenter__())

    def _close_app(self) -> None:
        self.run(self.app.__aexit__(None, None, None))


class LedgerMachine(RuleBasedStateMachine):
    """Every rule does one thing to the ledger and the same to the model; then the two are compared."""

    world: World
    reservations = Bundle("reservations")

    def __init__(self) -> None:
        super().__init__()
        self.names = streams(2)
        self.model: list[list[Cell]] = [[], []]
        self.keys: dict[tuple[int, str], tuple[int, str]] = {}
        self.readers = [Reader(), Reader()]
        self.held: list[Reservation] = []

    def talk(self, stream: int) -> Conversation:
        return self.run(self.world.app.conversations.open(self.names[stream]))

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self.world.run(work)

    def record(self, stream: int, event: Event, text: str) -> None:
        """Expect what was just appended at the head."""
        assert event.seq == len(self.model[stream])
        self.model[stream].append(Cell(event.kind, text, event.id))

    @rule(stream=which, text=texts)
    def append(self, stream: int, text: str) -> None:
        self.record(stream, self.run(self.talk(stream).append(SAY, words(text))), text)

    @rule(stream=which, count=st.integers(2, 6))
    def append_at_once(self, stream: int, count: int) -> None:
        talk = self.talk(stream)

        async def together() -> list[Event]:
            return await asyncio.gather(*(talk.append(SAY, words(str(n))) for n in range(count)))

        events = dict(zip(range(count), self.run(together()), strict=True))
        for text, event in sorted(events.items(), key=lambda item: item[1].seq):
            self.record(stream, event, str(text))

    @rule(places=st.lists(which, min_size=1, max_size=5), text=texts)
    def append_many(self, places: list[int], text: str) -> None:
        drafts = [self.talk(stream).draft(SAY, words(text)) for stream in places]
        events = self.run(self.world.app.ledger.append_many(drafts))
        for stream, event in zip(places, events, strict=True):
            self.record(stream, event, text)

    @rule(stream=which, text=texts, error=st.integers(-2, 2))
    def append_expecting(self, stream: int, text: str, error: int) -> None:
        call = self.talk(stream).append
        expected = len(self.model[stream]) + error
        if error == 0:
            self.record(stream, self.run(call(SAY, words(text), expected_seq=expected)), text)
        else:
            with pytest.raises(WrongExpectedSeq):
                self.run(call(SAY, words(text), expected_seq=expected))

    @rule(stream=which, key=st.sampled_from(["k", "l"]), text=texts)
    def append_with_key(self, stream: int, key: str, text: str) -> None:
        append = self.talk(stream).append(SAY, words(text), idempotency_key=key)
        known = self.keys.get((stream, key))
        if known is None:
            self.keys[stream, key] = len(self.model[stream]), text
            self.record(stream, self.run(append), text)
        elif known[1] == text:
            event = self.run(append)
            assert (event.seq, event.id) == (known[0], self.model[stream][known[0]].id)
        else:
            with pytest.raises(IdempotencyConflict):
                self.run(append)

    @rule(stream=which, text=texts)
    def take_back(self, stream: int, text: str) -> None:
        """Append in a transaction that is then rolled back."""
        with contextlib.suppress(psycopg.Rollback), self.world.admin.transaction():
            self.world.admin.execute(APPEND_SQL, (self.names[stream], SAY, f'{{"content": "{text}"}}'))
            raise psycopg.Rollback

    @initialize(target=reservations)
    def reserve_first(self) -> Reservation:
        """Begin with a hole, so that most of what follows happens above one."""
        return self.reserve_some(0, 3)

    @rule(target=reservations, stream=which, count=st.integers(1, 3))
    def reserve(self, stream: int, count: int) -> Reservation:
        return self.reserve_some(stream, count)

    def reserve_some(self, stream: int, count: int) -> Reservation:
        slots = self.run(self.talk(stream).reserve(count, ttl=600))
        first = len(self.model[stream])
        assert slots.seqs == tuple(range(first, first + count))
        self.model[stream] += [Cell(OPEN) for _ in range(count)]
        self.held.append(Reservation(stream, first, slots))
        return self.held[-1]

    @rule(reservation=reservations, ordinal=numbers, text=texts)
    def fill(self, reservation: Reservation, ordinal: int, text: str) -> None:
        ordinal, seq = reservation.seq(ordinal)
        cells = self.model[reservation.stream]
        filling = self.resumed(reservation).fill(ordinal, TOOL, result(text))
        if cells[seq].kind == VOIDED or (cells[seq].kind == OPEN and reservation.lapsed):
            with pytest.raises(SlotVoided):
                self.run(filling)
            cells[seq] = Cell(VOIDED)
        elif cells[seq].kind == TOOL and cells[seq].text != text:
            with pytest.raises(IdempotencyConflict):
                self.run(filling)
        else:
            event = self.run(filling)
            assert (event.seq, event.id) == (seq, cells[seq].id or event.id)
            cells[seq] = Cell(TOOL, text, event.id)

    @rule(reservation=reservations, ordinal=numbers)
    def void(self, reservation: Reservation, ordinal: int) -> None:
        ordinal, seq = reservation.seq(ordinal)
        voiding = self.resumed(reservation).void(ordinal, reason="denied")
        if self.model[reservation.stream][seq].kind == TOOL:
            with pytest.raises((SlotFilled, SlotVoided)):
                self.run(voiding)
        else:
            self.run(voiding)
            self.model[reservation.stream][seq] = Cell(VOIDED)

    @rule(reservation=reservations)
    def extend(self, reservation: Reservation) -> None:
        cells = self.model[reservation.stream][reservation.first :][: len(reservation.slots.seqs)]
        extending = self.resumed(reservation).extend(600)
        if reservation.lapsed or not any(cell.kind == OPEN for cell in cells):
            with pytest.raises(SlotVoided):
                self.run(extending)
        else:
            self.run(extending)

    @rule(reservation=reservations)
    def let_lapse(self, reservation: Reservation) -> None:
        """Move the deadline into the past, as time would."""
        self.world.admin.execute(
            "update foja.slot set deadline = clock_timestamp() - interval '1 s' where token = %s",
            (reservation.slots.token,),
        )
        reservation.lapsed = True

    @rule()
    def sweep(self) -> None:
        self.run(self.world.app.sequencer.sweep())
        self.expect_expired()

    @rule()
    def work(self) -> None:
        self.run(self.world.app.work(until_idle=True))
        self.expect_expired()

    def expect_expired(self) -> None:
        for reservation in self.held:
            for _, seq in map(reservation.seq, range(len(reservation.slots.seqs))):
                cells = self.model[reservation.stream]
                if reservation.lapsed and cells[seq].kind == OPEN:
                    cells[seq] = Cell(VOIDED)

    @rule()
    def crash(self) -> None:
        self.world.crash()

    def resumed(self, reservation: Reservation) -> Slots:
        """Return the reservation as the process that lives now holds it."""
        app, slots = self.world.app, reservation.slots
        return replace(slots, _reserver=app.ledger.reserver(CONVERSATION))

    @rule(stream=which)
    def catch_up(self, stream: int) -> None:
        """Resume a reader where it was cut, and let it read until it has everything."""
        reader = self.readers[stream]
        self.run(self.read(stream, lambda: [cell.kind for cell in self.model[stream]] == kinds(reader)))
        assert reader.cells() == self.model[stream]

    @rule(stream=which, most=st.integers(1, 8))
    def read_a_little(self, stream: int, most: int) -> None:
        """Resume a reader and cut it again after a few frames."""
        reader, count = self.readers[stream], 0

        def enough() -> bool:
            nonlocal count
            count += 1
            return count > min(most, len(self.model[stream]) - 1 - last(reader.cursor))

        self.run(self.read(stream, enough))

    async def read(self, stream: int, enough: Callable[[], bool]) -> None:
        talk = await self.world.app.conversations.open(self.names[stream])
        if enough():
            return
        async for frame in talk.follow(after=self.readers[stream].cursor):
            self.readers[stream].take(frame)
            if enough():
                return

    @invariant()
    def the_ledger_is_the_model(self) -> None:
        for stream, cells in enumerate(self.model):
            events = self.run(self.talk(stream).events())
            assert [event.seq for event in events] == list(range(len(cells)))
            assert [cell_of(event) for event in events] == cells
            whole = next((seq for seq, cell in enumerate(cells) if cell.kind == OPEN), len(cells))
            assert [event.cursor is not None for event in events] == [
                seq < whole for seq in range(len(cells))
            ]

    @invariant()
    def the_rows_are_whole(self) -> None:
        for name, cells in zip(self.names, self.model, strict=True):
            stored = audit_stream(self.world.admin, name)
            assert (stored.next_seq if stored else 0) == len(cells)


def kinds(reader: Reader) -> list[str]:
    return [cell.kind for _, cell in sorted(reader.frames.items())]


def last(cursor: str | None) -> int:
    """Return the number a cursor stands at."""
    return -1 if cursor is None else int(cursor.partition(":")[2])


@pytest.fixture
def world(database_url: str, tmp_path: Path) -> Iterator[World]:
    world = World(database_url, tmp_path)
    yield world
    world.close()


def drive(world: World, how: settings) -> None:
    machine = type("Machine", (LedgerMachine,), {"world": world})
    run_state_machine_as_test(
        machine, settings=settings(how, deadline=None, suppress_health_check=list(HealthCheck))
    )
    world.admin.execute("update foja.slot set deadline = clock_timestamp() where state = 'open'")
    world.run(world.app.work(until_idle=True))
    audit_idle(world.url)


@pytest.mark.timeout(1200)
def test_the_machine_finds_nothing(world: World) -> None:
    drive(world, QUICK)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_the_machine_finds_nothing_in_many_tries(world: World) -> None:
    drive(world, LONG)
