"""`.ots` files that we write: the library reads, merges and replays them as we do."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentimestamps.core.notary import BitcoinBlockHeaderAttestation, PendingAttestation, TimeAttestation
from opentimestamps.core.op import Op, OpAppend, OpPrepend, OpSHA256
from opentimestamps.core.serialize import BytesDeserializationContext, BytesSerializationContext
from opentimestamps.core.timestamp import DetachedTimestampFile
from opentimestamps.core.timestamp import Timestamp as TheirTimestamp

from foja.errors import Tampered
from foja.pure.core.merkle import Frontier, inclusion_proof, leaf_hash, node_hash
from foja.pure.proofs.finding import Status
from foja.pure.proofs.ots import check
from foja.pure.proofs.ots.batch import batch_operations, write_stamp
from foja.pure.proofs.ots.timestamp import MAX_OPERATIONS, Timestamp
from tests.rules.stamps import mined

ROOT = sha256(b"root").digest()
ALICE, BOB = "https://alice.example", "https://bob.example"
Way = tuple[list[Op], TimeAttestation]


def theirs(*ways: Way, message: bytes = ROOT) -> TheirTimestamp:
    """Return a timestamp of the library."""
    stamp = TheirTimestamp(message)
    for operations, attestation in ways:
        end = stamp
        for operation in operations:
            end = end.ops.add(operation)
        end.attestations.add(attestation)
    return stamp


def bytes_of(stamp: TheirTimestamp) -> bytes:
    context = BytesSerializationContext()
    stamp.serialize(context)
    data: bytes = context.getbytes()
    return data


def ours(*ways: Way, message: bytes = ROOT) -> Timestamp:
    return Timestamp.parse(message, bytes_of(theirs(*ways, message=message)))


def read_by_library(stamp: Timestamp) -> TheirTimestamp:
    return TheirTimestamp.deserialize(BytesDeserializationContext(stamp.encode()), stamp.message)


def tree(leaves: list[bytes]) -> tuple[bytes, list[list[bytes]]]:
    """Return the root over some leaf hashes, and the path of each."""
    levels = [leaves]
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append([node_hash(*below[at : at + 2]) for at in range(0, len(below) - 1, 2)])
    root = Frontier().extend(leaves).root()
    paths = [
        inclusion_proof(index, len(leaves), lambda level, at: levels[level][at])
        for index in range(len(leaves))
    ]
    return root, paths


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 100])
def test_every_place_of_a_batch_is_followed_by_the_library_and_by_the_judge(size: int) -> None:
    digests = [sha256(bytes([n])).digest() for n in range(size)]
    salts = [sha256(digest).digest()[:16] for digest in digests]
    root, paths = tree([leaf_hash(salt + digest) for salt, digest in zip(salts, digests, strict=True)])
    end = theirs(([OpAppend(b"x"), OpSHA256()], BitcoinBlockHeaderAttestation(100)), message=root)
    header = mined(sha256(root + b"x").digest())
    for index, digest in enumerate(digests):
        operations = batch_operations(salts[index], index, size, paths[index])
        proof = write_stamp(digest, bytes_of(end), operations)
        read = DetachedTimestampFile.deserialize(BytesDeserializationContext(proof))
        assert read.file_digest == digest
        assert [message for message, _ in read.timestamp.all_attestations()] == [header.merkle_root]
        found = check(proof, digest, trusted=[header], minimum_difficulty=0)
        assert found.status is Status.VERIFIED
        assert len(proof) < 250 + 40 * len(paths[index])


def test_a_path_of_another_tree_is_refused() -> None:
    with pytest.raises(Tampered):
        batch_operations(bytes(16), 0, 4, [bytes(32)])
    with pytest.raises(Tampered):
        batch_operations(bytes(16), 4, 4, [bytes(32)] * 2)
    with pytest.raises(Tampered):
        batch_operations(bytes(16), 0, 2, [bytes(31)])
    with pytest.raises(Tampered):
        batch_operations(bytes(15), 0, 1, [])


def test_the_timestamps_of_two_calendars_become_one() -> None:
    alice: Way = ([OpAppend(b"a"), OpSHA256()], PendingAttestation(ALICE))
    bob: Way = ([OpAppend(b"a"), OpSHA256(), OpPrepend(b"b")], PendingAttestation(BOB))
    merged = ours(alice).merge(ours(bob), ours(alice))
    assert read_by_library(merged) == theirs(alice, bob)
    assert merged == ours(bob).merge(ours(alice)), "the order of the calendars changes nothing"


def test_an_answer_is_added_below_its_promise() -> None:
    pending: Way = ([OpAppend(b"a"), OpSHA256()], PendingAttestation(ALICE))
    promised = ours(pending)
    [promise] = promised.of_kind("pending")
    assert promise.attestation.calendar == ALICE
    assert not promised.is_fulfilled(promise)
    message = promise.attestation.message
    answer = ours(
        ([OpSHA256()], BitcoinBlockHeaderAttestation(7)),
        ([OpSHA256()], BitcoinBlockHeaderAttestation(8)),
        message=message,
    )
    complete = promised.extend(promise, answer)
    assert complete.is_fulfilled(promise)
    expected = theirs(
        pending,
        ([*pending[0], OpSHA256()], BitcoinBlockHeaderAttestation(7)),
        ([*pending[0], OpSHA256()], BitcoinBlockHeaderAttestation(8)),
    )
    assert read_by_library(complete) == expected
    assert complete.extend(promise, answer) == complete, "the same answer again changes nothing"
    assert [each.attestation.height for each in complete.of_kind("bitcoin")] == [7, 8]
    kept = complete.select(lambda each: each.attestation.height == 7)
    assert len(list(read_by_library(kept).all_attestations())) == 1


def test_an_answer_about_something_else_is_refused() -> None:
    promised = ours(([OpSHA256()], PendingAttestation(ALICE)))
    answer = ours(([OpSHA256()], BitcoinBlockHeaderAttestation(7)), message=bytes(32))
    with pytest.raises(Tampered, match="another message"):
        promised.extend(promised.branches[0], answer)


def test_a_path_that_other_tools_could_not_read_is_refused() -> None:
    longest = ours(([OpSHA256()] * MAX_OPERATIONS, PendingAttestation(ALICE)))
    assert read_by_library(longest)
    with pytest.raises(Tampered, match="operations"):
        ours(([OpSHA256()] * (MAX_OPERATIONS + 1), PendingAttestation(ALICE)))
    [promise] = longest.branches
    answer = ours(([OpSHA256()], BitcoinBlockHeaderAttestation(7)), message=promise.attestation.message)
    with pytest.raises(Tampered, match="operations"):
        longest.extend(promise, answer)


@pytest.mark.parametrize("data", [b"", b"<html>", b"\x00" * 9, b"\x08", b"\xff" * 40, bytes(300_000)])
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(Tampered):
        Timestamp.parse(ROOT, data)


operations = st.sampled_from([OpSHA256(), OpAppend(b"a"), OpPrepend(b"b" * 200)])
attestations = st.builds(BitcoinBlockHeaderAttestation, st.integers(0, 2**40)) | st.sampled_from(
    [PendingAttestation(ALICE), PendingAttestation(BOB)]
)
ways = st.lists(st.tuples(st.lists(operations, max_size=6), attestations), min_size=1, max_size=8)


@given(ways, ways)
def test_we_write_what_we_read_and_merge_as_the_library_does(first: list[Way], second: list[Way]) -> None:
    expected = theirs(*first)
    assert read_by_library(ours(*first)) == expected
    expected.merge(theirs(*second))
    merged = ours(*first).merge(ours(*second))
    assert read_by_library(merged) == expected
    assert Timestamp.parse(ROOT, merged.encode()).merge() == merged
