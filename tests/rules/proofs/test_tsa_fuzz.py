"""No input makes the check raise or take long, and only signed bytes pass."""

from __future__ import annotations

import random
import time
from hashlib import sha256
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foja.errors import Malformed
from foja.pure.proofs.der import element, sequence, tagged
from foja.pure.proofs.finding import Reason, Status
from foja.pure.proofs.tsa import Terms, judge, read_request, request, trusted
from foja.pure.proofs.tsa.token import MAX_BYTES
from tests.rules.authorities import Recipe, reply, root, signer

DIGEST = sha256(b"a sheet").digest()
ROOT = root()
VALID = reply(Recipe(signer(ROOT), DIGEST))
TOKEN = VALID[9:]  # a reply without its head is a token again
ROOTS = trusted(ROOT.der)


@given(st.binary(max_size=400))
def test_garbage_is_refused(data: bytes) -> None:
    assert judge(data, DIGEST, Terms(roots=ROOTS)).finding.status is Status.INVALID


@given(st.data())
@settings(max_examples=300)
def test_a_token_with_a_few_bytes_changed_is_never_verified(data: st.DataObject) -> None:
    changed = bytearray(VALID)
    for at in data.draw(st.lists(st.integers(0, len(VALID) - 1), min_size=1, max_size=4)):
        changed[at] = data.draw(st.integers(0, 255))
    found = judge(bytes(changed), DIGEST, Terms(roots=ROOTS, nonce=7))
    assert found.verified is (bytes(changed) == VALID), found.finding


@given(st.integers(0, len(VALID)), st.binary(max_size=20))
def test_a_token_cut_or_grown_is_never_verified(at: int, more: bytes) -> None:
    changed = VALID[:at] + more + VALID[at + len(more) // 2 :]
    assert judge(changed, DIGEST, Terms(roots=ROOTS)).verified is (changed == VALID)


def test_no_single_bit_may_differ() -> None:
    survivors = []
    for at, bit in product(range(len(VALID)), range(8)):
        changed = VALID[:at] + bytes((VALID[at] ^ 1 << bit,)) + VALID[at + 1 :]
        if judge(changed, DIGEST, Terms(roots=ROOTS, nonce=7)).verified:
            survivors.append((at, bit))
    assert survivors == [
        (8, 0)
    ]  # the status of the reply, which nobody signs: granted, or with modifications


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_million_tokens_with_parts_moved_around_are_never_verified() -> None:
    chance, ends = random.Random(3161), time.monotonic() + 600
    for _ in range(1_000_000):
        changed = mixed(chance)
        assert judge(changed, DIGEST, Terms(roots=ROOTS)).verified is (changed in (VALID, TOKEN)), (
            changed.hex()
        )
        if time.monotonic() > ends:
            break


def mixed(chance: random.Random) -> bytes:
    """Return the token with a few of its bytes taken, repeated, swapped or replaced."""
    made = bytearray(VALID)
    for _ in range(chance.randint(1, 3)):
        at, length = chance.randrange(len(made)), chance.randint(0, 12)
        source = chance.randrange(len(made))
        other = chance.choice((b"", made[source : source + length], chance.randbytes(length)))
        made[at : at + chance.choice((0, length))] = other
    return bytes(made)


@given(st.binary(max_size=200))
def test_a_request_is_read_or_malformed(data: bytes) -> None:
    try:
        read_request(data)
    except Malformed:
        return


@given(st.integers(0, 2**64 - 1), st.sampled_from([None, "1.2.3", "2.25.77"]))
def test_a_request_reads_as_it_was_written(nonce: int, policy: str | None) -> None:
    found = read_request(request(DIGEST, nonce=nonce, policy=policy))
    assert (found.imprint, found.algorithm, found.nonce, found.policy) == (DIGEST, "sha256", nonce, policy)
    assert found.certificate
    assert not found.extensions


def test_a_token_over_the_limit_is_not_read() -> None:
    finding = judge(bytes(MAX_BYTES + 1), DIGEST, Terms(roots=ROOTS)).finding
    assert (finding.status, finding.reason) == (Status.UNSUPPORTED, Reason.TOO_LARGE)


@pytest.mark.parametrize("depth", [10, 10_000])
def test_depth_costs_nothing(depth: int) -> None:
    """Limits are processor time, which other processes do not use up."""
    nested = b""
    for _ in range(depth):
        nested = element(tagged(0), nested)
        if len(nested) > MAX_BYTES - 1000:
            break
    began = time.process_time()
    assert judge(sequence(nested), DIGEST, Terms(roots=ROOTS)).finding.reason is Reason.MALFORMED
    assert time.process_time() - began < 0.2


def test_many_certificates_of_one_name_end_soon() -> None:
    crowd = [root("Mid") for _ in range(14)]
    low = signer(crowd[0], key_ids=False)
    made = reply(Recipe(low, DIGEST, embedded=[low, *crowd]))
    began = time.process_time()
    assert not judge(made, DIGEST, Terms(roots=ROOTS)).verified
    assert time.process_time() - began < 1
