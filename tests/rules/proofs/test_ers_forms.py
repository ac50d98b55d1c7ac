"""Evidence records as other tools write them: one hash, SHA-384 and SHA-512, renewals (RFC 4998, 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from hashlib import new, sha256

import pytest

import foja
from foja.engine.embedded.tsa.issuer import new_root
from foja.pure.judge.detached import Detached
from foja.pure.judge.render import as_text
from foja.pure.judge.report import Report, Verdict
from foja.pure.proofs import tsa
from foja.pure.proofs.der import OCTETS, SEQUENCE, DerReader, element, integer, sequence, tagged
from foja.pure.proofs.ers import judge
from foja.pure.proofs.finding import Reason, Status
from foja.pure.proofs.tsa.oids import IDENTIFIERS
from foja.pure.proofs.tsa.token import read_token
from tests.rules.bundles import NOW, Stamper

TEXT = b"a document of another archive\n"
STAMPER = Stamper()
YOUNGER = Stamper(new_root(NOW + timedelta(days=300)))
TRUST = [STAMPER.root.pem, YOUNGER.root.pem]
AFTER = STAMPER.root.certificate.not_valid_after_utc + timedelta(days=1)
ALGORITHMS = ["sha256", "sha384", "sha512"]
Stamp = tuple[bytes, bytes]


def digest(algorithm: str, data: bytes) -> bytes:
    return new(algorithm, data).digest()


def stamp(
    algorithm: str, covered: bytes, others: Sequence[bytes] = (), *, by: Stamper = STAMPER, days: int = 0
) -> Stamp:
    """Return an ArchiveTimeStamp over a hash, written apart from our own code, and its token.

    With `others` it is one of several hashes under one root; without, it has no tree.
    """
    root, tree = covered, b""
    if others:
        hashes = sorted((covered, *others))
        root = digest(algorithm, b"".join(hashes))
        tree = element(tagged(2), sequence(*(element(OCTETS, each) for each in hashes)))
    token = read_token(by.reply(root, NOW + timedelta(days=days), algorithm)).der
    named = element(tagged(0), DerReader(IDENTIFIERS[algorithm]).take(SEQUENCE))
    return sequence(named, tree, token), token


def record(*chains: Sequence[Stamp], algorithms: Sequence[str] = ("sha256",)) -> bytes:
    stamps = [sequence(*(each for each, _ in chain)) for chain in chains]
    return sequence(integer(1), sequence(*(IDENTIFIERS[each] for each in algorithms)), sequence(*stamps))


def judged(data: bytes, days: float = 310, subject: bytes = TEXT) -> Report:
    proof = Detached(data, "a.ers")
    return foja.verify(subject, TRUST, NOW + timedelta(days=days), proofs=[proof])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("others", [0, 3])
def test_a_single_hash_and_a_tree_are_proven_with_each_algorithm(algorithm: str, others: int) -> None:
    beside = [digest(algorithm, b"%d" % number) for number in range(others)]
    data = record([stamp(algorithm, digest(algorithm, TEXT), beside)], algorithms=[algorithm])
    report = judged(data, 1)
    assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
    assert ("batch" in report.evidence[0].detail) == bool(others)
    assert judged(data, 1, b"another document").verdict is Verdict.TOTAL_FAILED


def test_a_digest_alone_is_not_enough_for_another_algorithm() -> None:
    data = record([stamp("sha512", digest("sha512", TEXT))], algorithms=["sha512"])
    report = foja.verify(None, TRUST, NOW, proofs=[data], digest=sha256(TEXT).digest())
    assert report.evidence[0].reason is Reason.IMPRINT_ALGORITHM
    assert report.verdict is Verdict.INDETERMINATE


def test_a_list_with_one_hash_is_not_hashed_again() -> None:
    own = sha256(TEXT).digest()
    _, token = stamp("sha256", own)
    tree = element(tagged(2), sequence(element(OCTETS, own)))
    data = sequence(integer(1), sequence(IDENTIFIERS["sha256"]), sequence(sequence(sequence(tree, token))))
    assert judged(data, 1).verdict is Verdict.TOTAL_PASSED


def renewed(*, days: int = 300, about: bytes | None = None) -> bytes:
    """Return a record whose token a younger authority stamped again."""
    first = stamp("sha256", sha256(TEXT).digest(), [sha256(b"beside").digest()])
    covered = sha256(first[1] if about is None else about).digest()
    return record([first, stamp("sha256", covered, by=YOUNGER, days=days)])


def hashed_again(*, before: bytes | None = None) -> bytes:
    """Return a record whose document and chains were hashed again, by SHA-512."""
    chain = [stamp("sha256", sha256(TEXT).digest(), [sha256(b"beside").digest()])]
    encoded = sequence(sequence(*(each for each, _ in chain))) if before is None else before
    covered = digest("sha512", digest("sha512", TEXT) + digest("sha512", encoded))
    second = stamp("sha512", covered, [digest("sha512", b"beside")], by=YOUNGER, days=300)
    third = stamp("sha512", digest("sha512", second[1]), by=YOUNGER, days=305)
    return record(chain, [second, third], algorithms=["sha256", "sha512"])


@pytest.mark.parametrize("data", [renewed(), hashed_again()])
def test_a_renewal_carries_the_record_past_the_end_of_its_root(data: bytes) -> None:
    """The time that is proven is that of the first token, long after its root has ended."""
    days = (AFTER - NOW).days + 1
    report = judged(data, days)
    assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
    found = report.evidence[0].no_later_than
    assert found is not None
    assert found - NOW < timedelta(days=1)
    alone = record([stamp("sha256", sha256(TEXT).digest(), [sha256(b"beside").digest()])])
    assert judged(alone, days).verdict is Verdict.INDETERMINATE


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (renewed(about=b"another token"), Status.INVALID),
        (renewed(days=-1), Status.INVALID),
        (hashed_again(before=b"other chains"), Status.INVALID),
    ],
)
def test_a_renewal_of_something_else_is_refused(data: bytes, status: Status) -> None:
    report = judged(data)
    assert report.evidence[0].status is status, as_text(report)
    assert report.verdict is Verdict.TOTAL_FAILED


def test_a_renewal_by_an_unknown_authority_proves_nothing() -> None:
    report = foja.verify(TEXT, TRUST[:1], NOW + timedelta(days=310), proofs=[renewed()])
    assert report.verdict is Verdict.INDETERMINATE
    assert report.evidence[0].no_later_than is None


@pytest.mark.parametrize("data", [renewed(), hashed_again()])
def test_no_flipped_bit_of_a_renewed_record_passes(data: bytes) -> None:
    digests = {each: digest(each, TEXT) for each in ALGORITHMS}
    terms = tsa.Terms(tsa.trusted(*TRUST), at=NOW + timedelta(days=310))
    assert judge(data, digests["sha256"], terms, digests=digests).verified
    for bit in range(0, 8 * len(data), 7):
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << bit % 8
        assert not judge(bytes(broken), digests["sha256"], terms, digests=digests).verified, bit
