"""A worker that speaks only SQL: one call ends a job, with its facts and what follows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest

from foja.app import App
from foja.engine.sql.migrate import migrate
from tests.database.documents.papers import Paper, acting
from tests.job_domain import DECIDE, RUN, Admin, ask, install, kinds, states

DONE = {"kind": "errand.done", "payload": {"n": 1}, "idempotency_key": "once"}


@pytest.fixture
def entity(admin: Admin) -> UUID:
    install(admin)
    [entity] = ask(admin)
    admin.execute("select foja.enqueue_job_v1('run_errand', %s, 'a')", [entity])
    admin.execute("set role foja_run_errand")
    return entity


def claim(admin: Admin, kind: str = RUN) -> tuple[int, UUID]:
    row = admin.execute("select job_id, lease_token from foja.claim_jobs_v1(%s, 1, 'w')", [kind]).fetchone()
    assert row is not None
    return row[0], row[1]


def complete(admin: Admin, job: tuple[int, UUID], **more: Any) -> str:
    values = {"events": "[]", "jobs": "[]", "read": None} | {
        name: json.dumps(value) if name != "read" else value for name, value in more.items()
    }
    row = admin.execute(
        "select foja.complete_job_v1(%(job)s, %(token)s, %(events)s, %(jobs)s, %(read)s)",
        {"job": job[0], "token": job[1], **values},
    ).fetchone()
    assert row is not None
    return str(row[0])


def test_facts_and_following_jobs_are_recorded_with_the_end(entity: UUID, admin: Admin) -> None:
    job = claim(admin)
    follow = {"type": RUN, "dedupe_key": "b", "payload": {"x": 1}, "priority": 0}
    assert complete(admin, job, events=[DONE, {**DONE, "idempotency_key": None}], jobs=[follow]) == "done"
    assert kinds(admin, entity) == ["errand.asked", "errand.done", "errand.done"]
    assert states(admin) == {"succeeded": 1, "queued": 1}
    assert complete(admin, job, events=[DONE]) == "already"
    assert len(kinds(admin, entity)) == 3


def test_a_fact_that_was_recorded_before_is_recorded_once(entity: UUID, admin: Admin) -> None:
    admin.execute("select foja.enqueue_job_v1('run_errand', %s, 'b')", [entity])
    assert complete(admin, claim(admin), events=[DONE]) == "done"
    assert complete(admin, claim(admin), events=[DONE]) == "done"
    assert kinds(admin, entity) == ["errand.asked", "errand.done"]


def test_a_failure_is_tried_again_and_a_permanent_one_is_the_end(entity: UUID, admin: Admin) -> None:
    job = claim(admin)
    assert admin.execute("select foja.fail_job_v1(%s, %s, 'x')", job).fetchone() == ("retry",)
    assert states(admin) == {"retry_scheduled": 1}
    admin.execute("select pg_sleep(0.02)")
    job = claim(admin)
    assert admin.execute("select foja.snooze_job_v1(%s, %s, 0)", job).fetchone() == ("snooze",)
    job = claim(admin)
    assert admin.execute("select foja.fail_job_v1(%s, %s, 'y', true)", job).fetchone() == ("give_up",)
    assert states(admin) == {"dead": 1}


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([{"kind": "errand.nope", "payload": {}}], "unknown_kind"),
        ([{"kind": "errand.asked", "payload": {"what": "x"}}], "wrong_source"),
        ([DONE, {**DONE, "entity_id": str(uuid4()), "idempotency_key": "x"}], "unknown_entity"),
        ([{"kind": "errand.done", "payload": {"n": "many"}}], "bad_payload"),
        ([{**DONE, "expected_seq": 7}], "wrong_expected_seq"),
    ],
)
def test_what_may_not_be_said_leaves_the_job_as_it_was(
    entity: UUID, admin: Admin, events: Any, says: str
) -> None:
    job = claim(admin)
    with pytest.raises(psycopg.Error) as refused:
        complete(admin, job, events=events)
    assert refused.value.diag.message_primary == says
    assert states(admin) == {"running": 1}
    assert kinds(admin, entity) == ["errand.asked"]


@pytest.mark.usefixtures("entity")
def test_another_role_may_not_end_it(admin: Admin) -> None:
    job = claim(admin)
    admin.execute("set role foja_decide_errand")
    with pytest.raises(psycopg.Error) as refused:
        complete(admin, job)
    assert refused.value.diag.message_primary == "wrong_source"
    admin.execute("reset role")
    with pytest.raises(psycopg.Error) as refused:
        complete(admin, job)
    assert refused.value.diag.message_primary == "wrong_source", "not even the superuser, who is no worker"


@pytest.mark.usefixtures("entity")
def test_an_executor_in_sql_says_what_it_read(admin: Admin) -> None:
    admin.execute("set role foja_decide_errand")
    job = claim(admin, DECIDE)
    with pytest.raises(psycopg.Error) as refused:
        complete(admin, job)
    assert refused.value.diag.message_primary == "bad_payload"
    assert complete(admin, job, read=0) == "again"
    assert complete(admin, claim(admin, DECIDE), read=1) == "done"


@pytest.mark.parametrize(
    "words", ['{"kind": "errand.failed", "v": "one", "payload": {}}', '"nothing"', '{"payload": 7}']
)
def test_no_last_words_can_keep_a_job_from_dying(entity: UUID, admin: Admin, words: str) -> None:
    admin.execute("select foja.enqueue_job_v1('run_errand', %s, 'z', priority => 0)", [entity])
    admin.execute("reset role")
    admin.execute("update foja.job set on_death = %s where dedupe_key = 'z'", [words])
    admin.execute("set role foja_run_errand")
    job = claim(admin)
    assert admin.execute("select foja.fail_job_v1(%s, %s, 'x', true)", job).fetchone() == ("give_up",)
    row = admin.execute("select state, last_error from foja.job where dedupe_key = 'z'").fetchone()
    assert row is not None
    assert row[0] == "dead"
    assert "on_death event was refused" in row[1]


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        ('{"kind": "errand.done", "payload": {"n": 1}}', "bad_payload"),
        ('{"kind": "errand.failed", "payload": {"reason": "x"}}', "wrong_source"),
    ],
)
def test_nobody_puts_last_words_into_the_mouth_of_a_worker(
    entity: UUID, admin: Admin, words: str, refused: str
) -> None:
    with acting(admin, "service_role"), pytest.raises(psycopg.Error) as error:
        admin.execute("select foja.enqueue_job_v1('run_errand', %s, 'z', on_death => %s)", [entity, words])
    assert error.value.diag.message_primary == refused
    assert admin.execute("select from foja.job where dedupe_key = 'z'").fetchone() is None


def test_a_cancelled_job_has_its_last_words_said_by_the_sweeper_once(entity: UUID, admin: Admin) -> None:
    words = '{"kind": "errand.failed", "payload": {"reason": "x"}}'
    with acting(admin, "foja_decide_errand"):
        admin.execute("select foja.enqueue_job_v1('run_errand', %s, 'z', on_death => %s)", [entity, words])
    with acting(admin, "service_role"):
        admin.execute("select foja.cancel_jobs_v1(array(select job_id from foja.job where dedupe_key = 'z'))")
    with acting(admin, "foja_sweeper"):
        admin.execute("select foja.sweep_jobs_v1(10)")
        admin.execute("select foja.sweep_jobs_v1(10)")
    assert kinds(admin, entity).count("errand.failed") == 1


def test_a_job_that_said_its_last_words_is_over(entity: UUID, admin: Admin) -> None:
    words = '{"kind": "errand.failed", "payload": {"reason": "x"}}'
    with acting(admin, "foja_decide_errand"):
        admin.execute(
            "select foja.enqueue_job_v1('run_errand', %s, 'z', priority => 0, on_death => %s)",
            [entity, words],
        )
    with acting(admin, "foja_run_errand"):
        job = claim(admin)
        admin.execute("select foja.fail_job_v1(%s, %s, 'x', true)", job)
    with acting(admin, "service_role"), pytest.raises(psycopg.Error, match="job_is_over"):
        admin.execute("select foja.retry_jobs_v1(array[%s::bigint])", [job[0]])


def test_a_job_that_waits_for_its_time_can_come_at_once(entity: UUID, admin: Admin) -> None:
    admin.execute(
        "select foja.enqueue_job_v1('run_errand', %s, 'z', delay => '1 hour', priority => 0)", [entity]
    )
    again = "select foja.retry_jobs_v1(array(select job_id from foja.job where dedupe_key = 'z'))"
    with acting(admin, "service_role"):
        assert admin.execute(again.encode()).fetchone() == (1,)
        assert admin.execute(again.encode()).fetchone() == (0,)


def test_an_executor_that_was_cancelled_comes_back(entity: UUID, admin: Admin) -> None:
    decider = "(select job_id from foja.job where type = 'decide_errand')"
    with acting(admin, "service_role"):
        admin.execute("select foja.queue_woken_v1()")
        admin.execute(f"select foja.cancel_jobs_v1(array{decider})".encode())
        assert admin.execute(f"select foja.retry_jobs_v1(array{decider})".encode()).fetchone() == (1,)
    with acting(admin, "foja_decide_errand"):
        assert complete(admin, claim(admin, DECIDE), read=1) == "done"


ENQUEUE: LiteralString = "select foja.enqueue_job_v1(%s, %s, %s)"


def refused(admin: Admin, role: str, kind: str, entity: UUID, key: str) -> str | None:
    """Ask for a job as this role; return the code it is refused with, if it is."""
    with acting(admin, role):
        try:
            admin.execute(ENQUEUE, [kind, entity, key])
        except psycopg.Error as error:
            return error.diag.message_primary
    return None


def test_no_worker_can_take_the_place_of_an_executor_or_of_another_worker(admin: Admin) -> None:
    paper = Paper(admin)
    for kind, key in (("protect_document_v2", "executor"), ("run_tsa", "1")):
        code = refused(admin, "foja_submit_anchor_polygon", kind, paper.id, key)
        assert code in ("unknown_job", "bad_payload")
    paper.request()
    with acting(admin, "foja_protect_document_v2"):
        job = claim(admin, "protect_document_v2")
    row = admin.execute("select entity_id from foja.job where job_id = %s", job[:1]).fetchone()
    assert row == (paper.id,)


def test_a_job_is_asked_for_by_who_does_it_who_decides_and_the_house(entity: UUID, admin: Admin) -> None:
    paper = Paper(admin)
    paper.request()
    house = ("foja_api", "service_role", "foja_sweeper", "foja_run_errand", "foja_decide_errand")
    assert [refused(admin, role, RUN, entity, f"by {role}") for role in house] == [None] * 5
    asked = str(paper.ask()["seq"])
    assert refused(admin, "foja_protect_document_v2", "run_tsa", paper.id, "c") == "bad_payload"
    assert refused(admin, "foja_protect_document_v2", "run_tsa", paper.id, asked) is None
    for role, kind, stream in (
        ("foja_run_errand", "run_tsa", paper.id),
        ("foja_run_tsa", RUN, entity),
        ("foja_decide_errand", "run_tsa", paper.id),
        ("foja_decide_errand", RUN, uuid4()),
        ("foja_protect_document_v2", RUN, entity),
    ):
        assert refused(admin, role, kind, stream, asked) == "wrong_source", role
    for role, kind, stream in (("foja_run_errand", "run_tsa", entity), ("foja_decide_errand", RUN, paper.id)):
        assert refused(admin, role, kind, stream, "b") == "wrong_entity", role


def test_the_same_key_of_another_type_or_stream_is_another_job(entity: UUID, admin: Admin) -> None:
    admin.execute("reset role")
    [other] = ask(admin)
    admin.execute("set role foja_run_errand")
    job = claim(admin)
    follow = [{"type": "run_in_order", "dedupe_key": "a"}, {"type": RUN, "dedupe_key": "a"}]
    assert complete(admin, job, jobs=[*follow, {**follow[1], "entity_id": str(other)}]) == "done"
    assert states(admin) == {"succeeded": 1, "queued": 1}, "one was requested before, one is another stream's"
    assert states(admin, "run_in_order") == {"queued": 1}


async def test_batches_with_the_same_keys_do_not_wait_for_each_other(entity: UUID, database_url: str) -> None:
    put = b"""select foja.enqueue_jobs_v1(array(select
        row('run_errand', id, 'default', key, null, null, null, null, null)::foja.new_job
        from unnest(%s::uuid[], %s::text[]) u(id, key)))"""
    first, second = sorted((uuid4(), uuid4()))  # jobs are written in the order of their streams
    async with (
        await psycopg.AsyncConnection.connect(database_url) as one,
        await psycopg.AsyncConnection.connect(database_url) as two,
    ):
        await one.execute(put, [[first], ["y"]])
        waiting = asyncio.create_task(two.execute(put, [[second, first], ["z", "y"]]))
        await asyncio.sleep(0.3)
        await one.execute(put, [[second], ["z"]])
        await one.commit()
        assert await (await waiting).fetchone() == (0,)


async def test_an_executor_looks_again_after_its_migration_went_and_came_back(
    open_app: Callable[..., App], database_url: str
) -> None:
    async with open_app() as app:
        document = await app.documents.add(b"a contract", name="contract.txt")
        await app.documents.protect(document.id, required_evidence=["tsa"])
    await migrate(database_url, to=6)
    async with open_app() as app:
        await app.work(until_idle=True)
        assert (await app.documents.view(document.id)).state in ("protected", "final")


UNASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("k", {}),
    ("k", {"witness_hash": "a" * 64, "attempt": 1}),
    ("1", {}),  # the number of an event of another kind
    ("99999", {"witness_hash": "a" * 64, "attempt": 1}),
    ("2", {"witness_hash": "a" * 64, "attempt": 1}),  # of the event that asks for it, about another digest
)


@pytest.mark.parametrize("of_the_document", [True, False])
@pytest.mark.parametrize("role", ["foja_api", "service_role", "foja_protect_document_v2", "postgres"])
async def test_a_job_that_no_event_asks_for_is_refused_and_not_queued(
    open_app: Callable[..., App], admin: Admin, role: str, of_the_document: bool
) -> None:
    """`enqueue_job_v1('run_tsa', doc, 'k', '{}')` was accepted, and a traceback was logged for each try."""
    async with open_app() as app:
        document = await app.documents.add(b"a contract")
        await document.protect(required_evidence=["tsa"])
        await app.work(until_idle=True, only=["protect_document_v2"])
        assert [event.kind for event in await document.events()][2] == "job.run-tsa.required"
        stream = document.id if of_the_document else uuid4()
        before = admin.execute("select count(*) from foja.job").fetchone()
        types = (
            "run_tsa",
            "build_artifact",
            *(f"submit_anchor_{n}" for n in ("polygon", "bitcoin", "rekor")),
        )
        for kind in types:
            for key, payload in UNASKED:
                with (
                    acting(admin, role),
                    pytest.raises(psycopg.Error, match=r"bad_payload|wrong_source") as refused,
                ):
                    admin.execute(
                        "select foja.enqueue_job_v1(%s, %s, %s, %s)", [kind, stream, key, json.dumps(payload)]
                    )
                if refused.value.diag.message_primary == "bad_payload":
                    assert f"{kind} is requested by an event of the kind job." in str(refused.value)
        assert admin.execute("select count(*) from foja.job").fetchone() == before


async def test_a_job_of_the_installation_that_names_nothing_is_given_up_after_one_try(
    open_app: Callable[..., App], admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    """Such a job is accepted, since the anchors of checkpoints are jobs of the installation."""
    async with open_app() as app:
        product = uuid4()
        await app.images.add_url(product, "https://example.com/a.png")
        await app.work(until_idle=True)
        admin.execute(
            "select foja.enqueue_job_v1(type, installation_id, 'k', '{}') "
            "from foja.installation, unnest(array['run_tsa', 'build_artifact', 'submit_anchor_rekor']) type"
        )
        admin.execute("select foja.enqueue_job_v1('render_image', %s, 'k', '{}')", [product])
        await app.work(until_idle=True)
        ended = admin.execute(
            "select type, state, tries, last_error from foja.job where dedupe_key = 'k' order by type"
        ).fetchall()
        assert [each[:3] for each in ended] == [
            ("build_artifact", "dead", 1),
            ("render_image", "dead", 1),
            ("run_tsa", "dead", 1),
            ("submit_anchor_rekor", "queued", 0),  # no network is set up here
        ]
        assert all("its job names no" in error for *_, error in ended[:3])
        assert not [record for record in caplog.records if record.exc_info]
