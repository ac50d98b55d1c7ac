"""The view: a live view and a reloaded one end equal."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foja.engine.ledger.event import Event, Reset, Transient
from foja.pure.models.conversations.view import ConversationView, reduce
from tests.rules.histories import History, envelope, history

Item = dict[str, Any]
chances = st.randoms(use_true_random=False)
RESET: Item = {"seq": None, "kind": "reset", "reason": "epoch"}


def event(number: int, kind: str = "thinking", /, **payload: Any) -> Item:
    return envelope(number, kind, payload or {"content": str(number)}, f"e{number}", "2026-01-02T00:00:00Z")


def chunk(
    text: str, index: int | None, *, turn: Any = "t", block: int | None = 0, at: int = 0, **more: Any
) -> Item:
    return {
        "seq": None,
        "id": f"{turn}{block}{index}{text}",
        "kind": "message_chunk",
        "at": f"2026-01-02T00:00:{at:02}Z",
        "turn": turn,
        "block_index": block,
        "event_index": index,
        "payload": {"text": text},
        **more,
    }


def tool(seq: int, name: str, **more: Any) -> Item:
    return event(seq, "tool_use_requested", tool_use_id=name, tool_name="n", tool_args={}, **more)


def result(seq: int, name: str, *, success: bool = True, **more: Any) -> Item:
    done = {
        "tool_use_id": name,
        "tool_name": "n",
        "tool_result": 1,
        "success": success,
        "error_message": None,
    }
    return event(seq, "tool_use_completed", **done, **more)


def states(*items: Item) -> dict[int, tuple[str | None, int | None]]:
    return {each["seq"]: (each["state"], each["pair"]) for each in ConversationView(items).items()}


def persisted(view: ConversationView) -> list[Item]:
    return [item for item in view.items() if item["seq"] is not None]


# Live and reloaded.


@given(chances)
@settings(max_examples=150, deadline=None)
def test_any_interleaving_ends_in_the_view_of_a_fresh_load(chance: random.Random) -> None:
    written = history(chance)
    again = chance.choices(written.sent, k=len(written.sent) // 3)
    received = chance.sample(written.sent + again, len(written.sent) + len(again))
    live = ConversationView()
    for item in received:
        live = reduce(live, item)
    assert live.settled
    assert live.items() == ConversationView(written.stored.values()).items()


@given(chances)
@settings(max_examples=100, deadline=None)
def test_at_any_cut_the_persisted_items_equal_a_reload(chance: random.Random) -> None:
    written = history(chance, ended=False)
    live = ConversationView()
    for item, stored in zip(written.sent, written.after, strict=True):
        live = live.add(item)
        assert persisted(live) == persisted(ConversationView(stored.values()))


@given(chances)
@settings(max_examples=100, deadline=None)
def test_a_reload_at_any_cut_ends_in_the_same_view(chance: random.Random) -> None:
    written = history(chance)
    cut = chance.randrange(len(written.sent))
    reloaded = ConversationView(written.after[cut].values()).add(*written.sent[cut + 1 :])
    reset = (
        ConversationView(written.sent[:cut])
        .add(RESET, *written.after[cut].values())
        .add(*written.sent[cut + 1 :])
    )
    assert (
        reloaded.items()
        == reset.items()
        == ConversationView(written.sent).items()
        == ConversationView(written.stored.values()).items()
    )


@given(chances)
@settings(max_examples=50, deadline=None)
def test_adding_leaves_the_old_view_alone(chance: random.Random) -> None:
    written = history(chance, ended=False)
    cut = chance.randrange(len(written.sent))
    view = ConversationView(written.sent[:cut])
    before = view.items()
    view.add(*written.sent[cut:])
    view.add(RESET)
    assert view.items() == before


def test_random_histories_reach_every_state() -> None:
    histories = [history(random.Random(seed)) for seed in range(300)]
    seen = {item["state"] for each in histories for item in ConversationView(each.stored.values()).items()}
    seen |= {
        item["state"] for each in histories for cut in range(len(each.sent)) for item in _early(each, cut)
    }
    assert seen == {
        *(None, "open", "voided", "erased", "pending", "completed", "failed", "denied", "unpaired"),
        *("requested", "approved", "expired", "streaming", "error"),
    }


def _early(written: History, cut: int) -> list[Item]:
    return ConversationView(written.sent[:cut]).items() if cut % 7 == 0 else []


# Blocks in progress.


def test_chunks_fold_into_one_block_in_their_order() -> None:
    [block] = ConversationView([chunk("c", 2), chunk("a", 0), chunk("b", 1)]).items()
    assert block["payload"] == {"text": "abc"}
    assert (block["state"], block["partial"], block["event_index"]) == ("streaming", False, 0)


@pytest.mark.parametrize("received", [[chunk("b", 1)], [chunk("a", 0), chunk("c", 2)]])
def test_a_block_with_a_missing_chunk_is_partial(received: list[Item]) -> None:
    [block] = ConversationView(received).items()
    assert block["partial"]


def test_chunks_numbered_along_the_turn_are_not_partial() -> None:
    received = [chunk("h", 0, block=None, kind="thinking_chunk"), chunk("a", 4, block=None)]
    assert [each["partial"] for each in ConversationView(received).items()] == [False, False]


def test_a_repeated_chunk_counts_once() -> None:
    [block] = ConversationView(
        [chunk("a", 0), chunk("b", 1), chunk("a", 0), chunk("a", 0, id="sent again")]
    ).items()
    assert block["payload"]["text"] == "ab"


def test_kinds_blocks_and_turns_do_not_mix() -> None:
    received = [
        chunk("a", 0),
        chunk("b", 0, kind="thinking_chunk", id="x"),
        chunk("c", 0, block=1),
        chunk("d", 0, turn="u", at=1),
    ]
    assert [each["payload"]["text"] for each in ConversationView(received).items()] == ["a", "b", "c", "d"]


def test_the_persisted_event_replaces_its_chunks() -> None:
    persisted_event = event(0, "agent_message_sent", content="ab", turn="t", block_index=0)
    view = ConversationView([chunk("a", 0), chunk("other", 0, block=1), persisted_event])
    assert [each["kind"] for each in view.items()] == ["agent_message_sent", "message_chunk"]
    assert view.add(chunk("b", 1)).items() == view.items()


@pytest.mark.parametrize(("turn", "named"), [(1, "1"), ("1", 1), (1, 1.0)])
def test_a_turn_is_the_same_as_text_and_as_number(turn: Any, named: Any) -> None:
    persisted_event = event(0, "agent_message_sent", content="a", turn=named, block_index=0)
    assert ConversationView([chunk("a", 0, turn=turn), persisted_event]).settled


def test_an_event_of_the_turn_without_a_block_names_none() -> None:
    assert not ConversationView([chunk("a", 0), event(0, content="a", turn="t")]).settled
    assert not ConversationView([chunk("a", 0), event(0, content="a", block_index=0)]).settled


def test_complete_ends_one_turn_and_late_chunks_of_it() -> None:
    done: Item = {"seq": None, "kind": "complete", "turn": "t", "at": "2026-01-02T00:00:05Z", "payload": {}}
    view = ConversationView(
        [chunk("a", 0), chunk("b", 0, turn="u"), done, chunk("late", 1), chunk("later", 2, at=9)]
    )
    assert [each["payload"]["text"] for each in view.items()] == ["b"]


def test_session_end_removes_earlier_chunks() -> None:
    done: Item = {
        "seq": None,
        "kind": "session_end",
        "turn": None,
        "at": "2026-01-02T00:00:05Z",
        "payload": {},
    }
    received = [done, chunk("a", 0, at=4), chunk("b", 0, turn=None, at=5), chunk("new", 0, turn="u", at=6)]
    assert [each["payload"]["text"] for each in ConversationView(received).items()] == ["new"]


def test_complete_without_a_turn_removes_chunks_without_one() -> None:
    done: Item = {"seq": None, "kind": "complete", "turn": None, "at": "2026-01-02T00:00:05Z", "payload": {}}
    received = [done, chunk("a", 0, turn=None, at=4), chunk("b", 0, at=4), chunk("c", 0, turn=None, at=6)]
    assert [each["payload"]["text"] for each in ConversationView(received).items()] == ["b", "c"]


def test_an_error_is_shown_until_its_turn_ends() -> None:
    error: Item = {
        "seq": None,
        "id": "x",
        "kind": "error",
        "turn": "t",
        "at": None,
        "payload": {"message": "m"},
    }
    view = ConversationView([error])
    assert [each["state"] for each in view.items()] == ["error"]
    assert view.add({"seq": None, "kind": "complete", "turn": "t", "at": None, "payload": {}}).settled


# Persisted events.


def test_zero_is_a_number() -> None:
    assert [each["seq"] for each in ConversationView([event(1), event(0), chunk("a", 0)]).items()] == [
        0,
        1,
        None,
    ]


def test_an_open_slot_is_replaced_and_never_comes_back() -> None:
    slot = envelope(0, "slot.open", {"intent": "tool a", "deadline": "soon"}, None, None)
    assert ConversationView([slot]).items()[0]["payload"] == {"intent": "tool a"}
    for received in ([slot, event(0)], [event(0), slot]):
        assert [(each["kind"], each["state"]) for each in ConversationView(received).items()] == [
            ("thinking", None)
        ]


def test_an_erased_body_is_removed_from_a_live_view() -> None:
    erased = {**event(0), "payload": None, "actor": None}
    erasure = event(1, "body.erased", seq=0, reason="request for")
    expected = ConversationView([erased, erasure]).items()
    assert expected[0]["state"] == "erased"
    for received in (
        [event(0), erasure],
        [erasure, event(0)],
        [erased, erasure, event(0)],
        [erasure, erased],
    ):
        assert ConversationView(received).items() == expected


def test_tools_are_paired_by_their_id() -> None:
    assert states(
        tool(0, "a"), tool(1, "b"), tool(2, "c"), result(3, "b"), result(4, "a", success=False)
    ) == {
        0: ("failed", 4),
        1: ("completed", 3),
        2: ("pending", None),
        3: ("completed", 1),
        4: ("failed", 0),
    }


def test_a_result_without_a_request_is_unpaired() -> None:
    assert states(result(0, "x")) == {0: ("unpaired", None)}
    assert states(tool(0, "a"), result(1, "a"), result(2, "a"))[2] == ("unpaired", None)


def test_a_result_may_have_a_lower_number_than_its_request() -> None:
    assert states(result(0, "a"), tool(1, "a")) == {0: ("completed", 1), 1: ("completed", 0)}


def test_an_id_used_again_in_a_later_turn_is_another_tool() -> None:
    found = states(
        tool(0, "call_0"), result(1, "call_0", success=False), tool(2, "call_0"), result(3, "call_0")
    )
    assert found == {0: ("failed", 1), 1: ("failed", 0), 2: ("completed", 3), 3: ("completed", 2)}


def test_a_voided_slot_explains_why_a_tool_has_no_result() -> None:
    voided = event(1, "slot.voided", reason="expired")
    request = tool(0, "a", result_seq=1)
    assert states(request, voided) == {0: ("voided", 1), 1: ("voided", 0)}
    assert states(request, voided, result(2, "a")) == {
        0: ("completed", 2),
        1: ("voided", None),
        2: ("completed", 0),
    }


def test_a_denied_tool_is_denied_with_and_without_its_refusal() -> None:
    request = event(1, "approval_requested", approval_id="p", tool_use_id="a", tool_name="n", tool_args={})
    denied = event(2, "approval_completed", approval_id="p", decision="denied", reason=None)
    assert states(tool(0, "a"), request)[0] == ("pending", None)
    assert states(tool(0, "a"), request, denied)[0] == ("denied", None)
    assert states(tool(0, "a"), request, denied, result(3, "a", success=False))[0] == ("denied", 3)
    assert states(tool(0, "a"), result(1, "a", success=False, denied=True)) == {
        0: ("denied", 1),
        1: ("denied", 0),
    }


def test_approvals_have_the_state_of_their_decision() -> None:
    request = event(0, "approval_requested", approval_id="p", tool_name="n", tool_args={})
    assert states(request) == {0: ("requested", None)}
    for decision in ("approved", "denied", "expired"):
        answer = event(1, "approval_completed", approval_id="p", decision=decision, reason=None)
        assert states(request, answer) == {0: (decision, 1), 1: (decision, 0)}
        assert states(answer) == {1: (decision, None)}


def test_events_transients_and_resets_are_accepted_as_objects() -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    one = Event(UUID(int=1), 0, UUID(int=2), "thinking", 1, at, None, "api", {"content": "a"}, b"", "e:0")
    two = Transient(UUID(int=1), UUID(int=3), "message_chunk", at, "t", 0, 0, {"text": "b"})
    view = ConversationView([one, two])
    assert view.items() == ConversationView([one.envelope(), two.envelope()]).items()
    assert "cursor" not in view.items()[0]
    assert view.add(Reset("epoch")).items() == []
