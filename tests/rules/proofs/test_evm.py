"""Anchors in EVM blocks: built by other libraries, judged by ours, and changed in every way."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from hashlib import sha256

import pytest
import rlp as their_rlp
from eth_keys.datatypes import PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from foja.errors import Tampered
from foja.pure.core.canonical import canonical
from foja.pure.proofs.evm import check, rlp
from foja.pure.proofs.evm.anchor import TAG, Anchor, parse_anchor
from foja.pure.proofs.evm.secp256k1 import N, recover
from foja.pure.proofs.evm.transaction import parse_transaction
from foja.pure.proofs.evm.trie import value_at
from foja.pure.proofs.finding import Finding, Reason, Status
from tests.rules.blocks import SENDER, TIME, Trie, scene, transaction

SCENE = scene()
ANCHOR = SCENE.anchor
PROOF = ANCHOR.encode()


def judge(proof: bytes, **trust: object) -> Finding:
    return check(proof, SCENE.digest, **{"blocks": [SCENE.block_hash], **trust})  # type: ignore[arg-type]


def test_a_named_block_verifies() -> None:
    found = judge(PROOF, chains=[137], senders=[SENDER])
    assert (found.status, found.evidence, found.reason) == (Status.VERIFIED, "polygon", None)
    assert found.no_later_than is not None
    assert found.no_later_than.timestamp() == TIME


@pytest.mark.parametrize("kind", [0, 1, 2, 4])
def test_every_type_of_transaction(kind: int) -> None:
    one = scene(kind=kind)
    found = check(one.anchor.encode(), one.digest, blocks=[one.block_hash], senders=[SENDER])
    assert found.status is Status.VERIFIED


def test_another_chain_is_not_polygon() -> None:
    one = scene(chain_id=31337)
    found = check(one.anchor.encode(), one.digest, blocks=[one.block_hash])
    assert (found.status, found.evidence) == (Status.VERIFIED, "evm:31337")


def changed_anchor(**changes: object) -> bytes:
    return replace(ANCHOR, **changes).encode()  # type: ignore[arg-type]


OTHER = scene(position=131)
SILENT = scene(data=b"hello")
LONG = scene(data=TAG + bytes(33))


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (judge(PROOF, blocks=[]), Reason.BLOCK_NOT_TRUSTED),
        (judge(PROOF, chains=[1]), Reason.CHAIN_NOT_TRUSTED),
        (judge(PROOF, senders=[bytes(20)]), Reason.SENDER_NOT_TRUSTED),
        (judge(changed_anchor(header=ANCHOR.header[:-1])), Reason.HEADER_INVALID),
        (judge(changed_anchor(header=their_rlp.encode([1, 2]))), Reason.HEADER_INVALID),
        (judge(changed_anchor(header=OTHER.anchor.header)), Reason.TX_PROOF_INVALID),
        (judge(changed_anchor(tx_index=131)), Reason.TX_PROOF_INVALID),
        (judge(changed_anchor(tx_proof=ANCHOR.tx_proof[:-1])), Reason.TX_PROOF_INVALID),
        (judge(changed_anchor(tx_proof=(*ANCHOR.tx_proof, ANCHOR.tx_proof[-1]))), Reason.TX_PROOF_INVALID),
        (judge(changed_anchor(tx_proof=())), Reason.TX_PROOF_INVALID),
        (judge(changed_anchor(chain_id=1)), Reason.TX_PROOF_INVALID),
        (judge(changed_anchor(batch=replace(ANCHOR.batch, index=2))), Reason.BATCH_ROOT_MISMATCH),
        (judge(changed_anchor(batch=replace(ANCHOR.batch, salt=bytes(16)))), Reason.BATCH_ROOT_MISMATCH),
        (judge(changed_anchor(batch=replace(ANCHOR.batch, path=()))), Reason.BATCH_ROOT_MISMATCH),
        (judge(SILENT.anchor.encode(), blocks=[SILENT.block_hash]), Reason.CALLDATA_MISMATCH),
        (judge(LONG.anchor.encode(), blocks=[LONG.block_hash]), Reason.CALLDATA_MISMATCH),
        (check(PROOF, bytes(32), blocks=[SCENE.block_hash]), Reason.BATCH_ROOT_MISMATCH),
        (judge(json.dumps(json.loads(PROOF)).encode()), Reason.MALFORMED),
        (judge(canonical({**json.loads(PROOF), "note": "x"})), Reason.MALFORMED),
        (judge(PROOF.replace(b"foja/evm/v1", b"foja/evm/v2")), Reason.MALFORMED),
        (judge(PROOF.replace(b"0x4c444731", b"0x4c444732")), Reason.MALFORMED),
        (judge(b"{}"), Reason.MALFORMED),
    ],
    ids=lambda value: value.reason if isinstance(value, Finding) else "",
)
def test_nothing_less_verifies(found: Finding, reason: Reason) -> None:
    assert found.status is not Status.VERIFIED
    assert found.reason is reason


def test_what_is_not_trusted_is_undecided_and_what_does_not_fit_is_invalid() -> None:
    assert judge(PROOF, blocks=[]).status is Status.INDETERMINATE
    assert judge(changed_anchor(tx_index=131)).status is Status.INVALID


@given(st.integers(0, len(PROOF) * 8 - 1))
def test_no_changed_bit_verifies(at: int) -> None:
    changed = bytearray(PROOF)
    changed[at // 8] ^= 1 << at % 8
    assert judge(bytes(changed)).status is not Status.VERIFIED or at // 8 in uncovered(PROOF)


@pytest.mark.long
def test_no_changed_bit_at_all_verifies() -> None:
    for at in range(len(PROOF) * 8):
        changed = bytearray(PROOF)
        changed[at // 8] ^= 1 << at % 8
        assert judge(bytes(changed)).status is not Status.VERIFIED or at // 8 in uncovered(PROOF), at


def uncovered(proof: bytes) -> range:
    """Return the bytes that no hash covers: the size of the batch, which is not part of its root."""
    start = proof.index(b'"size":') + len(b'"size":')
    return range(start, start + 1)


items = st.recursive(st.binary(max_size=70), lambda inner: st.lists(inner, max_size=5), max_leaves=20)


@given(items)
def test_rlp_is_read_and_written_as_others_do(item: rlp.Item) -> None:
    theirs = their_rlp.encode(item)
    assert rlp.encode(item) == theirs
    if depth(item) <= 8:
        assert rlp.decode(theirs) == item
    else:
        with pytest.raises(Tampered, match="deep"):
            rlp.decode(theirs)


def depth(item: rlp.Item) -> int:
    return 0 if isinstance(item, bytes) else 1 + max(map(depth, item), default=0)


@given(st.binary(max_size=100))
def test_rlp_has_one_encoding(data: bytes) -> None:
    with contextlib.suppress(Tampered):
        assert rlp.encode(rlp.decode(data)) == data


@pytest.mark.parametrize("count", [1, 2, 16, 17, 128, 129, 300])
def test_every_place_of_a_block_can_be_proven(count: int) -> None:
    values = [b"%d" % each * (each % 40 + 1) for each in range(count)]
    trie = Trie(values)
    for position, value in enumerate(values):
        key = their_rlp.encode(position)
        assert value_at(trie.root, key, trie.proof(position)) == value
        with pytest.raises(Tampered):
            value_at(trie.root, their_rlp.encode(count), trie.proof(position))


@given(st.binary(min_size=32, max_size=32), st.integers(1, N - 1))
def test_the_signer_is_found_as_others_find_it(digest: bytes, secret: int) -> None:
    key = PrivateKey(secret.to_bytes(32, "big"))
    signature = key.sign_msg_hash(digest)
    found = recover(digest, signature.r, signature.s, odd=signature.v == 1)
    assert found == key.public_key.to_bytes()


@pytest.mark.parametrize(("r", "s"), [(0, 1), (1, 0), (N, 1), (1, N - 1), (5, 1)])
def test_impossible_signatures_are_refused(r: int, s: int) -> None:
    with pytest.raises(Tampered):
        recover(sha256(b"x").digest(), r, s, odd=False)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x03" + transaction(b"")[1:],
        b"\x01" + transaction(b"")[1:],
        transaction(b"")[:-1],
        their_rlp.encode([1, 1, 1, b"", 0, b"", 27, 5, 5]),
        their_rlp.encode([1, 2, 3]),
    ],
    ids=range(6),
)
def test_a_malformed_transaction_is_refused(raw: bytes) -> None:
    with pytest.raises(Tampered):
        parse_transaction(raw)


texts = st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"]), max_size=5)
values = st.recursive(st.none() | st.integers(-5, 5) | texts, lambda inner: st.lists(inner, max_size=3))


@given(
    st.binary(max_size=200)
    | st.tuples(st.sampled_from(sorted(json.loads(PROOF))), values).map(
        lambda change: canonical({**json.loads(PROOF), change[0]: change[1]})
    )
)
def test_judging_is_total(data: bytes) -> None:
    assert judge(data).status is not Status.VERIFIED


def test_a_proof_is_written_as_it_is_read() -> None:
    assert parse_anchor(PROOF) == ANCHOR
    assert isinstance(parse_anchor(PROOF + b"\n"), Anchor)
