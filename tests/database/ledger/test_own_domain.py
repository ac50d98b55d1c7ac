"""Domains of users: registered, refused, shared by databases and processes, closed like Foja's own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from foja.app import App
from foja.domains.registration import prepare
from foja.engine.jobs.outcome import Done, GiveUp, Job, NewEvent, NewJob, Outcome, Retry
from foja.engine.ledger.event import Event
from foja.engine.observe.audit import audit
from foja.errors import (
    BadDomain,
    BadPayload,
    BadReservation,
    UnknownDomain,
    UnknownEntity,
    UnknownJob,
    UnknownKind,
    WrongSource,
)
from foja.pure.core.registry import Domain, JobType, Kind
from tests.cases import all_cases

Admin = psycopg.Connection[Any]
SENDER = "invoice-sender"
KINDS = [
    Kind("invoice.issued", required={"total": "number"}, optional={"note": "string"}),
    Kind("invoice.sent", {SENDER}, {"to": "string"}),
    Kind("invoice.bounced", {SENDER, "sweeper"}, {"reason": "string"}),
    Kind("invoice.noted", required={"text": "string"}, erasable=True, wakes=False),
]
INVOICE = Domain("invoice", KINDS, jobs=[JobType("send_invoice", SENDER, max_tries=2, backoff=0.01)])
ISSUED = {"total": 12.5}


def decide(events: Sequence[Event], now: datetime) -> list[NewJob | NewEvent]:
    """Send every invoice once."""
    kinds = [event.kind for event in events]
    if "invoice.issued" in kinds and "invoice.sent" not in kinds:
        return [NewJob("send_invoice", events[0].entity_id, "send")]
    return []


DECIDED = Domain("invoice", KINDS, jobs=INVOICE.jobs, decide=decide)


async def send(jobs: Sequence[Job]) -> list[Outcome]:
    return [Done([NewEvent("invoice.sent", {"to": job.payload.get("to", "ana")})]) for job in jobs]


def registry(admin: Admin) -> list[Any]:
    """Return everything that a registration may change, roles included."""
    tables = [
        admin.execute(f"select to_jsonb(x)::text from foja.{name} x order by 1".encode()).fetchall()
        for name in ("domain", "source", "kind", "job_type")
    ]
    roles = admin.execute("select rolname from pg_roles where rolname like 'foja%' order by 1").fetchall()
    return [*tables, roles]


async def test_an_own_stream_is_appended_reserved_read_and_erased(open_app: Callable[..., App]) -> None:
    async with open_app(domains=[INVOICE]) as app:
        invoice = await app.streams(INVOICE).open()
        first = await invoice.append("invoice.issued", ISSUED, idempotency_key="1", actor="ana")
        again = await invoice.append("invoice.issued", ISSUED, idempotency_key="1", actor="ana")
        assert first.seq == again.seq == 0
        slots = await invoice.reserve(2)
        await slots.fill(1, "invoice.noted", {"text": "b"})
        await slots.fill(0, "invoice.noted", {"text": "a"})
        await invoice.append_many([invoice.draft("invoice.noted", {"text": "c"}) for _ in range(2)])
        await invoice.erase(1, reason="asked")
        kinds = [event.kind for event in await invoice.events()]
        assert kinds == ["invoice.issued", *["invoice.noted"] * 4, "body.erased"]
        assert await app.streams(INVOICE).list() == [invoice.id]


async def test_a_registry_is_closed_in_python_and_in_the_database(
    open_app: Callable[..., App], admin: Admin
) -> None:
    async with open_app(domains=[INVOICE]) as app:
        invoice = await app.streams(INVOICE).open()
        with pytest.raises(UnknownKind):
            await invoice.append("invoice.lost", {})
        with pytest.raises(BadPayload, match="total"):
            await invoice.append("invoice.issued", {"total": "much"})
        with pytest.raises(WrongSource):
            await invoice.append("invoice.sent", {"to": "ana"})
        with pytest.raises(UnknownJob):
            await app.jobs.enqueue("lose_invoice", invoice.id, key="1")
        for kind, body, problem in [
            ("invoice.lost", {}, "unknown_kind"),
            ("invoice.issued", {"total": "much"}, "bad_payload"),
            ("invoice.sent", {"to": "ana"}, "wrong_source"),
        ]:
            with pytest.raises(psycopg.Error, match=problem):
                admin.execute(
                    "select foja.append_event(%s, 'invoice', %s, %s)", [invoice.id, kind, Jsonb(body)]
                )


async def test_a_handler_settles_its_events_and_jobs_with_its_job(open_app: Callable[..., App]) -> None:
    tried: list[str] = []

    async def sometimes(jobs: Sequence[Job]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for job in jobs:
            tried.append(job.key)
            if job.key == "bad":
                outcomes.append(GiveUp("no address", [NewEvent("invoice.bounced", {"reason": "unknown"})]))
            elif tried.count(job.key) == 1:
                outcomes.append(Retry("the server is away", after=0))
            else:
                outcomes.append(Done([NewEvent("invoice.sent", {"to": job.payload["to"]})]))
        return outcomes

    async with open_app(domains=[INVOICE]) as app:
        app.workers.add("send_invoice", sometimes)
        invoice = await app.streams(INVOICE).open()
        await invoice.append("invoice.issued", ISSUED)
        assert await app.jobs.enqueue("send_invoice", invoice.id, key="good", payload={"to": "ana"})
        assert await app.jobs.enqueue("send_invoice", invoice.id, key="bad")
        assert not await app.jobs.enqueue("send_invoice", invoice.id, key="good", payload={"to": "eve"})
        while len(tried) < 3:
            await app.work(until_idle=True)
        events = {event.kind: event for event in await invoice.events()}
        assert events["invoice.sent"].payload == {"to": "ana"}
        assert events["invoice.sent"].source == SENDER
        assert events["invoice.bounced"].payload == {"reason": "unknown"}
        assert {job.key: job.state for job in await app.jobs.list()} == {"good": "succeeded", "bad": "dead"}


async def test_an_event_that_is_refused_gives_its_job_up_and_no_other(open_app: Callable[..., App]) -> None:
    async def wrong(jobs: Sequence[Job]) -> list[Outcome]:
        return [Done([NewEvent("invoice.sent", {"to": 1 if job.key == "wrong" else "ana"})]) for job in jobs]

    async with open_app(domains=[INVOICE]) as app:
        app.workers.add("send_invoice", wrong)
        invoice = await app.streams(INVOICE).open()
        await invoice.append("invoice.issued", ISSUED)
        for key in ("right", "wrong"):
            await app.jobs.enqueue("send_invoice", invoice.id, key=key)
        await app.work(until_idle=True)
        states = {job.key: (job.state, job.last_error) for job in await app.jobs.list()}
        assert states["right"][0] == "succeeded"
        assert states["wrong"][0] == "dead"
        assert "invoice.sent.to" in str(states["wrong"][1])


async def test_decide_is_called_when_a_stream_grows_and_settles_against_what_it_read(
    open_app: Callable[..., App], admin: Admin
) -> None:
    async with open_app(domains=[DECIDED]) as app:
        app.workers.add("send_invoice", send)
        invoices = [await app.streams(DECIDED).open() for _ in range(20)]
        for invoice in invoices:
            await invoice.append("invoice.noted", {"text": "not yet"})
        await app.work(until_idle=True)
        assert not await app.jobs.list(job_type="send_invoice")
        for invoice in invoices:
            await invoice.append("invoice.issued", ISSUED)
        await app.work(until_idle=True)
        for invoice in invoices:
            kinds = [event.kind for event in await invoice.events()]
            assert kinds == ["invoice.noted", "invoice.issued", "invoice.sent"]
        assert not (await audit(app.settings.database_url, max_lag_seconds=60)).findings


async def test_the_same_key_of_another_stream_or_tenant_is_another_job(open_app: Callable[..., App]) -> None:
    async with open_app(domains=[INVOICE]) as app, open_app(domains=[INVOICE], tenant="acme") as other:
        mine, yours = await app.streams(INVOICE).open(), await app.streams(INVOICE).open()
        theirs = await other.streams(INVOICE).open()
        for stream in (mine, yours, theirs):
            await stream.append("invoice.issued", ISSUED)
        assert await app.jobs.enqueue("send_invoice", mine.id, key="send")
        assert await app.jobs.enqueue("send_invoice", yours.id, key="send")
        assert await other.jobs.enqueue("send_invoice", theirs.id, key="send")
        assert not await app.jobs.enqueue("send_invoice", mine.id, key="send")
        with pytest.raises(UnknownEntity, match="there is no invoice"):
            await app.jobs.enqueue("send_invoice", theirs.id, key="send")
        app.workers.add("send_invoice", send)
        await app.work(until_idle=True)  # of all tenants
        for stream in (mine, yours, theirs):
            assert [event.kind for event in await stream.events()][-1] == "invoice.sent"


async def test_a_narrowed_worker_does_the_jobs_of_its_tenant_only(open_app: Callable[..., App]) -> None:
    async with open_app(domains=[INVOICE]) as app, open_app(domains=[INVOICE], tenant="acme") as acme:
        streams = [await each.streams(INVOICE).open() for each in (app, acme)]
        for each, stream in zip((app, acme), streams, strict=True):
            await stream.append("invoice.issued", ISSUED)
            await each.jobs.enqueue("send_invoice", stream.id, key="send")
        acme.workers.add("send_invoice", send)
        await acme.work(until_idle=True)
        assert len(await streams[1].events()) == 2
        assert len(await streams[0].events()) == 1


def changed(**more: Any) -> Domain:
    return replace(INVOICE, **more)


HOSTILE: dict[str, Callable[[], dict[str, Any]]] = {
    "a reserved domain": lambda: {**INVOICE.definition(), "domain": "document"},
    "a reserved domain that does not exist yet": lambda: {**INVOICE.definition(), "domain": "image"},
    "a domain name with a space": lambda: {**INVOICE.definition(), "domain": "in voice"},
    "a kind of another domain": lambda: edit("kinds", kind="document.added"),
    "a kind that the ledger writes": lambda: edit("kinds", kind="slot.voided"),
    "a kind that stands for an open slot (E5)": lambda: edit("kinds", kind="slot.open"),
    "a kind that stands for a reset (E5)": lambda: edit("kinds", kind="reset"),
    "a kind that is a transient (E5)": lambda: edit("kinds", kind="complete"),
    "a kind of 100,000 characters (E24)": lambda: edit("kinds", kind="k" * 100_000),
    "a lease of a thousand years (E19)": lambda: edit("jobs", lease=1e30),
    "a negative backoff (E18)": lambda: edit("jobs", backoff=-1),
    "serial and level (E18)": lambda: edit("jobs", serial=True, level=True),
    "a source of another domain": lambda: edit("kinds", sources=["run-tsa"]),
    "a reserved source": lambda: edit("jobs", source="sweeper"),
    "the source worker": lambda: edit("kinds", sources=["worker"]),
    "a source with an underscore": lambda: edit("kinds", sources=["invoice_sender"]),
    "a job type of another domain": lambda: edit("jobs", type="run_tsa"),
    "an unknown field type": lambda: edit("kinds", required={"total": ["decimal"]}),
    "a kind without sources": lambda: edit("kinds", sources=[]),
    "a version 0": lambda: edit("kinds", v=0),
    "a kind with a guard": lambda: edit("kinds", tracked=True),
    "an executor that is not its own": lambda: {**INVOICE.definition(), "executor": "protect_document_v2"},
    "no kinds": lambda: {**INVOICE.definition(), "kinds": []},
    "a lease of nothing": lambda: edit("jobs", lease=0),
}


def edit(what: str, **values: Any) -> dict[str, Any]:
    """Return the definition of invoices with the last of its kinds or jobs changed."""
    definition = copy.deepcopy(INVOICE.definition())
    definition[what][-1] |= values
    return definition


@all_cases("attack", HOSTILE)
def test_a_hostile_registration_is_refused_and_leaves_nothing(attack: str, admin: Admin) -> None:
    before = registry(admin)
    with pytest.raises(psycopg.Error) as refused:
        admin.execute("select foja.register_domain(%s)", [Jsonb(HOSTILE[attack]())])
    assert refused.value.sqlstate == "FJ001", refused.value
    assert registry(admin) == before


@pytest.mark.parametrize(
    "loosened",
    [
        {"required": {}},
        {"required": {"total": ["any"]}},
        {"sources": ["api", SENDER]},
        {"erasable": True},
        {"client_checks": {}},
    ],
)
def test_a_changed_kind_needs_a_new_version(loosened: dict[str, Any], admin: Admin) -> None:
    admin.execute("select foja.register_domain(%s)", [Jsonb(INVOICE.definition())])
    before = registry(admin)
    definition = copy.deepcopy(INVOICE.definition())
    definition["kinds"][0] |= loosened
    with pytest.raises(psycopg.Error, match="kind_changed"):
        admin.execute("select foja.register_domain(%s)", [Jsonb(definition)])
    assert registry(admin) == before
    definition["kinds"][0]["v"] = 2
    definition["kinds"].insert(0, INVOICE.definition()["kinds"][0])
    admin.execute("select foja.register_domain(%s)", [Jsonb(definition)])
    assert len(registry(admin)[2]) == len(before[2]) + 1


NOTED = INVOICE.kinds[-1]
RETIRED = replace(INVOICE, kinds=[*KINDS[:-1], replace(NOTED, retired=True), replace(NOTED, v=2)])


async def test_a_retired_version_is_refused_for_new_events_and_read_in_old_ones(
    open_app: Callable[..., App], admin: Admin, database_url: str
) -> None:
    """The database refuses a retired version on every path, also from a process that does not know."""
    async with open_app(domains=[INVOICE]) as old:
        invoice = await old.streams(INVOICE).open()
        await invoice.append("invoice.noted", {"text": "old"})
        slots = await invoice.reserve(1)
        await prepare(database_url, [RETIRED])
        for refused in (
            invoice.append("invoice.noted", {"text": "new"}),
            invoice.append_many([invoice.draft("invoice.noted", {"text": "new"}) for _ in range(2)]),
            slots.fill(0, "invoice.noted", {"text": "new"}),
        ):
            with pytest.raises(UnknownKind, match="retired"):
                await refused
        body = Jsonb({"text": "new"})
        with pytest.raises(psycopg.Error, match="unknown_kind"):
            admin.execute("select foja.append_event(%s, 'invoice', 'invoice.noted', %s)", [invoice.id, body])
        await slots.void(0, reason="not used")
    async with open_app(domains=[RETIRED]) as app:
        invoice = await app.streams(RETIRED).open(invoice.id)
        with pytest.raises(UnknownKind, match="v1 is retired; append v2"):
            await invoice.append("invoice.noted", {"text": "new"})
        await invoice.append("invoice.noted", {"text": "new"}, v=2)
        events = await invoice.events()
        noted = [(event.v, event.payload["text"]) for event in events if event.kind == "invoice.noted"]
        assert noted == [(1, "old"), (2, "new")]
        known = await app.registry.find("invoice")
        assert {(each.name, each.v) for each in known.kinds if each.retired} == {("invoice.noted", 1)}
        assert not (await audit(app.settings.database_url, max_lag_seconds=60)).findings


async def test_a_retired_version_stays_retired(database_url: str, admin: Admin) -> None:
    """An older process that registers its domain again does not bring a retired version back."""
    await prepare(database_url, [RETIRED])
    before = registry(admin)
    await prepare(database_url, [INVOICE])
    assert registry(admin) == before


def test_a_role_that_can_do_more_than_work_is_refused(admin: Admin) -> None:
    domain = Domain("parcel", [Kind("parcel.sent", {"parcel-sender"})])
    for rights in ("login", "nologin createdb", "nologin bypassrls"):
        admin.execute(f"create role foja_parcel_sender {rights}".encode())
        try:
            before = registry(admin)
            with pytest.raises(psycopg.Error, match="role_unfit"):
                admin.execute("select foja.register_domain(%s)", [Jsonb(domain.definition())])
            assert registry(admin) == before
        finally:
            admin.execute("drop role foja_parcel_sender")


def test_a_role_that_is_a_member_of_more_is_refused(admin: Admin) -> None:
    domain = Domain("parcel", [Kind("parcel.sent", {"parcel-carrier"})])
    admin.execute("create role foja_parcel_carrier nologin")
    try:
        admin.execute("grant foja_api to foja_parcel_carrier")
        with pytest.raises(psycopg.Error, match="role_unfit"):
            admin.execute("select foja.register_domain(%s)", [Jsonb(domain.definition())])
    finally:
        admin.execute("drop role foja_parcel_carrier")


async def test_two_databases_of_one_server_register_the_same_domain(
    database_url: str, empty_database_url: str
) -> None:
    for url in (database_url, empty_database_url, database_url):
        await prepare(url, [INVOICE])
    with psycopg.connect(empty_database_url) as conn:
        assert conn.execute("select count(*) from foja.kind where domain = 'invoice'").fetchone() == (6,)


async def test_two_processes_with_different_versions_of_a_domain(open_app: Callable[..., App]) -> None:
    newer = changed(kinds=[*KINDS, Kind("invoice.paid", required={"amount": "number"})])
    other = changed(kinds=[Kind("invoice.issued", required={"sum": "number"}), *KINDS[1:]])
    async with open_app(domains=[INVOICE]) as old, open_app(domains=[newer]) as new:
        invoice = await old.streams(INVOICE).open()
        await invoice.append("invoice.issued", ISSUED)
        await (await new.streams(newer).open(invoice.id)).append("invoice.paid", {"amount": 1})
        assert [event.kind for event in await invoice.events()] == ["invoice.issued", "invoice.paid"]
        with pytest.raises(BadDomain, match=r"invoice\.issued v1 is registered with other fields"):
            async with open_app(domains=[other]):
                pass
        await invoice.append("invoice.issued", ISSUED)
    async with open_app(domains=[INVOICE]) as old:  # an older one still fits
        assert len(await (await old.streams(INVOICE).open(invoice.id)).events()) == 3


async def test_a_process_that_does_not_know_a_domain_loses_nothing(open_app: Callable[..., App]) -> None:
    async with open_app(domains=[DECIDED]) as app:
        invoice = await app.streams(DECIDED).open()
        await invoice.append("invoice.issued", ISSUED)
    async with open_app() as stranger:
        await stranger.work(until_idle=True)
        with pytest.raises(UnknownJob, match="FOJA_DOMAINS"):
            await stranger.work(until_idle=True, only=["send_invoice"])
        with pytest.raises(UnknownJob, match="send_invoice"):
            stranger.workers.add("send_invoice", send)
        with pytest.raises(UnknownDomain, match="parcel"):
            await stranger.registry.find("parcel")
        found = await stranger.registry.find("invoice")
        assert [event.seq for event in await (await stranger.streams(found).open(invoice.id)).events()] == [0]
        await (await stranger.streams(found).open(invoice.id)).append("invoice.noted", {"text": "seen"})
    async with open_app(domains=[DECIDED]) as app:
        app.workers.add("send_invoice", send)
        await app.work(until_idle=True)
        kinds = [event.kind for event in await (await app.streams(DECIDED).open(invoice.id)).events()]
        assert kinds == ["invoice.issued", "invoice.noted", "invoice.sent"]


async def test_a_login_without_the_right_gets_one_clear_error(
    open_app: Callable[..., App], admin: Admin, database_url: str
) -> None:
    admin.execute("create role plain_login login password 'x' in role foja_api, foja_sweeper")
    try:
        parts: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(database_url)
        login = psycopg.conninfo.make_conninfo(**{**parts, "user": "plain_login", "password": "x"})
        with pytest.raises(BadDomain, match="may not register invoice"):
            await prepare(login, [INVOICE])
    finally:
        admin.execute("drop owned by plain_login; drop role plain_login")


async def test_own_domains_are_numbered_by_postgresql(open_app: Callable[..., App], admin: Admin) -> None:
    async with open_app(domains=[INVOICE]) as app:
        invoice = await app.streams(INVOICE).open()
        await invoice.append("invoice.issued", ISSUED)
    with pytest.raises(psycopg.Error, match="bad_reservation"):
        admin.execute(
            "select foja.move_lane(%s, 'invoice', 'default', 'api', null, 'redis', 'run', '0')", [invoice.id]
        )


async def test_a_domain_written_at_its_head_has_no_slots(open_app: Callable[..., App]) -> None:
    domain = Domain("receipt", [Kind("receipt.printed")], head_only=True)
    async with open_app(domains=[domain]) as app:
        receipt = await app.streams(domain).open()
        with pytest.raises(BadReservation):
            await receipt.reserve(1)


def test_names_are_checked_before_any_database_is_asked() -> None:
    with pytest.raises(BadDomain, match="not a valid source name"):
        JobType("send", "invoice_sender")
    with pytest.raises(BadDomain, match="unknown type 'decimal'"):
        Kind("invoice.issued", required={"total": "decimal"})
    with pytest.raises(BadDomain, match="give a set"):
        Kind("invoice.sent", "invoice-sender")
    for reserved in ("api", "sweeper", "worker"):
        with pytest.raises(BadDomain, match="reserved"):
            JobType("send", reserved)
    with pytest.raises(BadDomain, match="reserved"):
        Kind("invoice.sent", {"worker"})
    with pytest.raises(BadDomain, match="not a valid source name"):
        Kind("invoice.sent", {"invoice_sender"})
    with pytest.raises(BadDomain, match="twice"):
        Domain("invoice", [KINDS[0], KINDS[0]])
    with pytest.raises(BadDomain, match="not a valid domain name"):
        Domain("In voice", KINDS)


async def test_a_reserved_domain_is_refused_before_anything_is_opened(open_app: Callable[..., App]) -> None:
    with pytest.raises(BadDomain, match="reserved"):
        async with open_app(domains=[Domain("document", [Kind("document.eaten")])]):
            pass
