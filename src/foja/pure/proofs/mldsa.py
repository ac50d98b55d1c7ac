"""ML-DSA-44 (FIPS 204), pure and without a context, where the installed `cryptography` has it."""

from __future__ import annotations

from functools import cache
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

PUBLIC_BYTES, SEED_BYTES = 1312, 32
NEEDED: Final = "cryptography 48"  # the first one whose packages have it


@cache
def is_available() -> bool:
    """Return whether signatures can be made and checked here."""
    try:
        public_key(bytes(SEED_BYTES))
    except (ImportError, UnsupportedAlgorithm):
        return False
    return True


def public_key(seed: bytes) -> bytes:
    """Return the public key of a private key, which is its seed."""
    from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey  # late: older ones lack it

    return MLDSA44PrivateKey.from_seed_bytes(seed).public_key().public_bytes_raw()


def sign(seed: bytes, message: bytes) -> bytes:
    """Return a signature; two of one message differ."""
    from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

    return MLDSA44PrivateKey.from_seed_bytes(seed).sign(message)


def accepts(public: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether this key signed this message."""
    from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey

    try:
        MLDSA44PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
