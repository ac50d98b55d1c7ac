"""What a part's last success and last failure say about it now, and who is blamed for an error."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from foja.engine.health.recorder import Recorder
from foja.errors import LedgerUnavailable, Unavailable
from foja.pure.models.health.part import ADVICE, Part, Queued, Record, State, advice, part_of

NOW = datetime(2026, 11, 18, 20, tzinfo=UTC)
MINUTE, ALLOWED = timedelta(minutes=1), timedelta(minutes=2)


def record(worked: int | None = None, failed: int | None = None, since: int | None = None) -> Record:
    """Return what happened some minutes ago."""

    def ago(minutes: int | None) -> datetime | None:
        return None if minutes is None else NOW - minutes * MINUTE

    return Record(
        "store:write", ago(worked), ago(failed), ago(since), "unavailable" if failed else None, "no"
    )


def test_a_part_is_as_it_was_used_last_and_never_green_by_age() -> None:
    def seen(of: Record) -> tuple[State, datetime | None]:
        part = part_of(of, NOW, ALLOWED)
        return part.state, part.since

    assert seen(record()) == (State.UNTRIED, None)
    assert seen(record(worked=1)) == (State.WORKS, NOW - MINUTE)
    assert seen(record(worked=3)) == (State.UNTRIED, NOW - 3 * MINUTE)
    assert seen(record(worked=1, failed=2)) == (State.WORKS, NOW - MINUTE)
    assert seen(record(worked=9, failed=1, since=5)) == (State.FAILING, NOW - 5 * MINUTE)
    assert seen(record(worked=900, failed=700, since=800)) == (State.FAILING, NOW - 800 * MINUTE)


def test_a_job_type_fails_if_its_jobs_wait_and_no_worker_announces_it() -> None:
    def seen(of: Record, queued: Queued) -> tuple[State, str | None]:
        part = part_of(of, NOW, ALLOWED, queued)
        return part.state, part.code

    waits = Queued(unhandled="1 job could be done", ready_at=NOW - MINUTE)
    assert seen(record(worked=3), waits) == (State.FAILING, "no_worker")
    assert seen(record(), waits) == (State.FAILING, "no_worker")
    restarting = Queued(unhandled="1 job could be done", ready_at=NOW)
    assert seen(record(worked=1), restarting) == (State.WORKS, None)
    assert seen(record(worked=3), Queued()) == (State.UNTRIED, None)
    assert seen(record(worked=3), Queued(seen_at=NOW)) == (State.WORKS, None)
    assert seen(record(worked=1), Queued(paused=True, paused_at=NOW)) == (State.PAUSED, "paused")


@pytest.mark.parametrize("name", ["database", "log", "job:run_tsa", "authority:http://tsa.example", "mail"])
def test_there_is_something_to_do_about_every_part_that_fails(name: str) -> None:
    part = Part(name, State.FAILING, NOW, NOW, NOW, "unavailable", "no answer")
    assert advice(part)
    assert "{" not in advice(part)
    assert part.kind in ADVICE
    assert "error" not in part.document(words=False)
    assert part.document(words=True)["error"] == "no answer"


def test_an_error_belongs_to_the_part_that_told_it_first() -> None:
    recorder, error = Recorder(10), Unavailable("the store is away")
    recorder.report("store", error)
    recorder.report("job:build_artifact", error)
    recorder.report("job:run_tsa", LedgerUnavailable("the database is away"))
    assert list(recorder.everything()) == ["store"]
    assert recorder.database.failing_since is None
    recorder.report("database", LedgerUnavailable("the database is away"))
    assert recorder.database.failing_since


def test_what_goes_on_working_is_written_seldom_and_what_changes_soon() -> None:
    recorder = Recorder(calm_seconds=10)
    recorder.report("mail")
    [seen] = recorder.due().values()
    seen.clear(time.monotonic() - 3)
    recorder.report("mail")
    assert not recorder.due()
    recorder.report("mail", Unavailable("no"))
    assert list(recorder.due()) == ["mail"]
