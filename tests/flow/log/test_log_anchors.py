"""`foja log anchors`: from an append to proofs of the checkpoint over it, through a real Rekor log."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest

import foja
from foja.pure.judge.report import Verdict
from tests.counterparties.rekor import RekorLog, running_rekor
from tests.flow.command import Run, check_refused


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[RekorLog]:
    """A log of others, as the settings of every command name it."""
    with running_rekor() as log:
        log.grow(7)
        monkeypatch.setenv("FOJA_REKOR_URL", log.url)
        monkeypatch.setenv("FOJA_REKOR_KEY", log.vkey)
        monkeypatch.setenv("FOJA_ANCHOR_BATCH_SECONDS", "0")
        yield log


async def work(home: Path, database_url: str) -> None:
    async with foja.connect(home=home, database_url=database_url) as app:
        for _ in range(3):  # publish and request; submit and record; publish that
            await app.work(until_idle=True)


def anchor(run: Run, home: Path, database_url: str) -> None:
    talk = run("chat", "new").out.strip()
    assert run("chat", "say", talk, "hello").code == 0
    assert run("anchors", "enable", "rekor").code == 0
    asyncio.run(work(home, database_url))


def test_an_append_is_covered_by_an_exported_proof_that_verifies(
    run: Run, log: RekorLog, home: Path, database_url: str, tmp_path: Path
) -> None:
    anchor(run, home, database_url)
    [shown] = run("log", "anchors", "--json").document
    assert (shown["network"], shown["confirmed"]) == ("rekor", True)
    assert len(log.entries) == 8
    assert [line.split()[:3] for line in run("log", "anchors").lines[1:]] == [
        [str(shown["origin"]), str(shown["size"]), "rekor"]
    ]

    folder = tmp_path / "anchored"
    written = run("log", "anchors", "-o", folder, "--json").document["files"]
    stem = f"{shown['origin']}-{shown['size']}"
    note, proof = f"{stem}.checkpoint", f"{stem}.sigstore.json"
    assert written == [note, proof, "README.txt", "trust.txt", "roots.pem", "signer.pem"]
    assert sha256((folder / note).read_bytes()).hexdigest() == shown["sha256"]

    trust = folder / "trust.txt"
    passed = run("verify", folder / note, "--proof", folder / proof, "--trust", trust)
    assert passed.code == 0, passed.out
    assert f"foja verify {note} --proof {proof} --trust trust.txt" in (folder / "README.txt").read_text()
    assert run("fsck", "--checkpoint", folder / note).code == 0

    changed = (folder / note).read_bytes().replace(b"\n", b"\r\n")
    report = foja.verify(changed, [trust], proofs=[folder / proof])
    assert report.verdict is Verdict.TOTAL_FAILED
    assert foja.verify(folder / note, proofs=[folder / proof]).verdict is Verdict.INDETERMINATE
    check_refused(run("log", "anchors", "-o", folder), 2, "is not empty")


def test_without_anchors_it_says_so(run: Run, tmp_path: Path) -> None:
    run("jobs")
    assert run("log", "anchors").lines == [
        "no checkpoint is anchored yet; `foja anchors` shows which networks are enabled"
    ]
    check_refused(run("log", "anchors", "-o", tmp_path / "none"), 2, "no checkpoint is anchored yet")
    assert not (tmp_path / "none").exists()


def test_a_note_that_was_changed_is_not_exported(
    run: Run,
    log: RekorLog,
    home: Path,
    database_url: str,
    tmp_path: Path,
    admin: psycopg.Connection[tuple[object, ...]],
) -> None:
    anchor(run, home, database_url)
    admin.execute("alter table foja.checkpoint disable trigger all")
    admin.execute(
        """update foja.checkpoint c set note = note || 'x' from foja.event v
        where v.kind = 'checkpoint.anchored' and (v.payload ->> 'size')::bigint = c.size"""
    )
    check_refused(run("log", "anchors", "-o", tmp_path / "x"), 1, "is not the one that rekor confirmed")
    assert len(log.entries) == 8
