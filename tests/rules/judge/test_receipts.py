"""COSE receipts: one encoding, judged like a log proof, and read by scitt-cose."""

from __future__ import annotations

import random
from dataclasses import replace

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st
from scitt_cose import build_receipt, verify_consistency, verify_receipt, verify_sign1

import foja
from foja.errors import Malformed, Tampered
from foja.pure.core.excerpt import Excerpt
from foja.pure.core.note import Signer, parse_checkpoint, split_note
from foja.pure.judge.render import as_text
from foja.pure.judge.render.translations import LANGUAGES
from foja.pure.judge.report import Report, Verdict
from foja.pure.proofs.cose import (
    ConsistencyReceipt,
    Receipt,
    read_receipt,
    write_consistency,
    write_receipt,
)
from foja.pure.proofs.cose.cbor import Cbor, decode, encode
from tests.other_tools import SCITT, agreed
from tests.rules.bundles import NOW, Scene
from tests.rules.logs import MemoryLog
from tests.rules.streams import stream

SCENE = Scene()
EVENT: Excerpt = stream(
    "document", SCENE.contents().manifest.stream.entity_id, SCENE.document_events(bytes(32))
)[3]
ENTRY, TEXT = EVENT.check(), EVENT.text().encode()
PROOF = SCENE.prove(EVENT)
CHECKPOINT = parse_checkpoint(split_note(PROOF.note)[0])
RECEIPT = write_receipt(SCENE.key, CHECKPOINT, PROOF, f"{EVENT.entity_id}/{EVENT.seq}")
DATA = RECEIPT.encode()
VKEY, PEM = SCENE.key.verifier().vkey(), SCENE.key.verifier().pem()
STRANGER = Signer("log.example", bytes(32))


def judged(receipt: bytes, vkey: str = VKEY, event: bytes = TEXT) -> Report:
    return foja.verify(event, vkey, NOW, proofs=[receipt])


def asked(receipt: bytes, entry: bytes = ENTRY) -> bool:
    return bool(verify_receipt(receipt, leaf_entry_hex=entry.hex(), log_public_key_pem=PEM).ok)


def test_a_receipt_is_verified_here_and_by_scitt_cose() -> None:
    report = judged(DATA)
    assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
    assert "entry 3 of “log.example/1”, signed at 5 entries" in report.evidence[0].detail
    found = verify_receipt(DATA, leaf_entry_hex=ENTRY.hex(), log_public_key_pem=PEM)
    assert (found.ok, found.errors) == (True, [])
    assert (found.tree_size, found.leaf_index, found.root) == (5, 3, CHECKPOINT.root.hex())
    assert (found.issuer, found.subject) == ("log.example/1", f"{EVENT.entity_id}/3")


def test_another_event_or_key_is_refused_by_both() -> None:
    other = replace(EVENT, salt=None, payload=None, actor=None, seq=4)
    report = judged(DATA, event=other.text().encode())
    assert report.verdict is Verdict.TOTAL_FAILED
    assert not asked(DATA, b"another entry")
    forged = write_receipt(STRANGER, CHECKPOINT, PROOF, "x")
    assert judged(forged.encode()).verdict is Verdict.INDETERMINATE  # a key that nobody trusts
    named = replace(forged, key=RECEIPT.key)
    report = judged(named.encode())
    assert report.evidence[0].reason == "CHECKPOINT_UNSIGNED"
    assert not asked(forged.encode())
    assert not asked(named.encode())


def test_a_key_signs_only_for_its_own_log() -> None:
    foreign = write_receipt(SCENE.key, replace(CHECKPOINT, origin="other.example/1"), PROOF, "x")
    report = judged(foreign.encode())
    assert report.evidence[0].reason == "CHECKPOINT_UNSIGNED"


def test_without_its_key_the_report_names_it() -> None:
    report = judged(DATA, vkey=STRANGER.verifier().vkey())
    assert report.verdict is Verdict.INDETERMINATE
    [missing] = report.evidence[0].missing
    assert missing.fingerprint == RECEIPT.key


def test_an_erased_body_stays_undecided() -> None:
    report = judged(DATA, event=replace(EVENT, salt=None, payload=None, actor=None).text().encode())
    assert report.evidence[0].reason == "BODY_ERASED"


def test_no_flipped_bit_passes() -> None:
    """Another size of the tree, which RFC 9942 does not sign, led to the same root."""
    for bit in range(8 * len(DATA)):
        broken = bytearray(DATA)
        broken[bit // 8] ^= 1 << bit % 8
        assert judged(bytes(broken)).verdict is not Verdict.TOTAL_PASSED, bit


def test_a_receipt_in_another_form_is_refused() -> None:
    """That of scitt-cose has no id of a key and no size: a receipt of Foja has one encoding."""
    private = Ed25519PrivateKey.from_private_bytes(SCENE.key.private_key)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    leaves = [each.hex() for each in (b"a", b"b", b"c", ENTRY, b"d")]
    theirs = build_receipt(
        leaf_entry_hex=ENTRY.hex(),
        leaf_index=3,
        tree_entries_hex=leaves,
        alg="EdDSA",
        log_private_key_pem=pem,
    )
    assert asked(theirs)
    assert judged(theirs).evidence[0].reason == "INCLUSION_INVALID"


OLD, NEW = MemoryLog(SCENE.key, origin="log.example/1"), 23


def grown(old: int, new: int = NEW, log: MemoryLog = OLD) -> ConsistencyReceipt:
    return write_consistency(SCENE.key, log.checkpoint(old), log.checkpoint(new), log.proof(old, new))


@pytest.mark.parametrize("size", [1, 4, 7, 16, 22])
def test_a_receipt_about_a_checkpoint_shows_its_growth(size: int) -> None:
    """The signature and the hashes are checked by scitt-cose too, which has no verb for the two together."""
    receipt = grown(size)
    note, data = OLD.note(size).encode(), receipt.encode()
    report = foja.verify(note, VKEY, NOW, proofs=[data])
    assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
    assert f"{NEW} entries of “log.example/1” continue the {size}" in report.evidence[0].detail
    for language in LANGUAGES:
        assert " ".join(as_text(report, language).split()).count(str(NEW))
    roots = [OLD.checkpoint(each).root for each in (size, NEW)]
    assert verify_sign1(data, public_key_pem=PEM, detached_payload=roots[1])
    path = [each.hex() for each in receipt.path]
    assert verify_consistency(roots[0].hex(), roots[1].hex(), size, NEW, path)
    decoded = cbor2.loads(data).value
    assert decoded[1] == {396: {-2: (cbor2.dumps([size, NEW, list(receipt.path)]),)}}, "RFC 9942, 5.3"
    assert decoded[2] is None
    agreed("COSE receipts of checkpoints: signature, hashes", SCITT)


def test_another_checkpoint_or_key_is_refused() -> None:
    data, other = grown(7).encode(), MemoryLog(SCENE.key, forked_at=5, origin="log.example/1")
    stranger = MemoryLog(STRANGER, origin="log.example/1")
    forged = write_consistency(STRANGER, stranger.checkpoint(7), stranger.checkpoint(9), stranger.proof(7, 9))
    unsigned = replace(grown(7), key=RECEIPT.key, signature=bytes(64)).encode()
    cases = {
        (OLD.note(6), data): "INCLUSION_INVALID",
        (other.note(7), data): "INCLUSION_INVALID",
        (MemoryLog(SCENE.key, origin="log.example/2").note(7), data): "INCLUSION_INVALID",
        (OLD.note(7), DATA): "INCLUSION_INVALID",
        (OLD.note(7), unsigned): "CHECKPOINT_UNSIGNED",
        (OLD.note(7), forged.encode()): "NO_TRUST_ANCHOR",
    }
    for (note, proof), reason in cases.items():
        report = foja.verify(note.encode(), VKEY, NOW, proofs=[proof])
        assert report.verdict is not Verdict.TOTAL_PASSED
        assert report.evidence[0].reason == reason, report.evidence[0].detail
    assert judged(data).evidence[0].reason == "INCLUSION_INVALID", "it is about no event"
    with pytest.raises(Tampered):
        write_consistency(SCENE.key, other.checkpoint(7), OLD.checkpoint(NEW), OLD.proof(7, NEW))


def test_no_flipped_bit_of_a_receipt_about_a_checkpoint_passes() -> None:
    data, note = grown(7).encode(), OLD.note(7).encode()
    for bit in range(8 * len(data)):
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << bit % 8
        found = foja.verify(note, VKEY, NOW, proofs=[bytes(broken)])
        assert found.verdict is not Verdict.TOTAL_PASSED, bit


VALUES = st.recursive(
    st.integers(-(2**64), 2**64 - 1) | st.binary(max_size=300) | st.text(max_size=30) | st.none(),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.integers(0, 70000), inner, max_size=9),
    max_leaves=20,
)


@given(VALUES)
def test_the_encoding_is_that_of_cbor2(value: Cbor) -> None:
    data = encode(value)
    assert data == cbor2.dumps(value, canonical=True)


@given(st.binary(max_size=60))
def test_what_is_read_is_written_the_same(data: bytes) -> None:
    try:
        found = decode(data)
    except Malformed:
        return
    assert encode(found) == data


@pytest.mark.parametrize(
    "data", [b"", b"\xd2\x84", b"\xd2\x84" + b"\x9b" + b"\xff" * 8, DATA[:-1], DATA + b"\0"]
)
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        read_receipt(data)


def test_random_changes_never_raise() -> None:
    for _ in range(500):
        broken = bytearray(DATA)
        for _ in range(random.randint(1, 6)):
            broken[random.randrange(2, len(broken))] = random.randrange(256)
        assert isinstance(judged(bytes(broken)), Report)


def test_a_receipt_reads_back() -> None:
    assert read_receipt(DATA) == RECEIPT
    assert isinstance(RECEIPT, Receipt)
