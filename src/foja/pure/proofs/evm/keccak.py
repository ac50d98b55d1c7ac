"""The hash of Ethereum: Keccak as it was before it became SHA-3."""

from __future__ import annotations

from Crypto.Hash import keccak


def keccak256(data: bytes) -> bytes:
    """Return the 32-byte hash that every EVM chain uses."""
    return keccak.new(digest_bits=256, data=data).digest()
