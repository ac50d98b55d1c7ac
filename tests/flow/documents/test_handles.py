"""Handles on documents and conversations: the same operations, and proofs that need no database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from uuid import UUID, uuid4

import pytest

import foja
from foja import errors
from foja.app import App
from foja.engine.ledger.excerpts import EventProof
from foja.pure.judge.render import as_text
from foja.pure.judge.render.headline import headline
from foja.pure.models.documents.events import DOCUMENT
from tests.flow.command import Run

TEXT = b"I owe you nothing."


async def test_a_document_is_used_through_its_handle(app: App) -> None:
    document = await app.documents.add(TEXT, name="contract.pdf")
    await document.protect(required_evidence=["tsa"])
    assert "No worker is running for protect_document_v2: start `foja worker`" in await document.explain()
    await app.work(until_idle=True)
    assert (await document.view()).state == "final"
    assert await document.bundle() == await app.documents.bundle(document.id)
    report = foja.verify(await document.bundle(), trust=app.trust)
    assert report.verdict is foja.Verdict.TOTAL_PASSED
    with pytest.raises(errors.OutOfTurn, match="not given up"):
        await document.retry("tsa")
    await document.record("document.signature.started", actor="ana")
    await document.revoke(reason="wrong file", actor="ana")
    await document.archive(reason="old")
    assert [(event.kind, event.actor) for event in await document.events(after=5)] == [
        ("document.signature.started", "ana"),
        ("document.revoked", "ana"),
        ("document.archived", None),
    ]


async def test_a_document_is_opened_by_its_id(app: App, open_app: Callable[..., App]) -> None:
    added = await app.documents.add(TEXT, name="contract.pdf")
    opened = await app.documents.open(str(added.id))
    assert (opened.id, opened.sha256, opened.name) == (added.id, sha256(TEXT).hexdigest(), "contract.pdf")
    assert (opened.size, opened.custody, opened.new) == (len(TEXT), "stored", False)
    talk = await app.conversations.open()
    await talk.append("user_message_sent", {"content": "hi"})
    for stranger in (uuid4(), talk.id, "nonsense"):
        with pytest.raises(errors.UnknownEntity, match=str(stranger)):
            await app.documents.open(stranger)
    async with open_app(tenant="others") as others:
        with pytest.raises(errors.UnknownEntity):
            await others.documents.open(added.id)


async def test_an_erased_document_can_be_opened_and_used(app: App) -> None:
    document = await app.documents.add(TEXT, name="ana.pdf")
    await document.protect()
    await app.ledger.erase(DOCUMENT, document.id, 0, reason="asked to")
    opened = await app.documents.open(document.id)
    assert (opened.sha256, opened.name, opened.size, opened.custody) == (None, None, None, None)
    await app.work(until_idle=True)
    assert (await opened.view()).state != "none"


async def test_a_handle_shows_its_fields_and_not_its_service(app: App) -> None:
    document = await app.documents.add_digest("c" * 64, name="secret")
    assert repr(document) == (
        f"Document(id={document.id!r}, sha256={'c' * 64!r}, name='secret', size=None, "
        "custody='hash_only', new=True)"
    )
    assert repr(await app.conversations.open(document.id)) == f"Conversation({document.id})"


async def test_a_document_is_followed(app: App) -> None:
    document = await app.documents.add(TEXT)
    [added] = await document.events()

    async def next_kind() -> str:
        async for event in document.follow(after=added.cursor):
            return event.kind
        raise AssertionError("a follower does not end")

    waiting = asyncio.create_task(next_kind())
    await document.protect()
    assert await waiting == "document.protected.requested"


async def test_a_protected_conversation_is_a_document(app: App) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", {"content": "hi"})
    document = await talk.protect()
    assert isinstance(document, foja.Document)
    assert (await app.conversations.protect(talk.id)).id == document.id
    await app.work(until_idle=True)
    assert (await document.view()).state == "final"
    with pytest.raises(errors.UnknownEntity):
        await (await app.conversations.open()).protect()


async def test_a_protected_gallery_is_a_document(app: App) -> None:
    gallery = await app.images.open()
    await gallery.add_url("https://shop.example/a.png", supplier_id=UUID(int=3))
    document = await gallery.protect("tsa")
    assert isinstance(document, foja.Document)
    assert repr(gallery) == f"Gallery({gallery.id})"
    await app.work(until_idle=True)
    assert "“image.added”" in as_text(foja.verify(await document.bundle(), app.trust))


async def test_a_proof_is_one_file_that_says_what_was_decided(app: App, tmp_path: Path) -> None:
    """Three files said that an event is recorded, and neither who approved nor what."""
    talk = await app.conversations.open()
    asked = await talk.request_approval("refund", {"order": 7})
    await talk.decide(asked.id, "approved", actor="ben")
    await app.work(until_idle=True)
    proof, path = await talk.prove(1), tmp_path / "decision.foja-proof"
    proof.save(path)
    assert path.read_bytes() == proof.file()
    report = foja.verify(path, app.trust)
    assert report.verdict is foja.Verdict.TOTAL_PASSED
    assert '“ben” approved “refund” with “{"order":7}” on' in headline(report).first
    assert f"this is event 1 of stream {talk.id}" in headline(report).first


async def test_a_proof_is_judged_without_the_database(app: App) -> None:
    talk = await app.conversations.open()
    for content in ("one", "two"):
        await talk.append("user_message_sent", {"content": content})
    await app.work(until_idle=True)
    proof = await talk.prove(1)
    assert (proof.index, proof.size, proof.excerpt.payload) == (1, 2, {"content": "two"})
    report = proof.verify(trust=app.trust)
    assert report.verdict is foja.Verdict.TOTAL_PASSED
    assert [each.evidence for each in report.evidence] == ["ledger"]
    assert proof.verify([]).verdict is foja.Verdict.INDETERMINATE
    forged = proof.event_text().replace("two", "three").encode()
    judged = foja.verify(forged, app.trust, proofs=[proof.proof_text().encode()])
    assert judged.verdict is foja.Verdict.TOTAL_FAILED


def test_the_command_writes_one_file(run: Run, tmp_path: Path) -> None:
    async def prove() -> tuple[UUID, bytes, str]:
        async with foja.connect() as app:
            talk = await app.conversations.open()
            await talk.append("user_message_sent", {"content": "hi"}, actor="ana")
            await app.work(until_idle=True)
            return talk.id, (await talk.prove(0)).file(), app.trust[0]

    talk, data, vkey = asyncio.run(prove())
    file = tmp_path / "hi.foja-proof"
    written = run("log", "prove", talk, 0, "-o", file)
    assert (written.code, file.read_bytes()) == (0, data)
    assert f"foja verify {file}" in written.out
    assert run("log", "prove", talk, 0, "-o", file).code != 0
    judged = run("verify", file, "--trust", vkey, "--lang", "es")
    assert judged.code == 0
    assert "“ana” registró “user_message_sent” con “hi” el" in judged.out
    assert f"es el evento 0 de la conversación {talk}" in judged.out


def test_a_proof_is_what_the_command_writes_and_judges(run: Run, tmp_path: Path) -> None:
    async def prove() -> tuple[UUID, EventProof, str]:
        async with foja.connect() as app:
            document = await app.documents.add(TEXT)
            await app.work(until_idle=True)
            return document.id, await document.prove(0), app.trust[0]

    document, proof, vkey = asyncio.run(prove())
    event, place, key = tmp_path / "sheet.event.json", tmp_path / "sheet.tlog-proof", tmp_path / "foja.vkey"
    assert run("log", "prove", document, 0, "-o", place).code == 0
    assert (event.read_text(), place.read_text()) == (proof.event_text(), proof.proof_text())
    key.write_text(vkey)
    judged = run("verify", event, "--proof", place, "--trust", key, "--json").document
    report = proof.verify([vkey])
    assert (judged["verdict"], judged["policy"]) == ("TOTAL_PASSED", report.policy)
    assert judged["evidence"][0]["detail"] == report.evidence[0].detail


async def test_an_event_without_a_checkpoint_has_no_proof_yet(app: App) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", {"content": "hi"})
    with pytest.raises(errors.NotCovered) as refused:
        await talk.prove(0)
    assert refused.value.retryable
    await app.sequencer.number()
    with pytest.raises(errors.NotCovered, match="no published checkpoint"):
        await talk.prove(0)
    await app.work(until_idle=True)
    assert (await talk.prove(0)).verify(app.trust).verdict is foja.Verdict.TOTAL_PASSED
    slots = await talk.reserve(1)
    with pytest.raises(errors.NotCovered):
        await talk.prove(slots.seqs[0])


async def test_an_event_that_is_not_there_is_unknown(app: App, open_app: Callable[..., App]) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", {"content": "hi"})
    await app.work(until_idle=True)
    for seq in (-1, 1, 2**70):
        with pytest.raises(errors.UnknownEntity, match=f"no event {seq};"):
            await talk.prove(seq)
    with pytest.raises(errors.UnknownEntity):
        await (await app.conversations.open(UUID(int=7))).prove(0)
    async with open_app(tenant="others") as others:
        with pytest.raises(errors.UnknownEntity):
            await (await others.conversations.open(talk.id)).prove(0)


async def test_the_place_of_an_erased_event_is_still_proven(app: App) -> None:
    """What it said is not known any more, so the whole is undecided."""
    talk = await app.conversations.open()
    await talk.append("user_message_sent", {"content": "forget me"})
    await talk.erase(0, reason="asked to")
    await app.work(until_idle=True)
    proof = await talk.prove(0)
    assert "forget me" not in proof.event_text()
    report = proof.verify(app.trust)
    assert report.verdict is foja.Verdict.INDETERMINATE
    assert [each.reason for each in report.evidence] == ["BODY_ERASED"]
    assert "is entry 0 of" in report.evidence[0].detail


async def test_an_event_of_an_own_domain_is_proven_alike(open_app: Callable[..., App]) -> None:
    parcel = foja.Domain("parcel", [foja.Kind("parcel.sent", required={"to": "string"})])
    async with open_app(domains=[parcel]) as app:
        stream = await app.streams(parcel).open()
        await stream.append("parcel.sent", {"to": "ana"})
        await app.work(until_idle=True)
        proof = await stream.prove(0)
        assert (proof.excerpt.domain, proof.excerpt.payload) == ("parcel", {"to": "ana"})
        assert proof.verify(app.trust).verdict is foja.Verdict.TOTAL_PASSED
        assert isinstance(await stream.protect(), foja.Document)
