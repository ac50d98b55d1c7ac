"""Evidence records as other tools see them: Bouncy Castle, and openssl for the token over the root."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

import foja
from foja.engine.embedded.tsa.issuer import new_root
from foja.pure.core.bundle import names
from foja.pure.core.bundle.evidence_record import encode
from foja.pure.judge.render import as_text
from foja.pure.judge.report import Verdict
from foja.pure.proofs import tsa
from foja.pure.proofs.der import integer, sequence
from foja.pure.proofs.ers import judge, read_record, root_of
from foja.pure.proofs.tsa.oids import IDENTIFIERS
from tests.flow.judge.bouncy_castle import run_java, version
from tests.other_tools import BOUNCY_CASTLE, agreed
from tests.rules.batches import Stamped, seal_batch, stamp_batch
from tests.rules.bundles import NOW, Scene, Stamper

TOKEN = ["-token_in", "-in", "token.der", "-CAfile", "roots.pem", "-attime", str(int(NOW.timestamp()))]


def documents(count: int) -> list[bytes]:
    return [b"document %d of a batch\n" % number for number in range(count)]


def write(folder: Path, texts: list[bytes], batch: list[Stamped], records: list[bytes]) -> None:
    for number, (text, one, record) in enumerate(zip(texts, batch, records, strict=True)):
        (folder / f"{number}.doc").write_bytes(text)
        (folder / f"{number}.blinding").write_bytes(one.blinding)
        (folder / f"{number}.ers").write_bytes(record)


@pytest.mark.parametrize("count", [2, 7])
def test_openssl_verifies_the_token_over_the_root(tmp_path: Path, count: int) -> None:
    stamper = Stamper()
    (tmp_path / "roots.pem").write_bytes(stamper.root.pem)
    for one in stamp_batch(stamper, [sha256(each).digest() for each in documents(count)]):
        record = read_record(one.record)
        assert one.record.endswith(
            record.token
        )  # the token is the end of the file: no tool is needed to cut it
        (tmp_path / "token.der").write_bytes(record.token)
        ran = subprocess.run(
            ["openssl", "ts", "-verify", "-digest", root_of(record.lists).hex(), *TOKEN],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Verification: OK" in ran.stdout, ran.stderr


def test_the_page_says_how_to_check_a_record_without_foja(tmp_path: Path) -> None:
    """The program in docs/verify.md finds root and token of a record in an unzipped bundle."""
    page = (Path(__file__).parents[3] / "docs" / "verify.md").read_text(encoding="utf-8")
    program = page.partition("python3 - <<'END'\n")[2].partition("END\n")[0]
    for count in (1, 7, 300):
        one = stamp_batch(Stamper(), [sha256(each).digest() for each in documents(count)])[0]
        record = tmp_path / names.record_names(1).record
        record.parent.mkdir(exist_ok=True)
        record.write_bytes(one.record)
        words = [sys.executable, "-I", "-"]
        ran = subprocess.run(words, input=program, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert ran.stdout == f"{one.root.hex()}\n"
        assert (tmp_path / "token.der").read_bytes() == one.token


@pytest.mark.long
def test_bouncy_castle_agrees_on_every_seal_of_a_batch(tmp_path: Path) -> None:
    """The data of such a record is the list of files of a bundle, with its blinding and the document."""
    scene = Scene()
    bundles = [scene.contents(text).parts() for text in documents(5)]
    sealed = seal_batch(scene.stamper, bundles)
    batch = [one.stamped for one in sealed]
    for number, text in enumerate(documents(5)):
        (tmp_path / f"{number}.more").write_bytes(text)
    write(tmp_path, [one.listed for one in sealed], batch, [one.record for one in batch])
    assert run_java("check", tmp_path) == [f"ok {int.from_bytes(one.root):x}" for one in batch]
    moved = [batch[-1], *batch[:-1]]
    write(tmp_path, [one.listed for one in sealed], batch, [one.record for one in moved])
    assert [line.split()[0] for line in run_java("check", tmp_path)] == ["refused"] * len(batch)
    agreed("evidence records of seals", BOUNCY_CASTLE, version())


@pytest.mark.long
def test_bouncy_castle_agrees_on_every_record_of_a_batch(tmp_path: Path) -> None:
    texts = documents(13)
    batch = stamp_batch(Stamper(), [sha256(each).digest() for each in texts])
    write(tmp_path, texts, batch, [one.record for one in batch])
    expected = [f"ok {int.from_bytes(one.root):x}" for one in batch]
    assert run_java("check", tmp_path) == expected
    agreed("evidence records", BOUNCY_CASTLE, version())


@pytest.mark.long
def test_bouncy_castle_refuses_what_we_refuse(tmp_path: Path) -> None:
    stamper, texts = Stamper(), documents(5)
    batch = stamp_batch(stamper, [sha256(each).digest() for each in texts])
    one = batch[0]
    stranger = sha256(b"stranger").digest()
    wider = sorted([*batch[4].lists[0], stranger])
    records = [
        batch[1].record,  # of another document
        encode(batch[1].lists[:-1], one.token),  # a path that is cut
        encode([*batch[2].lists[:-1], [stranger]], one.token),  # another hash in the path
        encode(batch[3].lists, stamper.token(stranger)),  # a token over another root
        encode([wider], stamper.token(sha256(b"".join(wider)).digest())),  # a larger group
    ]
    write(tmp_path, texts, batch, records)
    terms = tsa.Terms(tsa.trusted(stamper.root.pem), at=NOW)
    for each, record in zip(batch, records, strict=True):
        assert not judge(record, each.digest, terms, group=each.group).verified
    assert [line.split()[0] for line in run_java("check", tmp_path)] == ["refused"] * len(records)


@pytest.mark.long
def test_a_record_that_bouncy_castle_makes_is_judged(tmp_path: Path) -> None:
    stamper, texts = Stamper(), documents(6)
    batch = stamp_batch(stamper, [sha256(each).digest() for each in texts])
    write(tmp_path, texts, batch, [one.record for one in batch])
    run_java("ask", tmp_path)
    asked = tsa.read_request((tmp_path / "request.tsq").read_bytes())
    (tmp_path / "reply.tsr").write_bytes(stamper.reply(asked.imprint))
    run_java("make", tmp_path)
    terms = tsa.Terms(tsa.trusted(stamper.root.pem), at=NOW)
    made = [(tmp_path / f"{number}.made").read_bytes() for number in range(len(texts))]
    for one in batch:
        verified = [judge(record, one.digest, terms, group=one.group).verified for record in made]
        assert verified.count(True) == 1


def renew(folder: Path, stamper: Stamper, ask: str, finish: str, days: int) -> bytes:
    """Return the record in a folder after Bouncy Castle renewed it with a reply of this authority."""
    run_java(ask, folder)
    asked = tsa.read_request((folder / "request.tsq").read_bytes())
    assert asked.algorithm is not None
    reply = stamper.reply(asked.imprint, NOW + timedelta(days=days), asked.algorithm)
    (folder / "reply.tsr").write_bytes(reply)
    run_java(finish, folder)
    return (folder / "0.ers").read_bytes()


@pytest.mark.long
def test_renewals_by_bouncy_castle_are_judged(tmp_path: Path) -> None:
    """A single hash, then its token again, then document and chains by SHA-512."""
    stamper, younger = Stamper(), Stamper(new_root(NOW + timedelta(days=300)))
    [text, *_] = documents(1)
    (tmp_path / "0.doc").write_bytes(text)
    token = stamper.token(sha256(text).digest())
    alone = sequence(IDENTIFIERS["sha256"]), sequence(sequence(sequence(token)))
    (tmp_path / "0.ers").write_bytes(sequence(integer(1), *alone))
    trust, after = [stamper.root.pem, younger.root.pem], stamper.root.certificate.not_valid_after_utc
    stamped = renew(tmp_path, younger, "ask-again", "stamp-again", 300)
    hashed = renew(tmp_path, younger, "ask-sha512", "hash-again", 310)
    for data in (stamped, hashed):
        report = foja.verify(text, trust, after + timedelta(days=1), proofs=[data])
        assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
        changed = foja.verify(b"other", trust, after + timedelta(days=1), proofs=[data])
        assert changed.verdict is Verdict.TOTAL_FAILED
    agreed("renewed evidence records (read)", BOUNCY_CASTLE, version())
