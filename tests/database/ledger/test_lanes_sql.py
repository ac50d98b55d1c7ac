"""The lane functions of the database, called in SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from foja.app import App
from foja.engine.ledger.event import Draft, draft
from foja.engine.observe.audit import audit
from foja.engine.observe.fsck import Outside, fsck
from foja.pure.models.conversations.events import CONVERSATION
from tests.cases import all_cases
from tests.drafts import DRAFT, fields
from tests.races.auditor import audit_idle, audit_stream
from tests.races.writers import SAY, words

Admin = psycopg.Connection[Any]
TENANT = "default"


class Lane:
    """A stream that Redis numbers. The test supplies the numbers."""

    def __init__(self, admin: Admin) -> None:
        self.admin, self.id = admin, uuid4()
        self.fence = self.move(None)[0]

    def move(self, seen: UUID | None, lane: str = "redis", rest: str = "30s") -> tuple[Any, ...]:
        query = (
            "select * from foja.move_lane(%s, 'conversation', 'default', 'api', %s, %s, 'run', %s::interval)"
        )
        return tuple(self.admin.execute(query, (self.id, seen, lane, rest)).fetchall()[0])

    def draft(self, text: str = "x", key: str | None = None) -> Draft:
        return draft(CONVERSATION, self.id, SAY, words(text), idempotency_key=key, tenant="default")

    def append(
        self, seq: int, event: Draft | None = None, fence: UUID | None = None
    ) -> tuple[str, int | None]:
        e = event or self.draft()
        query = f"select status, seq from foja.lane_append({DRAFT}, %s, %s)"
        [(status, number)] = self.admin.execute(
            query.encode(), (*fields(e), seq, fence or self.fence)
        ).fetchall()
        return status, number

    def reserve(self, first: int, count: int = 3, fence: UUID | None = None) -> str:
        query = """select status from foja.lane_reserve(
            %s, 'conversation', 'default', 'api', %s, '1 minute', null, %s, %s)"""
        found = self.admin.execute(query, (self.id, count, first, fence or self.fence)).fetchall()[0][0]
        return str(found)

    def kinds(self) -> dict[int, str]:
        rows = self.admin.execute("select seq, kind from foja.event where entity_id = %s", (self.id,))
        return dict(rows.fetchall())

    def row(self) -> tuple[Any, ...]:
        query = "select lane, fence, next_seq, moved_at is not null from foja.entity where entity_id = %s"
        return tuple(self.admin.execute(query, (self.id,)).fetchall()[0])

    def sweep(self, age: str) -> int:
        self.admin.execute("set role foja_sweeper")
        [(voided,)] = self.admin.execute("select foja.void_holes(100, %s::interval)", (age,)).fetchall()
        self.admin.execute("reset role")
        return int(voided)


@pytest.fixture
def lane(admin: Admin) -> Lane:
    return Lane(admin)


def test_a_free_number_of_the_fence_is_recorded_without_an_update_of_the_stream(lane: Lane) -> None:
    assert lane.append(0) == ("appended", 0)
    assert lane.append(2) == ("appended", 2)
    assert lane.row() == ("redis", lane.fence, 0, True)


def test_a_number_of_another_fence_is_refused(lane: Lane) -> None:
    old, lane.fence = lane.fence, lane.move(lane.fence)[0]
    assert lane.append(0, fence=old) == ("moved", None)
    assert lane.reserve(0, fence=old) == "moved"
    assert lane.kinds() == {}


def test_a_number_that_holds_an_event_or_a_slot_is_taken_and_not_voided(lane: Lane) -> None:
    lane.append(0)
    assert lane.reserve(1) == "reserved"
    assert [lane.append(seq) for seq in (0, 1, 3)] == [("taken", None)] * 3
    assert [lane.reserve(first, 1) for first in (0, 1, 3)] == ["taken"] * 3
    assert lane.kinds() == {0: SAY}


@pytest.mark.parametrize(("seq", "status"), [(10_000, "appended"), (10_002, "taken")])
def test_a_number_far_above_the_others_is_refused(lane: Lane, seq: int, status: str) -> None:
    lane.append(0)
    assert lane.append(seq)[0] == status
    if status == "taken":
        assert lane.reserve(seq, 1) == status


def test_a_number_far_above_the_first_one_is_free_if_recorded_ones_are_near(lane: Lane) -> None:
    for seq in (0, 9_000, 18_000):
        assert lane.append(seq) == ("appended", seq)


def test_a_known_key_returns_the_stored_event_and_voids_its_number(lane: Lane) -> None:
    assert lane.append(0, lane.draft(key="k")) == ("appended", 0)
    assert lane.append(1, lane.draft(key="k")) == ("replayed", 0)
    assert lane.append(2, lane.draft("other", key="k")) == ("refused", None)
    assert lane.kinds() == {0: SAY, 1: "slot.voided", 2: "slot.voided"}


def test_a_repetition_with_the_same_number_is_a_replay(lane: Lane) -> None:
    event = lane.draft()
    assert lane.append(0, event) == ("appended", 0)
    assert lane.append(0, event) == ("replayed", 0)
    assert lane.kinds() == {0: SAY}


def test_a_bad_body_is_refused_and_its_number_is_voided(lane: Lane) -> None:
    bad = lane.draft()._replace(body_hash=bytes(32))
    assert lane.append(0, bad) == ("refused", None)
    assert lane.kinds() == {0: "slot.voided"}


def test_a_number_that_was_voided_meanwhile_is_late(lane: Lane) -> None:
    lane.append(1)
    assert lane.sweep("0s") == 1
    assert lane.append(0) == ("late", None)
    assert lane.reserve(0, 1) == "late"


def test_a_hole_is_voided_when_the_first_event_above_it_is_old_enough(lane: Lane) -> None:
    lane.append(0)
    lane.reserve(1, 1)
    lane.append(4)
    assert lane.sweep("1 hour") == 0
    assert lane.sweep("0s") == 2, "2 and 3; 1 is a slot"
    assert set(lane.kinds()) == {0, 2, 3, 4}


def test_a_move_voids_every_hole_and_keeps_every_slot(lane: Lane) -> None:
    lane.append(0)
    lane.append(3)
    lane.reserve(5, 2)
    fence, _, next_seq, _, moved, voided = lane.move(lane.fence)
    assert (next_seq, moved, voided) == (7, True, 3)
    assert fence not in {None, lane.fence}
    assert lane.kinds() == {0: SAY, 1: "slot.voided", 2: "slot.voided", 3: SAY, 4: "slot.voided"}


def test_a_second_move_returns_the_result_of_the_first(lane: Lane) -> None:
    first = lane.move(lane.fence)
    second = lane.move(lane.fence)
    assert (second[0], second[4]) == (first[0], False)
    assert lane.move(lane.fence, "postgres")[0] == first[0]


def test_a_stream_returns_to_redis_only_after_a_pause(lane: Lane) -> None:
    assert lane.move(lane.fence, "postgres")[0] is None
    assert lane.move(None)[4] is False
    assert lane.move(None, rest="0s")[4] is True


def test_other_isolation_levels_than_read_committed_are_refused(lane: Lane, database_url: str) -> None:
    with psycopg.connect(database_url) as other:
        other.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        second = Lane.__new__(Lane)
        second.admin, second.id, second.fence = other, lane.id, lane.fence
        for call in (lambda: second.append(0), lambda: second.reserve(0), lambda: second.move(lane.fence)):
            with pytest.raises(psycopg.errors.SerializationFailure):
                call()
            other.rollback()
        with pytest.raises(psycopg.errors.SerializationFailure):
            other.execute(APPEND_EVENT, (lane.id,))


APPEND_EVENT = """select seq from foja.append_event(%s, 'conversation', 'thinking', '{"content": "x"}')"""
CLAIMS = {
    "append_event": (APPEND_EVENT, 3),
    "expected_seq": (
        """select seq from foja.append_event(%s, 'conversation', 'thinking', '{"content": "x"}',
           expected_seq => 3)""",
        3,
    ),
    "insert": (
        """insert into public.message_events (session_id, event_type, sequence_number, data)
           values (%s, 'thinking', 3, '{"content": "x"}') returning sequence_number""",
        3,
    ),
    "reserve": (
        """select first_seq from foja.reserve(%s, 'conversation', 'default', 'api', 2, '1 minute', null)""",
        3,
    ),
    "erase": ("select seq from foja.erase(%s, 'conversation', 'default', 0, 'api', null, 'asked for')", 3),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_call_that_postgresql_must_number_claims_the_stream(lane: Lane, claim: str) -> None:
    lane.append(0)
    lane.append(2)
    statement, seq = CLAIMS[claim]
    assert lane.admin.execute(statement.encode(), (lane.id,)).fetchall() == [(seq,)]
    assert lane.row()[:2] == ("postgres", None)
    assert lane.kinds()[1] == "slot.voided"
    assert lane.append(5) == ("moved", None)


def test_a_lane_insert_never_waits_for_the_lock_of_the_stream(lane: Lane, database_url: str) -> None:
    with psycopg.connect(database_url) as other:
        other.execute("select from foja.entity where entity_id = %s for update", (lane.id,))
        lane.admin.execute("set lock_timeout = '2s'")
        assert lane.append(0) == ("appended", 0)


def test_a_move_waits_for_inserts_and_inserts_for_a_move(lane: Lane, database_url: str) -> None:
    with psycopg.connect(database_url) as other:
        second = Lane.__new__(Lane)
        second.admin, second.id, second.fence = other, lane.id, lane.fence
        assert second.append(0) == ("appended", 0)
        lane.admin.execute("set lock_timeout = '100ms'")
        assert lane.append(1) == ("appended", 1)
        for call in (lambda: lane.move(lane.fence), lambda: lane.reserve(2)):
            with pytest.raises(psycopg.errors.LockNotAvailable):
                call()
        other.commit()
        lane.admin.execute("reset lock_timeout")
        assert lane.move(lane.fence)[2] == 2


async def test_a_stream_on_redis_is_sealed_checked_and_counted(
    lane: Lane, app: App, database_url: str
) -> None:
    for seq in (1, 0, 2, 4):
        lane.append(seq)
    assert (await app.ledger.state(lane.id)).next_seq == 5
    await app.work(until_idle=True)
    assert (await app.ledger.state(lane.id)).sealed == 3
    assert not (await audit(database_url, max_lag_seconds=60)).findings
    lane.sweep("0s")
    await app.work(until_idle=True)
    stored = audit_stream(lane.admin, lane.id)
    assert stored
    assert stored.sealed == 5
    audit_idle(database_url)
    assert not (await fsck(database_url, Outside(app.store, [app.signer.verifier()]))).findings


@all_cases("role", ["anon", "authenticated", "foja_sweeper"])
@all_cases("call", ["append", "reserve", "move"])
def test_other_roles_may_not_write_on_a_lane(lane: Lane, role: str, call: str) -> None:
    calls: dict[str, Callable[[], object]] = {
        "append": lambda: lane.append(0), "reserve": lambda: lane.reserve(0), "move": lambda: lane.move(None)
    }  # fmt: skip
    lane.admin.execute(f"set role {role}".encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        calls[call]()
    lane.admin.execute("reset role")
