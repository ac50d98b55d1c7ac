"""A document's whole way: added, protected, stamped by a real authority, explained at every step."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import subprocess
from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from foja import errors
from foja.app import App, Rebuilt
from foja.engine.observe.audit import audit
from foja.pure.models.documents.events import DOCUMENT, JOB_EVIDENCE, Evidence
from foja.pure.models.documents.lifecycle import Lifecycle
from foja.pure.models.documents.rules import decide
from foja.pure.models.documents.states import EvidenceStatus, State
from foja.pure.proofs.tsa import LOCAL_NOTICE
from tests.cases import all_cases
from tests.database.documents.papers import Paper
from tests.database.schema.rows import Admin

CONTRACT = b"I owe you nothing."
STORY = [
    "document.added",
    "document.protected.requested",
    "job.run-tsa.required",
    "tsa.confirmed",
    "job.build-artifact.required",
    "artifact.finalized",
]


async def test_a_document_is_protected_end_to_end(app: App) -> None:
    document = await app.documents.add(CONTRACT, name="contract.pdf")
    assert document.sha256 == hashlib.sha256(CONTRACT).hexdigest()
    before = await app.documents.view(document.id)
    assert (before.state, before.pipeline) == (State.NONE, None)
    await app.documents.protect(document.id, required_evidence=["tsa"])
    assert "No worker is running for protect_document_v2" in await app.documents.explain(document.id)
    await app.work(until_idle=True)
    view = await app.documents.view(document.id)
    assert [moment.kind for moment in view.timeline] == STORY
    assert view.state is State.FINAL
    assert view.pipeline is None
    assert view.lifecycle is Lifecycle.PROTECTED
    assert view.name == "contract.pdf"
    assert view.note == LOCAL_NOTICE
    assert "Nothing more will happen" in view.explain
    [listed] = await app.documents.list()
    assert (listed.id, listed.name, listed.state) == (document.id, "contract.pdf", "final")
    assert listed.lifecycle == "protected"


async def test_the_token_is_accepted_by_openssl(app: App, tmp_path: Path) -> None:
    document = await app.documents.add(CONTRACT)
    await app.documents.protect(document.id)
    await app.work(until_idle=True)
    [stamped] = [each for each in await app.documents.events(document.id) if each.kind == "tsa.confirmed"]
    (tmp_path / "token.der").write_bytes(base64.b64decode(stamped.payload["token_b64"]))
    (tmp_path / "root.pem").write_text(next(each for each in app.trust if "BEGIN CERTIFICATE" in each))
    said = subprocess.run(
        [
            *["openssl", "ts", "-verify", "-token_in", "-in", "token.der", "-CAfile", "root.pem", "-digest"],
            sha256(CONTRACT).hexdigest(),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "Verification: OK" in said.stdout + said.stderr


async def test_adding_twice_is_adding_once_and_a_version_is_a_document_of_its_own(app: App) -> None:
    first = await app.documents.add(CONTRACT, name="a.txt")
    again = await app.documents.add(io.BytesIO(CONTRACT), name="a.txt", media_type="text/plain")
    assert (first.new, again.new) == (True, False)
    assert again.id == first.id
    assert (await app.documents.add(CONTRACT, name="b.txt")).id != first.id
    second = await app.documents.add(b"I owe you something.", name="a.txt", predecessor=first.id)
    assert second.id != first.id
    [added] = await app.documents.events(second.id)
    assert added.payload["predecessor"] == str(first.id)


async def test_versions_know_each_other(app: App, open_app: Callable[..., App], database_url: str) -> None:
    first = await app.documents.add(CONTRACT, name="a.txt")
    second = await app.documents.add(b"I owe you something.", name="a.txt", predecessor=first.id)
    third = await app.documents.add_digest("c" * 64, name="a.txt", predecessor=first.id)
    view = await app.documents.view(first.id)
    assert (view.predecessor, view.successors) == (None, (second.id, third.id))
    view = await app.documents.view(second.id)
    assert (view.predecessor, view.successors) == (first.id, ())
    assert view.document()["predecessor"] == str(first.id)
    talk = await app.conversations.open()
    await talk.append("user_message_sent", {"content": "hi"})
    async with open_app(tenant="others") as others:
        theirs = await others.documents.add(CONTRACT, name="a.txt")
        with pytest.raises(errors.UnknownEntity, match=str(first.id)):
            await others.documents.add_digest("d" * 64, predecessor=first.id)
    for stranger in (uuid4(), talk.id, theirs.id):
        for adding in (
            app.documents.add(b"next", predecessor=stranger),
            app.documents.add_digest("d" * 64, predecessor=stranger),
        ):
            with pytest.raises(errors.UnknownEntity, match=str(stranger)):
                await adding
    assert not (await audit(database_url, max_lag_seconds=60)).findings
    await app.ledger.erase(DOCUMENT, second.id, 0, reason="asked to")
    assert (await app.documents.view(second.id)).predecessor is None
    assert not (await audit(database_url, max_lag_seconds=60)).findings


@all_cases("predecessor", ["", "a contract", "{}", str(UUID(int=7)), "self"])
def test_a_predecessor_is_a_document_from_sql_too(admin: Admin, predecessor: str) -> None:
    paper = Paper(admin)
    named = str(paper.id) if predecessor == "self" else predecessor
    added = {"sha256": "a" * 64, "custody": "hash_only"}
    assert paper.refusal("document.added", {**added, "predecessor": named}) == "unknown_entity"
    paper.append("document.added", added)
    Paper(admin).append("document.added", {**added, "predecessor": str(paper.id).upper()})


async def test_bytes_paths_streams_and_digests(app: App, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(CONTRACT)
    ids = {
        (await app.documents.add(data, name="a.txt")).id
        for data in (CONTRACT, path, str(path), io.BytesIO(CONTRACT))
    }
    assert len(ids) == 1
    digest = hashlib.sha256(CONTRACT).hexdigest()
    assert await app.store.get(digest) == CONTRACT
    first = await app.documents.add_digest(sha256(b"elsewhere").hexdigest(), name="mine")
    again = await app.documents.add(b"elsewhere", name="mine")
    assert (again.id, again.custody, again.new) == (first.id, "hash_only", False), "as recorded"
    elsewhere = await app.documents.add_digest("c" * 64, name="secret")
    assert elsewhere.custody == "hash_only"
    with pytest.raises(errors.BadPayload, match="64 hexadecimal"):
        await app.documents.add_digest("C" * 64)
    for size in (-1, 2**53):
        with pytest.raises(errors.BadPayload, match="not a valid size"):
            await app.documents.add_digest("c" * 64, size=size)


async def test_an_equal_request_returns_the_first(app: App) -> None:
    document = await app.documents.add(CONTRACT)
    first = await app.documents.protect(document.id, ["tsa"])
    for stage in (None, "final"):
        again = await app.documents.protect(document.id, ["tsa"], stage=stage)
        assert (again.seq, again.id) == (first.seq, first.id)
    await app.work(until_idle=True)
    assert (await app.documents.protect(document.id)).seq == first.seq
    kinds = [event.kind for event in await app.documents.events(document.id)]
    assert kinds.count("document.protected.requested") == 1


async def test_what_cannot_be_asked_for(app: App) -> None:
    document = await app.documents.add(CONTRACT)
    with pytest.raises(errors.CannotProduce, match="bitcoin"):
        await app.documents.protect(document.id, ["tsa", "bitcoin"])
    with pytest.raises(errors.BadPayload, match="always required"):
        await app.documents.protect(document.id, [])
    with pytest.raises(errors.BadPayload, match="unknown evidence"):
        await app.documents.protect(document.id, ["tsa", "fax"])
    with pytest.raises(errors.BadPayload, match="unknown stage"):
        await app.documents.protect(document.id, stage="later")
    with pytest.raises(errors.UnknownEntity):
        await app.documents.protect(uuid4())
    with pytest.raises(errors.UnknownEntity):
        await app.documents.view("nonsense")
    with pytest.raises(errors.OutOfTurn, match="not given up"):
        await app.documents.retry(document.id, "tsa")


async def test_a_witness_that_is_none_is_refused_and_the_document_goes_on(app: App) -> None:
    document = await app.documents.add(CONTRACT)
    for kind in ("document.signed", "document.witness.ready"):
        body = {"witness_hash": "RUBBISH", "format": "unchecked"}
        with pytest.raises(errors.BadPayload, match="64 hexadecimal digits"):
            await app.documents.record(document.id, kind, body)
    assert (await app.documents.protect(document.id)).payload["witness_hash"] == document.sha256


async def test_stages_each_with_a_witness_of_its_own(app: App) -> None:
    document = await app.documents.add(CONTRACT)
    await app.documents.protect(document.id, stage="initial")
    await app.work(until_idle=True)
    view = await app.documents.view(document.id)
    assert (view.state, view.pipeline) == (State.PROTECTED, None)
    await app.documents.record(document.id, "document.signature.started", {})
    await app.documents.record(document.id, "document.witness.ready", {"witness_hash": "e" * 64})
    await app.documents.sign(document.id, signer="ana")
    await app.documents.protect(document.id, stage="final")
    await app.work(until_idle=True)
    view = await app.documents.view(document.id)
    assert view.witness_hash == "e" * 64
    stamped = [each for each in view.evidence if each.evidence is Evidence.TSA]
    assert [each.status for each in stamped] == [EvidenceStatus.CONFIRMED] * 2
    assert view.lifecycle is Lifecycle.SIGNED
    await check_asked(app, document.id)


async def check_asked(app: App, document: UUID) -> None:
    """Fail unless everything that was asked for is what the rules decide from the events before it."""
    events = await app.documents.events(document)
    asked = [event for event in events if event.kind in JOB_EVIDENCE]
    assert asked
    for event in asked:
        at = datetime.fromisoformat(event.payload["run_at"])
        [need, *_] = decide(events[: event.seq], abilities=app.documents.abilities, at=at)
        assert (need.kind, need.payload()) == (event.kind, event.payload)


async def test_what_is_revoked_or_archived_is_left_alone(app: App) -> None:
    document = await app.documents.add(CONTRACT)
    await app.documents.revoke(document.id, reason="wrong file")
    with pytest.raises(errors.DocumentClosed):
        await app.documents.protect(document.id)
    await app.documents.archive(document.id, reason="old")
    await app.work(until_idle=True)
    view = await app.documents.view(document.id)
    assert view.lifecycle is Lifecycle.ARCHIVED
    assert "archived" in view.explain
    [listed] = await app.documents.list()
    assert listed.lifecycle == "archived"


async def test_the_list_is_written_anew_by_replay(app: App, admin: Admin) -> None:
    documents = [await app.documents.add(CONTRACT, name=str(n)) for n in range(3)]
    await app.documents.protect(documents[0].id)
    await app.work(until_idle=True)
    before = await app.documents.list()
    assert [listed.id for listed in before] == [each.id for each in reversed(documents)]
    page = await app.documents.list(before=before[0].id, limit=1)
    assert page == before[1:2]
    admin.execute("update foja.document_summary set state = 'final', length = 1000")
    assert await app.rebuild() == Rebuilt(documents=3, mended=3)
    assert await app.rebuild() == Rebuilt(documents=3, mended=0)
    assert await app.documents.list() == before


async def test_a_rebuild_passes_over_the_stream_of_the_installation(app: App) -> None:
    """It was refused as soon as the installation had an event: `system` cannot be opened as a tenant."""
    await app.documents.add(CONTRACT, name="contract.txt")
    await app.jobs.pause("run_tsa", actor="ana")
    await app.work(until_idle=True)
    assert await app.rebuild() == Rebuilt(documents=1, mended=0)


async def test_an_erased_name_is_gone_from_everywhere(app: App) -> None:
    document = await app.documents.add(CONTRACT, name="ana.pdf")
    await app.documents.protect(document.id)
    await app.work(until_idle=True)
    await app.ledger.erase(DOCUMENT, document.id, 0, reason="asked")
    await app.work(until_idle=True)
    view = await app.documents.view(document.id)
    assert view.name is None
    assert view.state is State.FINAL
    [listed] = await app.documents.list()
    assert listed.name is None


async def test_a_request_from_psql_moves_on_like_any_other(app: App, admin: Admin) -> None:
    document = UUID(int=5)
    Paper(admin, document).request("tsa", witness="f" * 64)
    await app.work(until_idle=True)
    assert (await app.documents.view(document)).state is State.FINAL


async def test_an_equal_request_is_the_first_one_whoever_wrote_it(app: App, admin: Admin) -> None:
    document = UUID(int=6)
    paper = Paper(admin, document)
    early, late = (
        paper.request("tsa", witness="f" * 64, stage=stage)["seq"] for stage in ("initial", "final")
    )
    for stage, seq in (("initial", early), ("final", late), (None, late)):
        again = await app.documents.protect(document, stage=stage, witness_hash="f" * 64)
        assert again.seq == seq
    with pytest.raises(errors.BadPayload, match="stage is final already"):
        await app.documents.protect(document, stage="initial", witness_hash="e" * 64)
    assert len(paper.kinds()) == 2


async def test_two_processes_share_the_work(open_app: Callable[..., App]) -> None:
    async with open_app() as one, open_app() as two:
        documents = [await one.documents.add_digest(f"{n:064x}") for n in range(100)]
        await asyncio.gather(*(one.documents.protect(each.id) for each in documents))
        await asyncio.gather(one.work(until_idle=True), two.work(until_idle=True))
        while await one.documents.at_work([each.id for each in documents]):
            await one.work(until_idle=True)
        for each in documents:
            kinds = [event.kind for event in await one.documents.events(each.id)]
            assert kinds == STORY


async def test_a_list_entry_that_is_not_what_the_events_say_is_found(
    app: App, admin: Admin, database_url: str
) -> None:
    document = await app.documents.add(CONTRACT, name="a.txt")
    await app.documents.protect(document.id, stage="initial")
    await app.work(until_idle=True)
    healthy = await audit(database_url, max_lag_seconds=60)
    assert healthy.clean, healthy
    admin.execute("update foja.document_summary set state = 'final'")
    [found] = (await audit(database_url, max_lag_seconds=60)).findings
    assert (found.check, found.entity_id) == ("summary", document.id)
    assert "final" in found.found
    admin.execute("delete from foja.document_summary")
    [behind] = (await audit(database_url, max_lag_seconds=0.001)).findings
    assert (behind.check, behind.seq) == ("summary", 0)
    await app.rebuild()
    assert (await audit(database_url, max_lag_seconds=60)).clean
