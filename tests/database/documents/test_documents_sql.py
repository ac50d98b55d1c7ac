"""The seed's names, and the guards of the database: whatever is forged, late, doubled or out of turn."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from foja.engine.jobs.outcome import Done
from foja.engine.ledger.event import draft
from foja.engine.observe.audit import audit
from foja.errors import BadPayload, OutOfTurn
from foja.pure.models.documents.events import DOCUMENT
from tests.cases import all_cases
from tests.database.documents.papers import OTHER, TOKEN, WITNESS, Paper, acting, later
from tests.database.schema.rows import Admin
from tests.database.schema.seed import AUDIT_A, AUDIT_B
from tests.job_domain import queue

FAILED = {"witness_hash": WITNESS, "attempt": 1, "failure_code": "refused"}
DONE = {"sha256": OTHER, "size": 1, "profile": "p", "verdict": "TOTAL_PASSED", "attempt": 1}
MISSING_TSA = "precondition_failed:missing_tsa_for_witness_hash"
SIGNED = {"witness_hash": WITNESS, "format": "raw", "signature_b64": "AAAA", "key_b64": "AAAA"}


@pytest.fixture
def paper(admin: Admin) -> Paper:
    return Paper(admin)


@pytest.fixture
def anchored(paper: Paper) -> Paper:
    """A document that is stamped and anchored, and may have everything."""
    paper.allow("polygon", "bitcoin", "artifact")
    paper.request("tsa", "polygon")
    paper.ask()
    paper.confirm(attempt=1)
    paper.ask("submit-anchor-polygon")
    paper.anchored()
    return paper


def test_the_envelope_of_the_seed_goes_in_and_comes_out(paper: Paper) -> None:
    event = uuid4()
    stored = paper.append(
        "document.protected.requested",
        {"witness_hash": WITNESS, "required_evidence": ["tsa"]},
        id=str(event),
        at="1999-01-01T00:00:00Z",
        v=1,
        actor="ana",
        entity_id=str(paper.id),
        correlation_id=str(uuid4()),
    )
    assert stored["id"] == str(event)
    assert stored["correlation_id"] == stored["entity_id"] == str(paper.id)
    assert stored["_source"] == "api"
    assert stored["actor"] == "ana"
    assert not stored["at"].startswith("1999")
    [row] = paper.admin.execute(
        "select id, witness_hash, lifecycle_status, events from document_entities"
    ).fetchall()
    assert row[:3] == (paper.id, WITNESS, "needs_witness")
    assert row[3] == [stored]


def test_the_event_of_another_document_is_refused(paper: Paper) -> None:
    body = {"witness_hash": WITNESS, "required_evidence": ["tsa"]}
    assert paper.refusal("document.protected.requested", body, entity_id=str(uuid4())) == "wrong_entity"


def test_a_body_outside_of_the_payload_is_refused(paper: Paper) -> None:
    assert paper.refusal("document.signed", {}, tsa={"token_b64": "AAAA"}) == "bad_payload"


@all_cases(
    "body",
    [
        {"witness_hash": WITNESS, "required_evidence": []},
        {"witness_hash": WITNESS, "required_evidence": ["polygon"]},
        {"witness_hash": WITNESS, "required_evidence": ["tsa", "ethereum"]},
        {"witness_hash": WITNESS, "required_evidence": ["tsa", 7]},
        {"witness_hash": "A" * 64, "required_evidence": ["tsa"]},
        {"witness_hash": WITNESS, "required_evidence": ["tsa"], "stage": "later"},
        {"witness_hash": WITNESS},
    ],
)
def test_a_request_that_makes_no_sense_is_refused(paper: Paper, body: dict[str, Any]) -> None:
    assert paper.refusal("document.protected.requested", body) == "bad_payload"


def test_what_nobody_here_can_produce_is_refused_when_it_is_asked_for(paper: Paper) -> None:
    body = {"witness_hash": WITNESS, "required_evidence": ["tsa", "bitcoin"]}
    assert paper.refusal("document.protected.requested", body) == "cannot_produce"


def test_an_equal_request_is_the_first_one(paper: Paper) -> None:
    first = paper.request("tsa")
    assert paper.request("tsa") == first
    assert paper.request("tsa", stage="final") == first
    assert paper.kinds() == ["document.protected.requested"]


def test_an_equal_request_of_a_stage_before_is_found_and_an_unequal_one_is_refused(paper: Paper) -> None:
    paper.allow("polygon", "bitcoin")
    first = paper.request("tsa", stage="initial")
    last = paper.request("tsa", "polygon", stage="final")
    assert paper.request("tsa", stage="initial") == first
    assert paper.request("polygon", "tsa") == last
    for evidence, stage in (
        (["tsa", "polygon"], "initial"),
        (["tsa"], "final"),
        (["tsa", "bitcoin"], "final"),
    ):
        body = {"witness_hash": WITNESS, "required_evidence": evidence, "stage": stage}
        assert paper.refusal("document.protected.requested", body) == "bad_payload"
    assert len(paper.kinds()) == 2


def test_requests_stay_equal_within_a_stage_and_grow_after_it(paper: Paper) -> None:
    paper.allow("polygon", "bitcoin")
    paper.request("tsa", "polygon", stage="initial")
    shrunk = {"witness_hash": OTHER, "required_evidence": ["tsa"], "stage": "initial"}
    assert paper.refusal("document.protected.requested", shrunk) == "bad_payload"
    grown = {**shrunk, "required_evidence": ["tsa", "polygon", "bitcoin"]}
    assert paper.refusal("document.protected.requested", grown) == "bad_payload"
    paper.request("polygon", "tsa", stage="initial", witness=OTHER)
    paper.request("tsa", "polygon", "bitcoin", stage="final", witness=OTHER)
    back = {**grown, "stage": "intermediate"}
    assert paper.refusal("document.protected.requested", back) == "bad_payload"


@all_cases("kind", sorted({kind.name for kind in DOCUMENT.kinds}))
def test_no_role_speaks_for_another(paper: Paper, kind: str) -> None:
    [sources] = {frozenset(each.sources) for each in DOCUMENT.kinds if each.name == kind}
    for source in sorted(sources):
        role = "foja_run_tsa" if source != "run-tsa" else "foja_protect_document_v2"
        with acting(paper.admin, role), pytest.raises(psycopg.Error, match="wrong_source"):
            paper.admin.execute(
                "select append_document_entity_event(%s, %s, %s)",
                [paper.id, Jsonb({"kind": kind, "payload": {}}), source],
            )
    assert paper.kinds() == []


def test_a_worker_says_only_its_own_kinds(paper: Paper) -> None:
    paper.request()
    paper.ask()
    body = {"witness_hash": WITNESS, **TOKEN}
    assert paper.refusal("tsa.confirmed", body, source="build-artifact") == "wrong_source"
    assert paper.refusal("tsa.confirmed", body, source="api") == "wrong_source"


def test_nothing_is_confirmed_before_it_is_asked_for(paper: Paper) -> None:
    body = {"witness_hash": WITNESS, **TOKEN}
    assert paper.refusal("tsa.confirmed", body) == "precondition_failed:missing_request"
    paper.request()
    assert paper.refusal("tsa.confirmed", body) == "precondition_failed:not_asked"
    paper.ask()
    assert paper.refusal("tsa.confirmed", {**body, "witness_hash": OTHER}) == "precondition_failed:not_asked"
    assert paper.refusal("tsa.confirmed", {**body, "token_b64": ""}) == "bad_payload"
    for half in ("blinding_b64", "path_b64"):  # of a batch an event holds both, or it records no proof
        assert paper.refusal("tsa.confirmed", {**body, half: "AAAA"}) == "bad_payload"
    assert paper.refusal("tsa.confirmed", {**body, "gen_time": "soon"}) == "bad_payload"
    paper.confirm()
    assert paper.refusal("tsa.confirmed", body) == "already_confirmed"


def test_an_attempt_is_asked_for_once_and_ends_once(paper: Paper) -> None:
    asking = {"witness_hash": WITNESS, "attempt": 1, "deadline": later(60)}
    assert paper.refusal("job.run-tsa.required", asking) == "precondition_failed:missing_request"
    paper.request()
    assert paper.refusal("job.run-tsa.required", {**asking, "attempt": 2}) == "bad_payload"
    assert paper.refusal("job.run-tsa.required", {**asking, "deadline": "soon"}) == "bad_payload"
    paper.ask()
    assert paper.refusal("job.run-tsa.required", asking) == "already_asked"
    assert paper.refusal("job.run-tsa.required", {**asking, "attempt": 2}) == "already_asked"
    assert paper.refusal("tsa.failed", {**FAILED, "attempt": 2}) == "precondition_failed:not_asked"
    paper.append("tsa.failed", FAILED)
    assert paper.refusal("tsa.failed", FAILED) == "attempt_not_open"
    assert (
        paper.refusal("tsa.confirmed", {"witness_hash": WITNESS, "attempt": 1, **TOKEN}) == "attempt_not_open"
    )
    paper.ask(attempt=2)
    paper.confirm(attempt=2)
    assert paper.refusal("job.run-tsa.required", {**asking, "attempt": 3}) == "already_confirmed"


def test_what_comes_late_says_so_and_ends_what_is_open(paper: Paper) -> None:
    paper.request()
    paper.ask()
    paper.append("tsa.failed", {**FAILED, "failure_code": "timeout"})
    paper.ask(attempt=2)
    paper.confirm(attempt=1, late=True)
    states = paper.admin.execute("select attempt, state from foja.attempt order by attempt").fetchall()
    assert states == [(1, "confirmed"), (2, "superseded")]
    assert paper.refusal("tsa.failed", {**FAILED, "attempt": 2}) == "attempt_not_open"


@pytest.mark.parametrize("state", ["queued", "running"])
@pytest.mark.parametrize("ending", ["tsa.confirmed", "tsa.failed"])
def test_an_attempt_that_is_ended_without_its_job_takes_it_away(
    paper: Paper, state: str, ending: str
) -> None:
    paper.request()
    key = str(paper.ask()["seq"])
    paper.admin.execute("select foja.enqueue_job_v1('run_tsa', %s, %s)", [paper.id, key])
    token = None
    if state == "running":
        with acting(paper.admin, "foja_run_tsa"):
            token = paper.admin.execute(
                "select lease_token from foja.claim_jobs_v1('run_tsa', 1, 'w')"
            ).fetchone()
    if ending == "tsa.confirmed":
        paper.confirm()
    else:
        paper.append("tsa.failed", FAILED)
    row = paper.admin.execute("select job_id, state from foja.job where dedupe_key = %s", [key]).fetchone()
    assert row is not None
    assert row[1] == "cancelled"
    if token:
        with acting(paper.admin, "foja_run_tsa"):
            told = paper.admin.execute("select foja.complete_job_v1(%s, %s)", [row[0], token[0]])
        assert told.fetchone() == ("lost",)


def test_no_anchor_without_a_timestamp_of_its_witness(paper: Paper) -> None:
    paper.allow("polygon")
    paper.request("tsa", "polygon")
    asking = {"witness_hash": WITNESS, "attempt": 1, "deadline": later(60)}
    assert paper.refusal("job.submit-anchor-polygon.required", asking) == MISSING_TSA
    anchor = {"network": "polygon", "witness_hash": WITNESS, "attempt": 1, "confirmed_at": later(0)}
    assert paper.refusal("anchor.confirmed", anchor, source="process-polygon-anchors") == MISSING_TSA
    del anchor["confirmed_at"]
    assert paper.refusal("anchor.submitted", anchor, source="submit-anchor-polygon") == MISSING_TSA


def test_a_network_is_spoken_of_by_its_own_workers(anchored: Paper) -> None:
    body = {"network": "polygon", "witness_hash": WITNESS, "attempt": 1, "failure_code": "reorged"}
    assert anchored.refusal("anchor.failed", body, source="process-bitcoin-anchors") == "wrong_source"
    again = {**body, "confirmed_at": later(0)}
    assert (
        anchored.refusal("anchor.confirmed", again, source="process-polygon-anchors") == "already_confirmed"
    )


def test_a_chain_may_take_its_confirmation_back_once(anchored: Paper) -> None:
    body = {"network": "polygon", "witness_hash": WITNESS, "attempt": 1, "failure_code": "reorged"}
    anchored.append("anchor.failed", body, source="process-polygon-anchors")
    assert anchored.refusal("anchor.failed", body, source="process-polygon-anchors") == "attempt_not_open"
    asking = {"witness_hash": WITNESS, "attempt": 1, "deadline": later(60)}
    assert anchored.refusal("job.build-artifact.required", asking) == "precondition_failed:missing_evidence"
    anchored.ask("submit-anchor-polygon", attempt=2)
    anchored.anchored(attempt=2)
    anchored.ask("build-artifact")


def test_the_artifact_is_final_once_and_only_when_everything_is_there(anchored: Paper) -> None:
    assert anchored.refusal("artifact.finalized", DONE) == "attempt_not_open"
    anchored.ask("build-artifact")
    gone = {"network": "polygon", "witness_hash": WITNESS, "attempt": 1, "failure_code": "reorged"}
    anchored.append("anchor.failed", gone, source="process-polygon-anchors")
    assert anchored.refusal("artifact.finalized", DONE) == "precondition_failed:missing_evidence"
    anchored.ask("submit-anchor-polygon", attempt=2)
    anchored.anchored(attempt=2)
    assert anchored.refusal("artifact.finalized", DONE) == "attempt_not_open"
    anchored.ask("build-artifact", attempt=2)
    renewal = {"sha256": OTHER, "size": 2}
    assert anchored.refusal("artifact.renewed", renewal) == "precondition_failed:not_final"
    anchored.append("artifact.finalized", {**DONE, "attempt": 2})
    assert anchored.refusal("artifact.finalized", {**DONE, "attempt": 2}) == "document_final"
    more = {"witness_hash": OTHER, "required_evidence": ["tsa", "polygon"]}
    assert anchored.refusal("document.protected.requested", more) == "document_final"
    anchored.append("artifact.renewed", renewal)
    anchored.append("anchor.failed", {**gone, "attempt": 2}, source="process-polygon-anchors")  # still shown


def test_what_is_closed_asks_for_nothing_and_hears_out_what_runs(paper: Paper) -> None:
    paper.request()
    paper.ask()
    paper.append("document.revoked", {"reason": "wrong file"})
    assert paper.refusal("document.signed", SIGNED, v=2) == "document_closed"
    more = {"witness_hash": OTHER, "required_evidence": ["tsa"]}
    assert paper.refusal("document.protected.requested", more) == "document_closed"
    paper.confirm()
    paper.append("document.archived", {"reason": "old"})
    assert paper.refusal("document.archived", {"reason": "again"}) == "document_closed"


def test_a_retry_is_for_what_was_asked_for_and_is_not_there(paper: Paper) -> None:
    body = {"evidence": "tsa", "witness_hash": WITNESS}
    assert paper.refusal("protection.retry.requested", body) == "precondition_failed:missing_request"
    paper.request()
    assert paper.refusal("protection.retry.requested", body) == "precondition_failed:not_asked"
    polygon = {**body, "evidence": "polygon"}
    assert paper.refusal("protection.retry.requested", polygon) == "precondition_failed:missing_request"
    paper.ask()
    paper.append("tsa.failed", FAILED)
    paper.append("protection.retry.requested", body)
    paper.ask(attempt=2)
    paper.confirm(attempt=2)
    assert paper.refusal("protection.retry.requested", body) == "already_confirmed"


@all_cases("known", [True, False])
@all_cases(
    "statement",
    [
        "select foja.reserve(%s, 'document', 'default', 'api', 1, '1 minute', null)",
        "select foja.move_lane(%s, 'document', 'default', 'api', null, 'redis', 'run', '0')",
    ],
)
def test_a_document_has_no_reserved_numbers_and_no_lane(paper: Paper, statement: str, known: bool) -> None:
    if known:
        paper.request()
    before = paper.kinds()
    with pytest.raises(psycopg.Error, match="bad_reservation"):
        paper.admin.execute(statement.encode(), [paper.id])
    assert paper.kinds() == before


def test_a_new_request_ends_the_artifact_of_the_one_before(paper: Paper) -> None:
    paper.request()
    paper.ask()
    paper.confirm(attempt=1)
    seq = paper.ask("build-artifact")["seq"]
    key = str(seq)
    paper.admin.execute("select foja.enqueue_job_v1('build_artifact', %s, %s)", [paper.id, key])
    paper.request(witness=OTHER)
    [state] = paper.admin.execute("select state from foja.job where dedupe_key = %s", [key]).fetchall()
    assert state == ("cancelled",)
    paper.ask(witness=OTHER)
    paper.confirm(witness=OTHER, attempt=1)
    assert paper.refusal("artifact.finalized", DONE) == "attempt_not_open"
    paper.ask("build-artifact", attempt=2, witness=OTHER)
    paper.append("artifact.finalized", {**DONE, "attempt": 2})


@pytest.fixture
def superseded(paper: Paper) -> Paper:
    """A document whose anchor was open when a request named another witness."""
    paper.allow("polygon")
    paper.request("tsa", "polygon")
    paper.ask()
    paper.confirm(attempt=1)
    key = str(paper.ask("submit-anchor-polygon")["seq"])
    paper.admin.execute("select foja.enqueue_job_v1('submit_anchor_polygon', %s, %s)", [paper.id, key])
    paper.request("tsa", "polygon", witness=OTHER)
    return paper


def attempt_states(paper: Paper) -> list[tuple[Any, ...]]:
    return paper.admin.execute(
        "select evidence, witness_hash, attempt, state from foja.attempt order by asked_seq"
    ).fetchall()


def test_a_request_for_another_witness_supersedes_open_attempts_and_cancels_their_jobs(
    superseded: Paper,
) -> None:
    assert attempt_states(superseded) == [
        ("tsa", WITNESS, 1, "confirmed"),
        ("polygon", WITNESS, 1, "superseded"),
    ]
    [row] = superseded.admin.execute("select state, last_error from foja.job").fetchall()
    assert row == ("cancelled", "superseded by a new request")
    with acting(superseded.admin, "foja_sweeper"):
        superseded.admin.execute("select foja.expire_attempts(10)")
    assert superseded.kinds()[-1] == "document.protected.requested"


def test_a_request_for_the_same_witness_keeps_its_open_attempts(paper: Paper) -> None:
    paper.request("tsa", stage="initial")
    paper.ask()
    paper.request("tsa", stage="final")
    assert attempt_states(paper) == [("tsa", WITNESS, 1, "open")]


def test_no_attempt_is_opened_or_granted_for_a_superseded_witness(superseded: Paper) -> None:
    missing = "precondition_failed:missing_request"
    next_attempt = {"witness_hash": WITNESS, "attempt": 2, "deadline": later(60)}
    assert superseded.refusal("job.submit-anchor-polygon.required", next_attempt) == missing
    grant = {"evidence": "polygon", "witness_hash": WITNESS}
    assert superseded.refusal("protection.retry.requested", grant) == missing
    superseded.ask(witness=OTHER)


def test_a_superseded_attempt_is_confirmed_only_late(superseded: Paper) -> None:
    body = {"network": "polygon", "witness_hash": WITNESS, "attempt": 1}
    for kind, more, source in (
        ("anchor.submitted", {}, "submit-anchor-polygon"),
        ("anchor.failed", {"failure_code": "refused"}, "process-polygon-anchors"),
        ("anchor.confirmed", {"confirmed_at": later(0)}, "process-polygon-anchors"),
    ):
        assert superseded.refusal(kind, {**body, **more}, source=source) == "attempt_not_open"
    superseded.anchored(late=True)
    assert attempt_states(superseded)[-1] == ("polygon", WITNESS, 1, "confirmed")
    artifact = {"witness_hash": WITNESS, "attempt": 1, "deadline": later(60)}
    assert superseded.refusal("job.build-artifact.required", artifact) == (
        "precondition_failed:missing_request"
    )


def test_an_attempt_is_submitted_once(paper: Paper) -> None:
    paper.allow("polygon")
    paper.request("tsa", "polygon")
    paper.ask()
    paper.confirm(attempt=1)
    paper.ask("submit-anchor-polygon")
    body = {"network": "polygon", "witness_hash": WITNESS, "attempt": 1}
    seq = paper.append("anchor.submitted", body, source="submit-anchor-polygon")["seq"]
    again = {**body, "txid": "0x1"}
    assert paper.refusal("anchor.submitted", again, source="submit-anchor-polygon") == "already_submitted"
    assert paper.admin.execute("select max(submitted_seq) from foja.attempt").fetchone() == (seq,)
    paper.append("anchor.failed", {**body, "failure_code": "dropped"}, source="process-polygon-anchors")
    paper.ask("submit-anchor-polygon", attempt=2)
    paper.append("anchor.submitted", {**body, "attempt": 2}, source="submit-anchor-polygon")
    paper.admin.execute("select foja.rebuild_document(%s)", [paper.id])
    rows = paper.admin.execute("select count(submitted_seq) from foja.attempt").fetchone()
    assert rows == (2,)


async def test_a_worker_that_submits_an_attempt_again_gets_a_typed_error(
    paper: Paper, database_url: str
) -> None:
    paper.allow("polygon")
    paper.request("tsa", "polygon")
    paper.ask()
    paper.confirm(attempt=1)
    asked = paper.ask("submit-anchor-polygon")["seq"]
    body = {"network": "polygon", "witness_hash": WITNESS, "attempt": 1}
    submitted = draft(
        DOCUMENT, paper.id, "anchor.submitted", body, source="submit-anchor-polygon", tenant="default"
    )
    again = draft(
        DOCUMENT, paper.id, "anchor.submitted", body, source="submit-anchor-polygon", tenant="default"
    )
    types = "submit_anchor_polygon", "broadcast_anchor_polygon"  # of one source
    for each in types:
        paper.admin.execute("select foja.enqueue_job_v1(%s, %s, %s)", [each, paper.id, str(asked)])
    async with queue(database_url, "submit-anchor-polygon") as opened:
        [first], [second] = [await opened.claim(each, 1, "w") for each in types]
        assert await opened.settle([(first, Done([submitted]))]) == ["done"]
        with pytest.raises(OutOfTurn, match="event 4 submitted attempt 1 at polygon"):
            await opened.settle([(second, Done([again]))])


@pytest.mark.parametrize("number", [1.4, 0, -1, 1e12, "1", None])
def test_attempts_are_whole_numbers(paper: Paper, number: Any) -> None:
    paper.request()
    asking = {"witness_hash": WITNESS, "attempt": number, "deadline": later(60)}
    assert paper.refusal("job.run-tsa.required", asking) == "bad_payload"
    paper.ask()
    assert paper.refusal("tsa.failed", {**FAILED, "attempt": number}) == "bad_payload"
    confirmed = {"witness_hash": WITNESS, "attempt": number, **TOKEN}
    assert paper.refusal("tsa.confirmed", confirmed) == "bad_payload"


@pytest.mark.parametrize(
    "wrong",
    [
        {"sha256": "x"},
        {"size": -1},
        {"size": 0.5},
        {"profile": ""},
        {"verdict": "fine"},
        {"renew_before": "x"},
    ],
)
def test_an_artifact_is_described_in_words_that_can_be_true(paper: Paper, wrong: dict[str, Any]) -> None:
    paper.request()
    paper.ask()
    paper.confirm(attempt=1)
    paper.ask("build-artifact")
    assert paper.refusal("artifact.finalized", {**DONE, **wrong}) == "bad_payload"


@pytest.mark.parametrize("word", ["document.revoked", "document.archived"])
def test_what_is_closed_never_becomes_final(paper: Paper, word: str) -> None:
    paper.request()
    paper.ask()
    paper.confirm(attempt=1)
    seq = paper.ask("build-artifact")["seq"]
    key = str(seq)
    paper.admin.execute("select foja.enqueue_job_v1('build_artifact', %s, %s)", [paper.id, key])
    paper.append(word, {"reason": "wrong file"})
    assert paper.refusal("artifact.finalized", DONE) == "document_closed"
    [state] = paper.admin.execute("select state from foja.job where dedupe_key = %s", [key]).fetchall()
    assert state == ("cancelled",)


def test_only_evidence_that_a_request_names_is_asked_for(paper: Paper) -> None:
    paper.allow("polygon")
    paper.request()
    paper.ask()
    paper.confirm(attempt=1)
    asking = {"witness_hash": WITNESS, "attempt": 1, "deadline": later(60)}
    missing = "precondition_failed:missing_request"
    assert paper.refusal("job.submit-anchor-polygon.required", asking) == missing


def test_no_attempt_is_open_for_ever(paper: Paper) -> None:
    paper.request()
    asking = {"witness_hash": WITNESS, "attempt": 1, "deadline": later(86400 * 365)}
    assert paper.refusal("job.run-tsa.required", asking) == "bad_payload"


def test_a_witness_is_a_digest_wherever_it_is_named(paper: Paper) -> None:
    fits = {"string": "tsa", "number": 1, "array": ["tsa"], "boolean": True}
    paper.request()
    paper.ask()
    for rule in DOCUMENT.kinds:
        if "witness_hash" in {*rule.required, *rule.optional} and not rule.retired:
            said = {name: fits[types] for name, types in rule.required.items()}
            for rubbish in ("rubbish", "", "A" * 64, "a" * 65, 7, None):
                body = {**said, "witness_hash": rubbish}
                assert paper.refusal(rule.name, body, source=min(rule.sources), v=rule.v) == "bad_payload"
                with pytest.raises(BadPayload):
                    rule.check(body)


def test_evidence_is_a_list_also_later_on(paper: Paper) -> None:
    paper.request()
    scalar = {"witness_hash": OTHER, "required_evidence": "tsa"}
    assert paper.refusal("document.protected.requested", scalar) == "bad_payload"


@all_cases(
    "statement",
    [
        "insert into document_entities (id, events) values (gen_random_uuid(), '[{}]')",
        "update document_entities set events = '[]'",
        "update document_entities set lifecycle_status = 'anchored'",
        "delete from document_entities",
    ],
)
def test_the_table_of_the_seed_cannot_be_written_past_the_ledger(paper: Paper, statement: str) -> None:
    paper.request()
    with pytest.raises(psycopg.Error) as refused:
        paper.admin.execute(statement.encode())
    assert refused.value.sqlstate == "FJ002"
    assert paper.kinds() == ["document.protected.requested"]


def test_the_seeds_own_audit_queries_find_nothing(anchored: Paper) -> None:
    assert anchored.admin.execute(AUDIT_A).fetchall() == []
    assert anchored.admin.execute(AUDIT_B).fetchall() == []


def test_attempts_past_their_deadline_are_closed_and_their_jobs_cancelled(paper: Paper) -> None:
    paper.allow("polygon")
    paper.request("tsa", "polygon")
    seq = paper.ask(deadline=later(-1))["seq"]
    key = str(seq)
    paper.admin.execute("select foja.enqueue_job_v1('run_tsa', %s, %s)", [paper.id, key])
    with acting(paper.admin, "foja_sweeper"):
        paper.admin.execute("select foja.expire_attempts(10)")
        paper.admin.execute("select foja.expire_attempts(10)")
    assert paper.kinds()[-2:] == ["job.run-tsa.required", "tsa.failed"]
    [state] = paper.admin.execute("select state from foja.job where dedupe_key = %s", [key]).fetchall()
    assert state == ("cancelled",)
    paper.ask(attempt=2)
    paper.confirm(attempt=2)
    paper.ask("submit-anchor-polygon", deadline=later(-1))
    with acting(paper.admin, "foja_sweeper"):
        paper.admin.execute("select foja.expire_attempts(10)")
    assert paper.kinds()[-1] == "anchor.timeout"


def test_attempts_of_a_paused_type_wait_for_it_and_the_others_do_not(paper: Paper) -> None:
    """Maintenance of one evidence costs it no attempts, and keeps no other from its deadline."""
    paper.allow("polygon")
    paper.request("tsa", "polygon")
    paper.ask()
    paper.confirm(attempt=1)
    paper.ask("submit-anchor-polygon", deadline=later(-1))
    another = Paper(paper.admin)
    another.request()
    another.ask(deadline=later(-1))
    paper.admin.execute("select foja.pause_jobs_v1('submit_anchor_polygon')")
    with acting(paper.admin, "foja_sweeper"):
        paper.admin.execute("select foja.expire_attempts(1)")
        paper.admin.execute("select foja.expire_attempts(1)")
    assert paper.kinds()[-1] == "job.submit-anchor-polygon.required"
    assert another.kinds()[-1] == "tsa.failed"
    paper.admin.execute("select foja.resume_jobs_v1('submit_anchor_polygon')")
    with acting(paper.admin, "foja_sweeper"):
        paper.admin.execute("select foja.expire_attempts(1)")
    assert paper.kinds()[-1] == "anchor.timeout"


def test_what_stands_beside_the_events_can_be_made_again_from_them(anchored: Paper) -> None:
    anchored.ask("build-artifact")
    anchored.append("artifact.failed", {"attempt": 1, "failure_code": "refused"})
    other = Paper(anchored.admin)
    other.append("document.added", {"sha256": WITNESS, "custody": "hash_only"})
    other.request(witness=OTHER)
    other.ask(witness=OTHER)
    tables = ["select * from foja.document order by 1", "select * from foja.attempt order by 1, 2, 3, 4"]
    before = [anchored.admin.execute(table.encode()).fetchall() for table in tables]
    anchored.admin.execute("delete from foja.ability where evidence <> 'tsa'")
    anchored.admin.execute("select foja.rebuild_document(entity_id) from foja.entity")
    assert [anchored.admin.execute(table.encode()).fetchall() for table in tables] == before


def test_a_tenant_reads_its_own_documents(paper: Paper) -> None:
    paper.request()
    with acting(paper.admin, "authenticated"):
        assert paper.admin.execute("select * from document_entities").fetchall() == []
        paper.admin.execute("set foja.tenant = 'default'")
        assert len(paper.admin.execute("select * from document_entities").fetchall()) == 1
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            paper.admin.execute("select append_document_entity_event(%s, '{}', 'api')", [paper.id])
    with acting(paper.admin, "anon"), pytest.raises(psycopg.errors.InsufficientPrivilege):
        paper.admin.execute("select * from document_entities")


@pytest.mark.parametrize("further", [1, 2])
async def test_a_row_that_the_owner_inserts_is_found_by_the_audit(
    paper: Paper, database_url: str, further: int
) -> None:
    paper.request()
    paper.admin.execute(
        """insert into foja.event select entity_id, seq + %s, gen_random_uuid(), 'document.signed', 1, at,
            null, 'api', '{}'::json, salt, body_hash, null, tenant from foja.event where entity_id = %s""",
        [further, paper.id],
    )
    report = await audit(database_url, max_lag_seconds=60.0)
    assert {(found.check, found.entity_id) for found in report.findings} == {("end", paper.id)}


def test_a_required_witness_holds_everything_back_until_it_is_ready(paper: Paper) -> None:
    """What the seed calls "para continuar" is refused while a witness is required."""
    missing = "precondition_failed:missing_witness"
    assert paper.refusal("document.signature.started", {}) == missing
    paper.request("tsa")
    paper.append("document.signature.started", {})
    paper.ask()
    paper.append("document.witness.required", {"reason": "the scan is incomplete"})
    assert paper.refusal("document.signature.started", {}) == missing
    more = {"witness_hash": OTHER, "required_evidence": ["tsa"]}
    assert paper.refusal("document.protected.requested", more) == missing
    paper.append("tsa.failed", FAILED)
    again = {"witness_hash": WITNESS, "attempt": 2, "deadline": later(60)}
    assert paper.refusal("job.run-tsa.required", again) == missing
    paper.append("document.witness.ready", {"witness_hash": OTHER})
    paper.append("job.run-tsa.required", again)
    paper.confirm(attempt=2)
    paper.ask("build-artifact")
    paper.append("document.witness.required", {})
    assert paper.refusal("artifact.finalized", DONE) == missing
    paper.append("document.witness.ready", {"witness_hash": OTHER})
    assert paper.refusal("artifact.finalized", DONE) == "attempt_not_open"
    paper.request("tsa", witness=OTHER)


def test_version_1_of_a_signature_is_retired_and_old_ones_stay_readable(paper: Paper) -> None:
    """`document.signed` v1 carries a text that nothing checks; it is not recorded any more."""
    paper.request()
    junk = {"witness_hash": WITNESS, "signature_b64": "not a signature"}
    assert paper.refusal("document.signed", junk) == "unknown_kind"
    paper.admin.execute("update foja.kind set retired = false where kind = 'document.signed' and v = 1")
    paper.append("document.signed", junk)
    paper.admin.execute("update foja.kind set retired = true where kind = 'document.signed' and v = 1")
    row = paper.admin.execute("select events from document_entities").fetchone()
    assert row
    assert [(each["v"], each["payload"]) for each in row[0]][-1] == (1, junk)
    with acting(paper.admin, "foja_protect_document_v2"):
        found = paper.admin.execute("select foja.rebuild_documents(array[%s]::uuid[])", [paper.id]).fetchall()
    assert found == []


@all_cases(
    "wrong",
    [
        {"format": "checked"},
        {"format": "xades"},
        {"signature_b64": "not a signature"},
        {"signature_b64": ""},
        {"signature_b64": "AAA"},
        {"signature_b64": "A" * 349_532},
        {"key_b64": None},
        {"certificate_b64": "AAAA"},
        {"witness_hash": "RUBBISH"},
    ],
    ids=lambda each: str(each)[:40],
)
def test_a_signature_has_a_known_format_and_its_bytes(paper: Paper, wrong: dict[str, Any]) -> None:
    """What is not a signature by its form is refused; an event cannot say that it was checked."""
    paper.request()
    body = {name: value for name, value in {**SIGNED, **wrong}.items() if value is not None}
    assert paper.refusal("document.signed", body, v=2) == "bad_payload"


def test_a_signature_is_over_a_digest_of_its_document(paper: Paper) -> None:
    """A signature over another document is not recorded for this one."""
    missing = "precondition_failed:missing_witness"
    assert paper.refusal("document.signed", SIGNED, v=2) == missing
    paper.append("document.added", {"sha256": OTHER, "custody": "hash_only"})
    assert paper.refusal("document.signed", SIGNED, v=2) == missing
    paper.append("document.signed", {**SIGNED, "witness_hash": OTHER}, v=2)
    paper.append("document.witness.ready", {"witness_hash": WITNESS})
    paper.append("document.signed", SIGNED, v=2)
    paper.append("document.signed", {"witness_hash": WITNESS, "format": "unchecked", "signer": "Ana"}, v=2)
    paper.append("document.witness.required", {})
    assert paper.refusal("document.signed", SIGNED, v=2) == missing
