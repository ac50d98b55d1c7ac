"""Transactions, tries and headers that Foja builds: the same bytes that independent libraries make."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import rlp as their_rlp
from cryptography.exceptions import UnsupportedAlgorithm
from eth_hash.auto import keccak
from eth_keys.datatypes import PrivateKey as TheirKey
from hypothesis import given
from hypothesis import strategies as st

from foja.errors import Refused, SetupFailed, Tampered
from foja.pure.proofs.evm import (
    block_json,
    check,
    check_root,
    eip1559,
    keystore,
    parse_header,
    rlp,
    signer,
    trie_builder,
)
from foja.pure.proofs.evm.anchor import TAG
from foja.pure.proofs.evm.secp256k1 import N
from foja.pure.proofs.evm.signer import PrivateKey, checksum_address, parse_address, parse_secret
from foja.pure.proofs.evm.transaction import parse_transaction
from foja.pure.proofs.evm.trie import value_at
from foja.pure.proofs.finding import Reason, Status
from tests.rules.blocks import KEY, SENDER, Trie, scene, transaction
from tests.wallet import Account

VECTORS = Path(__file__).parents[2] / "vectors"

SECRET = KEY.to_bytes()
OURS = PrivateKey.decode(SECRET)
ROOT = sha256(b"root").digest()
DRAFT = eip1559.anchor_transaction(
    ROOT, OURS.address, chain_id=137, nonce=7, priority_fee=30 * 10**9, max_fee=100 * 10**9
)
RAW = eip1559.sign(DRAFT, OURS)

secrets = st.integers(1, N - 1).map(lambda number: number.to_bytes(32, "big"))
amounts = st.integers(0, 2**64 - 1)


@given(secrets, st.binary(min_size=32, max_size=32))
def test_a_signature_is_the_one_that_others_make(secret: bytes, digest: bytes) -> None:
    ours, theirs = PrivateKey.decode(secret), TheirKey(secret)
    assert ours.address == theirs.public_key.to_canonical_address()
    assert ours.sign(digest) == theirs.sign_msg_hash(digest).vrs
    assert ours.sign(digest)[2] <= N // 2


@given(secrets, st.binary(min_size=32, max_size=32), amounts, amounts, amounts, st.integers(1, 2**31))
def test_a_transaction_is_the_one_that_eth_account_signs(
    secret: bytes, root: bytes, nonce: int, priority: int, fee: int, chain: int
) -> None:
    key, account = PrivateKey.decode(secret), Account.from_key(secret)
    draft = eip1559.anchor_transaction(
        root, key.address, chain_id=chain, nonce=nonce, priority_fee=min(priority, fee), max_fee=fee
    )
    theirs = account.sign_transaction(
        {
            "type": 2,
            "chainId": chain,
            "nonce": nonce,
            "maxPriorityFeePerGas": min(priority, fee),
            "maxFeePerGas": fee,
            "gas": eip1559.ANCHOR_GAS,
            "to": account.address,
            "value": 0,
            "data": TAG + root,
        }
    )
    raw = eip1559.sign(draft, key)
    assert raw == theirs.raw_transaction
    assert eip1559.transaction_hash(raw) == theirs.hash
    assert Account.recover_transaction(raw) == account.address == checksum_address(key.address)
    assert parse_address(account.address) == key.address


def test_a_signed_transaction_is_the_drafted_one() -> None:
    eip1559.check_signed(RAW, DRAFT, OURS.address)
    assert parse_transaction(RAW).data == TAG + ROOT
    assert DRAFT.most == eip1559.ANCHOR_GAS * 100 * 10**9


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"chain_id": 1}, "chain id"),
        ({"nonce": 8}, "nonce"),
        ({"priority_fee": 1}, "priority fee"),
        ({"max_fee": 101 * 10**9}, "fee"),
        ({"gas": 21_000}, "gas"),
        ({"to": bytes(20)}, "receiver"),
        ({"value": 1}, "value"),
        ({"data": TAG + bytes(32)}, "calldata"),
    ],
)
def test_another_signed_transaction_is_noticed(change: dict[str, Any], name: str) -> None:
    raw = eip1559.sign(replace(DRAFT, **change), OURS)
    with pytest.raises(Tampered, match=f"another {name}$"):
        eip1559.check_signed(raw, DRAFT, OURS.address)


def test_another_signer_or_type_is_noticed() -> None:
    other = eip1559.sign(DRAFT, PrivateKey.decode(bytes(31) + b"\1"))
    with pytest.raises(Tampered, match="is signed by 0x7e5f4552091a69125d5dfcb7b8c2659029395bdf"):
        eip1559.check_signed(other, DRAFT, OURS.address)
    for raw in (transaction(TAG + ROOT, kind=0), transaction(TAG + ROOT, kind=1), b""):
        with pytest.raises(Tampered, match="not of type 2"):
            eip1559.check_signed(raw, DRAFT, OURS.address)
    fields = their_rlp.decode(RAW[1:])
    listed = eip1559.TYPE + their_rlp.encode([*fields[:8], [[bytes(20), []]], *fields[9:]])
    with pytest.raises(Tampered, match="another access list"):
        eip1559.check_signed(listed, DRAFT, OURS.address)
    for short in (fields[:5], fields[:-1]):
        with pytest.raises(Tampered, match="fields"):
            eip1559.check_signed(eip1559.TYPE + their_rlp.encode(short), DRAFT, OURS.address)


@pytest.mark.parametrize("secret", [b"", bytes(32), N.to_bytes(32, "big"), bytes(31), bytes(33)])
def test_a_bad_secret_is_refused_and_not_shown(secret: bytes) -> None:
    with pytest.raises(Refused, match="not a private key"):
        PrivateKey.decode(secret)
    assert SECRET.hex() not in repr(OURS)
    with pytest.raises(Refused) as refused:
        parse_secret("0xsecret")
    assert "secret" not in str(refused.value)


def test_an_old_openssl_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise UnsupportedAlgorithm("deterministic signing")

    signer._deterministic.cache_clear()
    monkeypatch.setattr("foja.pure.proofs.evm.signer.ec.ECDSA", refuse)
    with pytest.raises(SetupFailed, match=r"OpenSSL 3\.2"):
        OURS.sign(bytes(32))


def test_an_account_with_a_wrong_checksum_is_refused() -> None:
    address = checksum_address(OURS.address)
    assert parse_address(address.lower()) == parse_address("0x" + address[2:].upper()) == OURS.address
    for wrong in (address.swapcase().replace("0X", "0x"), address[:-1], "0x" + "g" * 40):
        with pytest.raises(Refused, match=r"checksum|not an account"):
            parse_address(wrong)


@pytest.mark.parametrize("count", [0, 1, 2, 16, 17, 127, 128, 129, 200, 300])
def test_a_trie_is_the_one_that_others_build(count: int) -> None:
    values = [b"x" if each % 7 == 0 else transaction(b"%d" % each, kind=each % 3) for each in range(count)]
    ours = trie_builder.build(values)
    if not count:
        assert ours.root == keccak(their_rlp.encode(b""))
        return
    theirs = Trie(values)
    assert ours.root == theirs.root
    for position in {0, count // 2, count - 1}:
        assert ours.proof(position) == theirs.proof(position)
        key = rlp.encode(rlp.number_bytes(position))
        assert value_at(ours.root, key, ours.proof(position)) == values[position]


def test_a_transaction_that_the_root_does_not_cover_is_left_out() -> None:
    values = [transaction(b"%d" % each) for each in range(5)]
    root = Trie(values).root
    for given_values in (values, [*values, None], [*values, b"state sync"]):
        found = trie_builder.build_fitting(given_values, root)
        assert found is not None
        assert found.root == root
    for wrong in (values[:-1], [None, *values[1:]], [*values, b"1", b"2"], []):
        assert trie_builder.build_fitting(wrong, root) is None


def test_the_root_of_a_batch_is_judged_like_a_digest_of_it() -> None:
    one = scene()
    root = parse_transaction(value_of(one.anchor.header, one.anchor.tx_index, one.anchor.tx_proof)).data[4:]
    inclusion, blocks = one.anchor.inclusion, [one.block_hash]
    assert inclusion.anchor(one.anchor.batch) == one.anchor
    found = check_root(inclusion, root, blocks=blocks, chains=[137], senders=[SENDER])
    assert found == check(one.anchor.encode(), one.digest, blocks=blocks, chains=[137], senders=[SENDER])
    assert found.status is Status.VERIFIED
    assert check_root(inclusion, ROOT, blocks=blocks).reason is Reason.CALLDATA_MISMATCH
    assert check_root(inclusion, root).reason is Reason.BLOCK_NOT_TRUSTED
    assert check_root(inclusion, root, blocks=blocks, senders=[bytes(20)]).reason is Reason.SENDER_NOT_TRUSTED
    moved = replace(inclusion, tx_index=1)
    assert check_root(moved, root, blocks=blocks).reason is Reason.TX_PROOF_INVALID


def value_of(header: bytes, index: int, proof: tuple[bytes, ...]) -> bytes:
    root = parse_header(header).transactions_root
    return value_at(root, rlp.encode(rlp.number_bytes(index)), proof)


BLOCK: dict[str, Any] = {
    "parentHash": "0x" + "01" * 32,
    "sha3Uncles": "0x" + "02" * 32,
    "miner": "0x" + "03" * 20,
    "stateRoot": "0x" + "04" * 32,
    "transactionsRoot": "0x" + "05" * 32,
    "receiptsRoot": "0x" + "06" * 32,
    "logsBloom": "0x" + "00" * 256,
    "difficulty": "0x0",
    "number": "0x2faf080",
    "gasLimit": "0x1c9c380",
    "gasUsed": "0x5208",
    "timestamp": "0x6553f100",
    "extraData": "0x626f72",
    "mixHash": "0x" + "00" * 32,
    "nonce": "0x0000000000000000",
}
ADDED: dict[str, Any] = {
    "baseFeePerGas": "0x7",
    "withdrawalsRoot": "0x" + "07" * 32,
    "blobGasUsed": "0x0",
    "excessBlobGas": "0x20000",
    "parentBeaconBlockRoot": "0x" + "08" * 32,
    "requestsHash": "0x" + "09" * 32,
}
QUANTITIES = {"difficulty", "number", "gasLimit", "gasUsed", "timestamp"}
QUANTITIES |= {"baseFeePerGas", "blobGasUsed", "excessBlobGas"}


def encoded(fields: dict[str, Any]) -> bytes:
    def value(name: str, text: str | None) -> Any:
        if text is None:
            return b""
        return int(text, 16) if name in QUANTITIES else bytes.fromhex(text[2:])

    data: bytes = their_rlp.encode([value(*each) for each in fields.items()])
    return data


@pytest.mark.parametrize("added", range(len(ADDED) + 1))
def test_a_header_of_every_fork_is_rebuilt(added: int) -> None:
    block = {**BLOCK, **dict(list(ADDED.items())[:added])}
    expected = encoded(block)
    stated = {**block, "hash": "0x" + keccak(expected).hex(), "size": "0x220", "uncles": []}
    assert block_json.header_bytes(stated) == expected
    assert parse_header(expected).number == 50_000_000
    with pytest.raises(Tampered, match="does not have the hash"):
        block_json.header_bytes({**stated, "gasUsed": "0x5209"})


def test_a_fork_may_leave_a_field_out() -> None:
    block = {**BLOCK, "baseFeePerGas": "0x7", "withdrawalsRoot": None, "blobGasUsed": "0x0"}
    expected = encoded(block)
    assert block_json.header_bytes({**block, "hash": "0x" + keccak(expected).hex()}) == expected


@pytest.mark.parametrize("name", [*BLOCK, "hash"])
@pytest.mark.parametrize("value", [None, 7, "7", "0x", "0xzz", [], "0x" + "00" * 40])
def test_a_strange_header_is_refused(name: str, value: object) -> None:
    stated = {**BLOCK, "hash": "0x" + keccak(encoded(BLOCK)).hex()}
    with pytest.raises(Tampered):
        block_json.header_bytes({**stated, name: value})


REAL: dict[str, Any] = json.loads((VECTORS / "polygon.json").read_text())


@pytest.mark.parametrize("block", [*REAL["blocks"], *REAL["headers"]], ids=lambda block: block["number"])
def test_a_header_of_polygon_is_rebuilt(block: dict[str, Any]) -> None:
    """Blocks 436 (2020), 44766032 (2023), 54602416 and 61448039 (2024) of the main chain."""
    found = parse_header(block_json.header_bytes(block))
    assert found.hash.hex() == block["hash"][2:]
    assert found.number == int(block["number"], 16)


def test_the_state_sync_of_polygon_is_not_in_the_trie() -> None:
    block = REAL["blocks"][0]
    [shown] = block["transactions"]
    assert block_json.transaction_bytes(shown) is None
    trie = trie_builder.build_fitting([None], bytes.fromhex(block["transactionsRoot"][2:]))
    assert trie is not None
    assert trie.size == 0
    with pytest.raises(Tampered, match="holds nothing at position 0"):
        trie.proof(0)


def test_a_transaction_of_polygon_is_rebuilt() -> None:
    [shown] = REAL["transactions"]
    raw = block_json.transaction_bytes(shown)
    assert raw is not None
    assert parse_transaction(raw).sender.hex() == shown["from"][2:]


ACCESS = [{"address": checksum_address(b"\x0a" * 20), "storageKeys": ["0x" + "0b" * 32, "0x" + "00" * 32]}]
COMMON: dict[str, Any] = {
    "chainId": 137,
    "nonce": 3,
    "gas": 90_000,
    "to": checksum_address(b"\x0c" * 20),
    "value": 5,
    "data": "0x" + "0d" * 40,
}
FEES = {"maxFeePerGas": 9, "maxPriorityFeePerGas": 2}


def theirs_as_json(fields: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """Return a transaction that eth-account signed, and as a node would show it."""
    signed = Account.from_key(SECRET).sign_transaction(fields)
    shown = {name: hex(value) if isinstance(value, int) else value for name, value in fields.items()}
    shown["input"] = shown.pop("data")
    shown["accessList"] = fields.get("accessList", [])
    shown |= {"type": hex(fields.get("type", 0)), "hash": "0x" + signed.hash.hex()}
    shown |= {"v": hex(signed.v), "yParity": hex(signed.v % 2), "r": hex(signed.r), "s": hex(signed.s)}
    return bytes(signed.raw_transaction), shown


@pytest.mark.parametrize(
    "fields",
    [
        {**COMMON, "gasPrice": 10**9},
        {**COMMON, "gasPrice": 10**9, "to": ""},
        {**COMMON, "gasPrice": 10**9, "type": 1, "accessList": ACCESS},
        {**COMMON, **FEES, "type": 2, "accessList": ACCESS},
        {**COMMON, **FEES, "type": 2, "value": 0, "data": "0x"},
    ],
)
def test_a_transaction_is_rebuilt_from_json(fields: dict[str, Any]) -> None:
    raw, shown = theirs_as_json(fields)
    shown["to"] = shown["to"] or None
    assert block_json.transaction_bytes(shown) == raw
    assert block_json.transaction_bytes({**shown, "value": "0x6"}) is None
    assert block_json.transaction_bytes({**shown, "type": "0x7f"}) is None
    assert block_json.transaction_bytes({**shown, "r": None}) is None


def test_a_transaction_with_authorizations_is_rebuilt_from_json() -> None:
    given_one = {"chainId": 137, "address": checksum_address(b"\x0e" * 20), "nonce": 1}
    authorization = Account.from_key(SECRET).sign_authorization(given_one)
    fields = {**COMMON, **FEES, "type": 4, "accessList": ACCESS, "authorizationList": [authorization]}
    raw, shown = theirs_as_json(fields)
    shown["authorizationList"] = [
        {
            **{name: hex(value) if isinstance(value, int) else value for name, value in given_one.items()},
            "yParity": hex(authorization.y_parity),
            "r": hex(authorization.r),
            "s": hex(authorization.s),
        }
    ]
    assert block_json.transaction_bytes(shown) == raw
    assert block_json.transaction_bytes({**shown, "authorizationList": None}) is None


def test_a_transaction_with_blobs_is_rebuilt_from_json() -> None:
    hashes = [b"\1" + bytes(31)]
    fields: list[Any] = [137, 3, 2, 9, 90_000, b"\x0c" * 20, 5, b"", [], 77, hashes, 1, 2**200, 2**199]
    raw = b"\3" + their_rlp.encode(fields)
    shown = {
        "type": "0x3",
        "chainId": "0x89",
        "nonce": "0x3",
        "maxPriorityFeePerGas": "0x2",
        "input": "0x",
        "maxFeePerGas": "0x9",
        "gas": hex(90_000),
        "to": "0x" + "0c" * 20,
        "value": "0x5",
        "accessList": [],
        "maxFeePerBlobGas": hex(77),
        "blobVersionedHashes": ["0x01" + "00" * 31],
        "yParity": "0x1",
        "r": hex(2**200),
        "s": hex(2**199),
        "hash": "0x" + keccak(raw).hex(),
    }
    assert block_json.transaction_bytes(shown) == raw


@pytest.mark.parametrize(("kdf", "rounds"), [("scrypt", 2), ("pbkdf2", 1)])
def test_a_keystore_of_another_library_opens(kdf: Any, rounds: int) -> None:
    stored = Account.encrypt(SECRET, "pässword", kdf=kdf, iterations=rounds)
    text = json.dumps(stored).encode()
    assert keystore.open_keystore(text, "pässword").address == OURS.address
    with pytest.raises(Refused, match="password does not open"):
        keystore.open_keystore(text, "password")
    with pytest.raises(Refused, match="not of the account it names"):
        keystore.open_keystore(json.dumps({**stored, "address": "00" * 20}).encode(), "pässword")


# From the definition of the Web3 Secret Storage.
PUBLISHED = {
    "crypto": {
        "cipher": "aes-128-ctr",
        "cipherparams": {"iv": "6087dab2f9fdbbfaddc31a909735c1e6"},
        "ciphertext": "5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46",
        "kdf": "pbkdf2",
        "kdfparams": {
            "c": 262144,
            "dklen": 32,
            "prf": "hmac-sha256",
            "salt": "ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd",
        },
        "mac": "517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2",
    },
    "id": "3198bc9c-6672-5ab3-d995-4942343ae5b6",
    "version": 3,
}


def test_the_published_keystore_opens() -> None:
    secret = parse_secret("7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d")
    key = keystore.open_keystore(json.dumps(PUBLISHED).encode(), "testpassword")
    assert key.address == PrivateKey.decode(secret).address


def changed(**crypto: Any) -> bytes:
    return json.dumps({**PUBLISHED, "crypto": {**PUBLISHED["crypto"], **crypto}}).encode()  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{}",
        json.dumps({**PUBLISHED, "version": 1}).encode(),
        changed(cipher="aes-128-cbc"),
        changed(kdf="argon2"),
        changed(kdf="scrypt", kdfparams={"n": 1 << 24, "r": 8, "p": 1, "dklen": 32, "salt": "00"}),
        changed(kdf="scrypt", kdfparams={"n": 3, "r": 8, "p": 1, "dklen": 32, "salt": "00"}),
        changed(kdfparams={"c": 10**9, "dklen": 32, "prf": "hmac-sha256", "salt": "00"}),
        changed(kdfparams={"c": True, "dklen": 32, "prf": "hmac-sha256", "salt": "00"}),
        changed(kdfparams={"c": 1, "dklen": 16, "prf": "hmac-sha256", "salt": "00"}),
        changed(kdfparams={"c": 1, "dklen": 32, "prf": "hmac-md5", "salt": "00"}),
        changed(ciphertext=7),
        changed(mac="zz"),
        changed(kdfparams=None),
    ],
)
def test_a_strange_keystore_is_refused(text: bytes) -> None:
    with pytest.raises(Refused):
        keystore.open_keystore(text, "testpassword")
