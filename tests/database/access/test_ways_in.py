"""No function, view or table lets a document's event in past its guards, whoever calls it and whatever it is.

Every function that a role may execute is called with the same forgery, its arguments filled in by name
and type. So a function that is granted tomorrow is tried tomorrow.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from tests.database.documents.papers import TOKEN, WITNESS, Paper, acting
from tests.database.schema.rows import Admin

SOURCE, OWNER = "run-tsa", "foja_run_tsa"
BODY = {"witness_hash": WITNESS, **TOKEN}
STAMP = ("tsa.confirmed", BODY)
REQUEST = ("document.protected.requested", {"witness_hash": WITNESS, "required_evidence": ["tsa", "bitcoin"]})
WAYS = {
    "append",
    "append_document_entity_event",
    "append_drafts",
    "append_event",
    "complete_job_v1",
    "settle_jobs_v1",
}
DRAFT = """row({entity}::uuid, {domain}, {tenant}, {kind}, 1, {event}::uuid, null, {source}, {payload},
    {salt}::bytea, {hash}::bytea, null, null)::foja.draft"""
SETTLEMENT = "row({job}::bigint, {token}::uuid, 'done', null, null, null)::foja.settlement"


@dataclass(frozen=True)
class Function:
    """Something that can be called, and what it wants to be called with."""

    oid: int
    schema: str
    name: str
    arguments: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Forgery:
    """An event that must not be, of a document and, where there is one, in the name of its job."""

    paper: Paper
    job: int | None
    token: UUID | None
    source: str = SOURCE
    event: tuple[str, dict[str, Any]] = STAMP

    def values(self) -> dict[str, Any]:
        kind, body = self.event
        admin, payload = self.paper.admin, json.dumps(body, sort_keys=True, separators=(",", ":"))
        row = admin.execute(
            "select '\\x00112233445566778899aabbccddeeff'::bytea, foja.body_hash("
            "'\\x00112233445566778899aabbccddeeff', null, %s, %s, 1)",
            [payload, self.source],
        ).fetchone()
        end = admin.execute(
            "select next_seq, coalesce(fence, gen_random_uuid()) from foja.entity where entity_id = %s",
            [self.paper.id],
        ).fetchone()
        (salt, digest), (seq, fence) = row or (None, None), end or (0, uuid4())
        said = {"kind": kind, "payload": body}
        return dict(
            **dict.fromkeys(("entity", "entity_id", "document_entity_id"), self.paper.id),
            **dict.fromkeys(("seq", "first"), seq),
            **dict.fromkeys(("job", "job_id"), self.job),
            **dict.fromkeys(("hash", "body_hash"), digest),
            **dict.fromkeys(("reason", "error", "worker", "run"), "none"),
            **dict.fromkeys(("count", "of", "v"), 1),
            event=json.dumps(said),
            events=json.dumps([said]),
            jobs="[]",
            payload=payload,
            domain="document",
            tenant="default",
            kind=kind,
            source=self.source,
            salt=salt,
            fence=fence,
            token=self.token,
            outcome="done",
            type="run_tsa",
            lane="redis",
            ttl="1 minute",
            rest="0",
            limit=10,
            most=10,
            careful=False,
            claim=True,
        )


def functions(admin: Admin, role: str) -> list[Function]:
    rows = admin.execute(
        """select p.oid, n.nspname, p.proname, p.proargnames, array(select format_type(t, null)
            from unnest(p.proargtypes) with ordinality u(t, place) order by place)
        from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname in ('foja', 'public') and p.prokind = 'f' and p.prorettype <> 'trigger'::regtype
            and has_schema_privilege(%(role)s, n.oid, 'usage')
            and has_function_privilege(%(role)s, p.oid, 'execute') order by 1""",
        {"role": role},
    ).fetchall()
    return [
        Function(oid, schema, name, tuple(zip(names or [], types, strict=False)))
        for oid, schema, name, names, types in rows
    ]


def roles(admin: Admin) -> list[str]:
    rows = admin.execute(
        """select rolname from pg_roles where (rolname like 'foja\\_%'
            or rolname in ('anon', 'authenticated', 'service_role')) and rolname not like '%errand%'"""
    ).fetchall()
    return [name for (name,) in rows]


def call(function: Function, forged: Forgery) -> sql.Composed:
    """Return the call of a function with everything the forger knows."""
    known = forged.values()
    values = [value(name.removeprefix("p_"), kind, known) for name, kind in function.arguments]
    name = sql.Identifier(function.schema, function.name)
    return sql.SQL("select * from {}({})").format(name, sql.SQL(", ").join(values))


def value(name: str, kind: str, known: dict[str, Any]) -> sql.Composable:
    if kind.removesuffix("[]") in ("foja.draft", "foja.settlement"):
        literals = {key: sql.Literal(each) for key, each in known.items()} | {"event": sql.Literal(uuid4())}
        record = sql.SQL(DRAFT if kind.startswith("foja.draft") else SETTLEMENT).format(**literals)
        return sql.SQL("array[{}]").format(record) if kind.endswith("[]") else record
    if kind == "foja.new_job[]":
        return sql.SQL("null::foja.new_job[]")
    found = known.get(name)
    if name in ("event", "event_id") and kind == "uuid":
        found = uuid4()
    if kind.endswith("[]") and found is not None:
        found = [uuid4()] if name == "event" else [found]
    return sql.SQL("{}::" + kind).format(sql.Literal(found))


@contextmanager
def undone(admin: Admin) -> Iterator[None]:
    with admin.transaction(force_rollback=True):
        yield


def standing(admin: Admin, kind: str) -> Any:
    """Return how many such events there are, and numbers and fences, of which a document has none."""
    return admin.execute(
        """select (select count(*) from foja.event where kind = %s), (select count(*) from foja.slot),
            (select count(*) from foja.entity where fence is not null)""",
        [kind],
    ).fetchone()


def ways_in(admin: Admin, role: str, forged: Forgery) -> set[str]:
    """Return the functions by which this role could record the event, or take a number for it."""
    before, open_ways = standing(admin, forged.event[0]), set()
    for function in functions(admin, role):
        with undone(admin):
            forging = call(function, forged)
            try:
                with admin.transaction(), acting_for_now(admin, role):
                    admin.execute(forging)
            except psycopg.Error:
                pass
            if standing(admin, forged.event[0]) != before:
                open_ways.add(function.name)
    return open_ways


@contextmanager
def acting_for_now(admin: Admin, role: str) -> Iterator[None]:
    admin.execute(
        sql.SQL("set local role {}; set local foja.tenant = 'default'").format(sql.Identifier(role))
    )
    yield
    admin.execute("reset role")


@pytest.fixture
def paper(admin: Admin) -> Paper:
    paper = Paper(admin)
    admin.execute("select foja.recognise()")
    admin.execute("set statement_timeout = '5s'")
    return paper


def asked(paper: Paper) -> Forgery:
    """A document whose timestamp is being made, and the job that makes it."""
    paper.request()
    seq = paper.ask()["seq"]
    with acting(paper.admin, "foja_protect_document_v2"):
        paper.admin.execute("select foja.enqueue_job_v1('run_tsa', %s, %s)", [paper.id, str(seq)])
    with acting(paper.admin, OWNER):
        row = paper.admin.execute(
            "select job_id, lease_token from foja.claim_jobs_v1('run_tsa', 1, 'w')"
        ).fetchone()
    assert row is not None
    return Forgery(paper, *row)


def test_who_is_asked_can_answer_by_these_ways_and_nobody_else_by_any(paper: Paper) -> None:
    forged = asked(paper)
    every = roles(paper.admin)
    assert {"anon", "authenticated", "service_role", "foja_api", "foja_sweeper", OWNER} <= set(every)
    assert ways_in(paper.admin, OWNER, forged) == WAYS
    for role in set(every) - {OWNER}:
        own = role.removeprefix("foja_").replace("_", "-")
        for source in (SOURCE, "api" if role == "service_role" else own):
            assert ways_in(paper.admin, role, Forgery(paper, forged.job, forged.token, source)) == set(), role


@pytest.mark.parametrize("state", ["unknown", "added", "requested", "confirmed"])
def test_no_way_goes_round_the_guards(paper: Paper, state: str) -> None:
    forged = Forgery(paper, None, None)
    if state == "added":
        paper.append("document.added", {"sha256": WITNESS, "custody": "hash_only"})
    elif state == "requested":
        paper.request()
    elif state == "confirmed":
        forged = asked(paper)
        paper.confirm()
    assert ways_in(paper.admin, OWNER, forged) == set()


def test_nobody_asks_for_what_cannot_be_had_by_any_way(paper: Paper) -> None:
    for known in (False, True):
        if known:
            paper.append("document.added", {"sha256": WITNESS, "custody": "hash_only"})
        for role in roles(paper.admin):
            assert ways_in(paper.admin, role, Forgery(paper, None, None, "api", REQUEST)) == set(), role
    paper.allow("bitcoin")
    found = ways_in(paper.admin, "service_role", Forgery(paper, None, None, "api", REQUEST))
    assert found >= {"append", "append_event", "append_drafts", "append_document_entity_event"}


def test_no_role_writes_to_a_table_and_the_views_refuse_documents(paper: Paper) -> None:
    rows = paper.admin.execute(
        """select distinct n.nspname || '.' || c.relname
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        cross join unnest(%s::text[]) role cross join unnest('{insert,update,delete,truncate}'::text[]) right_
        where n.nspname in ('foja', 'public') and c.relkind in ('r', 'v', 'm', 'p', 'f')
            and has_table_privilege(role, c.oid, right_) order by 1""",
        [roles(paper.admin)],
    ).fetchall()
    # A product has no events: its gallery has, and deleting it appends them.
    assert rows == [("public.message_events",), ("public.products",)]
    asked(paper)
    before = standing(paper.admin, "tsa.confirmed")
    for role in ("service_role", "foja_api", OWNER):
        with acting(paper.admin, role), pytest.raises(psycopg.Error):
            paper.admin.execute(
                """insert into message_events (id, session_id, sequence_number, event_type, data)
                values (gen_random_uuid(), %s, 2, 'tsa.confirmed', %s)""",
                [paper.id, json.dumps(BODY)],
            )
    assert standing(paper.admin, "tsa.confirmed") == before
