"""Leaves are stored as runs; every one of them is found, alone, in a range and by its event."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from foja.app import App
from foja.domains.conversations.service import Conversation
from tests.cases import all_cases
from tests.database.schema.rows import SAID, Admin

Leaf = tuple[Any, ...]


def leaves(admin: Admin) -> list[Leaf]:
    return admin.execute("select idx, entity_id, seq, chain_hash from foja.leaf order by idx").fetchall()


@pytest.fixture
async def talks(app: App) -> list[Conversation]:
    """Two streams whose events alternate, then follow each other, over more than one bundle."""
    one, two = [await app.conversations.open() for _ in range(2)]
    for talk, count in [(one, 1), (two, 1), (one, 2), (two, 1), (one, 300), (two, 40)]:
        await talk.append_many([talk.draft("user_message_sent", SAID) for _ in range(count)])
    await app.work(until_idle=True)
    return [one, two]


async def test_every_leaf_has_its_place_and_its_hash(talks: list[Conversation], admin: Admin) -> None:
    found = leaves(admin)
    assert [idx for idx, *_ in found] == list(range(345))
    assert {len(chain_hash) for *_, chain_hash in found} == {32}
    assert len({chain_hash for *_, chain_hash in found}) == 345
    for talk, count in zip(talks, (303, 42), strict=True):
        assert [seq for _, entity_id, seq, _ in found if entity_id == talk.id] == list(range(count))


async def test_leaves_that_follow_each_other_are_one_run(talks: list[Conversation], admin: Admin) -> None:
    stored = admin.execute("select idx, place, seq from foja.leaves order by idx").fetchall()
    assert stored[0] == (0, [0, 1, 2, 4, 5], [0, 0, 1, 1, 3])
    assert all(idx < after for (idx, *_), (after, *_) in pairwise(stored))


async def test_an_event_finds_its_leaf_and_no_other(talks: list[Conversation], admin: Admin) -> None:
    query = "select idx, entity_id, seq, chain_hash from foja.find_leaf(1, %s, %s)"
    for leaf in leaves(admin):
        assert admin.execute(query, leaf[1:3]).fetchall() == [leaf]
    for talk, count in zip(talks, (303, 42), strict=True):
        for seq in (-1, count, count + 1, 2**62):
            assert admin.execute(query, [talk.id, seq]).fetchall() == []


@pytest.mark.usefixtures("talks")
@all_cases(("low", "high"), [(0, 1), (3, 6), (250, 262), (344, 400), (345, 400), (0, 345)])
async def test_a_range_has_just_its_leaves(admin: Admin, low: int, high: int) -> None:
    query = "select idx, entity_id, seq, chain_hash from foja.leaves_between(1, %s, %s)"
    assert admin.execute(query, [low, high]).fetchall() == leaves(admin)[low:high]
