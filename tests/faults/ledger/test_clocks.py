"""The database's clock is the reference; no other clock decides what is recorded."""

from __future__ import annotations

import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

import foja
from foja.app import App
from foja.engine.embedded.tsa import LocalAuthority
from foja.engine.observe.audit import audit
from foja.pure.judge.report import Verdict
from tests.database.documents.papers import TOKEN, WITNESS, Paper, later

Admin = psycopg.Connection[Any]
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


def shift_worker(app: App, monkeypatch: pytest.MonkeyPatch, shift: timedelta) -> None:
    """Set the clock of the worker's machine, which its local authority uses, too."""

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + shift

    for module in ("stamper", "bundles", "workers.artifacts"):
        monkeypatch.setattr(f"foja.domains.documents.{module}.datetime", Shifted, raising=False)
    app.stamper.authorities = [LocalAuthority(app.settings.home, lambda: Shifted.now(UTC))]


async def requested(app: App) -> Any:
    document = await app.documents.add(b"I owe you a cake.\n", name="promise.txt")
    await app.documents.protect(document.id)
    return document.id


@pytest.mark.parametrize(("shift", "code"), [(DAY, "after_validation_time"), (-HOUR, "backdated")])
async def test_a_token_far_from_the_databases_clock_is_refused(
    app: App, monkeypatch: pytest.MonkeyPatch, shift: timedelta, code: str
) -> None:
    """A worker a day ahead, or an hour behind, confirms nothing; the reason is recorded."""
    document = await requested(app)
    shift_worker(app, monkeypatch, shift)
    await app.work(until_idle=True)
    [failed] = [each for each in await app.documents.events(document) if each.kind == "tsa.failed"]
    assert failed.payload["failure_code"] == code
    assert (await app.documents.view(document)).state == "none"


async def test_the_tolerance_is_a_setting(open_app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """FOJA_CLOCK_TOLERANCE_SECONDS; the default allows four minutes, one minute does not."""
    async with open_app(clock_tolerance_seconds=60) as app:
        document = await requested(app)
        shift_worker(app, monkeypatch, timedelta(minutes=4))
        await app.work(until_idle=True)
        assert "tsa.failed" in [each.kind for each in await app.documents.events(document)]
    async with open_app() as app:
        document = (await app.documents.add(b"another", name="other.txt")).id
        await app.documents.protect(document)
        shift_worker(app, monkeypatch, timedelta(minutes=4))
        await app.work(until_idle=True)
        assert (await app.documents.view(document)).state == "final"


async def test_nothing_becomes_final_that_the_judge_does_not_pass_at_that_moment(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database's clock went back after the timestamp; the artifact waits until it passes."""
    document = await requested(app)
    await app.work(until_idle=True, only=["protect_document_v2", "run_tsa"])
    stamped, real = app.bundles._stamper, app.ledger.now

    async def yesterday() -> datetime:
        return await real() - DAY

    monkeypatch.setattr(app.ledger, "now", yesterday)
    monkeypatch.setattr(stamped, "_now", real)  # the seal is not what is judged here
    await app.work(until_idle=True)
    events = await app.documents.events(document)
    assert "AFTER_VALIDATION_TIME" in events[-2].payload["reason"], [each.kind for each in events]
    assert (await app.documents.view(document)).state != "final"


async def test_a_final_document_passes_now(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the worker's clock says when the artifact is built."""
    document = await requested(app)
    await app.work(until_idle=True, only=["protect_document_v2", "run_tsa"])
    monkeypatch.setattr("foja.domains.documents.bundles.datetime", None, raising=False)
    await app.work(until_idle=True)
    assert (await app.documents.view(document)).state == "final"
    report = foja.verify(await app.documents.bundle(document), trust=app.trust)
    assert report.verdict is Verdict.TOTAL_PASSED


def test_the_database_refuses_tokens_from_the_future_and_artifacts_that_do_not_pass(
    admin: Admin,
) -> None:
    """The guards, for workers in other languages."""
    paper = Paper(admin)
    paper.request()
    paper.ask()
    body = {"witness_hash": WITNESS, "attempt": 1}
    ahead = {**body, **TOKEN, "gen_time": later(DAY.total_seconds())}
    assert paper.refusal("tsa.confirmed", ahead) == "bad_payload"
    paper.confirm()
    paper.ask("build-artifact")
    artifact = {**body, "sha256": WITNESS, "size": 1, "profile": "foja/bundle/v1"}
    assert paper.refusal("artifact.finalized", {**artifact, "verdict": "INDETERMINATE"}) == "bad_payload"
    paper.append("artifact.finalized", {**artifact, "verdict": "TOTAL_PASSED"})


async def test_audit_reports_what_waits_for_a_clock_that_was_ahead(app: App, admin: Admin) -> None:
    """A job that was queued while the database's clock was a day ahead, and a lease, and a slot."""
    document = await requested(app)
    await app.work(until_idle=True, only=["protect_document_v2"])
    assert (await audit(app.settings.database_url, max_lag_seconds=3600.0)).clean
    admin.execute(
        "update foja.job set created_at = clock_timestamp() + '1 day', run_at = clock_timestamp() + '1 day'"
        " where type = 'run_tsa'"
    )
    report = await audit(app.settings.database_url, max_lag_seconds=3600.0)
    [finding] = report.findings
    assert (finding.check, finding.entity_id) == ("clock", document)
    assert "foja jobs retry" in finding.found
    [job] = await app.jobs.list(job_type="run_tsa")
    await app.jobs.retry([job.id])
    admin.execute("update foja.job set created_at = clock_timestamp() where type = 'run_tsa'")
    await app.work(until_idle=True)
    assert (await app.documents.view(document)).state == "final"
    admin.execute("update foja.tick set due = now() + '3 days' where type = 'renew_artifacts'")
    admin.execute(
        "update foja.job set state = 'running', lease_until = clock_timestamp() + '1 day'"
        " where type = 'run_tsa'"
    )
    report = await audit(app.settings.database_url, max_lag_seconds=3600.0)
    assert {each.check for each in report.findings} == {"clock"}
    assert report.total == 2


async def test_an_approval_expires_by_the_databases_clock(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline is not computed from the clock of the process that requests it."""
    real = app.ledger.now

    async def tomorrow() -> datetime:
        return await real() + DAY

    conversation = await app.conversations.open()
    monkeypatch.setattr(conversation._ledger, "now", tomorrow)
    approval = await conversation.request_approval("pay", {}, ttl=60)
    assert approval.expires_at is not None
    assert approval.expires_at - await real() > HOUR


WORKER = """
import asyncio, sys, foja
from pathlib import Path

async def main():
    async with foja.connect(database_url=sys.argv[1], home=Path(sys.argv[2])) as app:
        document = await app.documents.add(b"I owe you a cake.", name="promise.txt")
        await app.documents.protect(document.id)
        await app.work(until_idle=True)
        print((await app.documents.view(document.id)).state)

asyncio.run(main())
"""


@pytest.mark.skipif(shutil.which("faketime") is None, reason="faketime is not installed")
@pytest.mark.parametrize("shift", ["+1d", "-1h"])
def test_a_real_worker_with_a_wrong_clock(database_url: str, tmp_path: Path, shift: str) -> None:
    """With faketime, as it was found."""
    command = ["faketime", "-f", shift, sys.executable, "-c", WORKER, database_url, str(tmp_path / "home")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout.strip() == "none", done.stderr
