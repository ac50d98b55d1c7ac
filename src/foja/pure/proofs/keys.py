"""Public keys, and the signatures they make."""

from __future__ import annotations

from functools import lru_cache

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, HashAlgorithm
from cryptography.hazmat.primitives.serialization import load_der_public_key

from foja.errors import Tampered

_PREHASHED = Prehashed(SHA256())


@lru_cache(maxsize=256)
def public_key(der: bytes) -> PublicKeyTypes:
    """Return a public key, or raise `Tampered`."""
    try:
        return load_der_public_key(der)
    except Exception as error:  # the library raises many types for unreadable bytes
        raise Tampered(f"a public key cannot be read ({error})") from None


def signs_digest(key: PublicKeyTypes, signature: bytes, sha256: bytes) -> bool:
    """Return whether a key signed the content with this digest; Ed25519 needs the content itself."""
    return accepts(key, signature, sha256, _PREHASHED)


def signs(key: PublicKeyTypes, signature: bytes, message: bytes) -> bool:
    """Return whether a key signed these bytes, with the hash that belongs to the key."""
    if isinstance(key, ed25519.Ed25519PublicKey):
        try:
            key.verify(signature, message)
        except InvalidSignature:
            return False
        return True
    wide = isinstance(key, ec.EllipticCurvePublicKey) and key.key_size == 384
    hashes: list[HashAlgorithm] = [SHA384(), SHA256()] if wide else [SHA256()]
    return any(accepts(key, signature, message, each) for each in hashes)


def accepts(key: PublicKeyTypes | None, signature: bytes, data: bytes, by: HashAlgorithm | Prehashed) -> bool:
    """Return whether an elliptic curve or RSA key made this signature of data with this hash."""
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, data, ec.ECDSA(by))
        elif isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, data, padding.PKCS1v15(), by)
        else:
            return False
    except (InvalidSignature, ValueError, UnsupportedAlgorithm):
        return False
    return True
