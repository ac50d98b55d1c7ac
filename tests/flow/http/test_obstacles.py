"""What keeps a document waiting is said, and `--wait` ends."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID

import pytest

import foja
from foja.app import App
from foja.domains.documents.workers import artifacts, executor, timestamps
from foja.engine.ledger.sequencer import Sequencer
from foja.errors import Unavailable
from foja.pure.judge.render import as_html, as_text
from tests.database.schema.rows import Admin
from tests.flow.command import Run
from tests.worker_task import working

FULL = "no space left on device"


async def requested(app: App, *types: str) -> UUID:
    """Return a document for which only these job types were done."""
    document = await app.documents.add(b"I owe you a cake.\n", name="promise.txt")
    await document.protect()
    await app.work(until_idle=True, only=types)
    return document.id


async def test_a_paused_type_is_named_and_no_deadline(app: App) -> None:
    """The deadline of a paused type does not hold, so it is not shown."""
    document = await requested(app, executor.TYPE)
    deadline = (await app.documents.view(document)).evidence[0].deadline
    assert deadline is not None
    assert f"{deadline:%Y-%m-%d %H:%M:%SZ}" in await app.documents.explain(document)
    await app.jobs.pause(timestamps.TYPE)
    told = await app.documents.explain(document)
    assert f"foja jobs resume {timestamps.TYPE}" in told
    assert f"{deadline:%Y-%m-%d %H:%M:%SZ}" not in told
    await app.jobs.resume(timestamps.TYPE)
    await app.work(until_idle=True)
    assert "It is final" in await app.documents.explain(document)


async def test_a_paused_executor_is_named(app: App) -> None:
    """Before the first attempt, too."""
    await app.jobs.pause(executor.TYPE)
    document = await requested(app)
    assert f"foja jobs resume {executor.TYPE}" in await app.documents.explain(document)


async def test_a_halted_log_is_named(app: App, admin: Admin) -> None:
    """No artifact is built while the log is halted."""
    document = await requested(app, executor.TYPE, timestamps.TYPE)
    admin.execute("update foja.log set halted = 'leaves are missing'")
    told = await app.documents.explain(document)
    assert "the log is halted (“leaves are missing”)" in told
    assert "foja log restart" in told


async def test_the_last_error_is_said(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk; the job waits, and its error is recorded without a try."""
    document = await requested(app, executor.TYPE, timestamps.TYPE)

    async def fail(*_: object) -> None:
        raise Unavailable(FULL)

    monkeypatch.setattr(type(app.objects), "put_many", fail)
    await app.work(until_idle=True, only=[artifacts.BUILD])
    assert f"The last error of its job: “{FULL}”" in await app.documents.explain(document)
    [job] = await app.jobs.list(job_type=artifacts.BUILD)
    assert (job.tries, job.last_error) == (0, FULL)


async def test_an_artifact_that_waits_for_a_checkpoint_says_so(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is not published, as with a full disk."""

    async def fail(_: Sequencer) -> int:
        raise Unavailable(FULL)

    monkeypatch.setattr(Sequencer, "publish", fail)
    document = await app.documents.add(b"I owe you a cake.\n", name="promise.txt")
    await document.protect()
    async with working(app), asyncio.timeout(60):
        while "waits for a checkpoint" not in await document.explain():
            await asyncio.sleep(0.1)
    assert "not published yet" in await document.explain()


@pytest.mark.parametrize("fault", ["halted", "full"])
def test_waiting_ends(
    run: Run, tmp_path: Path, admin: Admin, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """`--wait` ends with exit code 1 and the reason, when nothing goes on."""
    paper = tmp_path / "promise.txt"
    paper.write_text("I owe you a cake.\n")
    monkeypatch.setenv("FOJA_MAX_LAG_SECONDS", "2")
    monkeypatch.setenv("FOJA_TSA_TIMEOUT_SECONDS", "1")
    monkeypatch.setattr("foja.interfaces.cli.documents.protect.SOON", 1.0)

    async def fail(_: Sequencer) -> int:
        raise Unavailable(FULL)

    if fault == "halted":
        assert run("protect", paper, "--wait").code == 0
        paper.write_text("I owe you two cakes.\n")
        admin.execute("update foja.log set halted = 'leaves are missing'")
    else:
        monkeypatch.setattr(Sequencer, "publish", fail)
    told = run("protect", paper, "--wait")
    assert told.code == 1
    assert ("the log is halted" if fault == "halted" else "waits for a checkpoint") in told.out


@pytest.mark.parametrize("requested", [False, True])
async def test_a_report_without_a_proof_says_what_its_sender_must_do(app: App, requested: bool) -> None:
    """A document without `app.work` printed `none INDETERMINATE`, and nothing said why."""
    document = await app.documents.add(b"a letter", name="letter.txt")
    if requested:
        await document.protect()
        assert "No worker is running" in await document.explain()
    report = foja.verify(await document.bundle(), await document.trust())
    said = {
        "en": "the history shown requests one on" if requested else "the history shown requests none",
        "es": "el historial mostrado solicita una el"
        if requested
        else "ni la solicita el historial mostrado",
    }
    assert report.verdict is foja.Verdict.INDETERMINATE
    assert said["en"] in " ".join(report.document()["headline"])  # type: ignore[arg-type]
    for language, sentence in said.items():
        assert sentence in as_text(report, language)
        assert sentence in as_html(report, language)
    await app.publish()  # with a signed checkpoint, and for a reader without the roots
    assert said["en"] in " ".join(foja.verify(await document.bundle()).headline)
    assert "none was given" in " ".join(foja.verify(b"a letter").headline)
