"""OpenTimestamps: real proofs, proofs made by the library, and every way to corrupt one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentimestamps.core.notary import (
    LitecoinBlockHeaderAttestation,
    UnknownAttestation,
)
from opentimestamps.core.op import (
    Op,
    OpAppend,
    OpHexlify,
    OpKECCAK256,
    OpPrepend,
    OpReverse,
    OpRIPEMD160,
    OpSHA1,
    OpSHA256,
)
from opentimestamps.core.serialize import BytesDeserializationContext
from opentimestamps.core.timestamp import DetachedTimestampFile, Timestamp

from foja.errors import Refused, Tampered
from foja.pure.proofs.finding import Finding, Reason, Status
from foja.pure.proofs.ots import check
from foja.pure.proofs.ots.header import Header
from foja.pure.proofs.ots.network import MAINNET_DIFFICULTY
from foja.pure.proofs.ots.stamp import MAGIC, parse_stamp
from tests.rules.stamps import CALENDAR, DIGEST, END, HEADER, PROOF, WAY, block, mined, written
from tests.vectors.shared import shared


def judge(proof: bytes, *trusted: Header, untrusted: Iterable[Header] = (), difficulty: int = 0) -> Finding:
    return check(proof, DIGEST, trusted=trusted, untrusted=untrusted, minimum_difficulty=difficulty)


def test_a_real_proof_and_a_real_block() -> None:
    header = Header(358391, bytes.fromhex(shared("ots", "block-358391.header.hex").read_text()))
    assert header.name == "000000000000000003e892881a8cdcdc117c06d444057c98b6f04a9ee75a2319"
    for name, status, reason in [
        ("hello-world.txt", Status.VERIFIED, None),
        ("bad-stamp.txt", Status.INVALID, Reason.MERKLE_ROOT_MISMATCH),
        ("incomplete.txt", Status.PENDING, Reason.NOT_ATTESTED_YET),
    ]:
        digest = sha256(shared("ots", name).read_bytes()).digest()
        proof = shared("ots", f"{name}.ots").read_bytes()
        found = check(proof, digest, trusted=[header], minimum_difficulty=MAINNET_DIFFICULTY)
        assert (found.status, found.reason) == (status, reason), name
        if status is Status.VERIFIED:
            assert found.no_later_than == header.time
            assert header.time.isoformat() == "2015-05-28T15:41:18+00:00"


@pytest.mark.parametrize(
    "name", ["bad-major-version.ots", "exceeds-max-msg-length.ots", "invalid-file-digest-type.ots"]
)
def test_real_proofs_that_are_refused(name: str) -> None:
    with pytest.raises(Tampered):
        parse_stamp(shared("ots", "invalid", name).read_bytes())


def test_a_trusted_header_verifies() -> None:
    found = judge(PROOF, HEADER)
    assert (found.status, found.according_to) == (Status.VERIFIED, "Bitcoin block 100")
    assert found.no_later_than == HEADER.time


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (judge(PROOF), Reason.NO_HEADER),
        (judge(PROOF, mined(END, height=101)), Reason.NO_HEADER),
        (judge(PROOF, untrusted=[HEADER]), Reason.HEADER_NOT_TRUSTED),
        (judge(PROOF, mined(bytes(32))), Reason.MERKLE_ROOT_MISMATCH),
        (judge(PROOF, untrusted=[mined(bytes(32))]), Reason.MERKLE_ROOT_MISMATCH),
        (judge(PROOF, HEADER, difficulty=1), Reason.POW_INVALID),
        (judge(PROOF, HEADER, difficulty=MAINNET_DIFFICULTY), Reason.POW_INVALID),
        (
            judge(PROOF, replace(HEADER, data=HEADER.data[:72] + b"\xff\xff\0\x1d" + bytes(4))),
            Reason.POW_INVALID,
        ),
        (judge(PROOF, replace(HEADER, data=HEADER.data[:72] + bytes(8))), Reason.POW_INVALID),
        (
            judge(PROOF, replace(HEADER, data=HEADER.data[:72] + b"\1\0\x80\x20" + bytes(4))),
            Reason.POW_INVALID,
        ),
        (judge(PROOF, replace(HEADER, data=HEADER.data[:72] + b"\1\0\0\xff" + bytes(4))), Reason.POW_INVALID),
        (judge(written((WAY, CALENDAR))), Reason.NOT_ATTESTED_YET),
        (judge(written((WAY, LitecoinBlockHeaderAttestation(100))), HEADER), Reason.UNKNOWN_ATTESTATION),
        (judge(written((WAY, UnknownAttestation(b"someone!", b"says"))), HEADER), Reason.UNKNOWN_ATTESTATION),
        (judge(written((WAY, block()), digest=bytes(32)), HEADER), Reason.DIGEST_MISMATCH),
        (judge(written((WAY, block()), digest=bytes(20), file_hash=OpSHA1()), HEADER), Reason.WEAK_HASH),
        (judge(b""), Reason.MALFORMED),
    ],
    ids=lambda value: value.reason if isinstance(value, Finding) else "",
)
def test_nothing_less_verifies(found: Finding, reason: Reason) -> None:
    assert found.status is not Status.VERIFIED
    assert found.reason is reason


def test_headers_may_lead_from_the_proof_to_a_trusted_one() -> None:
    second = mined(bytes(32), 101, HEADER.hash)
    third = mined(bytes(32), 102, second.hash)
    assert judge(PROOF, third, untrusted=[HEADER, second]).status is Status.VERIFIED
    assert judge(PROOF, third, untrusted=[HEADER]).reason is Reason.HEADER_NOT_TRUSTED
    foreign = mined(bytes(32), 102, bytes(32))
    assert judge(PROOF, foreign, untrusted=[HEADER, second]).reason is Reason.HEADER_NOT_TRUSTED


def test_of_two_blocks_the_earlier_counts_and_a_wrong_one_is_invalid() -> None:
    later = [*WAY, OpSHA256()]
    end = sha256(END).digest()
    both = written((WAY, block(100)), (later, block(200)), ([OpHexlify()], CALENDAR))
    found = judge(both, HEADER, mined(end, 200))
    assert (found.status, found.no_later_than) == (Status.VERIFIED, HEADER.time)
    assert judge(both, HEADER).status is Status.VERIFIED
    assert judge(both, HEADER, mined(END, 200)).reason is Reason.MERKLE_ROOT_MISMATCH


def test_other_attestations_are_kept_and_not_counted() -> None:
    mixed = written((WAY, block()), (WAY, LitecoinBlockHeaderAttestation(5)))
    found = judge(mixed, HEADER)
    assert found.status is Status.VERIFIED
    assert "an attestation of “Litecoin”" in found.not_checked


def test_a_path_with_sha1_proves_nothing() -> None:
    path = [OpSHA1(), OpSHA256()]
    stamp = Timestamp(DIGEST)
    end = stamp.ops.add(path[0]).ops.add(path[1]).msg
    found = judge(written((path, block())), mined(end))
    assert found.reason is Reason.WEAK_HASH


arguments = st.binary(min_size=1, max_size=40)
operations = (
    st.sampled_from([OpSHA256(), OpRIPEMD160(), OpKECCAK256(), OpSHA1(), OpReverse(), OpHexlify()])
    | st.builds(OpAppend, arguments)
    | st.builds(OpPrepend, arguments)
)


@pytest.mark.filterwarnings("ignore:OpReverse may get removed")
@given(st.lists(st.tuples(st.lists(operations, max_size=5), st.integers(0, 2**40)), min_size=1, max_size=4))
def test_we_replay_what_the_library_wrote(paths: list[tuple[list[Op], int]]) -> None:
    data = written(*[(path, block(height)) for path, height in paths])
    theirs = DetachedTimestampFile.deserialize(BytesDeserializationContext(data)).timestamp
    expected = {(message, each.height) for message, each in theirs.all_attestations()}
    ours = parse_stamp(data)
    assert {(each.message, each.height) for each in ours.attestations} == expected


@pytest.mark.parametrize(
    "data",
    [
        PROOF[:-1],
        PROOF + b"\0",
        PROOF.replace(b"\x01\x08", b"\x02\x08", 1),
        MAGIC + b"\x81\x00\x08" + DIGEST + b"\x00",
        MAGIC + b"\x01\x08" + DIGEST + b"\xff" * 300,
        MAGIC + b"\x01\x08" + DIGEST + b"\xf2" * 30_000,
        MAGIC + b"\x01\x08" + DIGEST + b"\xf3" * 9,
        MAGIC + b"\x01\x08" + DIGEST + b"\xf0\x00",
        MAGIC + b"\x01\x08" + DIGEST + b"\x00" + bytes.fromhex("0588960d73d71901") + b"\x02\x80\x00",
        MAGIC + b"\x01\x08" + DIGEST + b"\x00" + bytes.fromhex("0588960d73d71901") + b"\x02\x01\x01",
        MAGIC + b"\x01\x08" + DIGEST + b"\x00" + bytes.fromhex("83dfe30d2ef90c8e") + b"\x04\x03a b",
        MAGIC + b"\x01\x08" + bytes(300_000),
    ],
    ids=range(12),
)
def test_what_is_not_a_whole_proof_is_refused(data: bytes) -> None:
    with pytest.raises(Tampered):
        parse_stamp(data)


@given(
    st.binary(max_size=300) | st.binary(max_size=300).map(lambda rest: MAGIC + b"\x01\x08" + DIGEST + rest)
)
def test_judging_is_total(data: bytes) -> None:
    assert judge(data, HEADER).status is not Status.VERIFIED


def test_no_changed_bit_verifies() -> None:
    for at in range(len(PROOF) * 8):
        changed = bytearray(PROOF)
        changed[at // 8] ^= 1 << at % 8
        assert judge(bytes(changed), HEADER).status is not Status.VERIFIED, at


def test_a_header_is_80_bytes() -> None:
    with pytest.raises(Refused):
        Header(1, bytes(79))


def test_the_library_agrees_about_the_vectors() -> None:
    data = shared("ots", "hello-world.txt.ots").read_bytes()
    theirs = DetachedTimestampFile.deserialize(BytesDeserializationContext(data)).timestamp
    [(message, attestation)] = theirs.all_attestations()
    [ours] = parse_stamp(data).attestations
    assert (ours.message, ours.height) == (message, attestation.height)
