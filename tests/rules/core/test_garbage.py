"""The garbage collector is paused while many objects are made, and as it was afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from foja.engine.driver.garbage import collector_paused


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.enable()


def test_it_is_paused_inside_and_runs_again_afterwards_also_after_an_error() -> None:
    def load() -> None:
        with collector_paused():
            assert not gc.isenabled()
            raise ValueError("bad row")

    with pytest.raises(ValueError, match="bad row"):
        load()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_new_objects_are_not_searched_meanwhile_nor_as_young_ones_afterwards() -> None:
    def searches() -> list[int]:
        return [each["collections"] for each in gc.get_stats()]

    gc.collect()
    before = searches()
    with collector_paused():
        made = [[] for _ in range(5_000)]  # type: list[list[int]]
        assert searches() == before
    assert gc.get_count()[0] < 1_000
    assert len(made) == 5_000


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with collector_paused():
        pass
    assert not gc.isenabled()


def test_what_a_process_has_frozen_stays_frozen() -> None:
    mine: list[int] = []
    gc.freeze()
    with collector_paused():
        pass
    assert not any(each is mine for each in gc.get_objects()), "the collector searches it again"
