"""For any input the judge returns a finding, quickly, and never raises an unknown exception."""

from __future__ import annotations

import io
import random
import resource
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foja
from foja.errors import BadBundle, FojaError, Refused
from foja.pure.core.bundle import archive, asic, assembly, history, names
from foja.pure.core.bundle.archive import Part, part
from foja.pure.core.canonical import Json, canonical, parse
from foja.pure.core.proof import Proof
from foja.pure.judge.container.bundle import BundleRequest, judge_bundle
from foja.pure.judge.history import check_event, check_history
from foja.pure.judge.proof import ProofRequest, check_proof
from foja.pure.judge.report import Report
from foja.pure.judge.trust import Trust
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.batch import BatchPlace
from foja.pure.proofs.finding import Finding, Reason
from foja.pure.proofs.rekor.batched import encode_batched
from tests.rules import bundles, sigstores
from tests.rules.all_proofs import all_proofs
from tests.rules.batches import digests_of, seal_batch, stamp_batch
from tests.rules.stamps import DIGEST
from tests.rules.streams import stream

PROOFS = all_proofs()
AT = bundles.NOW + timedelta(hours=1)
SCENE = bundles.Scene()
EVENT = stream("document", bundles.ENTITY, SCENE.document_events(DIGEST))[-1]
LOG_PROOF: Proof = SCENE.prove(EVENT)
EVENTS = stream("document", bundles.ENTITY, SCENE.document_events(DIGEST))
EXPORTED = history.heading("document", bundles.ENTITY) + b"".join(history.encode(EVENTS))
INSTANCE = sigstores.Instance()
LONGEST = 2.0  # seconds of processor time for one input
MOST_MEMORY = 200 * 1024  # kilobytes more than before
MANY, SECONDS = 1_000_000, 600

Judge = Callable[[bytes], object]


def proof(kind: str) -> Judge:
    return lambda data: check_proof(data, ProofRequest(DIGEST, PROOFS.trust, AT), kind=kind)


def whole(data: bytes) -> Report:
    return judge_bundle(io.BytesIO(data), BundleRequest(PROOFS.trust, AT))


def trust(data: bytes) -> object:
    try:
        return read([data])
    except Refused as refusal:
        return refusal


INNER = SCENE.contents().parts()
LISTED = assembly.listing(INNER)
BATCHED, *_ = stamp_batch(SCENE.stamper, [DIGEST, *digests_of(4)])
BATCHED_INNER = SCENE.contents(
    b"document", SCENE.document_events(DIGEST, confirmed=BATCHED.payload())
).parts()
PATHS = names.record_names(1)
SEALED = seal_batch(SCENE.stamper, [INNER, BATCHED_INNER])[0]


def inside(name: str, inner: list[Part] = INNER) -> tuple[Judge, list[bytes]]:
    """Judge a bundle in which this file is replaced, with matching lists and seals."""

    def judge(data: bytes) -> Report:
        parts = [part(name, data) if each.entry.name == name else each for each in inner]
        return judge_bundle(io.BytesIO(SCENE.seal(parts)), BundleRequest(SCENE.trust, AT))

    return judge, [b"".join(each.chunks()) for each in inner if each.entry.name == name]


def of_the_seal(name: str) -> tuple[Judge, list[bytes]]:
    """Judge a bundle of a batch in which this file of its seal is replaced; nothing else covers it."""

    def judge(data: bytes) -> Report:
        files = [part(name, data) if each.entry.name == name else each for each in SEALED.files]
        return judge_bundle(io.BytesIO(b"".join(archive.write(files))), BundleRequest(SCENE.trust, AT))

    return judge, [b"".join(each.chunks()) for each in SEALED.files if each.entry.name == name]


def listed(data: bytes) -> object:
    try:
        return asic.decode(data)
    except BadBundle as refusal:
        return refusal


ROOT = INSTANCE.trusted_root()
CERTIFIED = INSTANCE.bundle(certificate=INSTANCE.certificate(), version=1)
STATED = INSTANCE.bundle(certificate=INSTANCE.certificate(), statement=True)
OF_A_BATCH = encode_batched(
    canonical(parse(INSTANCE.bundle())), BatchPlace(1000, 700, bytes(16), (bytes(32),) * 10)
)
POLICY = b"""{"form":"foja/policy/v1","required":["tsa"],"timestamp_policies":["1.2.3"],
"minimum_difficulty":5,"worst_accuracy_ms":1000,"evm_chains":[137],"evm_blocks":["0x%b"],"identities":[{"subject":"a","issuer":"b"}],
"trust":["evm-chain:1","bitcoin-header:1:%b"],"revocation_required":true}""" % (b"00" * 32, b"00" * 80)
JUDGES: dict[str, tuple[Judge, list[bytes]]] = {
    "timestamp": (proof("tsa"), [PROOFS.files["tsa"]]),
    "evidence record": (proof("tsa"), [BATCHED.record]),
    "ots": (proof("bitcoin"), [PROOFS.files["bitcoin"]]),
    "evm": (proof("evm"), [PROOFS.files["polygon"]]),
    "sigstore": (proof("rekor"), [PROOFS.files["rekor"], CERTIFIED, STATED, OF_A_BATCH]),
    "bundle": (whole, [PROOFS.bundle]),
    "bundle of a batch": (
        lambda data: judge_bundle(io.BytesIO(data), BundleRequest(SCENE.trust, AT)),
        [b"".join(archive.write(SEALED.files))],
    ),
    "list of a seal's group": of_the_seal(names.SEAL_RECORD.listing),
    "record of a seal": of_the_seal(names.SEAL_RECORD.record),
    "manifest": inside(names.MANIFEST),
    "history": inside(names.EVENTS),
    "list of a group": inside(PATHS.listing, BATCHED_INNER),
    "record in a bundle": inside(PATHS.record, BATCHED_INNER),
    "log proof": inside(names.LOG_PROOF),
    "list": (listed, [LISTED]),
    "event": (
        lambda data: check_event(data, LOG_PROOF.text().encode(), SCENE.trust)[0],
        [EVENT.text().encode()],
    ),
    "event proof": (
        lambda data: check_event(EVENT.text().encode(), data, SCENE.trust)[0],
        [LOG_PROOF.text().encode()],
    ),
    "export": (lambda data: check_history([data], LOG_PROOF.text().encode(), SCENE.trust)[0], [EXPORTED]),
    "any file": (
        lambda data: foja.verify(data, PROOFS.trust, AT, proofs=[data]),
        [PROOFS.bundle, EXPORTED, EVENT.text().encode(), LOG_PROOF.text().encode(), *PROOFS.files.values()],
    ),
    "policy": (trust, [POLICY]),
    "trust": (trust, [ROOT, SCENE.stamper.root.pem, SCENE.key.verifier().vkey().encode()]),
}


def changed(data: bytes, chance: random.Random) -> bytes:
    """Return the data with a few changes that parsers often get wrong."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
        at = chance.randrange(len(out) + 1)
        step = chance.randrange(7)
        if step == 0 and at < len(out):
            out[at] ^= 1 << chance.randrange(8)
        elif step == 1:
            out[at:at] = chance.randbytes(chance.choice((1, 2, 8, 300)))
        elif step == 2:
            del out[at : at + chance.choice((1, 2, 8, 300))]
        elif step == 3:
            out[at : at + 4] = chance.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\x84"))
        elif step == 4:
            piece = bytes(out[at : at + chance.choice((4, 32, 400))])
            place = chance.randrange(len(out) + 1)
            out[place:place] = piece * chance.choice((1, 1, 50))
        elif step == 5:
            del out[at:]
        else:
            out[at : at + 1] = chance.choice(
                (b'"', b"{", b"[" * 200, b"9" * 400, b"\\u0000", b"null", b"\xff")
            )
    return bytes(out)


def judged(judge: Judge, data: bytes) -> None:
    """Judge, and require a report, a parsed list or a typed refusal."""
    began = time.process_time()
    found = judge(data)
    assert isinstance(found, Finding | Report | FojaError | Trust | asic.AsicManifest)
    findings = found.evidence if isinstance(found, Report) else (found,)
    assert Reason.NOT_JUDGED not in [each.reason for each in findings if isinstance(each, Finding)]
    assert time.process_time() - began < LONGEST, f"{len(data)} bytes take too long"


@pytest.mark.parametrize("name", JUDGES)
@settings(deadline=None)  # `judged` checks the processor time itself
@given(st.randoms(use_true_random=False))
def test_a_short_run(name: str, chance: random.Random) -> None:
    judge, seeds = JUDGES[name]
    judged(judge, changed(chance.choice(seeds), chance))
    judged(judge, chance.randbytes(chance.randrange(200)))


ODD: list[Json] = [
    None,
    [],
    {},
    [[]],
    [{}],
    {"a": []},
    "",
    -1,
    2**53 - 1,
    True,
    "x" * 300,
    "../../x",
    "tsa",
    "00" * 32,
    "9999-12-31T23:59:59.999999-14:00",
    "0001-01-01T00:00:00.000000+14:00",
]


def paths(value: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from paths(each, (*path, key))


def put(value: Any, path: tuple[str | int, ...], odd: Json) -> Json:
    """Return the value with an odd value at this path."""
    if not path:
        return odd
    copy = value.copy()
    copy[path[0]] = put(value[path[0]], path[1:], odd)
    return copy  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["manifest", "history"])
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_odd_values_in_any_field(name: str, data: st.DataObject) -> None:
    """Canonical JSON with a wrong value in any of its fields."""
    judge, [seed] = JUDGES[name]
    lines = seed.split(b"\n")
    at = data.draw(st.sampled_from([at for at, line in enumerate(lines) if line]))
    value = parse(lines[at])
    path, odd = data.draw(st.sampled_from([*paths(value)])), data.draw(st.sampled_from(ODD))
    lines[at] = canonical(put(value, path, odd))
    judged(judge, b"\n".join(lines))


@pytest.mark.parametrize("field", ["required_evidence", "evidence"])
def test_a_kind_that_is_not_a_string(field: str) -> None:
    judge, [seed] = JUDGES["manifest"]
    judged(judge, canonical(put(parse(seed), (field,), [[]])))
    kind: Json = [{"kind": {}, "path": "", "seq": 0, "sha256": ""}]
    judged(judge, canonical(put(parse(seed), ("evidence",), kind)))


def test_a_time_beyond_the_calendar() -> None:
    judge, [seed] = JUDGES["history"]
    first, rest = seed.split(b"\n", 1)
    late = put(parse(first), ("event", "at"), "9999-12-31T23:59:59.999999-14:00")
    report = judge(canonical(late) + b"\n" + rest)
    assert isinstance(report, Report)
    assert "MALFORMED" in [each.reason for each in report.evidence]


@pytest.mark.parametrize("place", [2**64 - 1, 2**63, 2**63 - 1, 2**62, 200])
def test_a_directory_beyond_the_end(place: int, tmp_path: Path) -> None:
    data = archive.LOCAL + bytes(100)
    data += archive.END64_FIELDS.pack(archive.END64, 44, 45, 45, 0, 0, 1, 1, 46, place)
    data += archive.LOCATOR64_FIELDS.pack(archive.LOCATOR64, 0, 104, 1)
    data += archive.END_FIELDS.pack(archive.END, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    path = tmp_path / "a.asice"
    path.write_bytes(data)
    with path.open("rb") as file:
        for each in (file, io.BytesIO(data)):
            [finding] = judge_bundle(each, BundleRequest(SCENE.trust, AT)).evidence
            assert finding.reason == "ZIP_LAYOUT"


@pytest.mark.long
@pytest.mark.timeout(SECONDS + 120)
@pytest.mark.parametrize("name", JUDGES)
def test_a_long_run(name: str) -> None:
    judge, seeds = JUDGES[name]
    chance = random.Random(name)
    before, ends = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic() + SECONDS
    for _ in range(MANY):
        judged(judge, changed(chance.choice(seeds), chance))
        if time.monotonic() > ends:
            break
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_MEMORY
