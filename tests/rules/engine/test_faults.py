"""A fault is logged once when it begins and once when it ends. Log lines have a time and a level."""

from __future__ import annotations

import json
import logging
import re
import time
from datetime import datetime

import pytest

from foja.engine.faults import UNSEEN_SECONDS, Watch
from foja.errors import LedgerUnavailable, Unavailable
from foja.interfaces.cli.log_format import JsonFormat, TextFormat


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [re.sub(r"[0-9.]+ s$", "… s", record.getMessage()) for record in caplog.records]


def test_an_outage_of_the_database_is_logged_once_for_all_who_notice(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, second = Watch("one"), Watch("two")
    for attempt in range(20):
        first.failed(LedgerUnavailable(f"no answer ({attempt})"))
        second.failed(LedgerUnavailable("starting up"))
    first.worked()
    first.failed(LedgerUnavailable("again"))
    assert lines(caplog) == ["the database: no answer (0)"]
    second.worked()
    first.worked()
    first.worked()
    assert lines(caplog)[1:] == ["the database: works again after … s"]


def test_a_rare_activity_keeps_no_outage_open(caplog: pytest.LogCaptureFixture) -> None:
    rare, often = Watch("hourly", rare=True), Watch("each second")
    often.failed(LedgerUnavailable("no answer"))
    rare.failed(LedgerUnavailable("no answer"))
    often.worked()
    assert lines(caplog) == ["the database: no answer", "the database: works again after … s"]
    rare.failed(Unavailable("no room"))
    rare.worked()
    assert lines(caplog)[2:] == ["hourly: no room", "hourly: works again after … s"]


def test_the_next_outage_is_logged_again(caplog: pytest.LogCaptureFixture) -> None:
    watch = Watch("one")
    for _ in range(2):
        watch.failed(LedgerUnavailable("no answer"))
        watch.worked()
    assert lines(caplog) == ["the database: no answer", "the database: works again after … s"] * 2


def test_a_fault_that_comes_and_goes_is_one(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    monkeypatch.setattr("foja.engine.faults.time.monotonic", lambda: now)
    watch = Watch("one", settle=2)
    for _ in range(5):
        watch.failed(Unavailable("the store is full"))
        now += 1
        watch.worked()
    assert lines(caplog) == ["one: the store is full"]
    now += 1
    watch.worked()
    watch.worked()
    assert lines(caplog)[1:] == ["one: works again after … s"]
    watch.failed(Unavailable("the store is full"))
    assert len(lines(caplog)) == 3


def test_a_fault_that_is_not_seen_again_ends_without_a_success(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    monkeypatch.setattr("foja.engine.faults.time.monotonic", lambda: now)
    watch = Watch("one")
    watch.unseen()
    watch.failed(Unavailable("the store is full"))
    now += UNSEEN_SECONDS - 1
    watch.unseen()
    assert watch.failing
    watch.failed(Unavailable("the store is full"))
    now += UNSEEN_SECONDS
    watch.unseen()
    watch.unseen()
    assert not watch.failing
    assert lines(caplog) == ["one: the store is full", "one: not seen again after … s"]


def test_faults_of_two_activities_are_two(caplog: pytest.LogCaptureFixture) -> None:
    first, second = Watch("one"), Watch("two")
    for watch in (first, second, first):
        watch.failed(Unavailable("the store is full"))
    assert lines(caplog) == ["one: the store is full", "two: the store is full"]
    first.worked()
    assert lines(caplog)[2:] == ["one: works again after … s"]


def test_another_fault_of_one_activity_ends_the_first(caplog: pytest.LogCaptureFixture) -> None:
    watch = Watch("one")
    watch.failed(LedgerUnavailable("no answer"))
    watch.failed(Unavailable("the store is full"))
    assert lines(caplog) == [
        "the database: no answer",
        "the database: followed by another error after … s",
        "one: the store is full",
    ]


def test_an_activity_that_is_gone_keeps_no_fault_open(caplog: pytest.LogCaptureFixture) -> None:
    gone = Watch("gone")
    gone.failed(LedgerUnavailable("no answer"))
    del gone
    Watch("next").failed(LedgerUnavailable("no answer now"))
    assert lines(caplog) == ["the database: no answer", "the database: no answer now"]


def test_an_activity_that_ended_keeps_no_fault_open(caplog: pytest.LogCaptureFixture) -> None:
    ended, other = Watch("ended"), Watch("other")
    ended.failed(LedgerUnavailable("no answer"))
    other.failed(LedgerUnavailable("no answer"))
    ended.close()
    other.failed(LedgerUnavailable("still no answer"))
    assert lines(caplog) == ["the database: no answer"]
    other.close()
    other.close()
    Watch("next").failed(LedgerUnavailable("no answer now"))
    assert lines(caplog)[1:] == ["the database: no answer now"]


def record() -> logging.LogRecord:
    log = logging.getLogger("foja.test")
    return log.makeRecord(
        log.name, logging.WARNING, "file", 1, "%s is full", ("the store",), None, extra={"sessionId": "7"}
    )


def test_a_line_of_text_has_time_level_logger_message_and_fields() -> None:
    at, rest = TextFormat().format(record()).split(" ", 1)
    assert datetime.fromisoformat(at).utcoffset() is not None
    assert rest == "WARNING foja.test: the store is full sessionId=7"


def test_a_line_of_json_has_them_as_fields() -> None:
    found = json.loads(JsonFormat().format(record()))
    assert datetime.fromisoformat(found.pop("time")).utcoffset() is not None
    assert found == {
        "level": "warning",
        "logger": "foja.test",
        "message": "the store is full",
        "sessionId": "7",
    }
