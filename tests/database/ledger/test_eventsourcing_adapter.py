"""The test cases that the `eventsourcing` library has for every database, unchanged, against our ledger."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from eventsourcing.persistence import IntegrityError, StoredEvent

from foja.app import App
from tests.database.ledger.eventsourcing_adapter import (
    Background,
    LedgerAggregateRecorder,
    LedgerApplicationRecorder,
)

# The module of the cases imports a cipher that needs pycryptodome; no case of a recorder uses it.
with patch.dict(sys.modules, {"eventsourcing.cipher": SimpleNamespace(AESCipher=None)}):
    from eventsourcing.tests import persistence as cases


class OnTheLedger:
    """Runs each case on a fresh installation."""

    background: Background

    @pytest.fixture(autouse=True)
    def run_in_background(self, open_app: Callable[..., App]) -> Iterator[None]:
        self.background = Background(open_app())
        with self.background.running():
            yield


class TestAggregateRecorder(OnTheLedger, cases.AggregateRecorderTestCase):
    def create_recorder(self) -> LedgerAggregateRecorder:
        return LedgerAggregateRecorder(self.background)


class TestApplicationRecorder(OnTheLedger, cases.ApplicationRecorderTestCase[LedgerApplicationRecorder]):
    def create_recorder(self) -> LedgerApplicationRecorder:
        return LedgerApplicationRecorder(self.background)

    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()

    def test_a_batch_that_conflicts_leaves_no_notification(self) -> None:
        recorder, originator = self.create_recorder(), self.new_originator_id()
        first, second = (StoredEvent(originator, version, "topic", b"") for version in (1, 2))
        assert recorder.insert_events([first]) == [1]
        with pytest.raises(IntegrityError):
            recorder.insert_events([second, first])
        assert recorder.max_notification_id() == 1
        assert recorder.insert_events([second]) == [2]


class TestNonInterleavingNotificationIDs(OnTheLedger, cases.NonInterleavingNotificationIDsBaseCase):
    def create_recorder(self) -> LedgerApplicationRecorder:
        return LedgerApplicationRecorder(self.background)
