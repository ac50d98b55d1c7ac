"""The wall between tenants, walked door by door: every table, view and function, as each kind of visitor.

What is open is on the lists below, which somebody reviewed. A new table or function that a visitor can
use fails here until it is closed, or is reviewed and listed with the reason.
"""

from __future__ import annotations

from typing import Any, LiteralString

import psycopg
import pytest

from foja.app import App
from tests.database.access.two_tenants import SECRET, Scene, two_tenants
from tests.database.schema.catalogue import Visitor, acting, unsafe, walk
from tests.database.schema.rows import Admin

ANON = Visitor("anon")
READER = Visitor("authenticated", "ana")
REQUEST = Visitor("foja_api", "ana")
NAMELESS = Visitor("foja_api")

# Functions of their arguments alone.
PURE = {
    "call: foja.canonical",
    "call: foja.canonical_float",
    "call: foja.canonical_number",
    "call: foja.derived_id",
    "call: foja.erasure_id",
    "call: foja.event_id_for",
    "call: foja.refuse",
    "call: foja.shortest",
    "call: foja.utf16_order",
    "call: foja.words_of",
}
# What everyone may know of an installation: its registry, its logs and published checkpoints.
PUBLIC = {
    "read: foja.ability",
    "read: foja.checkpoint",
    "read: foja.cosignature",
    "read: foja.domain",
    "read: foja.installation",
    "read: foja.kind",
    "read: foja.log",
    "read: foja.source",
}
READER_MAY = PUBLIC | {
    "call: foja.next_seq",  # of a row that the reader has
    "call: foja.envelope",
    "call: foja.gallery_readers",
    "read: message_events",  # over the rows of the tenant, as all views are
    "read: sequence_counters",
    "read: vw_image_gallery_metrics",
    "read: vw_image_thumbnail_job_metrics",
}
REQUEST_MAY = (READER_MAY - {"call: foja.gallery_readers"}) | {
    "call: foja.await_standbys",  # it waits, and says nothing
    "read: foja.gallery_rule",
    "read: foja.thumbnail_rule",
    "read: foja.migration",
    "read: foja.job_type",
    "read: foja.live_key",  # the process seals the transients of all tenants
    "insert: products",  # for its tenant: a policy checks it
    "delete: products",
    "update of a column: products",
    "insert: message_events",  # a trigger appends for the tenant
    "call: foja.acting_tenant",
    "call: foja.is_given_up",  # of rows that the request may read
    "call: foja.job_of",
    "call: foja.unhandled_types_v1",  # counts jobs that the request may read
    "call: foja.record_health_v1",  # of parts of the installation: nothing of a tenant, and nothing is read
    "call: foja.claim_probes_v1",
    "call: foja.queue_woken_v1",  # wakes executors, returns nothing of a stream
    "call: foja.recognise",
    "call: foja.count_http_failures_v1",  # how often the server failed, by route; nothing of a tenant
}
# Every other function that a request may call, with the ids of another tenant.
PROBES: dict[str, LiteralString] = {
    "foja.append": """select foja.append(foja_test.draft(%(talk)s, 'conversation', 'bob'))""",
    "foja.replay": """select foja.replay(foja_test.draft(%(talk)s, 'conversation', 'bob'))""",
    "foja.append_drafts": """select foja.append_drafts(
        array[foja_test.draft(%(talk)s, 'conversation', 'bob')], true, false)""",
    "foja.append_event": """select foja.append_event(%(talk)s, 'conversation', 'thinking',
        '{"content": "forged"}', tenant => 'bob')""",
    "foja.reserve": "select foja.reserve(%(talk)s, 'conversation', 'bob', 'api', 1, '30 s', null)",
    "foja.extend": "select foja.extend(%(talk)s, 'bob', %(token)s, '30 s')",
    "foja.fill": "select foja.fill(foja_test.draft(%(talk)s, 'conversation', 'bob'), %(slot)s, %(token)s)",
    "foja.fill_event": """select foja.fill_event(%(talk)s, 'conversation', %(slot)s, %(token)s, 'thinking',
        '{"content": "forged"}', tenant => 'bob')""",
    "foja.void": "select foja.void(%(talk)s, 'conversation', 'bob', %(slot)s, %(token)s, 'api', 'mine')",
    "foja.erase": "select foja.erase(%(talk)s, 'conversation', 'bob', 0, 'api', null, 'mine')",
    "foja.move_lane": """select foja.move_lane(
        %(talk)s, 'conversation', 'bob', 'api', null, 'redis', 'run', '30 s')""",
    "foja.claim_lanes": "select foja.claim_lanes(array[%(talk)s]::uuid[])",
    "foja.lane_append": """select foja.lane_append(
        foja_test.draft(%(talk)s, 'conversation', 'bob'), 9, gen_random_uuid())""",
    "foja.lane_reserve": """select foja.lane_reserve(
        %(talk)s, 'conversation', 'bob', 'api', 1, '30 s', null, 9, gen_random_uuid())""",
    "foja.chain_hash_of": "select foja.chain_hash_of(%(talk)s, 0)",
    "foja.covered_events": "select nullif(foja.covered_events(%(talk)s), 0)",
    "foja.enqueue_jobs_v1": """select foja.enqueue_jobs_v1(array[row('protect_document_v2', %(document)s,
        'bob', 'mine', '{}', null, null, null, null)::foja.new_job])""",
    "foja.enqueue_job_v1": "select foja.enqueue_job_v1('render_image', %(product)s, 'mine', tenant => 'bob')",
    "foja.cancel_jobs_v1": "select nullif(foja.cancel_jobs_v1(array[%(job)s]), 0)",
    "foja.retry_jobs_v1": "select nullif(foja.retry_jobs_v1(array[%(job)s]), 0)",
    "foja.change_jobs_v1": "select nullif(foja.change_jobs_v1('cancel', array[%(job)s], 'bob', null), 0)",
    "foja.delete_product_v1": "select nullif(foja.delete_product_v1('bob', %(product)s, 'mine', null), 0)",
    "foja.create_webhook_v1": """select foja.create_webhook_v1(
        gen_random_uuid(), 'bob', 'https://a.test', '{*}', false, '',
        decode(repeat('00', 32), 'hex'), false, null)""",
    "foja.change_webhook_v1": """select foja.change_webhook_v1(
        'bob', %(webhook)s, 'https://a.test', '{*}', false, '', null)""",
    "foja.switch_webhook_v1": "select foja.switch_webhook_v1('bob', %(webhook)s, false, 'mine', null)",
    "foja.rotate_webhook_v1": """select foja.rotate_webhook_v1(
        'bob', %(webhook)s, decode(repeat('00', 32), 'hex'), 60, null)""",
    "foja.remove_webhook_v1": "select foja.remove_webhook_v1('bob', %(webhook)s, null)",
    "foja.replay_deliveries_v1": """select foja.replay_deliveries_v1(
        'bob', %(webhook)s, null, null, null, null, false, null)""",
    "foja.anchor_obstacles_v1": "select (foja.anchor_obstacles_v1(%(document)s)).waiting - 'polygon'",
    "foja.is_anchoring_v1": "select nullif(foja.is_anchoring_v1(%(document)s, 1), false)",
    "foja.rebuild_galleries_v1": "select foja.rebuild_galleries_v1(array[%(product)s]::uuid[])",
    "foja.render_again_v1": "select nullif(foja.render_again_v1('bob', null, %(image)s, false, 'mine'), 0)",
    "append_document_entity_event": """select public.append_document_entity_event(%(document)s,
        '{"kind": "document.revoked", "payload": {"reason": "mine"}}')""",
    "insert_image_with_order": "select public.insert_image_with_order(%(product)s, 'https://a.test', null)",
    "reserve_sequence_batch": "select public.reserve_sequence_batch(%(talk)s, 1)",
}
INSERTS: list[LiteralString] = [
    """insert into public.message_events (session_id, event_type, data)
        values (%(talk)s, 'thinking', '{"content": "x"}')""",
    "insert into public.products (productid, tenant) values (gen_random_uuid(), 'bob')",
    "delete from public.products where productid = %(product)s returning productid",
    "update public.products set supplier_id = null where productid = %(product)s returning productid",
]
DRAFT: LiteralString = """
    create schema foja_test;
    grant usage on schema foja_test to public;
    create function foja_test.draft(entity uuid, domain text, tenant text) returns foja.draft language sql
        security definer set search_path = pg_catalog, pg_temp
    return foja.new_draft(entity, domain, tenant, 'thinking', '{"content":"forged"}', 'api');"""
TENANT_TABLES: LiteralString = """
    select c.oid::regclass::text from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant'
    where c.relkind = 'r' and c.relnamespace in ('foja'::regnamespace, 'public'::regnamespace) order by 1"""


# What is there without a tenant: one row for the installation, or a metric that counts nothing.
INSTALLATION = {each.replace("read: ", "rows: ") for each in PUBLIC - {"read: foja.cosignature"}} | {
    "rows: foja.gallery_rule",
    "rows: foja.job_type",
    "rows: foja.live_key",
    "rows: foja.migration",
    "rows: foja.thumbnail_rule",
    "rows: vw_image_gallery_metrics",
    "rows: vw_image_thumbnail_job_metrics",
}


@pytest.fixture
async def scene(app: App) -> Scene:
    return await two_tenants(app)


async def test_the_catalogue_has_no_unsafe_definer_view_or_table(scene: Scene, admin: Admin) -> None:
    assert unsafe(admin) == []


async def test_anon_finds_nothing(scene: Scene, admin: Admin) -> None:
    assert walk(admin, ANON, scene.secrets) == set()


async def test_a_reader_finds_its_tenant_alone(scene: Scene, admin: Admin) -> None:
    assert walk(admin, READER, scene.secrets) - PURE == READER_MAY


async def test_a_request_finds_its_tenant_alone(scene: Scene, admin: Admin) -> None:
    probed = {f"call: {name}" for name in PROBES}
    assert walk(admin, REQUEST, scene.secrets) - PURE == REQUEST_MAY | probed


async def test_a_request_without_a_tenant_finds_no_row_of_any(scene: Scene, admin: Admin) -> None:
    found = {each for each in walk(admin, NAMELESS, scene.secrets) if each.startswith(("rows: ", "shows "))}
    assert found == INSTALLATION


@pytest.mark.parametrize("visitor", [REQUEST, NAMELESS], ids=str)
async def test_no_function_does_anything_with_an_id_of_another_tenant(
    scene: Scene, admin: Admin, visitor: Visitor
) -> None:
    admin.execute(DRAFT)
    before = rows_of_bob(admin)
    for name, call in [*PROBES.items(), *((each, each) for each in INSERTS)]:
        with acting(admin, visitor):
            answer = attempt(admin, call, values(scene))
            admin.execute("set local role none")
            assert rows_of_bob(admin) == before, name
        assert SECRET not in str(answer), name
        assert all(is_nothing(value) for value in answer), (name, answer)


def is_nothing(value: object) -> bool:
    """Return whether a value is empty, or the refusal that an unknown reservation gets."""
    return not value or str(value).startswith('(refused,"slot_voided: ')


def attempt(admin: Admin, call: LiteralString, given: dict[str, Any]) -> list[Any]:
    """Return what a call answers; a refusal is none. Only refusals that name nothing are accepted."""
    try:
        with admin.transaction():
            return [row[0] for row in admin.execute(call, given)]
    except psycopg.Error as error:
        refusal = error.diag.message_primary
    assert refusal in REFUSALS
    return []


# Those that an unknown id gets; the last is that of a policy.
REFUSALS = {
    "unknown_entity",
    "slot_voided",
    "unknown_product",
    "unknown_job",
    "unknown_webhook",
    "not_allowed",
    'new row violates row-level security policy for table "products"',
}


def values(scene: Scene) -> dict[str, Any]:
    return {
        "talk": scene.talk.id,
        "token": scene.slots.token,
        "slot": scene.slots.seqs[0],
        "document": scene.document,
        "product": scene.product,
        "image": scene.image,
        "job": scene.job,
        "webhook": scene.webhook,
    }


def rows_of_bob(admin: Admin) -> dict[str, list[str]]:
    """Return every row of bob, by table."""
    tables = [name for (name,) in admin.execute(TENANT_TABLES)]
    found = {}
    for table in tables:
        rows = admin.execute(f"select x::text from {table} x where x.tenant = 'bob' order by 1".encode())
        found[table] = [row for (row,) in rows]
    assert sum(map(len, found.values())) > 10
    return found


PLANTED: dict[str, tuple[LiteralString, str]] = {
    "table": (
        """create table foja.notes as select entity_id, payload::text from foja.event;
            grant select on foja.notes to foja_api, authenticated""",
        "shows others: foja.notes",
    ),
    "table without rows of others": (
        """create table foja.hints (hint text); insert into foja.hints values ('x');
            grant select on foja.hints to foja_api, authenticated""",
        "read: foja.hints",
    ),
    "view": (
        """create view public.everything as select * from foja.event;
            grant select on public.everything to foja_api, authenticated""",
        "shows others: everything",
    ),
    "function": (
        """create function foja.peek(p_entity uuid) returns json language sql security definer
            set search_path = pg_catalog, pg_temp return (select payload from foja.event limit 1)""",
        "call: foja.peek",
    ),
    "policy": (
        "create policy oops on foja.slot for select to foja_api, authenticated using (true)",
        "shows others: foja.slot",
    ),
}


@pytest.mark.parametrize("planted", PLANTED)
@pytest.mark.parametrize("visitor", [READER, REQUEST], ids=str)
async def test_a_planted_hole_is_found(scene: Scene, admin: Admin, planted: str, visitor: Visitor) -> None:
    before = walk(admin, visitor, scene.secrets)
    make, expected = PLANTED[planted]
    admin.execute(make.encode())
    assert walk(admin, visitor, scene.secrets) - before == {expected}


async def test_planted_unsafe_definers_views_and_tables_are_found(scene: Scene, admin: Admin) -> None:
    admin.execute(b"""
        create function foja.careless() returns integer language sql security definer return 1;
        create view public.all_events as select * from foja.event;
        create table foja.plain (tenant text); grant select on foja.plain to authenticated""")
    assert {each.partition(":")[0] for each in unsafe(admin)} == {
        "definer without a pinned search_path",
        "view without security_invoker",
        "rows of tenants without forced row level security",
    }
