"""`foja jobs`: list, show, retry, cancel, pause and resume jobs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.flow.command import Run, check_refused
from tests.job_domain import ask, install

Admin = psycopg.Connection[Any]


@pytest.fixture
def entity(admin: Admin, run: Run) -> UUID:
    install(admin)
    run("jobs")  # records which database server this is
    [entity] = ask(admin)
    for key in "abc":
        admin.execute("select foja.enqueue_job_v1('run_errand', %s, %s, '{\"n\": 1}')", [entity, key])
    return entity


def ids(run: Run, *arguments: object) -> list[int]:
    return [job["id"] for job in run("jobs", "list", "--json", *arguments).document]


def claim(admin: Admin, most: int) -> list[tuple[Any, ...]]:
    admin.execute("set role foja_run_errand")
    rows = admin.execute(
        "select job_id, lease_token from foja.claim_jobs_v1('run_errand', %s, 'w')", [most]
    ).fetchall()
    admin.execute("reset role")
    return rows


def settle(admin: Admin, statement: str, *values: object) -> str:
    admin.execute("set role foja_run_errand")
    row = admin.execute(statement.encode(), values).fetchone()
    admin.execute("reset role")
    assert row is not None
    return str(row[0])


def test_jobs_are_listed_and_shown(run: Run, entity: UUID) -> None:
    assert len(ids(run)) == 4
    three = ids(run, "--type", "run_errand", "--entity", entity)
    assert three == sorted(three, reverse=True)
    assert len(three) == 3
    assert ids(run, "--state", "dead") == []
    assert run("jobs", "--state", "dead").lines == ["no jobs match"]
    assert [line.split()[1] for line in run("jobs", "--type", "run_errand", "--limit", 2).lines] == [
        "type",
        "run_errand",
        "run_errand",
    ]
    shown = run("jobs", "show", three[0], "--json").document
    assert (shown["state"], shown["payload"], shown["key"]) == ("queued", {"n": 1}, "c")
    assert "queued" in run("jobs", "show", three[0]).out


def test_what_no_worker_does_is_listed(run: Run, entity: UUID) -> None:
    [waiting, *_] = [
        each for each in run("jobs", "unhandled", "--json").document if each["type"] == "run_errand"
    ]
    assert waiting["jobs"] == 3
    lines = run("jobs", "unhandled").lines
    assert lines[0].split() == ["type", "jobs", "ready_at"]
    assert any(line.startswith("run_errand") for line in lines[1:])


def test_a_dead_job_is_found_and_retried(run: Run, entity: UUID, admin: Admin) -> None:
    [(job, token)] = claim(admin, 1)
    assert settle(admin, "select foja.fail_job_v1(%s, %s, 'no milk', true)", job, token) == "give_up"
    assert ids(run, "--state", "dead") == [job]
    assert "no milk" in run("jobs", "--state", "dead").out
    found = run("audit", "--json")
    assert found.code == 1
    assert {finding["check"] for finding in found.document["findings"]} == {"dead"}
    assert run("jobs", "retry", job, "--json").document == {"asked": 1, "done": 1}
    assert run("audit").code == 0
    assert run("jobs", "show", job, "--json").document["tries"] == 0
    again = run("jobs", "retry", job)
    assert (again.code, again.lines[0]) == (1, "0 of 1 queued again")
    assert "foja jobs show" in again.lines[1]


def test_a_dead_job_can_be_cancelled(run: Run, entity: UUID, admin: Admin) -> None:
    [(job, token)] = claim(admin, 1)
    settle(admin, "select foja.fail_job_v1(%s, %s, 'no milk', true)", job, token)
    assert run("jobs", "cancel", job).lines == ["1 of 1 cancelled"]
    assert run("audit").code == 0
    assert run("jobs", "show", job, "--json").document["last_error"] == "no milk"


def test_jobs_are_cancelled_and_retried_by_filter(run: Run, entity: UUID, admin: Admin) -> None:
    """Those that match are changed, all of them, and no other; what may not be changed is counted."""
    [other] = ask(admin)
    admin.execute("select foja.enqueue_job_v1('run_errand', %s, 'd')", [other])
    own = ["--type", "run_errand", "--entity", entity]
    three = ids(run, *own)
    assert run("jobs", "cancel", *own, "--as", "ana", "--json").document == {"asked": 3, "done": 3}
    assert ids(run, "--state", "cancelled") == three
    assert len(ids(run, "--state", "queued", "--entity", other)) == 2, "its executor, and its errand"
    again = run("jobs", "cancel", *own, "--state", "cancelled")
    assert (again.code, again.lines[0]) == (1, "0 of 3 cancelled")
    assert run("jobs", "cancel", "--state", "dead").code == 1, "there is none"
    [(job, token)] = claim(admin, 1)
    settle(admin, "select foja.fail_job_v1(%s, %s, 'no milk', true)", job, token)
    ran = run("jobs", "retry", "--state", "dead", "--json")
    assert (ran.code, ran.document) == (0, {"asked": 1, "done": 1})
    assert ids(run, "--state", "dead") == []
    assert run("jobs", "show", job, "--json").document["tries"] == 0


def test_ids_and_filters_are_not_mixed(run: Run, entity: UUID) -> None:
    """Neither, or both, would change more than was meant."""
    for verb in ("retry", "cancel"):
        check_refused(run("jobs", verb), 1, "choose them by state, type or stream")
        check_refused(run("jobs", verb, 1, "--type", "run_errand"), 1, "not both")
        assert run("jobs", verb, "--state", "asleep").code == 2
    assert len(ids(run, "--state", "queued")) == 4


def test_a_worker_loses_a_cancelled_job(run: Run, entity: UUID, admin: Admin) -> None:
    [(job, token)] = claim(admin, 1)
    assert run("jobs", "cancel", job).code == 0
    assert settle(admin, "select foja.complete_job_v1(%s, %s)", job, token) == "lost"
    assert ids(run, "--state", "cancelled") == [job]


def test_a_type_is_paused_and_resumed(run: Run, entity: UUID, admin: Admin) -> None:
    assert run("jobs", "pause", "run_errand").lines == ["run_errand is paused"]
    assert run("jobs").lines[-1] == "paused: run_errand"
    assert claim(admin, 5) == []
    assert run("jobs", "resume", "run_errand").lines == ["run_errand is resumed"]
    assert len(claim(admin, 5)) == 3
    assert run("jobs", "pause", "run_errand", "--json").document == {"type": "run_errand", "paused": True}
    assert run("jobs", "resume", "run_errand", "--json").document == {"type": "run_errand", "paused": False}


def test_unknown_jobs_and_types_are_refused(run: Run, entity: UUID) -> None:
    check_refused(run("jobs", "show", 999), 1, "there is no job 999")
    check_refused(run("jobs", "retry", 999), 1, "there is no job 999")
    check_refused(run("jobs", "pause", "nope"), 1, "no job type 'nope'")
    refused = run("worker", "--only", "run_errand")
    assert (refused.code, "'run_errand'" in refused.err) == (1, True)


def test_the_audit_finds_neglected_jobs(run: Run, entity: UUID, admin: Admin) -> None:
    admin.execute("update foja.job set run_at = now() - interval '1 hour' where type = 'run_errand'")
    [(job, _)] = claim(admin, 1)
    admin.execute("update foja.job set lease_until = now() - interval '1 hour' where job_id = %s", [job])
    admin.execute("update foja.job set correlation_id = gen_random_uuid() where job_id = %s", [job])
    admin.execute("select foja.queue_woken_v1()")
    admin.execute("update foja.job set state = 'succeeded' where type = 'decide_errand'")
    admin.execute("select foja.enqueue_job_v1('run_in_order', %s, 'd')", [entity])
    admin.execute("update foja.job set head = false where type = 'run_in_order'")
    found = run("audit", "--json").document["findings"]
    assert sorted(finding["check"] for finding in found) == [
        "correlation",
        "executor",
        "lease",
        "queue",
        "queue",
    ]


def test_the_audit_finds_an_executor_that_is_not_queued(run: Run, entity: UUID, admin: Admin) -> None:
    admin.execute("update foja.woken set at = now() - interval '1 hour'")
    [finding] = run("audit", "--json").document["findings"]
    assert (finding["check"], finding["entity_id"]) == ("queue", str(entity))
    assert run("jobs", "--type", "decide_errand").code == 0
    assert run("audit", "--json").document["findings"] == [], "listing the jobs queues it"
