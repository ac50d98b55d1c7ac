"""Ids of events, conversations and products: UUIDv7 that grow with time."""

from __future__ import annotations

import itertools
import time
from uuid import RFC_4122

import pytest

from foja.ledger.event import new_id

BEGIN, STEP = 1_800_000_000_000_000_000, 250  # nanoseconds; an id takes longer than a step


def test_ids_grow_also_within_a_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(BEGIN, STEP)
    monkeypatch.setattr(time, "time_ns", lambda: next(clock))
    ids = [new_id() for _ in range(10_000)]
    assert ids == sorted(set(ids))
    assert {(each.version, each.variant) for each in ids} == {(7, RFC_4122)}
    assert [each.int >> 80 for each in ids] == [(BEGIN + n * STEP) // 1_000_000 for n in range(len(ids))]
