"""The hash of Ethereum: Keccak as it was before it became SHA-3."""

from __future__ import annotations

from Crypto.Hash import keccak


def keccak256(data: bytes) -> bytes:
    """Return the 32 bytes every EVM chain names things by."""
    return keccak.new(digest_bits=256, data=data).digest()
