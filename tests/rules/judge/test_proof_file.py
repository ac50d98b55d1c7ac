"""The proof of one event as one file: one encoding, read strictly, and what other tools say about it."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import foja
from foja.pure.core.bundle import proof_file
from foja.pure.core.bundle.archive import Part, part, write
from foja.pure.core.canonical import Json, canonical
from foja.pure.core.excerpt import Excerpt
from foja.pure.judge.render import as_html, as_text
from foja.pure.judge.report import Report, Verdict
from foja.pure.proofs.finding import Reason
from tests.rules.bundles import CONVERSATION, NOW, Scene
from tests.rules.streams import stream

SCENE = Scene()
ARGUMENTS: Json = {"order": 7}
DECISION: Json = {
    "approval_id": "a",
    "decision": "approved",
    "reason": None,
    "request_seq": 1,
    "tool_name": "refund",
    "args_sha256": sha256(canonical(ARGUMENTS)).hexdigest(),
}
REQUEST: Json = {"approval_id": "a", "tool_name": "refund", "tool_args": ARGUMENTS, "expires_at": "later"}
EVENTS = stream(
    "conversation",
    CONVERSATION,
    [
        ("user_message_sent", {"content": "Refund order 7."}),
        ("approval_requested", REQUEST),
        ("approval_completed", DECISION),
    ],
)


def file_of(event: Excerpt, arguments: str | None = None) -> bytes:
    return proof_file.proof_file(event.text(), SCENE.prove(event).text(), arguments)


FILE = file_of(EVENTS[2], '{"order":7}')


def judged(data: bytes) -> Report:
    return foja.verify(data, SCENE.trust, NOW, name="x.foja-proof")


def parts_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(parts: dict[str, bytes] | list[Part]) -> bytes:
    listed = parts if isinstance(parts, list) else [part(*each) for each in parts.items()]
    return b"".join(write(listed))


def test_one_file_says_what_it_proves() -> None:
    """The report of a proof named neither the act nor its actor nor its object."""
    report = judged(FILE)
    assert report.verdict is Verdict.TOTAL_PASSED
    for shown in (as_text(report), as_html(report)):
        flat = shown.replace("&quot;", '"')
        assert '“ana” approved “refund” with “{"order":7}” on 16 November 2025' in flat
        assert "this is event 2 of stream 00000000-0000-0000-0000-000000000046" in flat
        assert "what was recorded before and after event 2 is not shown" in flat
        assert "none is missing" not in flat
    spanish = as_text(report, "es")
    assert '“ana” aprobó “refund” con “{"order":7}” el 16 de noviembre de 2025' in spanish
    assert "no se muestra lo registrado antes y después del evento 2" in spanish


def test_without_the_arguments_their_digest_is_shown() -> None:
    report = judged(file_of(EVENTS[2]))
    assert report.verdict is Verdict.TOTAL_PASSED
    assert f"approved “refund” with arguments whose SHA-256 is {DECISION['args_sha256']}" in as_text(report)  # type: ignore[index,call-overload]


def test_the_same_proof_gives_the_same_bytes_and_an_ordinary_zip() -> None:
    assert file_of(EVENTS[2], '{"order":7}') == FILE
    parts = parts_of(FILE)
    assert [*parts] == [
        "mimetype",
        "event.json",
        "arguments.json",
        "event.tlog-proof",
        "event.checkpoint",
        "README.txt",
    ]
    assert packed(parts) == FILE
    assert parts["event.checkpoint"] == parts["event.tlog-proof"].partition(b"\n\n")[2]


def test_each_fault_has_its_reason() -> None:
    parts = parts_of(FILE)
    event, proof = parts["event.json"], parts["event.tlog-proof"]
    other = SCENE.prove(EVENTS[0]).text().encode()
    reordered = dict(sorted(parts.items(), key=lambda each: (each[0] != "mimetype", each[0])))
    faults = {
        Reason.UNREFERENCED_ENTRY: packed({**parts, "more.txt": b"x"}),
        Reason.MISSING_ENTRY: packed({name: parts[name] for name in parts if name != "README.txt"}),
        Reason.DUPLICATE_ENTRY: packed([*(part(*each) for each in parts.items()), part("README.txt", b"")]),
        Reason.DIGEST_MISMATCH: packed({**parts, "arguments.json": b'{"order":8}'}),
        Reason.ZIP_BOMB: packed({**parts, "event.json": b" " * (4 << 20)}),
        Reason.INCLUSION_INVALID: packed(
            {**parts, "event.tlog-proof": other, "event.checkpoint": other.partition(b"\n\n")[2]}
        ),
    }
    for reason, data in faults.items():
        report = judged(data)
        assert (report.verdict, [each.reason for each in report.evidence]) == (Verdict.TOTAL_FAILED, [reason])
    for changed in (
        packed(reordered),
        packed({**parts, "README.txt": parts["README.txt"] + b"It proves that all is paid.\n"}),
        packed({**parts, "event.checkpoint": other.partition(b"\n\n")[2]}),
        packed({**parts, "event.json": event.replace(b'"v":1', b'"v": 1')}),
        packed({**parts, "event.tlog-proof": proof.replace(b"index", b"extra AA==\nindex", 1)}),
    ):
        [found] = judged(changed).evidence
        assert found.reason is Reason.NON_CANONICAL


def test_the_first_sentence_says_what_is_wrong_with_the_file() -> None:
    """Other arguments read as another document, and a changed body in Spanish as one that is not logged."""
    parts = parts_of(FILE)
    others = judged(packed({**parts, "arguments.json": b'{"order":8}'}))
    changed = judged(packed({**parts, "event.json": parts["event.json"].replace(b'"ana"', b'"eva"')}))
    for report, english, spanish in (
        (
            others,
            "the arguments are not those whose digest the event names",
            "los argumentos no son",
        ),
        (changed, "the body of event 2 does not match its hash", "el contenido del evento 2 no coincide"),
    ):
        assert f"What is wrong: Ledger: {english}." in as_text(report)
        assert f"Qué está mal: Libro de eventos: {spanish}" in as_text(report, "es")


def test_arguments_beside_an_event_that_names_none_are_refused() -> None:
    [found] = judged(file_of(EVENTS[0], '{"order":7}')).evidence
    assert found.reason is Reason.DIGEST_MISMATCH


def test_an_erased_event_proves_its_place_alone() -> None:
    erased = replace(EVENTS[2], payload=None, actor=None, salt=None)
    report = judged(file_of(erased))
    assert report.verdict is Verdict.INDETERMINATE
    assert "The content of event 2 (“approval_completed”" in as_text(report)


@given(st.integers(0, len(FILE) - 1), st.integers(0, 7))
def test_no_changed_bit_passes(at: int, bit: int) -> None:
    changed = bytearray(FILE)
    changed[at] ^= 1 << bit
    assert judged(bytes(changed)).verdict is not Verdict.TOTAL_PASSED


def test_further_proofs_are_about_the_file_itself() -> None:
    reply = SCENE.stamper.reply(sha256(FILE).digest())
    report = foja.verify(FILE, SCENE.trust, NOW, proofs=[reply])
    assert [(each.evidence, each.status) for each in report.evidence] == [
        ("ledger", "VERIFIED"),
        ("tsa", "VERIFIED"),
    ]
    other = foja.verify(FILE, SCENE.trust, NOW, digest="0" * 64)
    assert other.verdict is Verdict.TOTAL_FAILED


@pytest.mark.parametrize(
    "event",
    [
        EVENTS[2],
        *stream(
            "conversation", CONVERSATION, [("thinking", {"content": 'a "payload":1,"seq":2 ñ\u2028\x7f'})]
        ),
    ],
)
def test_the_commands_in_the_readme_work(event: Excerpt, tmp_path: Path) -> None:
    """Python without packages checks the hashes, openssl the signature."""
    with zipfile.ZipFile(io.BytesIO(file_of(event))) as file:
        file.extractall(tmp_path)
    (tmp_path / "foja.vkey").write_text(SCENE.key.verifier().vkey() + "\n")
    readme = (tmp_path / "README.txt").read_text(encoding="utf-8")
    program = re.search(r"<<'END'\n(.*?)\nEND\n(openssl [^\n]+)\n", readme, re.DOTALL)
    assert program is not None
    ran = subprocess.run(
        [sys.executable, "-I", "-c", program[1]], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines() == ["body True", "chain True", "log True"]
    assert shutil.which("openssl")
    signed = subprocess.run(program[2].split(" "), cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "Signature Verified Successfully" in signed.stdout
    text = (tmp_path / "event.json").read_text(encoding="utf-8")
    (tmp_path / "event.json").write_text(text.replace('"actor":"ana"', '"actor":"eva"'), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-I", "-c", program[1]], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[0] == "body False"
