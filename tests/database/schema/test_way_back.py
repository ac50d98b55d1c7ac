"""The way back and forward again loses no work: what waited waits with its job."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from foja.app import App, Rebuilt
from foja.domains.registration import prepare
from foja.engine.blobs.store import object_key
from foja.engine.ledger.event import new_id
from foja.engine.observe.audit import audit
from foja.engine.sql.steps import read_steps
from foja.interfaces.cli import main
from tests.database.documents.anchor_scene import Scene, scene
from tests.database.images.scans import orphans_of
from tests.database.images.test_objects import clean
from tests.database.images.test_orphans import candidates
from tests.database.schema.test_schema import ask as query
from tests.database.schema.test_schema import dump
from tests.fake_network import Chain
from tests.job_domain import DECIDE, ERRAND, IN_ORDER, RUN, ask, do_well
from tests.png import png

LATEST = len(read_steps())
Admin = psycopg.Connection[Any]
# Rows that the way up makes from the events, as of the time of the event.
DERIVED = ("--exclude-table=public.product_images", "--exclude-table=foja.object_reference")
# Whoever does maintenance, and the key of live texts, are of one run of a process.
OF_A_RUN = (
    "--exclude-table-data=foja.maintenance",
    "--exclude-table-data=foja.health",
    "--data-only",
    *DERIVED,
)
WORKED: tuple[tuple[str, LiteralString], ...] = (
    ("render_image", "foja_render_image"),
    (RUN, "foja_run_errand"),
)
APPROVAL = {"approval_id": "a", "tool_name": "t", "tool_args": {}, "expires_at": "2999-01-01T00:00:00Z"}


Step = Callable[[Scene], Awaitable[None]]


def on_app(step: Callable[[App, Admin], Awaitable[None]]) -> Step:
    """Return a step that needs the installation alone."""
    return lambda scene: step(scene.app, scene.admin)


async def purge_orphans(scene: Scene) -> None:
    """Purge what was staged before."""
    gone = await orphans_of(scene.app).purger.purge(reason="tidying")
    assert (gone.outcome, gone.deleted) == ("complete", 1)
    assert candidates(scene.admin) == []


def rows(url: str) -> set[str]:
    """Return all rows of a database, without the last numbers that sequences gave."""
    derived = """select (to_jsonb(i) - 'updated_at')::text from public.product_images i
        union all select (to_jsonb(r) - 'referred_at')::text from foja.object_reference r"""
    stored = {line for line in dump(url, *OF_A_RUN) if "setval" not in line}
    return stored | {row for (row,) in query(url, derived)}


def claim(admin: Admin, kind: str, role: LiteralString) -> tuple[int, UUID]:
    """Claim a job as a worker that speaks SQL; return its id and its token."""
    with admin.transaction():
        admin.execute(f"set local role {role}")
        row = admin.execute(
            "select job_id, lease_token from foja.claim_jobs_v1(%s, 1, 'a worker')", [kind]
        ).fetchone()
    assert row is not None
    job, token = row
    return job, token


def fail(admin: Admin, kind: str, role: LiteralString, *, permanent: bool) -> None:
    """Claim a job and say that it failed."""
    job, token = claim(admin, kind, role)
    with admin.transaction():
        admin.execute(f"set local role {role}")
        admin.execute("select foja.fail_job_v1(%s, %s, 'it would not', %s)", [job, token, permanent])


async def leave_work(app: App, admin: Admin) -> None:
    """Leave jobs of every domain in every state, and what no event tells: suppliers, keys, pauses, ticks."""
    await app.webhooks.create("https://nowhere.invalid/hook", ["image.*"])
    await app.access.keys.create("default", name="a program")
    done = await app.documents.add(b"done", name="done.txt")
    await done.protect(required_evidence=["tsa"])
    product = uuid4()
    await app.images.add(product, png(), supplier_id=uuid4())
    talk = await app.conversations.open()
    await talk.append("approval_requested", APPROVAL)
    await app.work(until_idle=True)
    admin.execute("insert into public.products (productid, supplier_id) values (%s, %s)", [uuid4(), uuid4()])
    for width in range(9, 13):
        await app.images.add(product, png(width))
        document = await app.documents.add(b"%d" % width, name=f"{width}.txt")
        await document.protect(required_evidence=["tsa"])
    claim(admin, "protect_document_v2", "foja_protect_document_v2")
    streams = ask(admin, new_id(), new_id())
    for number in range(4):
        await app.jobs.enqueue(RUN, streams[0], key=f"run:{number}", payload={"own": [number, 0.5]})
        await app.jobs.enqueue(IN_ORDER, streams[1], key=f"row:{number}", delay=3600.0 * (number == 3))
    for kind, role in WORKED:
        claim(admin, kind, role)
        fail(admin, kind, role, permanent=True)
        fail(admin, kind, role, permanent=False)
    await app.jobs.pause(IN_ORDER)


async def leave_anchors(scene: Scene) -> None:
    """Leave a batch in every status that a worker goes on with, and digests that wait for one."""
    for status in ("confirmed", "sent", "drafted"):
        await scene.protect(2, stage="intermediate")
        steps = ["submit_anchor_polygon", "broadcast_anchor_polygon"]
        await scene.app.work(until_idle=True, only=steps[: 1 if status == "drafted" else 2])
        if status == "confirmed":
            await scene.confirm()
    await scene.protect(1, stage="intermediate")
    assert scene.statuses() == {"confirmed": 1, "sent": 1, "drafted": 1}


async def leave_orphans(app: App, admin: Admin) -> None:
    """Leave an object that was purged, and one that a scan has staged."""
    for data in (b"purged", b"staged"):
        await app.objects.put(data)
        await orphans_of(app).scanner.scan()
        if data == b"purged":
            await orphans_of(app).purger.purge(reason="tidying")
    assert candidates(admin) == [object_key(sha256(b"staged").hexdigest(), 0)]


async def finish_anchors(scene: Scene) -> None:
    """Let the batches be sent, mined and confirmed, and every document be anchored."""
    for _ in range(2):  # the second time with the batch of what waited
        await scene.confirm()
    assert scene.statuses() == {"confirmed": 4}
    assert len({*scene.chain.sent}) == len(scene.chain.used) == 4, "nothing is paid twice"
    anchored = scene.rows(
        "select state, count(*) from foja.attempt where evidence = 'polygon' group by state"
    )
    assert anchored == [("confirmed", 7)]


async def finish_work(app: App, admin: Admin) -> None:
    """Let workers do what waits, and leave only what waits for its time or for a person."""
    admin.execute("update foja.job set lease_until = clock_timestamp() where state = 'running'")
    app.workers.add(RUN, do_well)
    await app.work(until_idle=True)
    states = dict(
        admin.execute(
            "select type, array_agg(distinct state order by state) from foja.job "
            "where state <> 'retry_scheduled' group by type"
        ).fetchall()
    )
    assert states.pop(IN_ORDER) == ["queued"]
    assert states.pop(DECIDE) == ["queued"]
    assert states.pop("deliver_webhook") == ["queued"]  # its receiver is nowhere
    assert states.pop("render_image") == ["dead", "succeeded"]
    assert states.pop(RUN) == ["dead", "succeeded"]
    assert {state for each in states.values() for state in each} == {"succeeded"}


def test_every_way_back_and_forward_again_loses_no_work(
    open_app: Callable[..., App], admin: Admin, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A queued image stayed queued for ever after 15 -> 14 -> 15: its job was deleted."""

    chain = Chain()

    async def act(*steps: Step) -> None:
        async with scene(open_app, admin, monkeypatch, domains=[ERRAND]) as found:
            found.polygon.chain = chain
            for step in steps:
                await step(found)

    asyncio.run(act(leave_anchors, on_app(leave_orphans), on_app(leave_work)))
    monkeypatch.setenv("FOJA_DATABASE_URL", database_url)
    before = rows(database_url)
    states = admin.execute("select distinct state from foja.job").fetchall()
    assert {state for (state,) in states} == {"queued", "running", "dead", "retry_scheduled", "succeeded"}
    for number in range(LATEST - 1, 0, -1):
        assert main(["migrate", "--to", str(number), "--yes"]) == 0
        assert main(["migrate"]) == 0
        assert rows(database_url) ^ before == set(), f"after the way back to {number}"
    asyncio.run(act(on_app(finish_work), finish_anchors, purge_orphans))


async def test_what_is_written_meanwhile_is_decided_and_tracked_afterwards(
    open_app: Callable[..., App], admin: Admin, database_url: str
) -> None:
    """Without its guard, an event of a tracked kind could not be written."""
    async with open_app() as app:
        document = await app.documents.add(b"a contract", name="contract.txt")
        talk = await app.conversations.open()
    await prepare(database_url, to=1)
    request = {"witness_hash": document.sha256, "required_evidence": ["tsa"], "stage": "initial"}
    for entity, domain, kind, payload in (
        (document.id, "document", "document.protected.requested", request),
        (talk.id, "conversation", "approval_requested", {**APPROVAL, "expires_at": "2001-01-01T00:00:00Z"}),
    ):
        admin.execute("select foja.append_event(%s, %s, %s, %s)", [entity, domain, kind, Jsonb(payload)])
    async with open_app() as app:
        await app.work(until_idle=True)
        assert (await app.documents.view(document.id)).state == "protected"
        events = await (await app.conversations.open(talk.id)).events()
        assert [event.kind for event in events] == ["approval_requested", "approval_completed"]
        assert await clean(app)


@pytest.mark.parametrize("tenant", ["default", "other"])
async def test_what_waits_without_a_job_is_found_and_gets_one(
    open_app: Callable[..., App], admin: Admin, database_url: str, tenant: str
) -> None:
    """Jobs that were gone left an image queued for ever and an attempt open, and audit was clean.

    What was rebuilt was that of the own tenant only, and a webhook had to be switched off and on.
    """
    async with open_app() as app:
        owner = app.tenant(tenant)
        await owner.webhooks.create("https://nowhere.invalid/hook", ["document.added"])
        document = await owner.documents.add(b"a contract", name="contract.txt")
        product = uuid4()
        image = await owner.images.add(product, png())
        await document.protect(required_evidence=["tsa"])
        await app.work(until_idle=True, only=["protect_document_v2"])
        admin.execute("delete from foja.job where type <> 'protect_document_v2'")
        report = await audit(database_url, max_lag_seconds=3600)
        named = [finding.entity_id for finding in report.findings if finding.check == "job"]
        assert sorted(named, key=str) == sorted([document.id, document.id, product], key=str)
        mended = Rebuilt(documents=1, mended=1, guards=1, galleries=1, mended_galleries=1, deliveries=1)
        nothing = Rebuilt(documents=1, mended=0, galleries=1)
        assert [await app.rebuild() for _ in range(2)] == [mended, nothing]
        assert (await audit(database_url, max_lag_seconds=3600)).findings == ()
        await app.work(until_idle=True)
        assert (await owner.documents.view(document.id)).state == "final"
        assert (await owner.images.rendering(image)).status == "success"


async def test_no_role_reads_what_is_kept(admin: Admin, database_url: str) -> None:
    await prepare(database_url, to=6)
    await prepare(database_url)
    readers = admin.execute(
        "select rolname from pg_roles where not rolsuper and has_table_privilege(oid, 'foja.kept', 'select') "
        "and rolname like any (array['foja%', 'anon', 'authenticated', 'service_role'])"
    ).fetchall()
    assert readers == []
