"""Every step outside fails while an artifact is built, each twice: before it was done, and after."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

import psycopg
import pytest

import foja
from foja.app import App
from foja.domains.documents import container
from foja.domains.documents.stamper import Stamper
from foja.engine.remote.tsa import NoReply, Trouble
from foja.pure.judge.report import Verdict
from foja.pure.proofs.tsa import Terms
from tests.faults.documents.document_scene import Order, run
from tests.faults.mortal import KILLED, KILLS, Step
from tests.faults.mortal import Moment as Death
from tests.faults.steps import Moment, SteppedPlace, Steps

ALL = ("protect_document_v2", "run_tsa", "build_artifact")
TEXT = b"Nobody promised that this would be easy.\n"


async def asked(app: App) -> UUID:
    document = await app.documents.add(TEXT, name="note.txt")
    await app.documents.protect(document.id)
    return document.id


async def finished(app: App, document: UUID) -> list[str]:
    """Work until the document is final, and return what happened to its artifact."""
    for _ in range(30):
        await app.work(until_idle=True)
        kinds = [each.kind for each in await app.documents.events(document) if "artifact" in each.kind]
        if "artifact.finalized" in kinds:
            report = foja.verify(await app.documents.bundle(document), trust=app.trust)
            assert report.verdict is Verdict.TOTAL_PASSED
            return kinds
        await asyncio.sleep(0.2)
    raise AssertionError(await app.documents.explain(document))


@pytest.mark.parametrize("moment", get_args(Moment))
@pytest.mark.parametrize("step", ["fetch", "read log/1/tile", "write_many", "save", "spool"])
async def test_the_store_fails_while_an_artifact_is_built(
    open_app: Callable[..., App],
    admin: psycopg.Connection[Any],
    step: str,
    moment: Moment,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if step in ("save", "spool"):
        monkeypatch.setattr(container, "SMALL_BYTES", 0)  # a large bundle is written to a file
    admin.execute("update foja.job_type set backoff = '10 milliseconds'")
    async with open_app() as app:
        document = await asked(app)
        await app.work(until_idle=True, only=["protect_document_v2", "run_tsa"])
        failing = FailsOnce(step, moment)
        object.__setattr__(app.store, "_backend", SteppedPlace(app.store._backend, failing))
        assert await finished(app, document) == ["job.build-artifact.required", "artifact.finalized"]
        assert failing.failed


class FailsOnce(Steps):
    """Fails the first step of a name, and no other."""

    def __init__(self, name: str, moment: Moment) -> None:
        super().__init__()
        self.name, self.moment, self.failed = name, moment, False

    async def take(self, name: str, step: Any, error: Exception) -> Any:
        if self.failed or not name.startswith(self.name):
            return await step()
        self.failed = True
        if self.moment == "but saved":
            await step()
        raise error


class Silent:
    """An authority that never answers."""

    name = "silent"

    async def ask(self, query: bytes) -> NoReply:
        return NoReply(Trouble.HUNG, "it did not answer")


async def test_without_a_token_the_attempt_ends_with_a_reason_and_others_follow(
    open_app: Callable[..., App],
) -> None:
    async with open_app(protect_attempts=2, protect_pause_seconds=0.1) as app:
        document = await asked(app)
        await app.work(until_idle=True, only=["protect_document_v2", "run_tsa"])
        good = app.bundles._stamper
        app.bundles._stamper = Stamper([Silent()], Terms([]))
        async with asyncio.timeout(120):
            while "Gave up" not in await app.documents.explain(document):
                await app.work(until_idle=True)
                await asyncio.sleep(0.1)
        failures = [e.payload for e in await app.documents.events(document) if e.kind == "artifact.failed"]
        assert [each["failure_code"] for each in failures] == ["hung", "hung"]
        view = await app.documents.view(document)
        assert view.state == "protected"
        assert "it did not answer" in view.explain
        app.bundles._stamper = good
        granted = await app.documents.retry(document, "artifact")
        assert granted.payload == {"evidence": "artifact", "witness_hash": hashlib.sha256(TEXT).hexdigest()}
        assert (await finished(app, document))[-1] == "artifact.finalized"


@pytest.mark.usefixtures("on_disk")
async def test_a_document_that_was_lost_or_damaged_is_never_final(open_app: Callable[..., App]) -> None:
    async with open_app(protect_attempts=1) as app:
        document = await asked(app)
        path = app.settings.home / "store" / "objects" / hashlib.sha256(TEXT).hexdigest() / "0"
        path.chmod(0o600)
        path.write_bytes(b"Somebody else promised that.\n")
        await app.work(until_idle=True)
        [failed] = [e.payload for e in await app.documents.events(document) if e.kind == "artifact.failed"]
        assert failed["failure_code"] == "document_lost"
        assert (await app.documents.view(document)).state == "protected"


async def test_an_artifact_waits_for_a_checkpoint_and_that_is_no_try(
    open_app: Callable[..., App], admin: psycopg.Connection[Any]
) -> None:
    """Nobody publishes: the job is put off again and again, and its tries stay."""
    async with open_app(checkpoint_seconds=60) as app:
        document = await asked(app)
        chosen = [worker for worker, _ in await app.workers.open()]
        others = [worker for worker in chosen if worker.type in ALL[:2]]
        building = next(worker for worker in chosen if worker.type == "build_artifact")
        while sum([await worker.step() for worker in others]):
            pass
        for _ in range(3):
            assert await building.step() == 1
            assert await building.step() == 0, "it rests meanwhile"
            admin.execute("update foja.job set run_at = now() where type = 'build_artifact'")
        rows = admin.execute("select state, tries from foja.job where type = 'build_artifact'").fetchall()
        assert rows == [("queued", 0)]
        assert await finished(app, document) == ["job.build-artifact.required", "artifact.finalized"]


@pytest.mark.parametrize("kills", KILLS)
async def test_killed_at_every_step_there_is_one_artifact(
    open_app: Callable[..., App],
    admin: psycopg.Connection[Any],
    database_url: str,
    tmp_path: Path,
    kills: list[tuple[Step, Death]],
) -> None:
    for step, moment in kills:
        async with open_app() as app:
            added = await app.documents.add(TEXT, name=f"{step} {moment}.txt")
            await app.documents.protect(added.id)
            order = Order(database_url, tmp_path / "home", "build_artifact", step, moment, ALL)
            assert await asyncio.to_thread(run, order) == KILLED
            admin.execute("update foja.job set lease_until = now() - interval '1 s' where state = 'running'")
            assert await finished(app, added.id) == ["job.build-artifact.required", "artifact.finalized"]
