"""Who signs: a key from a file, an encrypted keystore or a setting, or a signer outside this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from foja.engine.anchors.polygon.terms import PolygonTerms
from foja.engine.embedded.keys import read_private
from foja.engine.remote.networks.evm import connect
from foja.errors import Refused, SetupFailed, Tampered
from foja.pure.proofs.evm import eip1559
from foja.pure.proofs.evm.eip1559 import Unsigned
from foja.pure.proofs.evm.keystore import open_keystore
from foja.pure.proofs.evm.signer import PrivateKey, checksum_address, parse_address, parse_secret

SOURCES = "FOJA_POLYGON_KEY_FILE, _KEYSTORE, _PRIVATE_KEY or _SIGNER_URL"

Text = TypeVar("Text", str, bytes)
Value = TypeVar("Value")


class Signer(Protocol):
    """Signs for one account."""

    @property
    def address(self) -> bytes:
        """The account."""

    async def sign(self, transaction: Unsigned) -> bytes:
        """Return exactly this transaction, signed by the account."""


@dataclass(frozen=True, slots=True)
class LocalSigner:
    """A key in this process."""

    key: PrivateKey

    @property
    def address(self) -> bytes:
        """The account of the key."""
        return self.key.address

    async def sign(self, transaction: Unsigned) -> bytes:
        """Sign with the key."""
        return eip1559.sign(transaction, self.key)


@dataclass(frozen=True, slots=True)
class ExternalSigner:
    """A signer that speaks `eth_signTransaction`. Its answer is checked field by field."""

    url: str = field(repr=False)
    address: bytes

    async def sign(self, transaction: Unsigned) -> bytes:
        """Ask the signer; raise `Tampered` if it signed something else. Its answer is not sent then."""
        async with connect([self.url]) as [signer]:
            raw = await signer.sign_transaction(_fields(transaction, self.address))
            try:
                eip1559.check_signed(raw, transaction, self.address)
            except Tampered as error:
                raise Tampered(
                    f"the signer {signer.name} signed something else: {error}; nothing was sent; "
                    "check FOJA_POLYGON_SIGNER_URL and FOJA_POLYGON_ACCOUNT"
                ) from None
        return raw


def _fields(transaction: Unsigned, sender: bytes) -> dict[str, str]:
    return {
        "from": checksum_address(sender),
        "to": checksum_address(transaction.to),
        "gas": hex(transaction.gas),
        "maxFeePerGas": hex(transaction.max_fee),
        "maxPriorityFeePerGas": hex(transaction.priority_fee),
        "nonce": hex(transaction.nonce),
        "value": hex(transaction.value),
        "data": f"0x{transaction.data.hex()}",
        "chainId": hex(transaction.chain_id),
        "type": "0x2",
    }


def open_signer(terms: PolygonTerms) -> Signer:
    """Return the signer that the settings name, or raise `SetupFailed`. A keystore takes about a second."""
    given = [terms.key_file, terms.keystore, terms.private_key, terms.signer_url]
    if sum(map(bool, given)) != 1:
        found = "none" if not any(given) else "more than one"
        raise SetupFailed(f"Polygon needs one key, and {found} is set; set one of {SOURCES}")
    if terms.signer_url:
        if not terms.account:
            raise SetupFailed("a signer needs its account; set FOJA_POLYGON_ACCOUNT")
        return ExternalSigner(terms.signer_url, _accepted(terms.account, parse_address))
    key = _local_key(terms)
    if terms.account and _accepted(terms.account, parse_address) != key.address:
        raise SetupFailed(
            f"the key is that of {checksum_address(key.address)}, not of FOJA_POLYGON_ACCOUNT; correct one"
        )
    return LocalSigner(key)


def _local_key(terms: PolygonTerms) -> PrivateKey:
    if terms.keystore:
        if not terms.keystore_password_file:
            raise SetupFailed("a keystore needs its password; set FOJA_POLYGON_KEYSTORE_PASSWORD_FILE")
        password = _read(terms.keystore_password_file).decode(errors="replace").rstrip("\r\n")
        keystore = _read(terms.keystore)
        return _accepted(keystore, lambda text: open_keystore(text, password))
    text = _read(terms.key_file).decode(errors="replace") if terms.key_file else terms.private_key
    return _accepted(text, lambda hexadecimal: PrivateKey.decode(parse_secret(hexadecimal)))


def _accepted(text: Text, parse: Callable[[Text], Value]) -> Value:
    try:
        return parse(text)
    except Refused as error:
        raise SetupFailed(str(error)) from None


def _read(path: Path) -> bytes:
    """Return a file that only its owner can read."""
    try:
        return read_private(path)
    except OSError as error:
        raise SetupFailed(
            f"{path} cannot be read ({error.strerror}); correct its name or its owner"
        ) from None
