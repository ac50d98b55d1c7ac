"""What calendars answered is kept as JSON, and judged against the chain of our own nodes."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentimestamps.core.notary import (
    BitcoinBlockHeaderAttestation,
    LitecoinBlockHeaderAttestation,
    PendingAttestation,
)
from opentimestamps.core.op import OpAppend, OpSHA1, OpSHA256

from foja.engine.anchors.bitcoin import Bitcoin, BitcoinTerms
from foja.engine.anchors.bitcoin.attestations import assess
from foja.engine.anchors.bitcoin.headers import Chain
from foja.engine.anchors.bitcoin.promises import MAX_BRANCHES, MAX_LOG, Promises
from foja.engine.anchors.network import Network
from foja.errors import Refused
from foja.pure.proofs.ots.header import Header
from foja.pure.proofs.ots.timestamp import Timestamp
from tests.rules.proofs.test_ots_written import ALICE, BOB, ROOT, Way, bytes_of, theirs
from tests.rules.stamps import mined

MESSAGE = sha256(ROOT + b"a").digest()
END = sha256(MESSAGE).digest()
PROMISE: Way = ([OpAppend(b"a"), OpSHA256()], PendingAttestation(ALICE))


def answer(*ways: Way, message: bytes = ROOT) -> bytes:
    return bytes_of(theirs(*ways, message=message))


def stored(promises: Promises) -> Promises:
    """Return the promises as they come back from the database."""
    found = Promises.load(ROOT, json.loads(json.dumps(promises.dump())))
    assert found.dump() == promises.dump()
    return found


def chain(*headers: Header, height: int) -> Chain:
    return Chain(height, {each.height: each for each in headers})


def attested(*heights: int) -> bytes:
    return answer(*(([OpSHA256()], BitcoinBlockHeaderAttestation(each)) for each in heights), message=MESSAGE)


def test_a_promise_is_kept_and_fulfilled() -> None:
    promises = stored(Promises(ROOT).accept(ALICE, answer(PROMISE)))
    assert not promises.is_all_fulfilled()
    assert promises.dump()["timestamp"], "a pending proof can be written at once"
    [promise] = promises.open(ALICE)
    promises = stored(promises.add(ALICE, promise, attested(100)))
    assert promises.is_all_fulfilled()
    assert [each.attestation.height for each in promises.merged.of_kind("bitcoin")] == [100]
    again = stored(promises.add(ALICE, promise, attested(101)))
    assert [each.attestation.height for each in again.merged.of_kind("bitcoin")] == [100, 101]
    block = mined(END)
    confirmed = stored(again.confirm(promises.merged, [block]))
    assert confirmed.blocks == (block,)
    assert confirmed.dump()["timestamp"] == promises.dump()["timestamp"], "that of the block that stands"
    revoked = stored(confirmed.revoke("gone"))
    assert (revoked.blocks, revoked.log) == ((), ("gone",))
    assert revoked.dump()["timestamp"] == again.dump()["timestamp"]


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"<html>not a calendar</html>",
        answer(PROMISE)[:-1],
        answer(PROMISE) + b"\0",
        answer(([OpSHA256()], LitecoinBlockHeaderAttestation(5))),
        answer(([OpSHA256()] * 200, PendingAttestation(ALICE))),
    ],
    ids=range(6),
)
def test_garbage_is_logged_and_not_kept(garbage: bytes) -> None:
    promises = Promises(ROOT).accept(ALICE, garbage)
    assert (promises.calendars, len(promises.log)) == ({}, 1)
    assert ALICE in promises.log[0]


@given(st.binary(max_size=200))
def test_no_answer_to_a_promise_breaks_it(data: bytes) -> None:
    promises = Promises(ROOT).accept(ALICE, answer(PROMISE))
    [promise] = promises.open(ALICE)
    changed = stored(promises.add(ALICE, promise, data))
    assert changed.merged.branches[0] == promise or len(changed.merged.branches) > 1


def test_the_log_and_the_attestations_of_a_calendar_are_bounded() -> None:
    promises = Promises(ROOT).accept(ALICE, answer(PROMISE))
    [promise] = promises.open(ALICE)
    promises = promises.add(ALICE, promise, attested(*range(MAX_BRANCHES)))
    assert len(promises.merged.branches) == 1
    assert f"more than {MAX_BRANCHES}" in promises.log[-1]
    for number in range(2 * MAX_LOG):
        promises = promises.note(f"fault {number}", "the same", "x" * 10_000)
    assert len(promises.log) == MAX_LOG
    assert max(map(len, promises.log)) <= 300


def test_only_a_deep_block_with_the_right_root_is_proof() -> None:
    stamp = Timestamp.parse(MESSAGE, attested(100))
    block = mined(END)
    for height, missing in [(100, 5), (104, 1)]:
        found = assess(stamp, chain(block, height=height), "regtest", 6)
        assert (found.proven, [each.missing for each in found.waits]) == ([], [missing])
    found = assess(stamp, chain(height=99), "regtest", 6)
    assert "does not have Bitcoin regtest block 100 yet" in found.waits[0].detail
    found = assess(stamp, chain(block, height=105), "regtest", 6)
    assert found.proven == list(stamp.branches)
    found = assess(stamp, chain(mined(bytes(32)), height=105), "regtest", 6)
    assert (found.proven, found.waits, len(found.foreign)) == ([], [], 1)
    found = assess(stamp, chain(block, height=105), "main", 6)
    assert "our node gave a header without work" in found.foreign[0], "never on the main network"


RIGHT = {height: mined(END, height) for height in range(100, 112)}
WRONG = {height: mined(bytes(32), height) for height in range(100, 112)}


@given(
    st.sets(st.integers(98, 114), min_size=1, max_size=5),
    st.sets(st.sampled_from(sorted(RIGHT))),
    st.integers(99, 111),
    st.integers(1, 8),
)
def test_each_attestation_is_proven_or_waits_or_is_foreign(
    claimed: set[int], right: set[int], best: int, confirmations: int
) -> None:
    stamp = Timestamp.parse(MESSAGE, attested(*claimed))
    headers = {height: (RIGHT if height in right else WRONG)[height] for height in range(100, best + 1)}
    found = assess(stamp, Chain(best, headers), "regtest", confirmations)
    proven = {each.attestation.height for each in found.proven}
    deep = {height for height in claimed & headers.keys() if best - height + 1 >= confirmations}
    assert proven == deep & right
    assert len(found.foreign) == len((claimed & headers.keys()) - right)
    assert len(found.proven) + len(found.waits) + len(found.foreign) == len(claimed)
    assert all(each.missing > 0 for each in found.waits if "more confirmations" in each.detail)


def test_a_path_that_proves_nothing_is_unsound_beside_one_that_does() -> None:
    weak: Way = ([OpSHA1(), OpSHA256()], BitcoinBlockHeaderAttestation(101))
    good: Way = ([OpSHA256()], BitcoinBlockHeaderAttestation(100))
    weak_end = sha256(theirs(weak).ops[OpSHA1()].msg).digest()
    stamp = Timestamp.parse(ROOT, answer(weak, good))
    blocks = [mined(sha256(ROOT).digest()), mined(weak_end, 101)]
    found = assess(stamp, chain(*blocks, height=200), "regtest", 6)
    assert [each.attestation.height for each in found.proven] == [100]
    assert "block 101 proves nothing" in found.unsound[0]


def test_terms_are_checked() -> None:
    with pytest.raises(Refused, match="main, testnet, signet, regtest"):
        BitcoinTerms((ALICE, BOB), network="litecoin")
    with pytest.raises(Refused):
        BitcoinTerms((ALICE, BOB), confirmations=0)
    terms = BitcoinTerms(("https://user:secret@calendar.example/",), ("http://u:hidden@localhost",))
    assert "secret" not in str(list(terms.by_name))
    assert "hidden" not in repr(terms)
    assert "secret" not in repr(terms)


def test_bitcoin_is_a_network_without_an_account() -> None:
    network: Network = Bitcoin(BitcoinTerms((ALICE, BOB)))
    assert (network.name, network.account) == ("bitcoin", None)
