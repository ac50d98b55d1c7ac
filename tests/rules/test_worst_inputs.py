"""The worst input of each parser costs bounded time and memory."""

from __future__ import annotations

import io
import json
import resource
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

import pytest

from foja.core.bundle import names
from foja.core.bundle.archive import part, write
from foja.core.bundle.assembly import Contents
from foja.core.canonical import Json
from foja.errors import FojaError
from foja.judge.container.bundle import BundleRequest, judge_bundle
from foja.judge.history import check_history
from foja.judge.ledger import check_event
from foja.judge.proof import MAX_BYTES as LARGEST_PROOF
from foja.judge.proof import check_proof
from foja.judge.trust_parser import MAX_BYTES as LARGEST_TRUST
from foja.judge.trust_parser import read
from foja.proofs.ots.stamp import BITCOIN, MAGIC
from tests.rules import sigstores, stamps
from tests.rules.all_proofs import all_proofs
from tests.rules.bundles import ENTITY, NOW, Scene
from tests.rules.streams import stream

AT = NOW + timedelta(hours=1)
SCENE, PROOFS, INSTANCE = Scene(), all_proofs(), sigstores.Instance()
DIGEST = stamps.DIGEST
EVENT = stream("document", ENTITY, SCENE.document_events(DIGEST))[-1]
LOG_PROOF = SCENE.prove(EVENT).text().encode()
SECONDS, KILOBYTES = 3.0, 160 << 10
CHAIN = 1000

Judge = Callable[[], object]


def proof(kind: str, data: bytes, **more: object) -> Judge:
    return lambda: check_proof(data, DIGEST, PROOFS.trust, AT, kind=kind, **more)  # type: ignore[arg-type]


def ots(*operations: bytes) -> bytes:
    return MAGIC + b"\x01\x08" + DIGEST + b"".join(operations)


ATTESTED = b"\x00" + BITCOIN + b"\x01\x64"
WAY = b"\xf1\x04salt\x08\xf0\x05right\x08"
LONG = b"\xf0\xa0\x1f" + bytes(4000)


def linked(count: int) -> list[tuple[int, bytes]]:
    """Return headers that follow each other, from the one of the proof on."""
    found = [stamps.HEADER]
    for height in range(101, 100 + count):
        found.append(stamps.mined(bytes(32), height, found[-1].hash))
    return [(each.height, each.data) for each in found]


def far(count: int) -> Judge:
    """Judge proofs that lead to one block, far below the trusted one."""
    *headers, last = linked(CHAIN)
    trusted = replace(PROOFS.trust, headers=(last,))
    data = ots(WAY, (b"\xff" + ATTESTED) * (15_000 // count), ATTESTED)

    def judge() -> None:
        for _ in range(count):
            found = check_proof(data, DIGEST, trusted, AT, kind="bitcoin", headers=headers)
            assert found.status == "VERIFIED"

    return judge


def nested(depth: int) -> bytes:
    """Return nested RLP lists, too deep for any stack."""
    data = b"\xc0"
    for _ in range(depth):
        size = len(data).to_bytes((len(data).bit_length() + 7) // 8, "big")
        data = (bytes((0xC0 + len(data),)) if len(data) < 56 else bytes((0xF7 + len(size),)) + size) + data
    return data


def evm(**fields: Json) -> bytes:
    document = json.loads(PROOFS.files["polygon"])
    return json.dumps({**document, **fields}, separators=(",", ":"), sort_keys=True).encode()


def sigstore(change: Callable[[dict[str, dict[str, object]]], None]) -> bytes:
    document = json.loads(INSTANCE.bundle())
    change(document)
    return json.dumps(document).encode()


def many_tokens(document: dict[str, dict[str, object]]) -> None:
    material = document["verificationMaterial"]
    stamps_ = material["timestampVerificationData"]["rfc3161Timestamps"]  # type: ignore[index]
    material["timestampVerificationData"] = {"rfc3161Timestamps": stamps_ * 2000}


def many_entries(document: dict[str, dict[str, object]]) -> None:
    material = document["verificationMaterial"]
    material["tlogEntries"] = material["tlogEntries"] * 1000  # type: ignore[operator]


def long_path(document: dict[str, dict[str, object]]) -> None:
    entry = document["verificationMaterial"]["tlogEntries"][0]  # type: ignore[index]
    entry["inclusionProof"]["hashes"] = [b64encode(bytes(32)).decode()] * 100_000


def bundle(change: Callable[[Contents], Contents]) -> Judge:
    data = SCENE.seal(change(SCENE.contents()).parts())
    return lambda: judge_bundle(io.BytesIO(data), BundleRequest(SCENE.trust, AT))


def file(name: str, data: bytes) -> Judge:
    parts = [part(name, data) if each.entry.name == name else each for each in SCENE.contents().parts()]
    whole = SCENE.seal(parts)
    return lambda: judge_bundle(io.BytesIO(whole), BundleRequest(SCENE.trust, AT))


def reorged(count: int) -> Judge:
    """Judge a history in which an anchor is recorded and taken back again and again."""
    anchor: Json = {"network": "bitcoin", "witness_hash": DIGEST.hex(), "attempt": 1, "proof": "MAA="}
    failure: Json = {**anchor, "failure_code": "reorged"}  # type: ignore[dict-item]
    repeated = [("anchor.submitted", anchor), ("anchor.failed", failure)] * count
    events = SCENE.document_events(sha256(b"document").digest(), repeated)
    contents = SCENE.contents(b"document", events)
    manifest = replace(contents.manifest, evidence=contents.manifest.evidence[:1])
    whole = SCENE.seal(replace(contents, manifest=manifest, proofs=contents.proofs[:1]).parts())

    def judge() -> None:
        report = judge_bundle(io.BytesIO(whole), BundleRequest(SCENE.trust, AT))
        assert report.verdict == "TOTAL_PASSED"

    return judge


def crowded() -> Judge:
    whole = b"".join(write([part(f"evidence/{number}", b"") for number in range(4000)]))
    return lambda: judge_bundle(io.BytesIO(whole), BundleRequest(SCENE.trust, AT))


def trust(text: bytes) -> Judge:
    def judge() -> object:
        try:
            return read([text[:LARGEST_TRUST]])
        except FojaError as refusal:
            return refusal

    return judge


WORST: dict[str, Callable[[], Judge]] = {
    "ots: as many operations as fit": lambda: proof("bitcoin", ots(b"\x08" * 200_000)),
    "ots: long messages hashed slowly": lambda: proof("bitcoin", ots(LONG, b"\xff\x67\x00" * 80_000)),
    "ots: a fork at every step": lambda: proof("bitcoin", ots(b"\xff\x08" * 100_000)),
    "ots: one block attested again and again, far from the trusted one": lambda: far(1),
    "ots: many files of that kind in one bundle": lambda: far(64),
    "evm: lists in lists": lambda: proof("evm", evm(header_rlp="0x" + nested(20_000).hex())),
    "evm: many nodes": lambda: proof("evm", evm(tx_proof=["0x" + "00" * 600] * 6000)),
    "evm: a large header": lambda: proof("evm", evm(header_rlp="0x" + "00" * 4_000_000)),
    "sigstore: many tokens": lambda: proof("rekor", sigstore(many_tokens)),
    "sigstore: many entries": lambda: proof("rekor", sigstore(many_entries)),
    "sigstore: a long path": lambda: proof("rekor", sigstore(long_path)),
    "sigstore: deep JSON": lambda: proof("rekor", b'{"a":' + b"[" * 4_000_000),
    "token: false lengths": lambda: proof("tsa", b"\x30\x84\x7f\xff\xff\xff" * 100_000),
    "token: a large one": lambda: proof("tsa", PROOFS.files["tsa"] + bytes(LARGEST_PROOF // 2)),
    "manifest: deep": lambda: file(names.MANIFEST, b"[" * 4_000_000),
    "manifest: large": lambda: file(names.MANIFEST, b'{"a":[' + b"0," * 1_900_000 + b"0]}"),
    "manifest: numbers": lambda: file(names.MANIFEST, b'{"a":' + b"9" * 4_000_000 + b"}"),
    "history: a line of numbers": lambda: file(names.EVENTS, b"9" * (7 << 20) + b"\n"),
    "history: empty lines": lambda: file(names.EVENTS, b"\n" * (8 << 20)),
    "history: deep": lambda: file(names.EVENTS, b'{"event":' + b"[" * (4 << 20) + b"\n"),
    "history: an anchor that is taken back again and again": lambda: reorged(12_000),
    "log proof: hashes without end": lambda: file(names.LOG_PROOF, LOG_PROOF[:30] + b"AAAA\n" * 1_000_000),
    "log proof: signatures without end": lambda: file(names.LOG_PROOF, LOG_PROOF + LOG_PROOF[-120:] * 50_000),
    "bundle: as many files as allowed": crowded,
    "event: deep": lambda: lambda: check_event(b'{"event":' + b"{" * 4_000_000, LOG_PROOF, SCENE.trust),
    "export: no line ends": lambda: (
        lambda: check_history(iter([bytes(1 << 20)] * 64), LOG_PROOF, SCENE.trust)
    ),
    "export: many lines": lambda: lambda: check_history([b"{}\n" * 350_000] * 12, LOG_PROOF, SCENE.trust),
    "trust: blocks that never end": lambda: trust(b"-----BEGIN CERTIFICATE-----\n" * 150_000),
    "trust: dashes": lambda: trust(b"-" * LARGEST_TRUST),
    "trust: a long line": lambda: trust(b"a+" * (LARGEST_TRUST // 2)),
    "trust: many lines": lambda: trust(b"# x\n" * (LARGEST_TRUST // 4)),
    "trust: deep": lambda: trust(b'{"a":' * 600_000),
}


@pytest.mark.parametrize("name", WORST)
def test_the_worst_is_bounded(name: str) -> None:
    judge = WORST[name]()
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    judge()
    took, most = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert took < SECONDS, f"{took:.1f} s"
    assert most - before < KILOBYTES, f"{(most - before) >> 10} MB"
