"""Proofs that Foja itself makes for Rekor: plain bundles, and one digest of a batch beside the bundle."""

from __future__ import annotations

import io
import json
import random
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sigstore._internal.merkle import verify_merkle_inclusion
from sigstore.models import TransparencyLogEntry
from sigstore_models.bundle.v1 import Bundle as TheirBundle
from sigstore_models.rekor.v2.entry import CreateEntryRequest

import foja
from foja.pure.core import tiles
from foja.pure.core.bundle import names
from foja.pure.core.bundle.reader import open_container
from foja.pure.core.canonical import Json, canonical
from foja.pure.core.merkle import Frontier, inclusion_proof, leaf_hash
from foja.pure.core.note import Checkpoint, Signer
from foja.pure.judge.missing import missing_trees
from foja.pure.judge.proof import ProofRequest, check_proof, kind_of
from foja.pure.judge.report import Verdict
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.batch import BatchPlace
from foja.pure.proofs.finding import Finding, Reason, Status
from foja.pure.proofs.rekor.batched import encode_batched, split_batched
from foja.pure.proofs.rekor.body import read_body
from foja.pure.proofs.rekor.builder import SignedDigest, encode_bundle, prove_inclusion, recorded_entry
from foja.pure.proofs.rekor.trusted_root import TransparencyLog
from tests.rules import bundles
from tests.rules.bundles import NOW, Stamper

LATER = NOW + timedelta(hours=1)
DIGEST = sha256(b"document").digest()
VECTOR = Path(__file__).parents[2] / "vectors" / "rekor_batch"
Change = Callable[[dict[str, Any]], None]


@dataclass
class Scene:
    """A signer, a log and an authority, and the proofs that they make together."""

    log: Signer = field(default_factory=lambda: Signer("rekor.example", bytes(range(1, 33))))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    stamper: Stamper = field(default_factory=Stamper)

    @cached_property
    def trust(self) -> list[str | bytes]:
        pem = self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return [f"rekor:{self.log.verifier().vkey()}", pem, self.stamper.root.pem]

    def sign(self, digest: bytes) -> SignedDigest:
        key = self.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return SignedDigest(digest, self.key.sign(digest, ec.ECDSA(Prehashed(SHA256()))), key)

    def bundle(self, digest: bytes, *, index: int = 2, size: int = 5) -> bytes:
        """Return the bundle over a digest whose entry is number `index` of a log of `size` entries."""
        signed = self.sign(digest)
        entries = [f"entry {at}".encode() for at in range(size)]
        entries[index] = signed.body()
        leaves = [leaf_hash(each) for each in entries]
        checkpoint = Checkpoint("rekor.example", size, Frontier().extend(leaves).root())
        grown = tiles.grow(0, leaves, {})
        note = self.log.sign(checkpoint.text())
        inclusion = prove_inclusion(index, checkpoint, note, grown)
        entry = recorded_entry(TransparencyLog.of(self.log.verifier()).id, signed.body(), inclusion)
        return encode_bundle(signed, entry, [self.stamper.reply(sha256(signed.signature).digest())])

    def batched(self, digest: bytes = DIGEST, *, index: int = 3, size: int = 7) -> bytes:
        root, place = batch(digest, index, size)
        return encode_batched(self.bundle(root), place)


def batch(digest: bytes, index: int, size: int) -> tuple[bytes, BatchPlace]:
    """Return the root of a batch of `size` digests, and the place of this one."""
    salts = [sha256(b"salt %d" % at).digest()[:16] for at in range(size)]
    digests = [digest if at == index else sha256(b"other %d" % at).digest() for at in range(size)]
    leaves = [leaf_hash(salt + each) for salt, each in zip(salts, digests, strict=True)]
    hash_at = tiles.hash_reader(size, tiles.grow(0, leaves, {}))
    path = tuple(inclusion_proof(index, size, hash_at))
    return Frontier().extend(leaves).root(), BatchPlace(size, index, salts[index], path)


HERE = Scene()
BATCHED = HERE.batched()


def judge(proof: bytes, *trust: bytes | str, digest: bytes = DIGEST) -> Finding:
    return check_proof(proof, ProofRequest(digest, read(trust or HERE.trust), LATER))


def sigstore_checks(bundle: bytes) -> None:
    """sigstore-python accepts the entry; its verifier itself supports no bundles with only a key."""
    [inner] = TheirBundle.from_json(bundle).verification_material.tlog_entries
    verify_merkle_inclusion(TransparencyLogEntry(inner))


@pytest.mark.parametrize(("index", "size"), [(0, 1), (0, 2), (2, 5), (255, 256), (255, 257), (300, 301)])
def test_a_bundle_from_tiles_verifies(index: int, size: int) -> None:
    bundle = HERE.bundle(DIGEST, index=index, size=size)
    found = judge(bundle)
    assert (found.status, found.reason) == (Status.VERIFIED, None), found.detail
    sigstore_checks(bundle)


def test_the_entry_is_the_one_that_a_log_records() -> None:
    signed = HERE.sign(DIGEST)
    request = json.loads(signed.request())["hashedRekordRequestV002"]
    theirs = CreateEntryRequest.from_json(signed.request()).hashed_rekord_request_v002
    assert theirs is not None
    assert (theirs.digest, theirs.signature.content) == (DIGEST, signed.signature)
    recorded = json.loads(signed.body())["spec"]["hashedRekordV002"]
    assert request["signature"] == recorded["signature"]
    assert request["digest"] == recorded["data"]["digest"]
    entry = json.loads(HERE.bundle(DIGEST))["verificationMaterial"]["tlogEntries"][0]
    assert set(entry) == {"logIndex", "logId", "kindVersion", "inclusionProof", "canonicalizedBody"}
    again = recorded_entry(b"", signed.body(), prove_inclusion(0, Checkpoint("x", 1, bytes(32)), "", {}))
    found = read_body(again)
    assert (found.digest, found.signature, found.verifier) == (DIGEST, signed.signature, signed.key)


@pytest.mark.parametrize(("index", "size"), [(0, 2), (1, 2), (2, 3), (6, 7), (999, 1000), (512, 1000)])
def test_a_digest_of_a_batch_verifies(index: int, size: int) -> None:
    proof = HERE.batched(index=index, size=size)
    found = judge(proof)
    assert (found.status, found.evidence) == (Status.VERIFIED, "rekor"), found.detail
    assert found.detail.endswith(f"in a batch of {size}")
    assert judge(proof, digest=sha256(b"another").digest()).reason is Reason.BATCH_ROOT_MISMATCH


def test_the_bundle_of_a_batch_is_one_for_other_tools() -> None:
    bundle, place = split_batched(BATCHED)
    root = sha256(place.root_file(DIGEST)).digest()
    assert len(place.root_file(DIGEST)) == 65
    assert judge(bundle, digest=root).status is Status.VERIFIED
    assert judge(bundle).reason is Reason.DIGEST_MISMATCH
    sigstore_checks(bundle)
    assert encode_batched(bundle, place) == BATCHED == canonical(json.loads(BATCHED))


def test_its_kind_is_found_by_content_and_by_name() -> None:
    assert kind_of(BATCHED) == "rekor"
    assert kind_of(b"", "x.rekor.json") == "rekor"
    assert missing_trees([BATCHED]) == [("rekor.example", 5)]


def bundled() -> tuple[bytes, list[str | bytes]]:
    """Return a bundle of Foja with a proof of a batch, and the trust that it needs."""
    scene = bundles.Scene()
    here = Scene(stamper=scene.stamper)
    payload: Json = {"witness_hash": DIGEST.hex(), "proof": b64encode(here.batched()).decode()}
    events = scene.document_events(DIGEST, [("rekor.confirmed", payload)], ("tsa", "rekor"))
    return scene.bundle(b"document", events), [*here.trust, scene.key.verifier().vkey()]


def test_in_a_bundle_it_has_a_name_of_its_own() -> None:
    data, trust = bundled()
    report = foja.verify(data, trust, LATER)
    assert report.verdict is Verdict.TOTAL_PASSED, report.json()
    inside = open_container(io.BytesIO(data)).names
    assert [name for name in inside if "/rekor/" in name] == ["evidence/rekor/02.rekor.json"]


def test_in_a_bundle_it_is_not_found_under_the_name_of_a_plain_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(names, "_BATCHED", {})
        data, trust = bundled()
    [found] = [each for each in foja.verify(data, trust, LATER).evidence if each.evidence == "container"]
    assert found.reason is Reason.NON_CANONICAL


def changed(change: Change) -> bytes:
    document = json.loads(BATCHED)
    change(document)
    return canonical(document)


def other_salt(document: dict[str, Any]) -> None:
    document["batch"]["salt"] = "0x" + "00" * 16


def other_path(document: dict[str, Any]) -> None:
    document["batch"]["path"][0] = "0x" + "00" * 32


def short_path(document: dict[str, Any]) -> None:
    document["batch"]["path"].pop()


def long_path(document: dict[str, Any]) -> None:
    document["batch"]["path"].append("0x" + "00" * 32)


def other_index(document: dict[str, Any]) -> None:
    document["batch"]["index"] = 4


def beyond(document: dict[str, Any]) -> None:
    document["batch"]["index"] = 7


def of_one(document: dict[str, Any]) -> None:
    document["batch"] |= {"size": 1, "index": 0, "path": []}


def other_root(document: dict[str, Any]) -> None:
    document["bundle"]["messageSignature"]["messageDigest"]["digest"] = "A" * 43 + "="


def no_root(document: dict[str, Any]) -> None:
    del document["bundle"]["messageSignature"]["messageDigest"]


def extra_field(document: dict[str, Any]) -> None:
    document["batch"]["note"] = ""


def unknown_field(document: dict[str, Any]) -> None:
    document["note"] = ""


def other_form(document: dict[str, Any]) -> None:
    document["form"] = "foja/rekor/v2"


def upper_case(document: dict[str, Any]) -> None:
    document["batch"]["salt"] = "0x" + "AB" * 16


def true_size(document: dict[str, Any]) -> None:
    document["batch"]["size"] = True


def no_token(document: dict[str, Any]) -> None:
    del document["bundle"]["verificationMaterial"]["timestampVerificationData"]


FORGERIES: list[tuple[Change, Reason]] = [
    (other_salt, Reason.BATCH_ROOT_MISMATCH),
    (other_path, Reason.BATCH_ROOT_MISMATCH),
    (short_path, Reason.BATCH_ROOT_MISMATCH),
    (long_path, Reason.BATCH_ROOT_MISMATCH),
    (other_index, Reason.BATCH_ROOT_MISMATCH),
    (beyond, Reason.BATCH_ROOT_MISMATCH),
    (other_root, Reason.BATCH_ROOT_MISMATCH),
    (of_one, Reason.MALFORMED),
    (no_root, Reason.MALFORMED),
    (extra_field, Reason.MALFORMED),
    (unknown_field, Reason.MALFORMED),
    (other_form, Reason.MALFORMED),
    (upper_case, Reason.MALFORMED),
    (true_size, Reason.MALFORMED),
    (no_token, Reason.NO_SIGNED_TIME),
]


@pytest.mark.parametrize(("change", "reason"), FORGERIES, ids=[each.__name__ for each, _ in FORGERIES])
def test_nothing_less_verifies(change: Change, reason: Reason) -> None:
    assert judge(changed(change)).reason is reason


def test_the_root_of_another_batch_does_not_count() -> None:
    """A salt and a path cannot be moved to a bundle over another root."""
    _, place = split_batched(BATCHED)
    moved = encode_batched(HERE.bundle(sha256(b"another root").digest()), place)
    assert judge(moved).reason is Reason.BATCH_ROOT_MISMATCH
    root, _ = batch(DIGEST, 3, 7)
    plain = encode_batched(HERE.bundle(root), replace(place, size=place.size + 1))
    assert judge(plain).status is Status.VERIFIED  # a root does not contain the number of its leaves


def test_another_encoding_of_the_same_proof_is_refused() -> None:
    document = json.loads(BATCHED)
    for other in (json.dumps(document), json.dumps(document, indent=1), BATCHED.decode() + " "):
        assert judge(other.encode()).reason is Reason.MALFORMED
    assert judge(BATCHED + b"\n").status is Status.VERIFIED


def test_without_trust_it_is_not_decided() -> None:
    vkey, pem, root = HERE.trust
    assert judge(BATCHED, pem, root).reason is Reason.NO_TRUST_ANCHOR
    assert judge(BATCHED, vkey, root).reason is Reason.SIGNER_NOT_TRUSTED
    assert judge(BATCHED, vkey, pem).status is Status.INDETERMINATE
    assert judge(BATCHED, *Scene(log=Signer("rekor.example", b"x" * 32)).trust).status is not Status.VERIFIED


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("step", [101, pytest.param(1, marks=pytest.mark.long)])
def test_no_changed_bit_verifies_except_in_the_hint_and_the_size(step: int) -> None:
    hint = BATCHED.find(b'"hint":"') + 8
    size = BATCHED.find(b'"size":') + 7
    uncovered = {*range(hint, BATCHED.find(b'"', hint)), size}
    for at, data in flipped(BATCHED, step):
        assert judge(data).status is not Status.VERIFIED or at in uncovered, at


def flipped(data: bytes, step: int) -> Iterator[tuple[int, bytes]]:
    for bit in range(random.randrange(step), len(data) * 8, step):
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << bit % 8
        yield bit // 8, bytes(broken)


def test_the_frozen_proof_verifies_in_every_version() -> None:
    """Frozen proof and report: every version of Foja must find the same."""
    proofs = [VECTOR / "x.rekor.json"]
    trust = (VECTOR / "trust.txt").read_text()  # of a version that did not ask what a key is for
    assert (
        foja.verify(VECTOR / "document.txt", [trust], LATER, proofs=proofs).verdict is Verdict.INDETERMINATE
    )
    trust = trust.replace("rekor.example+", "rekor:rekor.example+")
    report = foja.verify(VECTOR / "document.txt", [trust], LATER, proofs=proofs)
    assert report.verdict is Verdict.TOTAL_PASSED
    frozen = (VECTOR / "x.rekor.json").read_bytes()
    assert encode_batched(*split_batched(frozen)) == frozen
    [found] = report.evidence
    assert found.no_later_than == NOW + timedelta(seconds=1)
    assert found.according_to is not None
