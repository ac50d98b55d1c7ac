"""A ledger export: one stream's events and its log proof, judged without a bundle."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

import pytest

import foja
from foja.pure.core.bundle import history
from foja.pure.core.canonical import Json, canonical
from foja.pure.core.excerpt import Excerpt, envelope
from foja.pure.core.note import Signer
from foja.pure.judge.report import Report, Verdict
from foja.pure.judge.trust import Trust
from foja.pure.proofs.finding import Reason, Status
from tests.rules.bundles import CONVERSATION, ENTITY, NOW, TEXT, Scene
from tests.rules.streams import stream

AT = NOW + timedelta(hours=1)
SCENE = Scene()
RECORDED = SCENE.document_events(sha256(TEXT).digest())
EVENTS = stream("document", ENTITY, RECORDED)
MESSAGES = stream("conversation", CONVERSATION, [("user_message_sent", {"content": "hi"}), ("thinking", {})])


def exported(events: list[Excerpt]) -> bytes:
    return history.heading(events[0].domain, events[0].entity_id) + b"".join(history.encode(events))


def judged(data: bytes, *proofs: bytes, trust: Trust | None = None) -> Report:
    return foja.verify(data, SCENE.trust if trust is None else trust, AT, proofs=proofs)


def log_proof(events: list[Excerpt]) -> bytes:
    return SCENE.prove(events[-1]).text().encode()


def refusal(data: bytes, proof: bytes) -> Reason | None:
    [found] = judged(data, proof).evidence
    assert found.status is Status.INVALID
    return found.reason


@pytest.mark.parametrize("events", [EVENTS, MESSAGES], ids=["document", "conversation"])
def test_an_export_with_its_log_proof_passes(events: list[Excerpt]) -> None:
    report = judged(exported(events), log_proof(events))
    [found] = report.evidence
    assert (report.verdict, found.evidence) == (Verdict.TOTAL_PASSED, "ledger")
    assert f"{len(events)} events" in found.detail
    assert any("after the last event" in each for each in found.not_checked)


@pytest.mark.parametrize("events", [EVENTS, MESSAGES], ids=["document", "conversation"])
def test_a_history_taken_out_of_its_bundle_passes_too(events: list[Excerpt]) -> None:
    """It does not name its domain; the chain matches one of them, or none."""
    assert judged(b"".join(history.encode(events)), log_proof(events)).verdict is Verdict.TOTAL_PASSED


def test_a_bare_history_of_an_unknown_domain_needs_its_name() -> None:
    events = stream("invoice", ENTITY, [("invoice.issued", {"total": 1}), ("invoice.sent", {})])
    bare, proof = b"".join(history.encode(events)), log_proof(events)
    report = judged(bare, proof)
    [found] = report.evidence
    assert (found.status, found.reason) == (Status.INDETERMINATE, Reason.UNKNOWN_DOMAIN)
    assert "--domain" in found.detail
    named = foja.verify(bare, SCENE.trust, AT, proofs=[proof], domain="invoice")
    assert named.verdict is Verdict.TOTAL_PASSED
    other = foja.verify(bare, SCENE.trust, AT, proofs=[proof], domain="parcel")
    assert other.verdict is Verdict.TOTAL_FAILED
    assert judged(exported(events), proof).verdict is Verdict.TOTAL_PASSED
    wrong = foja.verify(exported(events), SCENE.trust, AT, proofs=[proof], domain="parcel")
    assert wrong.verdict is Verdict.TOTAL_FAILED


def test_without_trust_or_proof_it_is_undecided() -> None:
    data = exported(EVENTS)
    foreign = Signer("log.example", bytes(32)).verifier()
    for trust in (Trust(), Trust(logs=(foreign,))):
        report = judged(data, log_proof(EVENTS), trust=trust)
        assert report.verdict is Verdict.INDETERMINATE
        assert [each.reason for each in report.evidence] == [Reason.NO_TRUST_ANCHOR]
    report = judged(data)
    assert report.verdict is Verdict.INDETERMINATE
    assert [(each.status, each.reason) for each in report.evidence] == [
        (Status.PENDING, Reason.NO_CHECKPOINT)
    ]


def test_a_changed_body_a_missing_event_and_another_end_are_refused() -> None:
    data, proof = exported(EVENTS), log_proof(EVENTS)
    head, *lines = data.splitlines(keepends=True)
    assert refusal(data.replace(b'"attempt":1', b'"attempt":2', 1), proof) is Reason.LEDGER_BODY
    assert refusal(b"".join([head, *lines[1:]]), proof) is Reason.LEDGER_GAP
    assert refusal(b"".join([head, *lines[:2], *lines[3:]]), proof) is Reason.LEDGER_GAP
    assert refusal(b"".join([head, *lines[:-1]]), proof) is Reason.INCLUSION_INVALID
    assert refusal(data[:-1], proof) is Reason.LEDGER_GAP
    assert refusal(data.replace(b'"kind":"tsa.', b'"kind":"tza.'), proof) is Reason.INCLUSION_INVALID
    assert refusal(data.replace(b'"domain":"document"', b'"domain":"thread"', 1), proof) is (
        Reason.INCLUSION_INVALID
    )
    assert refusal(data, log_proof(MESSAGES)) is Reason.INCLUSION_INVALID
    assert refusal(head, proof) is Reason.LEDGER_GAP


def test_an_export_is_canonical() -> None:
    data, proof = exported(EVENTS), log_proof(EVENTS)
    assert refusal(data.replace(b'"v":1', b'"v": 1', 1), proof) is Reason.NON_CANONICAL
    head, rest = data.split(b"\n", 1)
    assert refusal(head.replace(b"{", b'{"about":1,', 1) + b"\n" + rest, proof) is Reason.UNKNOWN_FIELD
    odd = head.replace(b'"document"', b'"docu\\u0000ment"', 1)
    assert refusal(odd + b"\n" + rest, proof) is Reason.MALFORMED
    assert refusal(head.replace(b":", b": ", 1) + b"\n" + rest, proof) is Reason.NON_CANONICAL


def test_a_forged_signature_has_its_own_reason() -> None:
    text = log_proof(EVENTS).decode()
    forged = text[:-12] + ("A" if text[-12] != "A" else "B") + text[-11:]
    assert refusal(exported(EVENTS), forged.encode()) is Reason.CHECKPOINT_UNSIGNED


def test_an_erased_body_is_reported() -> None:
    """A body may be missing if the history records that it was erased."""
    events = stream("document", ENTITY, [*RECORDED, ("body.erased", {"seq": 0, "reason": "asked for"})])
    erased = [replace(events[0], payload=None, actor=None, salt=None), *events[1:]]
    [found] = judged(exported(erased), log_proof(events)).evidence
    assert found.status is Status.VERIFIED
    assert any("1 bod" in each for each in found.not_checked)


@pytest.mark.parametrize("reason", [{"seq": 1}, {"seq": [0]}, {"seq": "0"}, []])
def test_a_withheld_body_leaves_the_history_undecided(reason: Json) -> None:
    """A body that no event records as erased was withheld by the sender."""
    events = stream("document", ENTITY, [*RECORDED, ("body.erased", reason)])
    hidden = [replace(events[0], payload=None, actor=None, salt=None), *events[1:]]
    [found] = judged(exported(hidden), log_proof(events)).evidence
    assert (found.status, found.reason) == (Status.INDETERMINATE, Reason.BODY_ERASED)
    assert "1 bodies are withheld" in found.detail


@pytest.mark.parametrize("field", ["v", "_source"])
def test_a_withheld_body_shows_neither_version_nor_source(field: str) -> None:
    """Nothing is shown that no hash covers."""
    hidden = [replace(EVENTS[0], payload=None, actor=None, salt=None), *EVENTS[1:]]
    text = exported(hidden).replace(f'"{field}":null'.encode(), f'"{field}":1'.encode())
    assert text != exported(hidden)
    assert refusal(text, log_proof(EVENTS)) is Reason.NON_CANONICAL


def test_a_withheld_event_is_undecided() -> None:
    """Its place is proven, its content is not known."""
    hidden = replace(EVENTS[-1], payload=None, actor=None, salt=None)
    [found] = judged(hidden.text().encode(), log_proof(EVENTS)).evidence
    assert (found.status, found.reason) == (Status.INDETERMINATE, Reason.BODY_ERASED)
    assert "its content are not known" in found.detail


def test_a_forged_event_file_is_refused() -> None:
    """A field that no hash covers is not accepted."""
    document = json.loads(EVENTS[-1].text())
    document["event"]["signed_by"] = "a notary"
    assert refusal(canonical(document) + b"\n", log_proof(EVENTS)) is Reason.NON_CANONICAL


def test_events_without_salts_are_unsupported_not_invalid() -> None:
    """`foja events --json` is for reading."""
    shown = [{**envelope(each), "payload": each.payload} for each in EVENTS]
    lines = b"".join(json.dumps(each, separators=(",", ":")).encode() + b"\n" for each in shown)
    [found] = judged(lines, log_proof(EVENTS)).evidence
    assert found.status is Status.UNSUPPORTED
    assert "foja log export" in found.detail


def test_an_export_can_be_stamped_like_any_file() -> None:
    data = exported(EVENTS)
    token = SCENE.stamper.reply(sha256(data).digest())
    report = judged(data, token, log_proof(EVENTS))
    assert report.verdict is Verdict.TOTAL_PASSED
    assert [each.evidence for each in report.evidence] == ["tsa", "ledger"]
    assert [each.evidence for each in judged(data, token).evidence] == ["tsa"]


def test_no_flipped_bit_of_an_export_passes() -> None:
    data, proof = exported(EVENTS[:3]), log_proof(EVENTS[:3])
    for bit in range(0, 8 * len(data), 7):
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << bit % 8
        assert judged(bytes(broken), proof).verdict is not Verdict.TOTAL_PASSED, bit


def test_a_line_without_an_end_is_refused_quickly() -> None:
    head = exported(EVENTS).split(b"\n", 1)[0]
    began = time.process_time()
    assert refusal(head + b"\n" + bytes(20 << 20), log_proof(EVENTS)) is Reason.ZIP_BOMB
    assert time.process_time() - began < 2
