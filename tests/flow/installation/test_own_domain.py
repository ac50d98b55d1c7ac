"""A domain of a user's own, from its registration to a bundle that the judge passes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest
from psycopg.types.json import Jsonb

import foja
from foja.app import App
from foja.domains.registration import prepare
from foja.engine.observe.audit import audit
from foja.engine.observe.fsck import Outside, fsck
from foja.pure.core.note import Verifier
from foja.pure.judge.report import Verdict
from tests.flow.client.client import served
from tests.flow.command import FOJA, Process, Run
from tests.flow.installation import billing
from tests.flow.installation.billing import INVOICE

Admin = psycopg.Connection[Any]
PROCESS = """
import asyncio, os, signal, sys
import foja
from billing import INVOICE

async def send(jobs):
    if "die" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
    return [foja.Done(events=[foja.NewEvent("invoice.sent", {"to": job.payload["to"]})]) for job in jobs]

async def main():
    async with foja.connect(domains=[INVOICE]) as app:
        app.workers.add("send_invoice", send)
        while any(job.state not in ("succeeded", "dead") for job in await app.jobs.list()):
            await app.work(until_idle=True)

asyncio.run(main())
"""


@pytest.fixture
def environment(tmp_path: Path, database_url: str) -> dict[str, str]:
    """A folder with the user's module, and the environment of a process that uses it."""
    shutil.copy(billing.__file__, tmp_path)
    (tmp_path / "process.py").write_text(textwrap.dedent(PROCESS))
    home = {"FOJA_DATABASE_URL": database_url, "FOJA_HOME": str(tmp_path / "home")}
    return {**os.environ, **home, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{tmp_path}"}


def process(tmp_path: Path, environment: dict[str, str], *words: str) -> int:
    command = [sys.executable, str(tmp_path / "process.py"), *words]
    return subprocess.run(command, cwd=tmp_path, env=environment, timeout=120, check=False).returncode


async def test_a_killed_worker_loses_nothing_on_the_way_to_a_bundle(
    open_app: Callable[..., App], tmp_path: Path, environment: dict[str, str]
) -> None:
    async with open_app(domains=[INVOICE]) as app:
        invoice = await app.streams(INVOICE).open()
        await invoice.append("invoice.issued", {"total": 120})
        await app.jobs.enqueue("send_invoice", invoice.id, key="send:1", payload={"to": "ana"})
        assert process(tmp_path, environment, "die") == -signal.SIGKILL
        assert [event.kind for event in await invoice.events()] == ["invoice.issued"]
        assert process(tmp_path, environment) == 0
        assert [event.kind for event in await invoice.events()] == ["invoice.issued", "invoice.sent"]
        await app.work(until_idle=True)
        assert (await invoice.prove(1)).verify(app.trust).verdict is Verdict.TOTAL_PASSED
        document = await invoice.protect(["tsa"])
        await app.work(until_idle=True)
        report = foja.verify(await document.bundle(), trust=app.trust)
        assert report.verdict is Verdict.TOTAL_PASSED
        assert (await document.view()).state == "final"


async def test_the_same_from_sql_alone(open_app: Callable[..., App], admin: Admin) -> None:
    invoice = uuid4()
    admin.execute("select foja.register_domain(%s)", [Jsonb(INVOICE.definition())])
    admin.execute("select foja.append_event(%s, 'invoice', 'invoice.issued', '{\"total\": 120}')", [invoice])
    admin.execute("select foja.enqueue_job_v1('send_invoice', %s, 'send:1', '{\"to\": \"ana\"}')", [invoice])
    admin.execute("set role foja_invoice_sender")
    job = admin.execute(
        "select job_id, lease_token, payload from foja.claim_jobs_v1('send_invoice', 1, 'psql')"
    ).fetchone()
    assert job is not None
    event = {"kind": "invoice.sent", "payload": {"to": job[2]["to"]}}
    settled = admin.execute("select foja.complete_job_v1(%s, %s, %s)", [*job[:2], json.dumps([event])])
    assert settled.fetchone() == ("done",)
    admin.execute("reset role")
    async with open_app() as app:  # it has never heard of invoices
        await app.work(until_idle=True)
        stream = await app.streams(await app.registry.find("invoice")).open(invoice)
        assert [event.kind for event in await stream.events()] == ["invoice.issued", "invoice.sent"]
        document = await stream.protect(["tsa"])
        await app.work(until_idle=True)
        assert foja.verify(await document.bundle(), trust=app.trust).verdict is Verdict.TOTAL_PASSED
        url = app.settings.database_url
        assert not (await audit(url, max_lag_seconds=60)).findings
        assert not (await fsck(url, Outside(app.store, [Verifier.from_vkey(app.trust[0])]))).findings


def test_the_command_line_registers_shows_and_exports(
    run: Run, tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, admin: Admin
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("FOJA_DATABASE_URL", "FOJA_HOME"):
        monkeypatch.setenv(name, environment[name])
    monkeypatch.syspath_prepend(tmp_path)
    assert run("migrate", "--domains", "billing:INVOICE", "--json").document["domains"] == ["invoice"]
    twice = run("migrate", "--domains", "billing:INVOICE, billing:INVOICE")
    assert twice.lines[-1:] == ["the domain invoice is registered"]
    assert len(twice.lines) == 2
    for name in (
        "billing.py:INVOICE",
        "./billing.py:INVOICE",
        "../billing:INVOICE",
        "billing:",
        "billing:A.B",
    ):
        wrong = run("migrate", "--domains", name)
        assert (wrong.code, "name" in wrong.err and "billing:INVOICE" in wrong.err) == (2, True), wrong.err
    refused = run("migrate", "--domains", "billing:NOTHING")
    assert (refused.code, "billing:NOTHING cannot be loaded" in refused.err) == (2, True)
    assert run("migrate", "--domains", "billing").code == 2
    invoice = UUID(int=7)
    admin.execute("select foja.append_event(%s, 'invoice', 'invoice.issued', '{\"total\": 120}')", [invoice])
    assert "invoice.issued" in run("events", invoice).out
    assert run("audit").code == 0
    assert run("fsck").code == 0


BROKEN = {
    "raises": "raise RuntimeError('boom')",
    "does_not_parse": "def",
    "exits": "import sys; sys.exit(3)",
    "has_no_names": "def __getattr__(name): raise KeyError(name)",
    "is_a_bad_domain": "import foja; X = foja.Domain('x', [])",
}


def test_a_module_that_cannot_be_loaded_is_one_line(
    run: Run, tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """E12: whatever happens while a user's module is loaded, the command says which domain and why."""
    monkeypatch.chdir(tmp_path)
    for name in ("FOJA_DATABASE_URL", "FOJA_HOME"):
        monkeypatch.setenv(name, environment[name])
    for name, source in BROKEN.items():
        (tmp_path / f"{name}.py").write_text(source)
        refused = run("migrate", "--domains", f"{name}:X")
        assert refused.code == 2, name
        assert f"the domain {name}:X cannot be loaded" in refused.err, name
        assert len(refused.err.strip().splitlines()) == 1, refused.err


def test_a_way_back_with_domains_is_refused_before_anything_is_reverted(
    run: Run, tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, admin: Admin
) -> None:
    """E6: `--to` an older step with `--domains` changes nothing."""
    monkeypatch.chdir(tmp_path)
    for name in ("FOJA_DATABASE_URL", "FOJA_HOME"):
        monkeypatch.setenv(name, environment[name])
    monkeypatch.syspath_prepend(tmp_path)
    before = admin.execute("select * from foja.migration").fetchall()
    refused = run("migrate", "--to", "5", "--yes", "--domains", "billing:INVOICE")
    assert (refused.code, "leave out `--to 5`" in refused.err) == (1, True)
    assert admin.execute("select * from foja.migration").fetchall() == before


async def test_a_worker_says_which_queued_job_type_has_no_handler(
    tmp_path: Path, environment: dict[str, str], open_app: Callable[..., App]
) -> None:
    """`foja worker` has no handlers of users: a queued job waited without a word."""
    async with open_app(domains=[INVOICE], home=environment["FOJA_HOME"]) as app:
        stream = await app.streams(INVOICE).open()
        await stream.append("invoice.issued", {"total": 1})
        await app.jobs.enqueue("send_invoice", stream.id, key="send")
    command = [*FOJA, "worker", "--domains", "billing:INVOICE"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stderr is not None
        try:
            assert any("app.workers.add('send_invoice', handler)" in line for line in worker.stderr)
        finally:
            worker.send_signal(signal.SIGINT)


async def test_http_serves_the_streams_of_a_registered_domain(open_app: Callable[..., App]) -> None:
    async with open_app(domains=[INVOICE]) as app, served(app) as client:
        await check_routes(app, client)


async def test_http_learns_what_is_registered_while_it_runs(open_app: Callable[..., App]) -> None:
    address = f"/v1/streams/invoice/{uuid4()}/events"
    issued = {"kind": "invoice.issued", "payload": {"total": 1}}
    async with open_app() as app, served(app) as client:
        assert (await client.post(address, json=issued)).status_code == 404
        await prepare(app.settings.database_url, [INVOICE])
        assert (await client.post(address, json=issued)).status_code == 201
        lost = {"kind": "invoice.lost", "payload": {}}
        assert (await client.post(address, json=lost)).status_code == 422
        more = foja.Domain("invoice", [*INVOICE.kinds, foja.Kind("invoice.lost")])
        await prepare(app.settings.database_url, [more])
        assert (await client.post(address, json=lost)).status_code == 201
        page = (await client.get(f"{address}?limit=1")).json()
        assert page["next"].startswith(f"{address}?after=")
        rest = (await client.get(page["next"])).json()["events"]
        assert [event["kind"] for event in rest] == ["invoice.lost"]


async def check_routes(app: App, client: httpx.AsyncClient) -> None:
    invoice = uuid4()
    address = f"/v1/streams/invoice/{invoice}"
    made = await client.post(f"{address}/events", json={"kind": "invoice.issued", "payload": {"total": 1}})
    assert (made.status_code, made.json()["seq"]) == (201, 0)
    assert (await client.get(address)).json()["next_seq"] == 1
    page = (await client.get(f"{address}/events")).json()
    assert [event["kind"] for event in page["events"]] == ["invoice.issued"]
    unknown = await client.post(f"{address}/events", json={"kind": "invoice.lost", "payload": {}})
    assert unknown.status_code == 422
    forged = await client.post(f"{address}/events", json={"kind": "invoice.sent", "payload": {"to": "eve"}})
    assert forged.status_code == 403
    assert (await client.get(f"/v1/streams/parcel/{invoice}")).status_code == 404
    talk = await app.conversations.open()
    await talk.append("thinking", {"content": "x"})
    assert (await client.get(f"/v1/streams/invoice/{talk.id}")).status_code == 404
    assert (await client.get(f"/v1/streams/conversation/{talk.id}")).json()["next_seq"] == 1
    refused = await client.post(
        f"/v1/streams/conversation/{talk.id}/events", json={"kind": "thinking", "payload": {"content": "y"}}
    )
    assert refused.status_code == 422
    names = [each["domain"] for each in (await client.get("/v1/streams")).json()["domains"]]
    assert names == ["conversation", "document", "image", "invoice", "request", "system", "thread"]


LOOPING = """
import pathlib, foja

def decide(events, now):
    pathlib.Path("begun").touch()
    while True:
        pass

LOOPING = foja.Domain("looping", kinds=[foja.Kind("looping.begun")], decide=decide)
"""


def test_a_worker_ends_although_decide_never_returns(
    home: Path,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spawn: Callable[..., Process],
) -> None:
    (tmp_path / "looping.py").write_text(LOOPING)
    monkeypatch.chdir(tmp_path)
    process = spawn("worker", "--domains", "looping:LOOPING")
    assert "working on" in process.line()
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("select foja.append_event(%s, 'looping', 'looping.begun', '{}')", [uuid4()])
    while not (tmp_path / "begun").exists():
        time.sleep(0.05)
    assert process.end(signal.SIGTERM).code == 0
    assert home.exists()
