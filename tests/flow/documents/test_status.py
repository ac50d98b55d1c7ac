"""What lists and `retry` say of documents, and a way on from every state."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from foja.app import App
from foja.domains.documents.stamper import Stamper
from foja.engine.remote.tsa import NoReply, Trouble
from foja.pure.proofs.tsa import Terms
from tests.database.schema.rows import Admin
from tests.flow.command import Run, check_refused


class Silent:
    """An authority that never answers."""

    name = "silent"

    async def ask(self, query: bytes) -> NoReply:
        return NoReply(Trouble.HUNG, "it did not answer")


async def give_up(open_app: Callable[..., App]) -> str:
    """Return a document whose attempts have failed, two of two."""
    async with open_app(protect_attempts=2, protect_pause_seconds=0) as app:
        app.stamper.authorities = [Silent()]
        document = await app.documents.add(b"I owe you a cake.\n", name="promise.txt")
        await document.protect()
        await app.work(until_idle=True)
        assert "Gave up" in await document.explain()
        return str(document.id)


async def test_a_raised_limit_is_used_by_the_next_worker(open_app: Callable[..., App]) -> None:
    """The executor is woken, although no event was recorded."""
    document = await give_up(open_app)
    async with open_app(protect_attempts=5, protect_pause_seconds=0) as app:
        await app.work(until_idle=True)
        assert (await app.documents.view(document)).state == "final"
    async with open_app(protect_attempts=5) as app:
        kinds = [each.kind for each in await app.documents.events(document)]
        await app.work(until_idle=True)
        assert [each.kind for each in await app.documents.events(document)] == kinds


async def test_a_raised_limit_counts_after_a_grant(open_app: Callable[..., App]) -> None:
    """Attempts before the grant do not count."""
    document = await give_up(open_app)
    async with open_app(protect_attempts=2, protect_pause_seconds=0) as app:
        app.stamper.authorities = [Silent()]
        await app.documents.retry(document)
        await app.work(until_idle=True)
        assert "Gave up" in await app.documents.explain(document)
    async with open_app(protect_attempts=3, protect_pause_seconds=0) as app:
        await app.work(until_idle=True)
        assert (await app.documents.view(document)).state == "final"


async def test_retry_grants_attempts_where_explain_waits(
    open_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also without a worker, `retry` is a way on."""
    monkeypatch.setattr("foja.pure.models.documents.rules.SOON", timedelta())
    document = await give_up(open_app)
    async with open_app(protect_attempts=5) as app:
        await app.documents.retry(document)


async def test_a_document_is_listed_before_a_worker_has_seen_it(app: App) -> None:
    """Right after it was added."""
    first = await app.documents.add(b"one", name="one.txt")
    await app.work(until_idle=True)
    second = await app.documents.add(b"two", name="two.txt")
    listed = await app.documents.list()
    assert [(each.id, each.name, each.state) for each in listed] == [
        (second.id, "two.txt", "none"),
        (first.id, "one.txt", "none"),
    ]
    assert [each.id for each in await app.documents.list(before=second.id)] == [first.id]
    await app.work(until_idle=True)
    assert [each.id for each in await app.documents.list()] == [second.id, first.id]


async def test_what_was_given_up_is_shown_and_can_be_filtered(open_app: Callable[..., App]) -> None:
    """Given up is not shown as waiting."""
    document = await give_up(open_app)
    async with open_app(protect_attempts=2) as app:
        final = await app.documents.add(b"another", name="other.txt")
        await final.protect()
        await app.work(until_idle=True)
        [given_up] = await app.documents.list(state="given_up")
        assert (str(given_up.id), given_up.given_up) == (document, True)
        assert [each.id for each in await app.documents.list(state="final")] == [final.id]
        assert [each.given_up for each in await app.documents.list()] == [False, True]


def test_the_commands(run: Run, tmp_path: Path, admin: Admin) -> None:
    """`bundle` takes a file; the id of a conversation is not called an erased document."""
    paper = tmp_path / "promise.txt"
    paper.write_text("I owe you a cake.\n")
    assert run("protect", paper).code == 0
    assert "promise.txt" in run("status").out
    assert [json.loads(each)["given_up"] for each in run("status", "--json").lines] == [False]
    assert "no documents in the state final" in run("status", "--state", "final").out
    assert "given_up" in run("status", "--state", "lost").err
    assert run("protect", paper, "--wait").code == 0
    assert "promise.txt" in run("status", "--state", "final").out
    assert "TOTAL_PASSED" in run("bundle", paper, "-o", tmp_path / "promise.asice").out
    talk = run("chat", "new").out.strip()
    assert run("chat", "say", talk, "hello").code == 0
    told = run("bundle", talk, "-o", tmp_path / "talk.asice")
    check_refused(told, 1, f"there is no document {talk}")
    assert "erased" not in told.err


def test_the_list_shows_given_up(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the column of what a document waits for."""
    monkeypatch.setenv("FOJA_PROTECT_ATTEMPTS", "1")

    async def fail(self: Stamper, digest: bytes) -> object:
        return await real(Stamper([Silent()], Terms([])), digest)

    real = Stamper.stamp
    monkeypatch.setattr(Stamper, "stamp", fail)
    paper = tmp_path / "promise.txt"
    paper.write_text("I owe you a cake.\n")
    assert run("protect", paper, "--wait").code == 1
    assert "given_up" in run("status").lines[1]
