"""Many documents under one token: asked once, recorded in each stream, proven alone."""

from __future__ import annotations

import asyncio
import io
import shlex
import subprocess
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import pytest

import foja
from foja.app import App
from foja.domains.documents import container
from foja.domains.documents.workers import artifacts, executor, timestamps
from foja.pure.core.bundle import names
from foja.pure.judge.render import as_text
from foja.pure.judge.report import Verdict
from foja.pure.models.documents.states import State
from foja.pure.proofs.ers import read_record, root_of
from tests.flow.command import Run
from tests.tsa_server import TsaServer, running_tsa

ONLY = [executor.TYPE, timestamps.TYPE]
MANY = 12


@pytest.fixture
def tsa() -> Iterator[TsaServer]:
    with running_tsa() as server:
        yield server


@pytest.fixture
def settings(tsa: TsaServer, tmp_path: Path) -> dict[str, object]:
    roots = tmp_path / "root.pem"
    roots.write_bytes(tsa.root)
    return {
        "tsa_urls": tsa.url,
        "tsa_roots": str(roots),
        "tsa_batch": 100,
        "protect_attempts": 2,
        "protect_pause_seconds": 0,
    }


@pytest.fixture
async def bulk(settings: dict[str, object], open_app: Callable[..., App]) -> AsyncIterator[App]:
    async with open_app(**settings) as app:
        yield app


async def added(app: App, count: int = MANY) -> list[UUID]:
    """Add documents and request evidence for them; nothing is decided yet."""
    found = []
    for number in range(count):
        document = await app.documents.add(b"document %d\n" % number, name=f"{number}.txt")
        await app.documents.protect(document.id)
        found.append(document.id)
    return found


async def test_a_batch_becomes_final_with_one_token_and_every_bundle_passes(
    bulk: App, tsa: TsaServer
) -> None:
    documents = await added(bulk)
    await bulk.work(until_idle=True, only=[executor.TYPE])
    before = len(tsa.asked)
    await bulk.work(until_idle=True, only=ONLY)
    assert len(tsa.asked) == before + 1
    await bulk.work(until_idle=True)
    assert len(tsa.asked) == before + 2, "one token stamps them, and one seals their bundles"
    for number, document in enumerate(documents):
        view = await bulk.documents.view(document)
        assert view.state is State.FINAL, view.explain
        report = foja.verify(await bulk.documents.bundle(document), trust=bulk.trust)
        assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
        [found] = [each for each in report.evidence if each.evidence == "tsa"]
        assert found.name == names.record_names(1).record
        assert "a batch of documents" in found.detail
        assert not [each for each in found.not_checked if "nonce" in each]
        assert report.subject.sha256 == sha256(b"document %d\n" % number).digest()
        [seal] = [each for each in report.evidence if each.evidence == "seal"]
        assert seal.name == names.SEAL_RECORD.record
        assert "a batch of bundles" in seal.detail
    without = foja.verify(await bulk.documents.bundle(documents[0], with_document=False), trust=bulk.trust)
    assert without.verdict is Verdict.TOTAL_PASSED, as_text(without)


async def test_openssl_verifies_the_token_in_a_bundle_over_its_root(bulk: App, tmp_path: Path) -> None:
    document, *_ = await added(bulk, 3)
    await bulk.work(until_idle=True, only=[executor.TYPE])
    await bulk.work(until_idle=True)
    with zipfile.ZipFile(io.BytesIO(await bulk.documents.bundle(document))) as other:
        assert other.testzip() is None
        other.extractall(tmp_path)
    for paths, *about in (
        (names.record_names(1), "document/0.txt"),
        (names.SEAL_RECORD, "document/0.txt", names.ASIC_MANIFEST),
    ):
        record = read_record((tmp_path / paths.record).read_bytes())
        own = {sha256((tmp_path / name).read_bytes()).digest() for name in (*about, paths.blinding)}
        assert set(record.lists[0]) == own
        (tmp_path / "token.der").write_bytes(record.token)
        asked = ["-digest", root_of(record.lists).hex(), "-token_in", "-in", "token.der"]
        ran = subprocess.run(
            ["openssl", "ts", "-verify", *asked, "-CAfile", "root.pem"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Verification: OK" in ran.stdout, ran.stderr


async def test_a_token_that_fails_its_checks_fails_the_attempts_and_a_later_one_counts(
    bulk: App, tsa: TsaServer
) -> None:
    """The answer of the authority is lost, wrong, or about something else: nothing of it is recorded."""
    tsa.behave("another digest", "honest")
    documents = await added(bulk)
    await bulk.work(until_idle=True, only=ONLY)
    for document in documents:
        events = await bulk.documents.events(document)
        ends = [
            (each.kind, each.payload.get("failure_code")) for each in events if each.kind.startswith("tsa.")
        ]
        assert ends == [("tsa.failed", "imprint_mismatch"), ("tsa.confirmed", None)]
    assert len(tsa.asked) == 2


async def test_documents_of_several_tenants_share_a_token_and_nothing_else(
    bulk: App, tsa: TsaServer, settings: dict[str, object], open_app: Callable[..., App]
) -> None:
    ours = await added(bulk, 2)
    async with open_app(**settings, tenant="another") as other:
        [theirs] = await added(other, 1)
        await bulk.work(until_idle=True, only=[executor.TYPE])
        before = len(tsa.asked)
        await bulk.work(until_idle=True, only=ONLY)
        assert len(tsa.asked) == before + 1
        events = [*await other.documents.events(theirs), *await bulk.documents.events(ours[0])]
    confirmed = [each.payload for each in events if each.kind == "tsa.confirmed"]
    assert len({each["token_b64"] for each in confirmed}) == 1
    assert len({each["blinding_b64"] for each in confirmed}) == len(confirmed) == 2


async def test_a_renewal_covers_the_record_of_a_seal(bulk: App, tsa: TsaServer) -> None:
    document, *_ = await added(bulk, 2)
    await bulk.work(until_idle=True, only=[executor.TYPE])
    await bulk.work(until_idle=True)
    before = await bulk.documents.bundle(document)
    target = io.BytesIO()
    await bulk.bundles.renew(io.BytesIO(before), target)
    report = foja.verify(target.getvalue(), trust=bulk.trust)
    assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
    seals = [each.name for each in report.evidence if each.evidence == "seal"]
    assert seals == [names.SEAL_RECORD.record, names.seal_names(1)[1]]
    again = io.BytesIO()
    await bulk.bundles.renew(target, again)
    assert foja.verify(again.getvalue(), trust=bulk.trust).verdict is Verdict.TOTAL_PASSED


async def test_a_seal_is_judged_as_a_loose_file(bulk: App, tmp_path: Path) -> None:
    document, *_ = await added(bulk, 2)
    await bulk.work(until_idle=True, only=[executor.TYPE])
    await bulk.work(until_idle=True)
    with zipfile.ZipFile(io.BytesIO(await bulk.documents.bundle(document))) as opened:
        opened.extractall(tmp_path)
    paths = names.SEAL_RECORD
    for subject in (names.ASIC_MANIFEST, "document/0.txt"):
        report = foja.verify(tmp_path / subject, [tmp_path / "root.pem"], proofs=[tmp_path / paths.record])
        assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)


async def test_large_documents_share_no_token_beyond_a_limit(
    bulk: App, tsa: TsaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their copies are there at the same time: what is too much for that is sealed in several groups."""
    monkeypatch.setattr(artifacts, "GROUP_BYTES", 30)
    documents = await added(bulk, 5)  # of 11 bytes each: two, two and one
    await bulk.work(until_idle=True, only=[executor.TYPE])
    await bulk.work(until_idle=True, only=ONLY)
    before = len(tsa.asked)
    await bulk.work(until_idle=True)
    assert len(tsa.asked) == before + 3
    seals = []
    for document in documents:
        report = foja.verify(await bulk.documents.bundle(document), trust=bulk.trust)
        assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
        seals += [str(each.name) for each in report.evidence if each.evidence == "seal"]
    assert sorted(seals) == [names.SEAL_RECORD.record] * 4 + [names.STAMP]


async def test_bundles_that_are_too_large_for_memory_are_sealed_together(
    bulk: App, tsa: TsaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container, "SMALL_BYTES", 0)
    documents = await added(bulk, 3)
    await bulk.work(until_idle=True, only=[executor.TYPE])
    await bulk.work(until_idle=True, only=ONLY)
    before = len(tsa.asked)
    await bulk.work(until_idle=True)
    assert len(tsa.asked) == before + 1
    for document in documents:
        report = foja.verify(await bulk.documents.bundle(document), trust=bulk.trust)
        assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)


def test_the_commands_beside_the_proofs_of_a_batch_work(
    settings: dict[str, object],
    open_app: Callable[..., App],
    tmp_path: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FOJA_TSA_ROOTS", str(settings["tsa_roots"]))

    async def protect() -> UUID:
        async with open_app(**settings) as app:
            document, *_ = await added(app, 3)
            await app.work(until_idle=True, only=[executor.TYPE])
            await app.work(until_idle=True)
            return document

    folder = tmp_path / "proofs"
    assert run("proofs", str(asyncio.run(protect())), "-o", folder).code == 0
    lines = (folder / "README.txt").read_text().splitlines()
    own, others = (
        [shlex.split(each, comments=True) for each in lines if f"  {name} " in each]
        for name in ("foja", "openssl")
    )
    for command in own:
        shown = run(*(folder / each if (folder / each).is_file() else each for each in command[1:]))
        assert shown.code == 0, shown.out
        assert "were not given" not in shown.out
    for command in others:
        assert (
            b"Verification: OK" in subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout
        )
    assert len(own) == len(others) == 1


async def test_without_the_setting_each_document_has_its_own_token(
    settings: dict[str, object], open_app: Callable[..., App], tsa: TsaServer
) -> None:
    async with open_app(**{**settings, "tsa_batch": 0}) as app:
        documents = await added(app, 3)
        await app.work(until_idle=True, only=ONLY)
        for document in documents:
            [event] = [e for e in await app.documents.events(document) if e.kind == "tsa.confirmed"]
            assert not {"path_b64", "blinding_b64"} & event.payload.keys()
    assert len(tsa.asked) == 3


def test_the_command_verifies_a_record_beside_its_file(
    settings: dict[str, object], open_app: Callable[..., App], tmp_path: Path, run: Run
) -> None:
    async def bundle() -> bytes:
        async with open_app(**settings) as app:
            document, *_ = await added(app, 2)
            await app.work(until_idle=True, only=[executor.TYPE])
            await app.work(until_idle=True)
            return await app.documents.bundle(document)

    with zipfile.ZipFile(io.BytesIO(asyncio.run(bundle()))) as opened:
        opened.extractall(tmp_path)
    paths = names.record_names(1)
    record, blinding = tmp_path / paths.record, tmp_path / paths.blinding
    file, trust = tmp_path / "document" / "0.txt", ["--trust", tmp_path / "root.pem"]
    whole = run("verify", file, "--proof", record, "--proof", blinding, *trust)
    assert whole.code == 0, whole.out
    assert "a batch of documents" in whole.out
    assert "were not given" not in whole.out
    alone = run("verify", file, "--proof", record, *trust, "--lang", "es")
    assert alone.code == 0, alone.out
    assert "un lote de documentos" in alone.out
    assert "no se aportaron" in alone.out
    file.write_bytes(b"another document")
    assert run("verify", file, "--proof", record, "--proof", blinding, *trust).code == 1
