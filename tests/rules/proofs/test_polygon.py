"""Fees, states and key files of Polygon: no node is needed."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foja.engine.anchors.polygon import Polygon, PolygonTerms
from foja.engine.anchors.polygon.fees import Fees, first_fees, proven_fee, replacement_fees
from foja.engine.anchors.polygon.state import (
    Block,
    confirmed_block,
    transactions,
    with_block,
    with_transaction,
    without_block,
)
from foja.errors import SetupFailed, Unavailable
from foja.pure.proofs.evm import eip1559
from foja.pure.proofs.evm.signer import PrivateKey
from tests.rules.blocks import KEY, SENDER, scene
from tests.wallet import Account

GWEI = 10**9
SECRET = KEY.to_bytes().hex()
ADDRESS = Account.from_key(KEY.to_bytes()).address
fees = st.integers(0, 10**13)


@given(st.floats(0.001, 10_000), st.floats(0, 1000), fees, fees)
def test_first_fees_are_below_the_cap_and_enough_for_the_next_block(
    cap: float, priority: float, base_fee: int, suggested: int
) -> None:
    terms = PolygonTerms(max_fee_gwei=cap, priority_fee_gwei=priority)
    try:
        found = first_fees(terms, base_fee, suggested)
    except Unavailable:
        assert base_fee + terms.priority_fee > terms.max_fee
        return
    assert found.priority_fee <= found.max_fee <= terms.max_fee
    assert found.max_fee >= base_fee + terms.priority_fee
    assert found.priority_fee <= 10 * terms.priority_fee, "a node's suggestion is bounded"


@given(st.floats(0.001, 10_000), fees, fees, fees)
def test_a_replacement_raises_both_fees_below_the_cap(
    cap: float, max_fee: int, priority: int, base_fee: int
) -> None:
    terms, old = PolygonTerms(max_fee_gwei=cap), Fees(max_fee, min(priority, max_fee))
    found = replacement_fees(terms, old, base_fee)
    if found is None:
        needed = max(old.max_fee, base_fee + old.priority_fee * 9 // 8 + 1)
        assert needed * 9 // 8 + 2 > terms.max_fee
        return
    assert found.priority_fee <= found.max_fee <= terms.max_fee
    assert found.max_fee * 8 >= old.max_fee * 9
    assert found.priority_fee * 8 >= old.priority_fee * 9
    assert found.max_fee >= base_fee + found.priority_fee


def test_a_suggested_priority_fee_is_taken_up_to_ten_times_the_setting() -> None:
    terms = PolygonTerms(max_fee_gwei=500, priority_fee_gwei=30)
    for suggested, taken in [(0, 30), (29, 30), (45, 45), (300, 300), (301, 300), (10**21, 300)]:
        assert first_fees(terms, GWEI, suggested * GWEI).priority_fee == taken * GWEI
    low = PolygonTerms(max_fee_gwei=100, priority_fee_gwei=30)
    assert first_fees(low, GWEI, 10**30).priority_fee <= 100 * GWEI


@given(fees, fees, fees, st.lists(st.integers(0, 10**18), min_size=1, max_size=3))
def test_a_fee_is_recorded_only_within_what_is_proven(
    max_fee: int, priority: int, base_fee: int, shown: list[int]
) -> None:
    signed = Fees(max_fee, min(priority, max_fee))
    price = min(signed.max_fee, base_fee + signed.priority_fee)
    found = proven_fee(signed, base_fee, shown)
    assert 21_000 * price <= found <= 30_000 * price
    agreed = len({*shown}) == 1 and 21_000 * price <= shown[0] <= 30_000 * price
    assert found == (shown[0] if agreed else 30_000 * price)
    honest = 22_300 * price
    assert proven_fee(signed, base_fee, [honest]) == proven_fee(signed, base_fee, [honest] * 3) == honest
    for lie in (0, 30_000 * price + 1, 10**44) if price else (1, 10**44):
        assert proven_fee(signed, base_fee, [lie]) == 30_000 * price
        assert proven_fee(signed, base_fee, [lie, honest]) == 30_000 * price
    assert proven_fee(signed, None, [10**44]) == 30_000 * signed.max_fee, "a header without a base fee"


def test_a_replacement_stops_at_the_cap() -> None:
    terms, old = PolygonTerms(max_fee_gwei=100), Fees(80 * GWEI, 30 * GWEI)
    raised = replacement_fees(terms, old, 10 * GWEI)
    assert raised == Fees(90 * GWEI, 33_750_000_000)
    assert replacement_fees(terms, raised, 10 * GWEI) is None
    assert replacement_fees(terms, old, 99 * GWEI) is None


def test_a_state_is_read_as_it_was_stored() -> None:
    key, at = PrivateKey.decode(KEY.to_bytes()), datetime(2026, 11, 17, 5, tzinfo=UTC)
    draft = eip1559.anchor_transaction(
        bytes(32), key.address, chain_id=137, nonce=3, priority_fee=1, max_fee=9
    )
    raw = eip1559.sign(draft, key)
    state = json.loads(json.dumps(with_transaction(with_transaction({}, draft, raw, at), draft, raw, at)))
    first, second = transactions(state)
    assert first == second
    assert (first.raw, first.hash, first.at) == (raw, eip1559.transaction_hash(raw), at)
    assert (first.sender, first.fees) == (SENDER, Fees(9, 1))
    one = scene()
    block = Block(first.hash, one.block_hash, 50_000_000, 10**20 + 1, one.anchor.inclusion)
    confirmed = json.loads(json.dumps(with_block(state, block)))
    assert confirmed_block(confirmed) == block
    gone = without_block(confirmed)
    assert confirmed_block(gone) is None
    assert transactions(gone) == transactions(state)
    assert gone["reorged"] == [f"0x{one.block_hash.hex()}"]


def private(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


def sources(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the settings of each key source, all for the same key."""
    stored = json.dumps(Account.encrypt(KEY.to_bytes(), "word", kdf="pbkdf2", iterations=1))
    password = private(folder / "password", "word\n")
    keystore = {"keystore": private(folder / "keystore", stored), "keystore_password_file": password}
    return {
        "setting": {"private_key": SECRET},
        "file": {"key_file": private(folder / "key", f"0x{SECRET}\n")},
        "keystore": keystore,
        "signer": {"signer_url": "http://127.0.0.1:1", "account": ADDRESS},
    }


@pytest.mark.parametrize("source", ["setting", "file", "keystore", "signer"])
def test_a_key_source_gives_the_account(tmp_path: Path, source: str) -> None:
    terms = PolygonTerms(**sources(tmp_path)[source])
    assert Polygon(terms).account == ADDRESS
    assert SECRET not in repr(terms)


@pytest.mark.parametrize("name", ["key", "keystore", "password"])
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, name: str, mode: int) -> None:
    terms = PolygonTerms(**sources(tmp_path)["file" if name == "key" else "keystore"])
    (tmp_path / name).chmod(mode)
    with pytest.raises(SetupFailed, match="chmod 600"):
        Polygon(terms).account  # noqa: B018


@pytest.mark.parametrize("kind", ["fifo", "folder", "device", "link to a fifo", "large", "hole"])
@pytest.mark.parametrize("name", ["key", "keystore", "password"])
def test_only_small_regular_files_are_read_as_keys(tmp_path: Path, name: str, kind: str) -> None:
    given_terms = sources(tmp_path)["file" if name == "key" else "keystore"]
    setting = {"key": "key_file", "keystore": "keystore", "password": "keystore_password_file"}[name]
    terms = PolygonTerms(**{**given_terms, setting: odd_file(tmp_path / "odd", kind)})
    message = "more than 65,536 bytes" if kind in ("large", "hole") else "not a regular file"
    with pytest.raises(SetupFailed, match=message):
        Polygon(terms).account  # noqa: B018


def odd_file(path: Path, kind: str) -> Path:
    """Return a path that is not a key file."""
    match kind:
        case "fifo":
            os.mkfifo(path, 0o600)
        case "folder":
            path.mkdir(mode=0o700)
        case "device":
            path.symlink_to("/dev/zero")
        case "link to a fifo":
            path.symlink_to(odd_file(path.with_name("fifo"), "fifo"))
        case "large":
            private(path, "0" * 65_537)
        case _:
            private(path, "")
            os.truncate(path, 1 << 40)
    return path


def test_a_key_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    found = sources(tmp_path)
    other = Account.from_key(b"\1" * 32).address
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "none is set"),
        ({**found["setting"], **found["file"]}, "more than one is set"),
        ({"private_key": "0x12"}, "not a private key"),
        ({"private_key": "secret"}, "not hexadecimal"),
        ({"key_file": tmp_path / "absent"}, "cannot be read"),
        ({"keystore": found["keystore"]["keystore"]}, "PASSWORD_FILE"),
        ({"signer_url": "http://127.0.0.1:1"}, "FOJA_POLYGON_ACCOUNT"),
        ({"signer_url": "http://127.0.0.1:1", "account": "0x12"}, "not an account"),
        ({**found["setting"], "account": other}, "not of FOJA_POLYGON_ACCOUNT"),
        ({**found["keystore"], "keystore": private(tmp_path / "x", "{}")}, "keystore"),
    ]
    for given_terms, message in wrong:
        with pytest.raises(SetupFailed, match=message) as refused:
            Polygon(PolygonTerms(**given_terms)).account  # noqa: B018
        assert SECRET not in str(refused.value)


async def test_what_is_missing_is_said() -> None:
    ready = await Polygon(PolygonTerms()).check()
    assert len(ready.missing) == 2
    assert "FOJA_POLYGON_KEY_FILE" in ready.missing[0]
    assert "FOJA_POLYGON_RPC_URL" in ready.missing[1]
    with pytest.raises(Unavailable, match="FOJA_POLYGON_RPC_URL"):
        await Polygon(PolygonTerms(private_key=SECRET)).draft(bytes(32), 0)
