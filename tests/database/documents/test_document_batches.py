"""The guards of documents do the same for a batch as for its events one by one."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

import psycopg
import pytest

from tests.database.schema.rows import Admin

WITNESS, OTHER = "a" * 64, "b" * 64
SEQ = 20  # of the event in question
ADDED, REQUESTED = "document.added", "document.protected.requested"
SEQS = {ADDED: 0}  # of an event that is not SEQ
KINDS = (
    ADDED,
    REQUESTED,
    "tsa.confirmed",
    "artifact.finalized",
    "job.run-tsa.required",
    "job.build-artifact.required",
)
ROUNDS, CHOICES = 400, 40  # about as many choices as two documents need
DOCUMENT: LiteralString = """
    insert into foja.document (entity_id, tenant, added_seq, witness_hash, witness_status, stage,
        required_evidence, requested_seq, finalized, closed)
    values (%(id)s, 'default', 0, %(witness)s, %(witness_status)s, %(stage)s, %(required)s, %(requested)s,
        %(finalized)s, %(closed)s)"""
ATTEMPT: LiteralString = """
    insert into foja.attempt (entity_id, evidence, witness_hash, attempt, asked_seq, deadline, state, tenant)
    values (%s, %s, %s, %s, %s, now() + interval '1 hour', %s, 'default')"""
JOB: LiteralString = """
    insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, state, max_tries)
    values (foja.job_of(%(evidence)s), %(id)s, %(id)s, 'default', %(key)s, %(state)s, 5)"""
EVENT: LiteralString = """
    insert into foja.event (entity_id, seq, event_id, kind, v, at, source, payload, salt, body_hash, tenant)
    values (%s, %s, gen_random_uuid(), %s, 1, now(), 'api', %s, sha256('salt'), sha256('body'), 'default')"""
STATE: LiteralString = """
    select jsonb_agg(jsonb_build_array(foja.tracked(e), (
            select jsonb_agg(jsonb_build_array(j.type, j.dedupe_key, j.state) order by j.job_id)
            from foja.job j where j.entity_id = e)) order by e),
        (select count(*) from foja.tick where type = 'renew_artifacts')
    from unnest(%s::uuid[]) e"""
ALONE: LiteralString = "select foja.track_documents(array[%s]::uuid[], array[%s]::bigint[], true)"
TOGETHER: LiteralString = "select foja.track_documents(%s::uuid[], %s::bigint[], true)"


@dataclass
class Chance:
    """Makes what is usual, except at these choices, counted from 0."""

    random: random.Random
    odd: frozenset[int] = frozenset()
    count: int = 0

    def of(self, usual: Any, *others: Any) -> Any:
        self.count += 1
        return self.random.choice(others) if self.count - 1 in self.odd else usual


def make_document(conn: Admin, chance: Chance, kind: str) -> UUID:
    """Insert a document that the event of this kind fits, mostly."""
    if kind == ADDED:
        return make_new_document(conn, chance)
    document = UUID(int=chance.random.getrandbits(128), version=4)
    required = chance.of(["tsa"], ["tsa", "polygon"], ["polygon", "tsa"])
    values = {
        "id": document,
        "witness": chance.of(WITNESS, OTHER),
        "witness_status": chance.of("ready", "required", "missing"),
        "stage": chance.of(None, "initial", "intermediate", "final"),
        "required": required,
        "requested": chance.of(None, 1) if kind == REQUESTED else chance.of(1, None, 15),
        "finalized": chance.of(False, True),
        "closed": chance.of(None, "revoked", "archived"),
    }
    conn.execute(DOCUMENT, values)
    done = "confirmed" if "artifact" in kind else "open"
    before = [] if kind in ("job.run-tsa.required", REQUESTED) else [done]
    make_attempts(conn, chance, document, "tsa", before)
    if "polygon" in required:
        make_attempts(conn, chance, document, "polygon", ["confirmed"])
    if "artifact" in kind:
        make_attempts(conn, chance, document, "artifact", ["open"] if kind == "artifact.finalized" else [])
    conn.execute(EVENT, (document, SEQ, kind, json.dumps(payload(chance, kind))))
    return document


def make_new_document(conn: Admin, chance: Chance) -> UUID:
    """Insert the first event of a document, mostly a plain one."""
    document = UUID(int=chance.random.getrandbits(128), version=4)
    body = {"sha256": chance.of(WITNESS, "short", None), "custody": "not_stored"}
    body |= chance.of({"name": "Contract of May.pdf"}, {}, {"name": ""}, {"name": None})
    body |= chance.of({}, {"predecessor": str(document)}, {"predecessor": None}, {"custody": "stored"})
    body |= chance.of({}, {"witness_hash": "short"}, {"witness_hash": WITNESS})
    if chance.of(False, True):
        conn.execute(
            DOCUMENT,
            {"id": document, "witness": WITNESS, "witness_status": "ready", "stage": None, "required": None}
            | {"requested": None, "finalized": False, "closed": None},
        )
    added(conn, document, body)
    return document


def make_attempts(conn: Admin, chance: Chance, document: UUID, evidence: str, usual: list[str]) -> None:
    """Insert attempts in these states, or in others, each with its job."""
    states = chance.of(usual, [], ["failed", *usual], ["superseded", "open"], ["confirmed"], ["open", "open"])
    for number, state in enumerate(states, 1):
        asked = {"tsa": 2, "polygon": 5, "artifact": 8}[evidence] + number
        witness = chance.of(WITNESS, OTHER)
        conn.execute(ATTEMPT, (document, evidence, witness, number, asked, state))
        job = chance.of("succeeded", "running", "queued", "dead", None)
        if job:
            values = {"evidence": evidence, "id": document, "key": str(asked), "state": job}
            conn.execute(JOB, values)


def payload(chance: Chance, kind: str) -> dict[str, Any]:
    """Return the payload of an event, mostly valid."""
    own: dict[str, Any] = {
        "witness_hash": chance.of(WITNESS, OTHER, "short"),
        "attempt": chance.of(1, 2, 1.5, 0),
    }
    if kind == REQUESTED:
        own["required_evidence"] = chance.of(["tsa"], ["tsa", "polygon"], ["polygon"], ["tsa", 1], "tsa")
        own |= chance.of({}, {"stage": "initial"}, {"stage": "final"}, {"stage": "odd"})
    elif kind == "tsa.confirmed":
        own |= {
            "token_b64": chance.of("AA==", ""),
            "gen_time": chance.of("2026-01-01T00:00:00Z", "soon", "2126-01-01T00:00:00Z"),
        }
        own |= chance.of(
            {}, {"late": True}, {"path_b64": "AA=="}, {"path_b64": "AA==", "blinding_b64": "AA=="}
        )
    elif kind == "artifact.finalized":
        own |= {
            "sha256": chance.of("c" * 64, "short"),
            "size": chance.of(9, -1, 1.5),
            "profile": chance.of("p", ""),
        }
        own |= {"verdict": chance.of("TOTAL_PASSED", "INDETERMINATE", "odd")}
        own |= chance.of({"renew_before": "2030-01-01T00:00:00Z"}, {}, {"renew_before": "soon"})
    else:
        deadline = chance.of("2026-01-01T00:00:00Z", "soon", "2126-01-01T00:00:00Z")
        own |= {"deadline": deadline, "run_at": "2026-01-01T00:00:00Z"}
    if chance.of(False, True):
        own.pop(chance.random.choice(sorted(own)))
    return own


Calls = list[tuple[LiteralString, tuple[Any, ...]]]


def outcome(conn: Admin, documents: list[UUID], calls: Calls) -> Any:
    """Return the state that these calls lead to, or None if one is refused; then undo them."""
    with conn.transaction(force_rollback=True):
        try:
            with conn.transaction():
                for statement, values in calls:
                    conn.execute(statement, values)
        except psycopg.Error:
            return None
        return conn.execute(STATE, (documents,)).fetchall()


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_tracked_as_its_events_are(admin: Admin, kind: str) -> None:
    seed = random.SystemRandom().getrandbits(32)
    found: Counter[str] = Counter()
    seq = SEQS.get(kind, SEQ)
    for turn in range(ROUNDS):
        chosen = random.Random(f"{seed}/{turn}")
        odd = frozenset(chosen.sample(range(CHOICES), turn % 4))
        chance = Chance(chosen, odd)
        with admin.transaction(force_rollback=True):
            documents = [make_document(admin, chance, kind) for _ in range(2)]
            each = outcome(admin, documents, [(ALONE, (document, seq)) for document in documents])
            together = outcome(admin, documents, [(TOGETHER, (documents, [seq] * 2))])
            assert together == each, f"seed {seed}, turn {turn}"
            found["refused" if each is None else "tracked"] += 1
            assert odd or each, f"seed {seed}, turn {turn}"
    assert all(found[each] > 2 for each in ("tracked", "refused")), found


def test_additions_and_requests_are_tracked_in_the_order_of_each_document(admin: Admin) -> None:
    chance = Chance(random.Random(1))
    with admin.transaction(force_rollback=True):
        new, asked = make_document(admin, chance, ADDED), make_document(admin, chance, REQUESTED)
        body = json.dumps(payload(chance, REQUESTED))
        admin.execute(EVENT, (new, 1, REQUESTED, body))
        documents, order = [asked, new, new], ((new, 0), (new, 1), (asked, SEQ))
        together = outcome(admin, documents, [(TOGETHER, (documents, [SEQ, 1, 0]))])
        assert together is not None
        assert together == outcome(admin, documents, [(ALONE, each) for each in order])


def test_a_request_that_is_refused_refuses_what_was_added_beside_it(admin: Admin) -> None:
    chance = Chance(random.Random(1))
    with admin.transaction(force_rollback=True):
        new, asked = make_document(admin, chance, ADDED), make_document(admin, chance, REQUESTED)
        admin.execute("update foja.document set closed = 'revoked' where entity_id = %s", (asked,))
        with pytest.raises(psycopg.Error, match="document_closed"):
            admin.execute(TOGETHER, ([new, asked], [0, SEQ]))


def test_a_second_confirmation_in_a_batch_is_refused(admin: Admin) -> None:
    chance = Chance(random.Random(1))
    with admin.transaction(force_rollback=True):
        one, other = (make_document(admin, chance, "tsa.confirmed") for _ in range(2))
        admin.execute(EVENT, (one, SEQ + 1, "tsa.confirmed", json.dumps(payload(chance, "tsa.confirmed"))))
        with pytest.raises(psycopg.Error, match="already_confirmed"):
            admin.execute(TOGETHER, ([one, other, one], [SEQ, SEQ, SEQ + 1]))


OBJECT: LiteralString = (
    "insert into foja.object (sha256, generation, state, size, tenant) values (%s, 3, 'live', 9, 'default')"
)
REFERENCES: LiteralString = (
    "select entity_id, seq, generation, role from foja.object_reference where seq = %s"
)


def added(conn: Admin, document: UUID, body: dict[str, Any] | None) -> None:
    """Insert the first event of a document; None is an erased body."""
    text = None if body is None else json.dumps(body)
    conn.execute(EVENT, (document, 0, "document.added", text))


@pytest.mark.parametrize("custody", ["digest", "stored", "lost", "erased"])
def test_artifacts_of_a_batch_are_referred_to_unless_their_document_was_erased(
    admin: Admin, custody: str
) -> None:
    """One of three is as the case says; the others are as usual."""
    chance = Chance(random.Random(2))
    with admin.transaction(force_rollback=True):
        documents = [make_document(admin, chance, "artifact.finalized") for _ in range(3)]
        admin.execute(OBJECT, ("c" * 64,))
        for each in documents[1:]:
            added(admin, each, {"sha256": WITNESS, "custody": "digest"})
        bodies: dict[str, dict[str, Any] | None] = {"digest": {"custody": "digest"}, "erased": None}
        added(admin, documents[0], bodies.get(custody, {"custody": "stored"}))
        if custody == "stored":
            admin.execute(
                """insert into foja.object_reference (entity_id, seq, sha256, generation, role, tenant)
                values (%s, 0, %s, 3, 'document', 'default')""",
                (documents[0], "c" * 64),
            )
        admin.execute("select foja.guard_documents(%s, %s, true)", (documents, [SEQ] * 3))
        kept = documents if custody in {"digest", "stored"} else documents[1:]
        rows = admin.execute(REFERENCES, (SEQ,)).fetchall()
        assert sorted(rows) == sorted((each, SEQ, 3, "artifact") for each in kept)


STORED = {"sha256": "c" * 64, "custody": "stored", "name": "a.txt"}


@pytest.mark.parametrize("third", ["stored", "candidate", "digest", "excerpt"])
def test_documents_of_a_batch_refer_to_their_bytes(admin: Admin, third: str) -> None:
    """Two of three are stored as usual; the bytes of one may be a candidate for deletion, or it has none."""
    with admin.transaction(force_rollback=True):
        documents = [UUID(int=number, version=4) for number in range(3)]
        for digest in ("c" * 64, "d" * 64):
            admin.execute(OBJECT, (digest,))
        if third == "candidate":
            path = "objects/" + "c" * 64 + "/3"
            admin.execute("insert into public.image_orphan_candidates (path) values (%s)", (path,))
        bodies = {"digest": {"custody": "hash_only"}, "excerpt": {"excerpt_sha256": "d" * 64}}
        for each, more in zip(documents, ({}, {}, bodies.get(third, {})), strict=True):
            added(admin, each, STORED | more)
        admin.execute("select foja.guard_documents(%s, %s, true)", (documents, [0] * 3))
        expected = [(each, 0, 3, "document") for each in documents[: 2 if third == "digest" else 3]]
        expected += [(documents[2], 0, 3, "excerpt")] if third == "excerpt" else []
        assert sorted(admin.execute(REFERENCES, (0,)).fetchall()) == sorted(expected)
        assert not admin.execute("select from public.image_orphan_candidates").fetchall()


def test_a_batch_that_lacks_the_bytes_of_a_document_is_refused(admin: Admin) -> None:
    with admin.transaction(force_rollback=True):
        documents = [UUID(int=number, version=4) for number in range(2)]
        admin.execute(OBJECT, ("c" * 64,))
        for each, digest in zip(documents, "cd", strict=True):
            added(admin, each, STORED | {"sha256": digest * 64})
        with pytest.raises(psycopg.Error, match="object_missing"):
            admin.execute("select foja.guard_documents(%s, %s, true)", (documents, [0] * 2))


def test_a_missing_artifact_refuses_the_batch(admin: Admin) -> None:
    chance = Chance(random.Random(3))
    with admin.transaction(force_rollback=True):
        documents = [make_document(admin, chance, "artifact.finalized") for _ in range(2)]
        for each in documents:
            added(admin, each, {"sha256": WITNESS, "custody": "digest"})
        with pytest.raises(psycopg.Error, match="object_missing"):
            admin.execute("select foja.guard_documents(%s, %s, true)", (documents, [SEQ] * 2))
