"""The worst input of each parser costs bounded time and memory."""

from __future__ import annotations

import gc
import io
import json
import resource
import time
import tracemalloc
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

import foja
from foja.errors import FojaError
from foja.pure.core.bundle import asic, assembly, history, names
from foja.pure.core.bundle.archive import part, write
from foja.pure.core.bundle.assembly import Contents
from foja.pure.core.bundle.evidence_record import encode
from foja.pure.core.bundle.manifest import MAX_PROOFS
from foja.pure.core.bundle.proof_file import proof_file
from foja.pure.core.canonical import Json, canonical
from foja.pure.core.note import Checkpoint, parse_checkpoint, split_note
from foja.pure.core.proof import MAX_BYTES as TLOG_PROOF_BYTES
from foja.pure.judge.container.bundle import BundleRequest, judge_bundle
from foja.pure.judge.history import check_event, check_history
from foja.pure.judge.proof import MAX_BYTES as LARGEST_PROOF
from foja.pure.judge.proof import ProofRequest, check_proof
from foja.pure.judge.trust_parser import MAX_BYTES as LARGEST_TRUST
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.cose import write_receipt
from foja.pure.proofs.cosignature import CosignatureAlgorithm, CosignerSigner
from foja.pure.proofs.ers import root_of
from foja.pure.proofs.monitor_statement import MonitorSigner, MonitorStatement
from foja.pure.proofs.ots.stamp import BITCOIN, MAGIC
from foja.pure.proofs.tsa.cms import MAX_CERTIFICATES
from tests.rules import authorities, sigstores, stamps
from tests.rules.all_proofs import all_proofs
from tests.rules.batches import digests_of, stamp_batch
from tests.rules.bundles import ENTITY, NOW, Scene
from tests.rules.streams import stream

AT = NOW + timedelta(hours=1)
SCENE, PROOFS, INSTANCE = Scene(), all_proofs(), sigstores.Instance()
DIGEST = stamps.DIGEST
EVENT = stream("document", ENTITY, SCENE.document_events(DIGEST))[-1]
LOG_PROOF = SCENE.prove(EVENT).text().encode()
COSE = write_receipt(
    SCENE.key, parse_checkpoint(split_note(SCENE.prove(EVENT).note)[0]), SCENE.prove(EVENT), "x"
).encode()
LARGE = 16 << 20  # bytes of the largest inputs
SECONDS, KILOBYTES = 2.0, 200 << 10
USUAL = 0.045  # seconds that `pace` takes on a quiet machine of two cores
CHAIN = 1000

Judge = Callable[[], object]


def proof(kind: str, data: bytes, **more: object) -> Judge:
    return lambda: check_proof(data, ProofRequest(DIGEST, PROOFS.trust, AT, **more), kind=kind)  # type: ignore[arg-type]


def ots(*operations: bytes) -> bytes:
    return MAGIC + b"\x01\x08" + DIGEST + b"".join(operations)


ATTESTED = b"\x00" + BITCOIN + b"\x01\x64"
WAY = b"\xf1\x04salt\x08\xf0\x05right\x08"
LONG_WAY = ots(WAY, b"\x08" * 19_000, ATTESTED)
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
            found = check_proof(data, ProofRequest(DIGEST, trusted, AT, headers), kind="bitcoin")
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


def proofs(kind: str, files: Sequence[bytes]) -> Judge:
    """Judge a bundle with as many proofs of a kind as are allowed, these ones again and again."""
    digest = sha256(b"document").digest()
    data = [b64encode(files[at % len(files)]).decode() for at in range(MAX_PROOFS - 1)]
    field, name = ("token_b64", "tsa.confirmed") if kind == "tsa" else ("proof", "anchor.confirmed")
    name = "rekor.confirmed" if kind == "rekor" else name
    more: list[tuple[str, Json]] = [
        (name, {"network": kind, "witness_hash": digest.hex(), field: each}) for each in data
    ]
    whole = SCENE.bundle(b"document", SCENE.document_events(digest, more))
    trusted = replace(PROOFS.trust, roots=SCENE.trust.roots, logs=SCENE.trust.logs)

    def judge() -> None:
        report = judge_bundle(io.BytesIO(whole), BundleRequest(trusted, AT))
        assert "TOO_COSTLY" in [each.reason for each in report.evidence]
        assert report.verdict != "TOTAL_PASSED"  # what was not judged could be invalid

    return judge


RECORD = stamp_batch(SCENE.stamper, [DIGEST, *digests_of(3)])[0].record


def crowds(count: int, **of_issuer: Any) -> list[bytes]:
    """Return tokens with as many certificates as allowed, all of one name: chains are searched in vain."""
    made = []
    for _ in range(count):
        crowd = [authorities.root("Issuer", key_ids=False, **of_issuer) for _ in range(MAX_CERTIFICATES - 1)]
        low = authorities.signer(crowd[0], key_ids=False)
        recipe = authorities.Recipe(low, sha256(b"document").digest(), embedded=[low, *crowd])
        made.append(authorities.token(recipe))
    return made


def with_tokens(count: int) -> bytes:
    """Return a Sigstore bundle with this many timestamps, each of another unknown authority."""

    def change(document: dict[str, dict[str, object]]) -> None:
        tokens = [{"signedTimestamp": b64encode(each).decode()} for each in crowds(count)]
        document["verificationMaterial"]["timestampVerificationData"] = {"rfc3161Timestamps": tokens}

    return sigstore(change)


def exported(size: int) -> Judge:
    """Judge a valid history of this many bytes, in the shortest events."""
    one = sum(map(len, history.encode(stream("document", ENTITY, [("a", {})]))))
    events = stream("document", ENTITY, [("a", {})] * (size // one))
    data = history.heading("document", ENTITY) + b"".join(history.encode(events))

    def judge() -> None:
        chunks = (data[at : at + (1 << 20)] for at in range(0, len(data), 1 << 20))
        found, *_ = check_history(chunks, SCENE.prove(events[-1]).text().encode(), SCENE.trust)
        assert found.status == "VERIFIED"

    return judge


def filled(content: Json, count: int) -> Judge:
    """Judge a history of large bodies: 16 MB of tiny numbers or empty lists may take up to 6 seconds."""
    events = stream("document", ENTITY, [("a", {"content": content})] * count)
    data = history.heading("document", ENTITY) + b"".join(history.encode(events))

    def judge() -> None:
        found, *_ = check_history([data], SCENE.prove(events[-1]).text().encode(), SCENE.trust)
        assert found.status == "VERIFIED"

    return judge


def deepest() -> Json:
    """Return a value in as many lists as a body may have around it."""
    value: Json = 0
    for _ in range(60):
        value = [value]
    return value


def talked(size: int, content: Json = "hi") -> Judge:
    """Judge the bundle of a long conversation: its transcript and its events."""
    said = {"content": content}
    one = 700 + 2 * (len(canonical(content)) - 4)
    contents = SCENE.conversation([("user_message_sent", said)] * (size // one))
    whole = SCENE.seal(contents.parts())

    def judge() -> None:
        report = judge_bundle(io.BytesIO(whole), BundleRequest(SCENE.trust, AT))
        assert report.verdict == "TOTAL_PASSED"

    return judge


def long_lists(count: int) -> Judge:
    """Judge many timestamps by their authority's certificate and its long lists of revoked certificates."""
    root = authorities.root()
    signer = authorities.signer(root)
    made = x509.CertificateRevocationListBuilder(issuer_name=root.certificate.subject)
    made = made.last_update(NOW).next_update(NOW + timedelta(days=30))
    for number in range(15_000):
        entry = x509.RevokedCertificateBuilder().serial_number(10_000 + number).revocation_date(NOW)
        made = made.add_revoked_certificate(entry.build())
    later = [made.add_extension(x509.CRLNumber(each), critical=False) for each in range(count)]
    lists = [each.sign(root.key, SHA256()).public_bytes(Encoding.PEM) for each in later]
    recipe = authorities.Recipe(signer, sha256(b"document").digest(), gen_time=NOW)
    tokens = [authorities.token(replace(recipe, serial=each)) for each in range(1, 251)]

    def judge() -> None:
        report = foja.verify(b"document", [root.pem, *lists], AT, proofs=tokens)
        assert report.verdict == "TOTAL_PASSED"

    return judge


def renewed(count: int, more: int) -> Judge:
    """Judge a bundle with many files that was renewed again and again."""
    contents = SCENE.contents()
    contents = replace(contents, trust={f"{number}.pem": b"" for number in range(more)})
    sealed = contents.parts()
    for number in range(count):
        token = SCENE.stamper.token(sha256(assembly.listing(sealed, number)).digest())
        sealed = assembly.seal(sealed, token, number)
    whole = b"".join(write(sealed))
    return lambda: judge_bundle(io.BytesIO(whole), BundleRequest(SCENE.trust, AT))


def deep_json(size: int) -> bytes:
    """Return an array of objects, each nested as deep as Python reads it."""
    unit = b'{"":' * 900 + b"0" + b"}" * 900 + b","
    return b"[" + unit * (size // len(unit)) + b"0]"


def given(data: bytes, *proofs_: bytes) -> Judge:
    """Judge a file as a user gives it."""
    return lambda: foja.verify(data, SCENE.trust, AT, proofs=proofs_)


def tiny_numbers() -> Json:
    """Return a body as large as allowed, of the numbers that are slowest to check."""
    return {"content": [1e-7] * 130_000}


def proof_of_event() -> Judge:
    """Judge the proof file of a valid event whose body, and whose arguments, are slow to check."""
    digest = sha256(canonical(tiny_numbers())).hexdigest()
    payload = {"content": tiny_numbers(), "args_sha256": digest}
    event = stream("conversation", ENTITY, [("approval_completed", payload)])[0]
    file = proof_file(event.text(), SCENE.prove(event).text(), canonical(tiny_numbers()).decode())
    trust = [SCENE.key.verifier().vkey()]

    def judge() -> None:
        assert foja.verify(file, trust, AT).verdict == "TOTAL_PASSED"

    return judge


def beside(size: int, count: int) -> Judge:
    """Judge a valid history of about this many bytes with its log proof again and again."""
    more: list[tuple[str, Json]] = [("x", {"content": "y" * 100_000})] * (size // 100_000)
    events = stream("document", ENTITY, SCENE.document_events(DIGEST, more))
    text = history.heading("document", ENTITY) + b"".join(history.encode(events))
    proof_ = SCENE.prove(events[-1]).text().encode()

    def judge() -> None:
        report = foja.verify(text, [SCENE.key.verifier().vkey()], AT, proofs=[proof_] * count)
        assert report.verdict == "INDETERMINATE"
        assert report.evidence[0].status == "VERIFIED"
        assert {each.reason for each in report.evidence[1:]} == {"TOO_COSTLY"}

    return judge


def cosigned(algorithm: CosignatureAlgorithm) -> Judge:
    """Judge as many log proofs as fit, full of valid cosignatures of one trusted cosigner."""
    signer = CosignerSigner("a.example", bytes(32), algorithm)
    note = SCENE.prove(EVENT).note
    room = (TLOG_PROOF_BYTES - 2000) // len(signer.cosign(split_note(note)[0], 1))
    lines = [signer.cosign(split_note(note)[0], 1_700_000_000 + each) for each in range(min(room, 99))]
    proof_ = replace(SCENE.prove(EVENT), note=note + "".join(lines)).text().encode()
    trust = [SCENE.key.verifier().vkey(), signer.key().vkey()]

    def judge() -> None:
        report = foja.verify(EVENT.text().encode(), trust, AT, proofs=[proof_] * (LARGE // len(proof_)))
        assert "1 of 1 cosigners" in report.evidence[0].detail

    return judge


def stated() -> Judge:
    """Judge an event with as many statements of a trusted monitor as fit."""
    monitor = MonitorSigner("m.example", bytes(32))
    told = MonitorStatement(
        Checkpoint("log.example/1", 9, bytes(32)), ENTITY, EVENT.seq + 1, EVENT.chain_hash, 1
    )
    data = monitor.sign(told.text()).encode()
    trust = [SCENE.key.verifier().vkey(), monitor.verifier().vkey()]

    def judge() -> None:
        many = [LOG_PROOF, *[data] * (LARGE // len(data))]
        report = foja.verify(EVENT.text().encode(), trust, AT, proofs=many)
        assert report.evidence[-1].reason == "TOO_COSTLY"

    return judge


def wide_record(lists: int) -> bytes:
    """Return a record that is as large as allowed; its token is about its root."""
    first = sorted([DIGEST, *(sha256(b"%d" % each).digest() for each in range(1000))])
    hashes = tuple(map(tuple, [first] * lists))
    return encode(hashes, SCENE.stamper.token(root_of(hashes)))


def batched() -> Judge:
    """Judge a bundle with as many evidence records as are allowed."""
    digest = sha256(b"document").digest()
    payloads = [stamp_batch(SCENE.stamper, [digest, *digests_of(3)])[0].payload() for _ in range(40)]
    more: list[tuple[str, Json]] = [("tsa.confirmed", each) for each in payloads * 6]
    whole = SCENE.bundle(b"document", SCENE.document_events(digest, more))

    def judge() -> None:
        report = judge_bundle(io.BytesIO(whole), BundleRequest(SCENE.trust, AT))
        found = [each for each in report.evidence if each.evidence == "tsa" and each.status == "VERIFIED"]
        assert len(found) > 200

    return judge


def pathed(size: int) -> Judge:
    """Judge histories whose events hold paths of this many bytes."""
    digest = sha256(b"document").digest()
    payload = stamp_batch(SCENE.stamper, [digest])[0].payload()
    more: list[tuple[str, Json]] = [("tsa.confirmed", {**payload, "path_b64": "A" * size})] * 8
    whole = SCENE.bundle(b"document", SCENE.document_events(digest, more))
    return lambda: judge_bundle(io.BytesIO(whole), BundleRequest(SCENE.trust, AT))


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
    "sigstore: a batch with a long path": lambda: proof("rekor", b'{"batch":{"path":' + long_list() + b"}}"),
    "sigstore: a batch of deep JSON": lambda: proof("rekor", b'{"batch":' + b"[" * 2_000_000),
    "sigstore: deep JSON": lambda: proof("rekor", b'{"a":' + b"[" * 4_000_000),
    "token: false lengths": lambda: proof("tsa", b"\x30\x84\x7f\xff\xff\xff" * 100_000),
    "token: a large one": lambda: proof("tsa", PROOFS.files["tsa"] + bytes(LARGEST_PROOF // 2)),
    "evidence record: as many hashes as fit": lambda: proof("tsa", wide_record(7)),
    "evidence record: false lists": lambda: proof("tsa", RECORD[:60] + b"\x30\x00" * 100_000),
    "bundle: many evidence records": batched,
    "history: a long path": lambda: pathed(1 << 20),
    "manifest: deep": lambda: file(names.MANIFEST, b"[" * 4_000_000),
    "manifest: large": lambda: file(names.MANIFEST, b'{"a":[' + b"0," * 1_900_000 + b"0]}"),
    "manifest: numbers": lambda: file(names.MANIFEST, b'{"a":' + b"9" * 4_000_000 + b"}"),
    "history: a line of numbers": lambda: file(names.EVENTS, b"9" * (7 << 20) + b"\n"),
    "history: empty lines": lambda: file(names.EVENTS, b"\n" * (8 << 20)),
    "history: deep": lambda: file(names.EVENTS, b'{"event":' + b"[" * (4 << 20) + b"\n"),
    "history: an anchor that is taken back again and again": lambda: reorged(12_000),
    "log proof: hashes without end": lambda: file(names.LOG_PROOF, LOG_PROOF[:30] + b"AAAA\n" * 1_000_000),
    "log proof: signatures without end": lambda: file(names.LOG_PROOF, LOG_PROOF + LOG_PROOF[-120:] * 50_000),
    "event: nested objects": lambda: given(deep_json(LARGE), LOG_PROOF),
    "event: as large as allowed": lambda: given(deep_json((2 << 20) - 4000), LOG_PROOF),
    "manifest: nested objects": lambda: file(names.MANIFEST, deep_json(LARGE)),
    "history: nested objects": lambda: file(names.EVENTS, deep_json((2 << 20) - 4000) + b"\n"),
    "sigstore: nested objects": lambda: proof("rekor", deep_json((2 << 20) - 4000)),
    "sigstore: many keys": lambda: proof("rekor", b"{" + many_keys(200_000) + b',"0":0}'),
    "proof file: body and arguments of tiny numbers": proof_of_event,
    "proofs: log proofs of a large history": lambda: beside(8 << 20, 20_000),
    "proofs: receipts without end": lambda: given(EVENT.text().encode(), *[COSE] * 40_000),
    "proofs: cosignatures by Ed25519": lambda: cosigned(CosignatureAlgorithm.ED25519),
    "proofs: cosignatures by ML-DSA-44": lambda: cosigned(CosignatureAlgorithm.ML_DSA_44),
    "proofs: statements of a monitor": stated,
    "receipt: nested arrays": lambda: given(EVENT.text().encode(), *[b"\xd2\x84" + b"\x81" * 16_000] * 1000),
    "receipt: a wide array": lambda: given(
        EVENT.text().encode(), *[b"\xd2\x84\x99\x3f\x00" + bytes(0x3F00)] * 1000
    ),
    "export: a valid one": lambda: exported(LARGE),
    "export: bodies of tiny numbers": lambda: filled([1e-7] * 150_000, 4),
    "export: bodies of empty lists": lambda: filled([[]] * 300_000, 4),
    "export: bodies of one tiny number and many others": lambda: filled([1e-7, *[0] * 400_000], 5),
    "export: bodies of numbers with exponents": lambda: filled([1.2345678901234567e300] * 80_000, 8),
    "export: bodies of keys beyond the first plane": lambda: filled(
        {chr(0x10000 + each): 0 for each in range(150_000)}, 12
    ),
    "export: bodies of short lists": lambda: filled([[0]] * 250_000, 16),
    "export: bodies of nested lists": lambda: filled([[[[0]]]] * 120_000, 16),
    "export: bodies of lists as deep as allowed": lambda: filled([deepest()] * 8_200, 8),
    "bundle: a conversation of short lists": lambda: talked(LARGE, [[0]] * 250_000),
    "bundle: a long conversation": lambda: talked(LARGE),
    "bundle: many timestamps": lambda: proofs("tsa", crowds(40)),
    "bundle: many timestamps of keys that are slow to check": lambda: proofs(
        "tsa", crowds(40, key=ec.generate_private_key(ec.BrainpoolP512R1()))
    ),
    "proofs: many timestamps under long lists of revoked certificates": lambda: long_lists(4),
    "bundle: many Sigstore bundles with many timestamps": lambda: proofs("rekor", [with_tokens(8)] * 4),
    "bundle: many EVM proofs": lambda: proofs("polygon", [PROOFS.files["polygon"]]),
    "bundle: many long OpenTimestamps proofs": lambda: proofs(
        "bitcoin", [ots(WAY, b"\x08" * 19_000, ATTESTED)]
    ),
    "bundle: many OpenTimestamps proofs of a slow hash": lambda: proofs(
        "bitcoin", [ots(WAY, b"\x67" * 19_000, ATTESTED)]
    ),
    "bundle: renewed often": lambda: renewed(100, 100),
    "bundle: renewed with many files": lambda: renewed(12, 3900),
    "list: small elements": lambda: lambda: refused(asic.decode, b"<a>" + b"<b/>" * 900_000),
    "list: many references": lambda: lambda: refused(asic.decode, references(14_000)),
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


def long_list() -> bytes:
    return b"[" + b",".join([b'"0x%064x"' % 7] * 30_000) + b"]"


def many_keys(count: int) -> bytes:
    return b",".join(b'"%x":0' % each for each in range(count))


def references(count: int) -> bytes:
    return asic.AsicManifest("t", {f"f{each}": bytes(32) for each in range(count)}).encode()


def refused(read_: Callable[[bytes], object], data: bytes) -> object:
    try:
        return read_(data)
    except FojaError as refusal:
        return refusal


def pace() -> float:
    """Return how many times slower than usual this machine is now: other processes share its caches."""
    began = time.process_time()
    for _ in range(40):
        json.loads(json.dumps([{"key": number} for number in range(2000)]))
    return max(1.0, (time.process_time() - began) / USUAL)


def peak() -> int:
    """Return the largest memory since the last call of `forget_peak`, in kilobytes."""
    if CLEAR.exists():
        return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def forget_peak() -> None:
    gc.collect()
    if CLEAR.exists():
        CLEAR.write_text("5")


CLEAR = Path("/proc/self/clear_refs")


def test_large_events_of_a_history_are_not_held() -> None:
    """The last ten were, parsed, until the end: 16 MB of short lists took 210 MB."""
    judge = filled([[0]] * 200_000, 20)
    tracemalloc.start()
    judge()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < KILOBYTES << 10, f"{most >> 20} MB"


@pytest.mark.parametrize("judge", [exported(1 << 16), filled([[0]] * 200_000, 1)])
def test_the_collector_of_cycles_is_left_as_it_was(judge: Judge) -> None:
    """It rests while a history is read, also if that ends in a refusal; one that is not in use stays so."""
    for in_use in (True, False):
        (gc.enable if in_use else gc.disable)()
        try:
            judge()
            check_history([b"{}\n" * 1000], LOG_PROOF, SCENE.trust)
            assert gc.isenabled() is in_use
        finally:
            gc.enable()


@pytest.mark.parametrize("name", WORST)
def test_the_worst_is_bounded(name: str) -> None:
    """No input of 16 MB takes more than 2 s of processor time and 200 MB."""
    judge = WORST[name]()
    slower = pace()
    forget_peak()
    gc.freeze()  # what other tests of this process left behind is not traversed in this one's time
    before, began = peak(), time.process_time()
    judge()
    took, most = time.process_time() - began, peak()
    assert took < SECONDS * slower, f"{took:.1f} s"
    assert most - before < KILOBYTES, f"{(most - before) >> 10} MB"
