"""Fixtures: a Bitcoin node for a whole file, two calendars for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.counterparties.bitcoin_node import BitcoinNode, bitcoin_node
from tests.counterparties.ots_calendar import Calendar, ots_calendar


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BitcoinNode]:
    with bitcoin_node(tmp_path_factory.mktemp("bcoin")) as found:
        found.grow(3)
        yield found


@pytest.fixture
def alice() -> Iterator[Calendar]:
    with ots_calendar() as found:
        yield found


@pytest.fixture
def bob() -> Iterator[Calendar]:
    with ots_calendar() as found:
        yield found
