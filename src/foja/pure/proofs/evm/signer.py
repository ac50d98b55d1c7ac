"""A private key on secp256k1: its account, and signatures that are the same every time (RFC 6979)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from foja.errors import Refused, SetupFailed, Tampered
from foja.pure.proofs.evm.keccak import keccak256
from foja.pure.proofs.evm.secp256k1 import N, recover

Signature: TypeAlias = tuple[int, int, int]  # parity, r, s
KEY_BYTES, ADDRESS_BYTES = 32, 20


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A private key. It is absent from its own repr."""

    _key: ec.EllipticCurvePrivateKey = field(repr=False)
    _point: bytes = field(repr=False)

    @classmethod
    def decode(cls, secret: bytes) -> PrivateKey:
        """Return the key with this secret number, or raise `Refused`."""
        number = int.from_bytes(secret, "big")
        if len(secret) != KEY_BYTES or not 0 < number < N:
            raise Refused(f"not a private key of secp256k1 ({len(secret)} bytes); give {KEY_BYTES} bytes")
        key = ec.derive_private_key(number, ec.SECP256K1())
        public = key.public_key().public_numbers()
        return cls(key, public.x.to_bytes(32, "big") + public.y.to_bytes(32, "big"))

    @property
    def address(self) -> bytes:
        """The 20 bytes of the account that the key controls."""
        return keccak256(self._point)[12:]

    def sign(self, digest: bytes) -> Signature:
        """Return the only signature of a digest that this key makes, with the lower of both values of s."""
        r, s = decode_dss_signature(self._key.sign(digest, _deterministic()))
        s = min(s, N - s)
        for parity in (0, 1):
            if self._recovers(digest, r, s, parity):
                return parity, r, s
        raise Tampered("the key does not verify its own signature; check this machine's memory")

    def _recovers(self, digest: bytes, r: int, s: int, parity: int) -> bool:
        try:
            return recover(digest, r, s, odd=parity == 1) == self._point
        except Tampered:
            return False


@cache
def _deterministic() -> ec.ECDSA:
    try:
        return ec.ECDSA(Prehashed(SHA256()), deterministic_signing=True)
    except UnsupportedAlgorithm:
        raise SetupFailed(
            "`cryptography` cannot sign by RFC 6979 here; install it with OpenSSL 3.2"
        ) from None


def parse_secret(text: str) -> bytes:
    """Return the secret number that a text writes in hexadecimal, or raise `Refused` without showing it."""
    try:
        return bytes.fromhex(text.strip().removeprefix("0x"))
    except ValueError:
        raise Refused("a private key is not hexadecimal; write it as 0x and 64 digits") from None


def checksum_address(address: bytes) -> str:
    """Return an account as people see it, with its checksum in the case of the letters (EIP-55)."""
    text = address.hex()
    digits = keccak256(text.encode()).hex()
    pairs = zip(text, digits, strict=False)
    return "0x" + "".join(each.upper() if digit >= "8" else each for each, digit in pairs)


def parse_address(text: str) -> bytes:
    """Return the 20 bytes of an account, or raise `Refused` if its checksum does not fit."""
    digits = text.strip().removeprefix("0x")
    try:
        address = bytes.fromhex(digits)
    except ValueError:
        address = b""
    if len(address) != ADDRESS_BYTES:
        raise Refused(f"{text[:60]!a} is not an account; write it as 0x and 40 hexadecimal digits")
    has_checksum = digits not in (digits.lower(), digits.upper())
    if has_checksum and checksum_address(address) != f"0x{digits}":
        raise Refused(f"the account {text!a} has a wrong checksum (EIP-55); copy it again")
    return address
