"""Evidence records (RFC 4998): one token over many documents, each proven alone."""

from __future__ import annotations

import math
import random
from hashlib import sha256
from itertools import pairwise

import pytest
from asn1crypto import tsp as asn1_tsp
from hypothesis import given
from hypothesis import strategies as st

from foja.errors import Malformed
from foja.pure.core.bundle.evidence_record import encode
from foja.pure.proofs import tsa
from foja.pure.proofs.der import OCTETS, SEQUENCE, DerReader, element, integer, oid, sequence, tagged
from foja.pure.proofs.ers import (
    build_tree,
    group_hash,
    is_record,
    judge,
    members,
    read_record,
    root_of,
)
from foja.pure.proofs.ers.record import MAX_BYTES
from foja.pure.proofs.finding import Flaw, Reason, Status
from foja.pure.proofs.notices import GROUP_NOT_GIVEN, IN_A_BATCH
from foja.pure.proofs.tsa.oids import IDENTIFIERS
from tests.rules.batches import Stamped, digests_of, stamp_batch
from tests.rules.bundles import NOW, Stamper

STAMPER = Stamper()
TERMS = tsa.Terms(tsa.trusted(STAMPER.root.pem), at=NOW)
BATCH = stamp_batch(STAMPER, digests_of(7))
ONE = BATCH[3]
SHA256 = IDENTIFIERS["sha256"]


def found(data: bytes, one: Stamped = ONE, *, alone: bool = False) -> tuple[Status, Reason | None]:
    finding = judge(data, one.digest, TERMS, group=None if alone else one.group).finding
    return finding.status, finding.reason


def by_the_standard(hashes: list[list[bytes]], digest: bytes) -> bytes:
    """Return the root as section 4.3 of RFC 4998 says, written apart from our own code."""
    assert digest in hashes[0]
    current = hashes[0]
    for following in [*hashes[1:], None]:
        value = sha256(b"".join(sorted(current))).digest()
        current = [*(following or []), value]
    return current[-1]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 13, 100, 129])
def test_every_document_of_a_batch_is_proven_by_its_own_record(count: int) -> None:
    digests = digests_of(count)
    batch = stamp_batch(STAMPER, digests)
    for one in batch:
        checked = judge(one.record, one.digest, TERMS, group=one.group)
        assert checked.verified, checked.finding
        assert IN_A_BATCH in checked.finding.detail
        assert checked.stamp is not None
        assert checked.stamp.imprint == one.root == by_the_standard(one.lists, one.digest)
        assert GROUP_NOT_GIVEN not in checked.finding.not_checked
        assert len(one.path) // 32 <= math.ceil(math.log2(count))
    assert len({one.token for one in batch}) == 1


def test_a_digest_alone_is_proven_and_the_report_says_that_its_group_was_not_given() -> None:
    checked = judge(ONE.record, ONE.digest, TERMS)
    assert checked.verified
    assert GROUP_NOT_GIVEN in checked.finding.not_checked


def test_no_record_holds_the_digest_of_a_neighbour() -> None:
    for one in BATCH:
        others = [each for each in BATCH if each is not one]
        for other in others:
            assert other.digest not in one.record
            assert other.blinding not in one.record
            assert sha256(other.blinding).digest() not in one.record
            assert found(one.record, other) == (Status.INVALID, Reason.DIGEST_MISMATCH)


def test_a_group_is_strict() -> None:
    """RFC 4998, 4.3: only the hashes of the given files are in the first list."""
    stranger = sha256(b"stranger").digest()
    for group in ([stranger], [*ONE.group, stranger], [], [ONE.digest]):
        finding = judge(ONE.record, ONE.digest, TERMS, group=group).finding
        assert (finding.status, finding.reason) == (Status.INVALID, Reason.GROUP_MISMATCH)
    three = sorted([ONE.digest, *ONE.group, stranger])
    root = sha256(b"".join(three)).digest()
    wider = encode([three], STAMPER.token(root))
    assert found(wider) == (Status.INVALID, Reason.GROUP_MISMATCH)
    assert found(wider, alone=True) == (Status.VERIFIED, None)
    assert judge(wider, ONE.digest, TERMS, group=[*ONE.group, stranger]).verified


def test_the_encoding_is_that_of_the_standard() -> None:
    """A second reader of DER agrees on every field; it does not know chains, and is given their content."""
    record = asn1_tsp.EvidenceRecord.load(ONE.record, strict=True)
    chain = DerReader(record["archive_time_stamp_sequence"].contents).into(SEQUENCE)
    stamp = asn1_tsp.ArchiveTimeStamp.load(chain.rest, strict=True)
    assert record["version"].native == "v1"
    assert [each["algorithm"].native for each in record["digest_algorithms"]] == ["sha256"]
    assert stamp["digest_algorithm"]["algorithm"].native == "sha256"
    assert [[each.native for each in hashes] for hashes in stamp["reduced_hashtree"]] == ONE.lists
    assert stamp["time_stamp"].dump() == ONE.token


def test_what_is_written_is_read() -> None:
    assert is_record(ONE.record)
    assert not is_record(ONE.token)
    assert not is_record(STAMPER.reply(ONE.digest))
    assert not is_record(b"")
    record = read_record(ONE.record)
    assert (record.lists, record.token) == (tuple(map(tuple, ONE.lists)), ONE.token)
    assert record.encode() == ONE.record
    assert root_of(record.lists) == ONE.root
    assert members(ONE.record) == {ONE.digest, *ONE.group}
    assert members(b"other") == frozenset()


def tree_of(*lists: list[bytes]) -> bytes:
    return element(tagged(2), *(sequence(*(element(OCTETS, each) for each in hashes)) for hashes in lists))


def written(*stamp: bytes, version: int = 1, algorithms: bytes = SHA256, more: bytes = b"") -> bytes:
    """Return a record with these parts of its timestamp."""
    return sequence(integer(version), sequence(algorithms), more, sequence(sequence(sequence(*stamp))))


TREE = tree_of(*ONE.lists)
ALGORITHM = element(tagged(0), DerReader(SHA256).take(SEQUENCE))
OTHER = element(tagged(0), oid("2.16.840.1.101.3.4.2.4"))


def test_a_record_without_its_optional_algorithm_is_read() -> None:
    assert written(ALGORITHM, TREE, ONE.token) == ONE.record
    assert found(written(TREE, ONE.token)) == (Status.VERIFIED, None)
    bare = element(tagged(0), oid("2.16.840.1.101.3.4.2.1"))
    assert found(written(bare, TREE, ONE.token)) == (Status.VERIFIED, None)


UNSUPPORTED = {
    "version": (written(ALGORITHM, TREE, ONE.token, version=2), Reason.UNKNOWN_PROOF),
    "algorithm": (written(OTHER, TREE, ONE.token), Reason.ALGORITHM_UNSUPPORTED),
    "algorithms": (written(TREE, ONE.token, algorithms=sequence(oid("1.2.3"))), Reason.ALGORITHM_UNSUPPORTED),
    "crypto infos": (written(TREE, ONE.token, more=element(tagged(0))), Reason.UNKNOWN_PROOF),
    "encryption": (written(TREE, ONE.token, more=element(tagged(1))), Reason.UNKNOWN_PROOF),
    "attributes": (written(element(tagged(1)), TREE, ONE.token), Reason.UNKNOWN_PROOF),
    "too large": (bytes(MAX_BYTES + 1), Reason.TOO_LARGE),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_is_not_supported_is_said_to_be(name: str) -> None:
    data, reason = UNSUPPORTED[name]
    assert found(data) == (Status.UNSUPPORTED, reason)


FIRST, *REST = ONE.lists
MALFORMED = {
    "not sorted": written(tree_of(FIRST[::-1], *REST), ONE.token),
    "twice": written(tree_of([FIRST[0], *FIRST], *REST), ONE.token),
    "short hash": written(tree_of([FIRST[0][:31], FIRST[1]], *REST), ONE.token),
    "its own hash": written(tree_of(FIRST, [sha256(b"".join(FIRST)).digest()], *REST), ONE.token),
    "a reply": written(TREE, STAMPER.reply(ONE.root)),
    "more": written(TREE, ONE.token, ONE.token),
    "empty tree": written(tree_of(), ONE.token),
    "empty list": written(tree_of(ONE.lists[0], []), ONE.token),
    "another algorithm": written(TREE, ONE.token, algorithms=IDENTIFIERS["sha512"]),
    "no chain": sequence(integer(1), sequence(SHA256), sequence()),
    "no timestamp": sequence(integer(1), sequence(SHA256), sequence(sequence())),
    "after": ONE.record + b"\x00",
    "cut": ONE.record[:-1],
    "nothing": b"",
    "token": ONE.token,
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_malformed_is_invalid(name: str) -> None:
    assert found(MALFORMED[name]) == (Status.INVALID, Reason.MALFORMED)


def test_each_fault_has_its_reason() -> None:
    other = STAMPER.token(sha256(b"other").digest())
    assert found(encode(ONE.lists, other)) == (Status.INVALID, Reason.IMPRINT_MISMATCH)
    changed = [*ONE.lists[:-1], [sha256(b"other").digest()]]
    assert found(encode(changed, ONE.token)) == (Status.INVALID, Reason.IMPRINT_MISMATCH)
    assert found(encode(ONE.lists[:-1], ONE.token)) == (Status.INVALID, Reason.IMPRINT_MISMATCH)
    swapped = [ONE.lists[0], *reversed(ONE.lists[1:])]
    assert found(encode(swapped, ONE.token)) == (Status.INVALID, Reason.IMPRINT_MISMATCH)
    strange = judge(ONE.record, ONE.digest, tsa.Terms(tsa.trusted(Stamper().root.pem)), group=ONE.group)
    assert strange.finding.status is not Status.VERIFIED
    nonce = judge(ONE.record, ONE.digest, tsa.Terms(TERMS.roots, nonce=1), group=ONE.group)
    assert nonce.finding.reason is Reason.NONCE_MISMATCH


@pytest.mark.parametrize("alone", [False, True])
def test_no_flipped_bit_of_a_record_passes(alone: bool) -> None:
    for bit in range(8 * len(ONE.record)):
        broken = bytearray(ONE.record)
        broken[bit // 8] ^= 1 << bit % 8
        assert found(bytes(broken), alone=alone)[0] is not Status.VERIFIED, bit


@given(st.binary(max_size=300), st.integers(0, 2000), st.integers(0, 64))
def test_no_input_makes_it_raise(noise: bytes, at: int, cut: int) -> None:
    mixed = ONE.record[:at] + noise + ONE.record[at + cut :]
    for data in (noise, mixed):
        finding = judge(data, ONE.digest, TERMS, group=ONE.group).finding
        assert finding.status is not Status.VERIFIED or data == ONE.record


@given(st.integers(1, 300), st.integers(0, 2**32))
def test_any_tree_leads_from_each_leaf_to_its_root(count: int, seed: int) -> None:
    chance = random.Random(seed)  # drawn by Hypothesis, most large trees would need more bytes than it gives
    digests, blindings = ([chance.randbytes(32) for _ in range(count)] for _ in range(2))
    leaves = list(map(group_hash, digests, blindings))
    tree = build_tree(leaves)
    place = chance.randrange(count)
    stamped = Stamped(digests[place], blindings[place], tree.paths[place], b"", tree.root)
    assert by_the_standard(stamped.lists, stamped.digest) == tree.root


def test_proofs_grow_as_the_logarithm_of_the_batch() -> None:
    sizes = {}
    for count in (1, 100, 10_000):
        tree = build_tree([sha256(b"%d" % each).digest() for each in range(count)])
        sizes[count] = max(map(len, tree.paths))
        assert len(tree.paths) == count
    assert sizes == {1: 0, 100: 7 * 32, 10_000: 14 * 32}
    records = [len(encode([[bytes(32)] * 2, *[[bytes(32)]] * levels], b"")) for levels in range(64)]
    assert all(0 < after - before <= 40 for before, after in pairwise(records))


def test_a_record_over_its_limits_is_refused() -> None:
    with pytest.raises(Flaw, match="262,144"):
        read_record(bytes(MAX_BYTES + 1))
    with pytest.raises(Malformed, match="more than 64 lists"):
        read_record(written(tree_of(*[FIRST] * 65), ONE.token))
