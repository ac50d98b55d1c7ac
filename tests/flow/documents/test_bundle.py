"""The bundle of a real document: built, judged, handed out, and opened by tools of others."""

from __future__ import annotations

import asyncio
import io
import subprocess
import tracemalloc
import zipfile
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

import foja
from foja.app import App
from foja.domains.documents.workers.artifacts import RENEW, RenewalWorker
from foja.engine.jobs.outcome import Done, Job
from foja.errors import UnknownEntity
from foja.pure.core.bundle import names
from foja.pure.core.bundle.reader import open_container
from foja.pure.judge.report import Verdict
from tests.flow.command import Run

TEXT = b"I owe you a cake.\n"


async def protected(app: App, data: bytes | Path = TEXT, name: str = "promise.txt") -> str:
    document = await app.documents.add(data, name=name)
    await app.documents.protect(document.id, required_evidence=["tsa"])
    await app.work(until_idle=True)
    return str(document.id)


async def test_a_document_becomes_final_and_passes(app: App) -> None:
    document = await protected(app)
    view = await app.documents.view(document)
    assert view.state == "final", view.explain
    container = await app.documents.bundle(document)
    report = foja.verify(container, trust=app.trust)
    assert report.verdict is Verdict.TOTAL_PASSED
    assert report.subject.name == "promise.txt"
    kept = [each.payload for each in await app.ledger.events(view.id, None, 100)][-1]
    assert kept["verdict"] == "TOTAL_PASSED"
    assert kept["size"] == len(container)
    assert await app.documents.bundle(document) == container


async def test_the_nonce_that_was_sent_is_kept_and_compared(app: App) -> None:
    report = foja.verify(await app.documents.bundle(await protected(app)), trust=app.trust)
    [token] = [each for each in report.evidence if each.evidence == "tsa"]
    assert not [each for each in token.not_checked if "nonce" in each]


async def test_a_document_that_was_revoked_after_its_artifact_says_so(app: App) -> None:
    document = await protected(app)
    artifact = await app.documents.bundle(document)
    await app.documents.revoke(document, reason="a new one is valid")
    await app.work(until_idle=True)
    report = foja.verify(await app.documents.bundle(document), trust=app.trust)
    assert report.verdict is Verdict.TOTAL_PASSED
    assert report.revoked is not None
    assert report.revoked.reason == "a new one is valid"
    assert foja.verify(artifact, trust=app.trust).revoked is None


async def test_the_same_document_built_twice_has_the_same_inner_bytes(app: App) -> None:
    document = await protected(app)
    first = await app.documents.bundle(document, with_document=False)
    await protected(app, b"another", "another.txt")  # the log grows meanwhile
    second = await app.documents.bundle(document, with_document=False)
    one, two = (open_container(io.BytesIO(each)) for each in (first, second))
    assert one.names == two.names
    for name in one.names:
        assert (one.read(name) == two.read(name)) == (name != names.STAMP)


async def test_an_interim_bundle_is_undecided(app: App) -> None:
    document = await app.documents.add(TEXT, name="promise.txt")
    report = foja.verify(await app.documents.bundle(document.id), trust=app.trust)
    assert report.verdict is Verdict.INDETERMINATE
    await app.documents.protect(document.id, required_evidence=["tsa"])
    report = foja.verify(await app.documents.bundle(document.id), trust=app.trust)
    assert report.verdict is Verdict.INDETERMINATE


async def test_a_document_that_stays_elsewhere(app: App) -> None:
    document = await app.documents.add_digest(sha256(TEXT).hexdigest(), name="promise.txt")
    await app.documents.protect(document.id, required_evidence=["tsa"])
    await app.work(until_idle=True)
    container = await app.documents.bundle(document.id)
    assert not [name for name in open_container(io.BytesIO(container)).names if name.startswith("document/")]
    given = foja.verify(container, trust=app.trust, digest=sha256(TEXT).hexdigest())
    assert given.verdict is Verdict.TOTAL_PASSED


async def test_openssl_and_unzip_need_none_of_us(app: App, tmp_path: Path) -> None:
    document = await protected(app)
    with zipfile.ZipFile(io.BytesIO(await app.documents.bundle(document))) as other:
        assert other.testzip() is None
        other.extractall(tmp_path)
    (tmp_path / "roots.pem").write_text(app.trust[1])
    outer = ["-data", names.ASIC_MANIFEST, "-in", names.STAMP, "-token_in"]
    inner = ["-data", "document/promise.txt", "-in", "evidence/tsa/01.tsr"]
    for asked in (outer, inner):
        ran = subprocess.run(
            ["openssl", "ts", "-verify", *asked, "-CAfile", "roots.pem"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Verification: OK" in ran.stdout, ran.stderr


async def test_a_document_of_many_megabytes_is_not_held_in_memory(app: App, tmp_path: Path) -> None:
    large = tmp_path / "large.bin"
    with large.open("wb") as file:
        file.truncate(48 << 20)
    tracemalloc.start()
    document = await protected(app, large, "large.bin")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (await app.documents.view(document)).state == "final"
    assert most < 24 << 20


@pytest.mark.long
async def test_a_large_document_is_never_held(app: App, tmp_path: Path) -> None:
    large = tmp_path / "large.bin"
    with large.open("wb") as file:
        file.truncate(1 << 30)
    tracemalloc.start()
    document = await protected(app, large, "large.bin")
    target = tmp_path / "large.asice"
    with target.open("wb") as file:
        await app.documents.write_bundle(document, file)
    report = foja.verify(target, trust=app.trust)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.verdict is Verdict.TOTAL_PASSED
    assert most < 64 << 20


async def test_a_conversation_is_protected_like_a_document(app: App) -> None:
    talk = await app.conversations.open()
    for content in ("hi", "¿qué tal?"):
        await talk.append("user_message_sent", {"content": content})
    document = await app.conversations.protect(talk.id, required_evidence=["tsa"])
    await talk.append("user_message_sent", {"content": "said later"})
    await app.work(until_idle=True)
    assert (await app.documents.view(document.id)).state == "final"
    container = await app.documents.bundle(document.id)
    report = foja.verify(container, trust=app.trust)
    assert report.verdict is Verdict.TOTAL_PASSED
    opened = open_container(io.BytesIO(container))
    [name] = [each for each in opened.names if each.startswith("document/")]
    told = opened.read(name).decode()
    assert "¿qué tal?" in told
    assert "said later" not in told
    assert sha256(opened.read(name)).hexdigest() == document.sha256


async def test_nothing_was_said_that_could_be_protected(app: App) -> None:
    talk = await app.conversations.open()
    with pytest.raises(UnknownEntity, match="has no sealed events"):
        await app.conversations.protect(talk.id)


def test_the_command_writes_a_bundle_and_a_page(
    open_app: Callable[..., App], tmp_path: Path, database_url: str, run: Run
) -> None:
    async def protect() -> tuple[str, list[str]]:
        async with open_app() as app:
            return await protected(app), app.trust

    document, roots = asyncio.run(protect())
    target, page = tmp_path / "promise.asice", tmp_path / "promise.pdf"
    place = ["--database-url", database_url, "--home", tmp_path / "home"]
    wanted = ["--certificate", page, "--language", "es"]
    told = run("bundle", document, "-o", target, *wanted, "--json", *place)
    assert told.code == 0, told.err
    assert told.document["verdict"] == "TOTAL_PASSED"
    assert told.document["sha256"] == sha256(target.read_bytes()).hexdigest()
    assert page.read_bytes().startswith(b"%PDF")
    assert foja.verify(target, trust=roots).verdict is Verdict.TOTAL_PASSED
    assert (
        "TOTAL_PASSED" in run("bundle", document, "-o", target, "--without-document", "--force", *place).out
    )
    kept = target.read_bytes()
    assert run("bundle", UUID(int=1), "-o", target, "--force", *place).code == 1
    assert target.read_bytes() == kept, "what failed leaves the file that was there"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["home", "promise.asice", "promise.pdf"]


async def tick(app: App, admin: psycopg.Connection[Any]) -> None:
    """Let a slot of time begin, and work."""
    admin.execute("update foja.tick set due = clock_timestamp(), every = '1 second'")
    await asyncio.sleep(1)
    await app.work(until_idle=True)


async def test_an_artifact_is_renewed_before_its_certificates_end(
    app: App, admin: psycopg.Connection[Any]
) -> None:
    document = await protected(app)
    before = await app.documents.bundle(document)
    renewals = RenewalWorker(app.bundles, app.objects, app.ledger, ahead=timedelta(days=3650))
    job = Job(1, RENEW, UUID(int=1), "default", "renew_artifacts:1", {}, 1, 5, UUID(int=2), 60)
    assert await renewals.work([job]) == [Done([], [])], "no younger certificate: nothing is said"

    admin.execute("update foja.document set renew_before = clock_timestamp() + interval '1 day'")
    await tick(app, admin)
    kinds = [each.kind for each in await app.documents.events(document)]
    assert kinds[-2:] == ["artifact.finalized", "artifact.renewed"]
    after = await app.documents.bundle(document)
    report = foja.verify(after, trust=app.trust)
    assert report.verdict is Verdict.TOTAL_PASSED
    assert [each.name for each in report.evidence if each.evidence == "seal"] == [
        "META-INF/timestamp.tst",
        "META-INF/timestamp001.tst",
    ]
    old, new = (open_container(io.BytesIO(each)) for each in (before, after))
    assert new.names[: len(old.names)] == old.names
    assert all(old.read(name) == new.read(name) for name in old.names)
    await tick(app, admin)
    assert len(await app.documents.events(document)) == len(kinds), "renewed once is enough"
