"""Who may do what: append-only for everybody, deny by default, a source is a role."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, LiteralString
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from foja import errors
from foja.app import App
from foja.engine.driver.database import Database, connect
from foja.pure.core.event import event_id_for
from foja.pure.models.conversations.events import CONVERSATION
from tests.cases import all_cases
from tests.database.documents.papers import acting as acting_as
from tests.database.schema.rows import SAID, Admin

ENTITY = UUID(int=7)
ROLES = ("anon", "authenticated", "service_role", "foja_api", "foja_sweeper")
TABLES = ("event", "leaves", "leaf_place", "checkpoint")
# What anybody in the schema may call, and the pure functions these two are made of.
OPEN_TO_ALL = {"canonical", "erasure_id", "event_id_for"}
OF_POLICIES = {"gallery_readers"}  # what decides whether anon reads a row
PURE = {"canonical_number", "canonical_float", "shortest", "utf16_order", "refuse", "derived_id"}
DENIED = "42501"
APPEND_ONLY = "FJ002"

CHANGES: list[LiteralString] = [
    "update foja.event set payload = '{}' where seq = 0",
    "update foja.event set actor = 'eva'",
    "update foja.event set at = now()",
    "update foja.event set seq = seq + 100",
    "update foja.event set payload = null, salt = null, actor = null",
    "update foja.event set body_hash = body_hash",
    "delete from foja.event",
    "truncate foja.event",
    "truncate foja.event cascade",
    "update foja.leaves set chain_hash = chain_hash",
    "update foja.leaves set idx = idx + 100",
    "delete from foja.leaves where idx = 0",
    "truncate foja.leaves",
    "update foja.leaf_place set idx = idx",
    "delete from foja.leaf_place",
    "truncate foja.leaf_place",
    "update foja.checkpoint set note = 'forged'",
    "update foja.checkpoint set published_at = null",
    "update foja.checkpoint set published_at = now()",
    "update foja.checkpoint set root = root, published_at = now(), size = size + 1",
    "delete from foja.checkpoint",
    "truncate foja.checkpoint",
]
INSERTS: list[LiteralString] = [
    """insert into foja.event select entity_id, seq + 100, gen_random_uuid(), kind, v, at, actor, source,
        payload, salt, body_hash, idempotency_key, tenant from foja.event""",
    "insert into foja.leaves select origin, idx + 100, place, entity_id, seq, chain_hash from foja.leaves",
    "insert into foja.checkpoint select origin, size + 100, root, frontier, note from foja.checkpoint",
    r"insert into foja.cosignature values (1, 4, sha256(''), E'— a b\n')",
    "insert into foja.cosigner values (1, sha256(''), 'a+b+c', 4)",
    "update foja.cosigner set seen = 0",
    "insert into foja.kind select domain, 'shrugged', v, sources, required from foja.kind",
    """insert into foja.pending (entity_id, seq, chain_hash)
        select array[entity_id], array[seq], array[chain_hash] from foja.leaf""",
    "update foja.entity set next_seq = 0, sealed = 0",
    "delete from foja.slot",
    "update foja.kind set erasable = true",
    "update foja.installation set epoch = 'other'",
]


@pytest.fixture
async def full(app: App) -> App:
    """Foja with a few events, leaves and a published checkpoint."""
    talk = await app.conversations.open()
    for n in range(3):
        await talk.append("user_message_sent", {"content": str(n)}, actor="ana")
    await talk.append("turn_paused", {"reason": "r"})
    await app.work(until_idle=True)
    return app


def refused_with(admin: Admin, statement: LiteralString | sql.Composed, *values: object) -> str | None:
    """Return the SQLSTATE a statement is refused with, or None if it went through."""
    try:
        with admin.transaction(force_rollback=True):
            admin.execute(statement, values)
    except psycopg.Error as error:
        return error.sqlstate
    return None


def contents(admin: Admin) -> list[Any]:
    queries = [
        sql.SQL("select t::text from foja.{} t order by 1").format(sql.Identifier(name)) for name in TABLES
    ]
    return [admin.execute(query).fetchall() for query in queries]


def functions(admin: Admin) -> list[tuple[int, str, str]]:
    return admin.execute(
        "select oid, proname, oid::regprocedure::text from pg_proc where pronamespace = 'foja'::regnamespace"
    ).fetchall()


@pytest.fixture
def stranger(admin: Admin, database_url: str) -> Iterator[str]:
    """The URL of a login that nobody granted anything to."""
    name = f"stranger_{uuid4().hex[:8]}"
    admin.execute(sql.SQL("create role {} login").format(sql.Identifier(name)))
    yield urlsplit(database_url)._replace(netloc=f"{name}@").geturl()
    admin.execute(sql.SQL("drop owned by {}").format(sql.Identifier(name)))
    admin.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


@all_cases("role", ROLES)
def test_no_role_may_change_what_is_recorded(full: App, admin: Admin, role: str) -> None:
    before = contents(admin)
    with acting_as(admin, role):
        found = {statement: refused_with(admin, statement) for statement in [*CHANGES, *INSERTS]}
    assert found == dict.fromkeys([*CHANGES, *INSERTS], DENIED)
    assert contents(admin) == before


def test_the_superuser_cannot_change_what_is_recorded_either(full: App, admin: Admin) -> None:
    before = contents(admin)
    assert all(before)
    found = {statement: refused_with(admin, statement) for statement in CHANGES}
    assert found == dict.fromkeys(CHANGES, APPEND_ONLY)
    assert contents(admin) == before


def test_a_session_that_poses_as_a_replica_cannot_either(full: App, admin: Admin) -> None:
    before = contents(admin)
    admin.execute("set session_replication_role = replica")
    found = {statement: refused_with(admin, statement) for statement in CHANGES}
    assert found == dict.fromkeys(CHANGES, APPEND_ONLY)
    assert contents(admin) == before


async def test_an_erasure_goes_through_for_a_replica_too(full: App, admin: Admin) -> None:
    """What a subscriber of a replication applies: the notice first, then the body's end."""
    row = admin.execute("select entity_id from foja.event where seq = 0").fetchone()
    assert row is not None
    admin.execute("set session_replication_role = replica")
    admin.execute("select foja.erase(%s, 'conversation', 'default', 0, 'api', null, 'asked')", row)
    assert admin.execute("select payload from foja.event where seq = 0").fetchone() == (None,)


def test_the_owner_of_the_tables_cannot_change_what_is_recorded_either(full: App, admin: Admin) -> None:
    before = contents(admin)
    owner = sql.Identifier(f"owner_{uuid4().hex[:8]}")
    with admin.transaction(force_rollback=True):
        admin.execute(sql.SQL("create role {}").format(owner))
        admin.execute(sql.SQL("grant usage on schema foja to {}").format(owner))
        admin.execute(sql.SQL("grant select on all tables in schema foja to {}").format(owner))
        admin.execute(sql.SQL("grant execute on all functions in schema foja to {}").format(owner))
        for table in TABLES:
            admin.execute(sql.SQL("alter table foja.{} owner to {}").format(sql.Identifier(table), owner))
            name = sql.Identifier("new_owner")  # row level security is forced: an owner needs a policy, too
            make = sql.SQL("create policy {} on foja.{} to {} using (true) with check (true)")
            admin.execute(make.format(name, sql.Identifier(table), owner))
        admin.execute(sql.SQL("set local role {}").format(owner))
        found = {statement: refused_with(admin, statement) for statement in CHANGES}
        admin.execute("reset role")
    assert found == dict.fromkeys(CHANGES, APPEND_ONLY)
    assert contents(admin) == before


def test_a_change_that_looks_like_an_erasure_is_refused(full: App, admin: Admin) -> None:
    """Only with `body.erased` recorded before, only of an erasable kind, and nothing else with it."""
    forget: LiteralString = "update foja.event set payload = null, salt = null, actor = null"
    for statement in (
        f"{forget} where seq = 0",  # nobody said so
        f"{forget} where seq = 3",  # of a kind that is kept whole
        "update foja.event set payload = null, actor = null where seq = 0",
        f"{forget}, kind = 'thinking' where seq = 0",
    ):
        assert refused_with(admin, statement) == APPEND_ONLY


async def test_what_is_erased_cannot_come_back(full: App, admin: Admin) -> None:
    row = admin.execute("select entity_id from foja.event where seq = 0").fetchone()
    assert row is not None
    await full.ledger.erase(CONVERSATION, row[0], 0, reason="asked")
    for statement in (
        "update foja.event set payload = '{}' where seq = 0",
        "update foja.event set actor = 'eva' where seq = 0",
        "update foja.event set payload = null, salt = null, actor = null where seq = 1",
    ):
        assert refused_with(admin, statement) == APPEND_ONLY


def test_anon_can_do_nothing(full: App, admin: Admin) -> None:
    tables = admin.execute(
        """select relname from pg_class
            where relnamespace = 'foja'::regnamespace and relkind in ('r', 'v', 'S')"""
    )
    names = [row[0] for row in tables]
    assert "event" in names
    with acting_as(admin, "anon"):
        for name in names:
            assert refused_with(admin, sql.SQL("select from foja.{}").format(sql.Identifier(name))) == DENIED
        for statement in (
            "select foja.append_event(gen_random_uuid(), 'conversation', 'thinking', '{\"content\": \"x\"}')",
            "select foja.recognise()",
            "select foja.canonical('{}')",
            "create table foja.mine ()",
            "create table public.mine ()",
        ):
            assert refused_with(admin, statement) == DENIED


def test_nobody_may_execute_a_function_that_was_not_granted(admin: Admin) -> None:
    open_to_all = {
        name
        for oid, name, _ in functions(admin)
        if admin.execute("select has_function_privilege('anon', %s, 'execute')", [oid]).fetchone() == (True,)
    }
    assert open_to_all - PURE - OF_POLICIES == OPEN_TO_ALL


@all_cases("role", ["authenticated", "service_role", "foja_api", "foja_sweeper"])
def test_the_open_functions_work_for_those_who_may_use_the_schema(admin: Admin, role: str) -> None:
    with acting_as(admin, role):
        row = admin.execute(
            """select foja.canonical('{"b": 1.50, "a": [1, "é"]}'), foja.event_id_for(%s, 'k')""", [ENTITY]
        ).fetchone()
    assert row == ('{"a":[1,"é"],"b":1.5}', event_id_for(ENTITY, "k"))


def test_functions_that_act_as_their_owner_have_a_pinned_search_path(admin: Admin) -> None:
    rows = admin.execute(
        """select proname, proconfig from pg_proc where pronamespace = 'foja'::regnamespace and prosecdef"""
    ).fetchall()
    assert {"append", "append_drafts", "fill", "erase"} <= {name for name, _ in rows}
    loose = [name for name, config in rows if "search_path=pg_catalog, pg_temp" not in (config or [])]
    assert loose == []


def test_a_temporary_object_cannot_stand_in_for_a_real_one(admin: Admin) -> None:
    """A caller may make functions and tables of its own; the ledger's must not pick them up."""
    entity = uuid4()
    admin.execute("grant create on schema public to foja_api")
    with acting_as(admin, "foja_api"):
        admin.execute("create function public.sha256(bytea) returns bytea language sql return '\\x00'::bytea")
        admin.execute("set search_path = public, pg_catalog")
        admin.execute("create temp table event ()")
        row = admin.execute(
            """select status, body_hash
                from foja.append_event(%s, 'conversation', 'thinking', '{"content": "x"}')""",
            [entity],
        ).fetchone()
        admin.execute("reset search_path")
    assert row is not None
    assert row[0] == "appended"
    assert len(row[1]) == 32
    assert admin.execute("select count(*) from foja.event").fetchone() == (1,)


APPEND: LiteralString = """select foja.append_event(gen_random_uuid(), 'conversation', 'approval_completed',
    '{"approval_id": "a", "decision": "expired", "reason": null}', %s)"""


@all_cases(
    ("role", "source", "state"),
    [
        ("foja_api", "api", None),
        ("service_role", "api", None),
        ("foja_sweeper", "sweeper", None),
        ("foja_sweeper", "api", "FJ001"),
        ("foja_api", "sweeper", "FJ001"),
        ("service_role", "sweeper", "FJ001"),
        ("authenticated", "api", DENIED),
        ("anon", "api", DENIED),
    ],
)
def test_a_source_is_bound_to_its_role(admin: Admin, role: str, source: str, state: str | None) -> None:
    with acting_as(admin, role):
        assert refused_with(admin, APPEND, source) == state


FORGED: LiteralString = """row(%s::uuid, 'conversation', 'default', 'approval_completed', 1,
    gen_random_uuid(), null, 'sweeper', '{}', '\\x', '\\x', null, null)::foja.draft"""


def test_every_way_in_asks_for_the_role(full: App, admin: Admin) -> None:
    row = admin.execute("select entity_id from foja.entity").fetchone()
    assert row is not None
    calls: list[LiteralString] = [
        "select foja.reserve(%s, 'conversation', 'default', 'sweeper', 1, '1 s', null)",
        f"select foja.fill({FORGED}, 4, gen_random_uuid())",
        "select foja.void(%s, 'conversation', 'default', 4, gen_random_uuid(), 'sweeper', 'r')",
        "select foja.erase(%s, 'conversation', 'default', 0, 'sweeper', null, 'r')",
        f"select foja.append({FORGED})",
        f"select foja.append_drafts(array[{FORGED}], false, false)",
    ]
    with acting_as(admin, "foja_api"):
        for call in calls:
            with pytest.raises(psycopg.Error, match="wrong_source"):
                admin.execute(call, [row[0]])


def test_the_sequencer_is_not_for_the_api(full: App, admin: Admin) -> None:
    calls: list[LiteralString] = [
        "select foja.expire_slots(10)",
        "select foja.seal_ready(10, 10)",
        "select foja.open_log('other')",
        "select foja.number_pending(1, 10)",
        "select foja.halt_log(1, 'because')",
        "select foja.resume_log(1, 'because')",
        "select foja.record_checkpoint(1, 1, '\\x', '\\x', 'note')",
        "select foja.mark_published(1, 4)",
        "select foja.restart_log(1, 'other', true)",
    ]
    for role in ("foja_api", "service_role", "authenticated"):
        with acting_as(admin, role):
            assert {call: refused_with(admin, call) for call in calls} == dict.fromkeys(calls, DENIED)
    # The administrator may execute them, and is still not the sweeper.
    assert {call: refused_with(admin, call) for call in calls} == dict.fromkeys(calls, "FJ001")


def test_a_member_of_the_role_that_did_not_take_it_is_refused(admin: Admin, stranger: str) -> None:
    name = urlsplit(stranger).username or ""
    admin.execute(sql.SQL("grant foja_api to {}").format(sql.Identifier(name)))
    with psycopg.connect(stranger, autocommit=True) as conn:
        with pytest.raises(psycopg.Error, match="wrong_source"):
            conn.execute(APPEND, ["api"])
        conn.execute("set role foja_api")
        with pytest.raises(psycopg.Error, match="unknown_entity"):
            conn.execute(APPEND, ["api"])
        conn.execute("set foja.tenant = 'default'")
        conn.execute(APPEND, ["api"])


async def test_authenticated_sees_the_rows_of_its_tenant_only(
    open_app: Callable[..., App], admin: Admin
) -> None:
    streams = {}
    for tenant in ("red", "blue"):
        async with open_app(tenant=tenant) as app:
            talk = await app.conversations.open()
            await talk.append("user_message_sent", SAID)
            await talk.reserve(1, ttl=60)
            streams[tenant] = talk.id

    def visible() -> list[list[tuple[Any, ...]]]:
        return [
            admin.execute(
                sql.SQL("select entity_id, tenant from foja.{}").format(sql.Identifier(table))
            ).fetchall()
            for table in ("entity", "event", "slot")
        ]

    with acting_as(admin, "authenticated"):
        assert visible() == [[], [], []]
        for tenant in ("red", "blue", "red"):
            admin.execute("select set_config('foja.tenant', %s, false)", [tenant])
            assert visible() == [[(streams[tenant], tenant)]] * 3
        admin.execute("set foja.tenant = 'green'")
        assert visible() == [[], [], []]
        admin.execute("reset foja.tenant")
        assert visible() == [[], [], []]
    assert [len(rows) for rows in visible()] == [2, 2, 2]


async def test_a_tenant_reads_what_was_published_and_no_leaf(full: App, admin: Admin) -> None:
    """Checkpoints are for the world; leaves name the streams of every tenant."""
    await full.work(until_idle=True)
    admin.execute(
        """insert into foja.checkpoint (origin, size, root, frontier, note)
            select origin, size + 1, root, frontier, 'signed and not published' from foja.checkpoint"""
    )
    with acting_as(admin, "authenticated"):
        admin.execute("set foja.tenant = 'default'")
        assert admin.execute("select count(*) from foja.log").fetchone() == (1,)
        notes = [note for (note,) in admin.execute("select note from foja.checkpoint").fetchall()]
        assert len(notes) == 1
        assert "not published" not in notes[0]
        for statement in (
            "select from foja.leaf",
            "select from foja.leaves",
            "select from foja.leaf_place",
            "select from foja.pending",
            "select foja.leaves_between(1, 0, 9)",
            "select foja.find_leaf(1, gen_random_uuid(), 0)",
            "select foja.chain_hash_of(gen_random_uuid(), 0)",
        ):
            assert refused_with(admin, statement) == DENIED
        admin.execute("reset foja.tenant")
    for role, seen in {"foja_api": 1, "foja_sweeper": 2, "foja_worker": 2, "service_role": 2}.items():
        with acting_as(admin, role):
            assert admin.execute("select count(*) from foja.checkpoint").fetchone() == (seen,)


def test_a_stream_without_a_tenant_is_visible_to_nobody(admin: Admin) -> None:
    """A setting that was set and reset is an empty text, not absent."""
    with acting_as(admin, "foja_api"), suppress(psycopg.errors.RaiseException, psycopg.OperationalError):
        admin.execute(
            """select foja.append_event(gen_random_uuid(), 'conversation', 'thinking', '{"content": "x"}',
                tenant => '')"""
        )
    admin.execute("set foja.tenant = 'red'")
    admin.execute("reset foja.tenant")
    with acting_as(admin, "authenticated"):
        assert admin.execute("select count(*) from foja.event").fetchone() == (0,)


async def test_tenants_are_kept_apart_by_the_readers_too(open_app: Callable[..., App]) -> None:
    async with open_app(tenant="red") as red, open_app(tenant="blue") as blue:
        talk = await red.conversations.open()
        await talk.append("user_message_sent", SAID)
        await talk.reserve(1, ttl=60)
        assert await (await blue.conversations.open(talk.id)).events() == []
        assert len(await talk.events()) == 2


async def test_a_login_without_the_role_is_turned_away_at_connect(
    stranger: str, open_app: Callable[..., App], admin: Admin
) -> None:
    with pytest.raises(errors.RoleMissing, match="grant foja_api"):
        await connect(stranger, "foja_api")
    with pytest.raises(errors.RoleMissing):
        await Database(stranger, "foja_api", 2).open()
    with pytest.raises(errors.RoleMissing):
        async with open_app(database_url=stranger):
            pass


async def test_a_role_that_does_not_exist_is_said_so(database_url: str) -> None:
    with pytest.raises(errors.RoleMissing, match="foja_nobody"):
        await connect(database_url, "foja_nobody")


async def test_a_login_with_one_role_of_two_is_turned_away(
    stranger: str, open_app: Callable[..., App], admin: Admin
) -> None:
    name = sql.Identifier(urlsplit(stranger).username or "")
    admin.execute(sql.SQL("grant foja_api to {}").format(name))
    with pytest.raises(errors.RoleMissing, match="foja_operator"):
        async with open_app(database_url=stranger):
            pass


async def test_a_login_with_both_roles_needs_nothing_more(
    stranger: str, open_app: Callable[..., App], admin: Admin
) -> None:
    name = sql.Identifier(urlsplit(stranger).username or "")
    admin.execute(sql.SQL("grant foja_api, foja_sweeper to {}").format(name))
    async with open_app(database_url=stranger) as app:
        talk = await app.conversations.open()
        await talk.append("user_message_sent", SAID)
        slots = await talk.reserve(2, ttl=60)
        await slots.fill(0, "thinking", SAID)
        await slots.void(1, reason="denied")
        await talk.erase(0, reason="asked")
        await app.work(until_idle=True, only=[])
        with pytest.raises(errors.RoleMissing, match="foja_protect_document_v2"):
            await app.work(until_idle=True)
        assert [event.kind for event in await talk.events()] == [
            "user_message_sent",
            "thinking",
            "slot.voided",
            "body.erased",
        ]
