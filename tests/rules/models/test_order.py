"""The reading order: one rule and one file of vectors, for any order of the input."""

from __future__ import annotations

import json
import random
import re
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foja.domains.conversations import order
from foja.engine.ledger.event import Event, Transient
from tests.vectors.order_cases import VECTORS, by_hand, cases, drawn, literally

CASES = json.loads(VECTORS.read_text())
# Cases that DESIGN §6 leaves open: invalid values, and more digits than a datetime has.
ODD = re.compile(
    "an open slot keeps|is no number|as it is written|and '1' are|is no name"
    "|below zero is none|a text is none|by nano|digits that|Z and"
    "|spelled other|no time at all|no such|is no timestamp|no id first"
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_every_vector(case: dict[str, Any]) -> None:
    assert order(case["items"]) == [case["items"][place] for place in case["expected"]]


def test_the_file_equals_the_generated_cases() -> None:
    assert cases() == CASES
    assert len(CASES) >= 200
    assert len({case["name"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize(
    "case", [case for case in by_hand() if not ODD.search(case[0])], ids=lambda case: case[0]
)
def test_hand_and_literal_reading_agree(case: tuple[str, str, list[dict[str, Any]]]) -> None:
    assert literally(case[2]) == case[2]


@given(st.integers(1000, 10**9))
@settings(max_examples=150, deadline=None)
def test_it_equals_the_literal_rule(seed: int) -> None:
    items = drawn(seed)
    assert order(items) == literally(items)


@pytest.mark.parametrize("case", CASES[:: len(CASES) // 60], ids=lambda case: case["name"])
def test_no_permutation_changes_it(case: dict[str, Any]) -> None:
    expected = order(case["items"])
    for seed in range(10):
        shuffled = random.Random(seed).sample(case["items"], len(case["items"]))
        assert order(shuffled) == expected
    assert order(expected) == expected


odd = st.one_of(st.none(), st.booleans(), st.integers(-1, 3), st.floats(), st.text(max_size=2), st.just([]))
strange = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("seq", "at", "id", "turn", "block_index", "event_index", "payload"), odd)
)


@given(st.lists(strange, max_size=8), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_any_items_have_one_order(items: list[dict[str, Any]], chance: random.Random) -> None:
    shuffled = chance.sample(items, len(items))
    assert list(map(spelled, order(shuffled))) == list(map(spelled, order(items)))


def spelled(item: dict[str, Any]) -> str:
    """Return an item as a text that does not depend on the order of its fields."""
    return repr(sorted(item.items()))


def test_the_input_is_not_changed() -> None:
    items = [{"seq": 2}, {"seq": 0}]
    order(items)
    assert items == [{"seq": 2}, {"seq": 0}]
    assert order(iter(items)) == [{"seq": 0}, {"seq": 2}]


def test_events_and_transients_are_ordered_like_their_envelopes() -> None:
    at = datetime.fromisoformat("2026-01-02T00:00:00.000001+00:00")
    one = Event(UUID(int=1), 0, UUID(int=2), "thinking", 1, at, None, "api", {"content": ""}, b"")
    two = Transient(UUID(int=1), UUID(int=3), "message_chunk", at, "t", 0, 1, {"text": ""})
    three: dict[str, Any] = {
        "seq": None,
        "turn": "t",
        "block_index": 0,
        "event_index": 2,
        "at": "2026-01-02T00:00:00Z",
    }
    mixed: list[Any] = [three, two, one]
    assert order(mixed) == [one, two, three]
