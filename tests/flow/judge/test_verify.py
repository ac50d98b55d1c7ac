"""`foja verify` and `foja.verify`: files in, a report out, and nothing else touched."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
import zipfile
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest

import foja
from foja.errors import Refused
from foja.interfaces.cli import main
from foja.pure.core.canonical import Json
from foja.pure.core.note import Signer
from foja.pure.judge.detached import Detached
from foja.pure.judge.report import Verdict
from foja.pure.proofs.finding import Reason, Status
from foja.pure.proofs.tsa import Terms, judge
from tests.flow.command import FOJA
from tests.rules import bundles
from tests.rules.blocks import SENDER, scene
from tests.rules.stamps import CALENDAR, DIGEST, HEADER, PROOF, WAY, written
from tests.rules.streams import stream
from tests.vectors.shared import shared

SCENE = scene()
EVM = SCENE.anchor.encode()
POLICY = json.dumps({"form": "foja/policy/v1", "minimum_difficulty": 0})
AT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A document with two proofs beside it, and what there is to trust."""
    (tmp_path / "document.txt").write_bytes(b"document")
    (tmp_path / "x.ots").write_bytes(PROOF)
    (tmp_path / "x.evm.json").write_bytes(EVM)
    (tmp_path / "block-100.hex").write_text(HEADER.data.hex() + "\n")
    (tmp_path / "block-101.bin").write_bytes(HEADER.data)
    (tmp_path / "polygon.hex").write_text("0x" + SCENE.anchor.header.hex())
    (tmp_path / "polygon.rlp").write_bytes(SCENE.anchor.header)
    (tmp_path / "policy.json").write_text(POLICY)
    lines = f"evm-block:0x{SCENE.block_hash.hex()}\nevm-sender:0x{SENDER.hex()}\nevm-chain:137\n"
    (tmp_path / "trust.txt").write_text(lines)
    assert sha256(b"document").digest() == DIGEST == SCENE.digest
    return tmp_path


def ran(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [*FOJA, "verify", *words]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, check=False
    )


def run(folder: Path, *words: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.chdir(folder)
    return main(["verify", *words])


BOTH = ["document.txt", "--proof", "x.ots", "--proof", "x.evm.json"]
TRUSTED = ["--headers", "block-100.hex", "--policy", "policy.json", "--trust", "trust.txt"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([*BOTH, *TRUSTED], 0),
        ([*BOTH, *TRUSTED, "--at", "2030-01-01T00:00:00Z"], 0),
        ([*BOTH, *TRUSTED, "--at", "2020-01-01"], 2),
        (BOTH, 2),
        ([*BOTH, "--headers", "block-101.bin", "--policy", "policy.json", "--trust", "trust.txt"], 2),
        ([*BOTH, "--headers", "block-100.hex", "--trust", "trust.txt"], 1),
        (["--digest", f"sha256:{DIGEST.hex()}", *BOTH[1:], *TRUSTED], 0),
        (["--digest", f"sha256:{'0' * 64}", *BOTH[1:], *TRUSTED], 1),
        (["x.ots", *BOTH[1:], *TRUSTED], 1),
        (["document.txt", "--digest", "0" * 64, *BOTH[1:], *TRUSTED], 1),
        (["document.txt", *TRUSTED], 2),
        (["document.txt", "--proof", "document.txt", *TRUSTED], 2),
        (["--digest", "sha256:12", *BOTH[1:], *TRUSTED], 2),
        (["document.txt", "--trust", "document.txt"], 2),
        (["document.txt", "--headers", "x.ots"], 2),
        (["document.txt", "--proof", "x.evm.json", "--headers", "polygon.hex"], 0),
        (["document.txt", "--proof", "x.evm.json", "--headers", "polygon.rlp"], 0),
        (["document.txt", "--proof", "x.evm.json", "--headers", "block-101.bin"], 2),
        (["document.txt", "--proof", "nothing"], 2),
        ([], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_exit_codes(
    folder: Path,
    words: list[str],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(folder, *words, monkeypatch=monkeypatch) == code
    written = capsys.readouterr()
    assert written.out or written.err.startswith("foja: ")


def test_the_text_says_what_is_proven_and_what_was_not_checked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(folder, *BOTH, *TRUSTED, monkeypatch=monkeypatch)
    text = capsys.readouterr().out
    assert text.startswith(
        "Verified: “document.txt” existed by 14 November 2023, 22:13:20 UTC, on the word of "
    )
    assert "Verdict: TOTAL_PASSED" in text
    assert "Not checked: " in text
    assert run(folder, *BOTH, *TRUSTED, "--lang", "es", "--html", "es.html", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out.startswith("Verificado: “document.txt” existía a más tardar el 14 de ")
    assert '<html lang="es">' in (folder / "es.html").read_text()


def test_the_same_bytes_in_any_time_zone_and_locale(folder: Path) -> None:
    words = [*BOTH, *TRUSTED, "--json", "--at", "2026-01-01T01:00:00+01:00"]
    places = [("UTC", "C", "1"), ("Asia/Kathmandu", "es_ES.UTF-8", "2")]
    outputs = {
        ran(folder, *words, TZ=zone, LC_ALL=name, PYTHONHASHSEED=seed).stdout for zone, name, seed in places
    }
    assert len(outputs) == 1
    assert json.loads(outputs.pop())["at"] == "2026-01-01T00:00:00Z"


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href") or name.startswith("on")]


def test_the_page_needs_nothing_else_and_obeys_nobody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = "<script>alert(1)</script>.ots"
    (folder / "a").mkdir()
    name = evil.replace("/", "\N{FRACTION SLASH}")
    (folder / "a" / name).write_bytes(PROOF)
    words = ["document.txt", "--proof", f"a/{name}", *TRUSTED, "--html", "report.html"]
    assert run(folder, *words, monkeypatch=monkeypatch) == 0
    page = Page()
    page.feed((folder / "report.html").read_text())
    assert page.tags.isdisjoint({"script", "img", "link", "iframe"})
    assert page.addresses == []


def test_from_python() -> None:
    report = foja.verify(b"document", [POLICY], AT, proofs=[PROOF], headers=[(100, HEADER.data)])
    assert report.verdict is Verdict.TOTAL_PASSED
    assert [each.status for each in report.evidence] == [Status.VERIFIED]
    assert foja.verify(b"document", proofs=[PROOF]).verdict is Verdict.INDETERMINATE
    assert foja.verify(b"document").verdict is Verdict.INDETERMINATE
    assert foja.verify(None, digest=DIGEST).verdict is Verdict.INDETERMINATE
    with pytest.raises(Refused, match="zone"):
        foja.verify(b"document", at=datetime(2026, 1, 1))  # noqa: DTZ001


def test_the_type_of_a_proof_is_told_by_its_content() -> None:
    named = Detached(PROOF, "token.tsr")
    [found] = foja.verify(b"document", [POLICY], AT, proofs=[named], headers=[(100, HEADER.data)]).evidence
    assert (found.evidence, found.status) == ("bitcoin", Status.VERIFIED)
    [found] = foja.verify(b"document", proofs=[Detached(b"garbage", "x.ots")]).evidence
    assert (found.status, found.reason) == (Status.INVALID, Reason.MALFORMED)
    [found] = foja.verify(b"document", proofs=[b"garbage"]).evidence
    assert (found.status, found.reason) == (Status.UNSUPPORTED, Reason.UNKNOWN_PROOF)


STAGING, PRODUCTION = "sigstore/staging.trusted_root.json", "sigstore/prod.trusted_root.json"
HELLO, INCOMPLETE, WHEEL = "ots/hello-world.txt", "ots/incomplete.txt", "sigstore/bundle_v3_github.whl"
TEXT, BLOCK = "sigstore/bundle_v3.txt", "ots/block-358391.header.hex"
VECTORS: list[tuple[str, str, list[str], list[str], int]] = [
    (HELLO, f"{HELLO}.ots", [], [BLOCK], 0),
    (HELLO, f"{HELLO}.ots", [], [], 2),
    ("ots/bad-stamp.txt", "ots/bad-stamp.txt.ots", [], [BLOCK], 1),
    (INCOMPLETE, f"{INCOMPLETE}.ots", [], [BLOCK], 2),
    (INCOMPLETE, "ots/invalid/bad-major-version.ots", [], [], 1),
    (INCOMPLETE, "ots/invalid/exceeds-max-msg-length.ots", [], [], 1),
    (INCOMPLETE, "ots/invalid/invalid-file-digest-type.ots", [], [], 1),
    (TEXT, f"{TEXT}.sigstore", [STAGING], [], 0),
    (TEXT, f"{TEXT}.sigstore", [PRODUCTION], [], 2),
    (TEXT, f"{TEXT}.sigstore", [], [], 2),
    (WHEEL, f"{WHEEL}.sigstore", [PRODUCTION], [], 0),
    (TEXT, f"{WHEEL}.sigstore", [PRODUCTION, STAGING], [], 1),
]


@pytest.mark.parametrize(("subject", "proof", "trust", "headers", "code"), VECTORS)
def test_real_proofs_get_their_verdict(
    subject: str, proof: str, trust: list[str], headers: list[str], code: int
) -> None:
    report = foja.verify(
        shared(subject),
        [shared(each) for each in trust],
        AT,
        proofs=[shared(proof)],
        headers=[shared(each) for each in headers],
    )
    assert report.verdict.exit_code == code, report.json()


STAMPS: list[tuple[bytes | None, str, str, int]] = [
    (b"hello", "sigstage", "response-sha256.tsr", 0),
    (b"hello", "sigstage", "response-sha384.tsr", 0),
    (b"hello", "sigstage", "response-sha512.tsr", 0),
    (b"Hello", "sigstage", "response-sha384.tsr", 1),
    (b"hello", "sigstage", "response-invalid-signature.tsr", 1),
    (b"hello", "test_tsa", "response-injected-certs.tsr", 1),
    (None, "sigstage", "response-sha256.tsr", 0),
    (None, "sigstage", "response-no-embedded-cert.tsr", 0),
    (None, "sigstage", "response-sha512.tsr", 2),
    (None, "sigstore.mock", "response-expired.tsr", 2),
]


@pytest.mark.parametrize(("content", "folder", "name", "code"), STAMPS)
def test_real_timestamps_get_their_verdict(content: bytes | None, folder: str, name: str, code: int) -> None:
    reply = shared("rfc3161", folder, name)
    roots = [shared("rfc3161", folder, "ts_chain.pem")]
    digest = None if content else _imprint(reply.read_bytes())
    report = foja.verify(content, roots, AT, proofs=[reply], digest=digest)
    assert report.verdict.exit_code == code, report.json()
    assert foja.verify(content, [], AT, proofs=[reply], digest=digest).verdict is not Verdict.TOTAL_PASSED


def _imprint(reply: bytes) -> bytes:
    stamp = judge(reply, b"", Terms(roots=())).stamp
    assert stamp is not None
    return stamp.imprint if len(stamp.imprint) == 32 else bytes(32)


ALONE = """
import sys

class Nobody:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in BLOCKED or top not in sys.stdlib_module_names | ALLOWED:
            raise ModuleNotFoundError(f"no {name}", name=name)

ALLOWED = {"foja", "cryptography", "Crypto", "cffi", "_cffi_backend", "pycparser"}

BLOCKED = {"psycopg", "httpx", "pydantic_settings", "starlette", "uvicorn", "redis", "obstore", "rich"}
sys.meta_path.insert(0, Nobody())
touched = []
sys.addaudithook(lambda event, _: touched.append(event) if event.startswith("socket.") else None)
import foja
from foja.interfaces.cli import main
"""


def alone(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ALONE + code], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_judge_needs_neither_database_nor_sockets(folder: Path) -> None:
    words = [*BOTH, *TRUSTED]
    code = f"""
code = main(["verify", *{words!r}])
assert not touched, touched
assert not set(sys.modules) & (BLOCKED | {{"asyncio", "foja.engine.sql", "foja.engine.ledger", "foja.app"}})
sys.exit(code)
"""
    done = alone(code, folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_other_verbs_say_what_to_install(folder: Path) -> None:
    done = alone('sys.exit(main(["audit"]))', folder)
    assert done.returncode == 2
    assert 'foja audit needs the extra "server": ' in done.stderr
    assert "install 'foja[server]'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "foja[server]" in alone("foja.connect()", folder).stderr


@pytest.mark.skipif(not hasattr(resource, "RUSAGE_CHILDREN"), reason="needs the kernel's own count")
def test_memory_is_flat_for_a_large_file(folder: Path) -> None:
    size = 200 * 1024 * 1024
    with (folder / "large.bin").open("wb") as file:
        file.truncate(size)
    code = """
import resource
code = main(["verify", "large.bin", "--proof", "x.ots"])
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 120 * 1024
sys.exit(code)
"""
    assert alone(code, folder).returncode == 1


def test_an_event_and_its_place_in_the_log(tmp_path: Path) -> None:
    made = bundles.Scene()
    event = stream("document", bundles.ENTITY, made.document_events(DIGEST))[-1]
    (tmp_path / "sheet.event.json").write_text(event.text())
    (tmp_path / "sheet.tlog-proof").write_text(made.prove(event).text())
    proofs = [tmp_path / "sheet.tlog-proof"]
    report = foja.verify(tmp_path / "sheet.event.json", made.trust, AT, proofs=proofs)
    assert report.verdict is Verdict.TOTAL_PASSED
    assert foja.verify(tmp_path / "sheet.event.json", at=AT, proofs=proofs).verdict is Verdict.INDETERMINATE
    stranger = bundles.Scene(key=Signer("log.example", bytes(32)))
    report = foja.verify(tmp_path / "sheet.event.json", stranger.trust, AT, proofs=proofs)
    assert [each.reason for each in report.evidence] == [Reason.NO_TRUST_ANCHOR]
    changed = event.text().replace('"attempt":1', '"attempt":2')
    assert changed != event.text()
    assert foja.verify(changed.encode(), made.trust, AT, proofs=proofs).verdict is Verdict.TOTAL_FAILED
    assert foja.verify(None, made.trust, AT, digest=DIGEST, proofs=proofs).verdict is Verdict.INDETERMINATE


def test_a_whole_bundle_alone_and_beside_its_document(tmp_path: Path) -> None:
    made = bundles.Scene()
    (tmp_path / "x.asice").write_bytes(made.bundle())
    trust = made.trust
    at = bundles.NOW
    assert foja.verify(tmp_path / "x.asice", trust, at).verdict is Verdict.TOTAL_PASSED
    assert foja.verify(bundles.TEXT, trust, at, proofs=[tmp_path / "x.asice"]).verdict is Verdict.TOTAL_PASSED
    other = foja.verify(b"another document", trust, at, proofs=[tmp_path / "x.asice"])
    assert other.verdict is Verdict.TOTAL_FAILED
    assert foja.verify(tmp_path / "x.asice", at=at).verdict is Verdict.INDETERMINATE


def test_a_proof_that_ripened_after_its_bundle_was_made() -> None:
    made = bundles.Scene()
    promise = b64encode(written((WAY, CALENDAR))).decode()
    pending: Json = {"network": "bitcoin", "witness_hash": DIGEST.hex(), "proof": promise}
    events = made.document_events(DIGEST, [("anchor.submitted", pending)], ("tsa", "bitcoin"))
    bundle = made.bundle(b"document", events)
    named = ((HEADER.height, HEADER.data),)
    trust, at = replace(made.trust, minimum_difficulty=0, headers=named), bundles.NOW
    assert foja.verify(bundle, trust, at).verdict is Verdict.INDETERMINATE
    assert foja.verify(bundle, trust, at, proofs=[PROOF]).verdict is Verdict.TOTAL_PASSED
    assert foja.verify(b"document", trust, at, proofs=[bundle, PROOF]).verdict is Verdict.TOTAL_PASSED
    assert foja.verify(b"other", trust, at, proofs=[bundle, PROOF]).verdict is Verdict.TOTAL_FAILED


def test_a_document_that_happens_to_be_a_zip_is_a_document() -> None:
    """A .docx, or a container of another maker, is not evidence, and not invalid."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("mimetype", "application/vnd.etsi.asic-e+zip")
        archive.writestr("word/document.xml", "<document/>")
    report = foja.verify(held.getvalue(), trust=[])
    assert [(each.evidence, each.status) for each in report.evidence] == [("container", "UNSUPPORTED")]
    assert report.verdict == "INDETERMINATE"
    assert report.subject.sha256 == sha256(held.getvalue()).digest()
