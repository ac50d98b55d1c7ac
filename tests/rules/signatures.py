"""Signatures over a digest, valid or with exactly one fault: detached CMS, JWS and raw ones."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from foja.pure.proofs.der import (
    OCTETS,
    OID,
    SET,
    element,
    integer,
    oid,
    oid_content,
    sequence,
    set_of,
    tagged,
)
from tests.rules.authorities import (
    ECDSA,
    RSA,
    Certified,
    Recipe,
    _algorithm,
    _attribute,
    _identifier,
    certify,
    root,
    rsa_key,
)

CONTENT = b"a contract"
WITNESS = sha256(CONTENT).digest()
DATA = oid_content("1.2.840.113549.1.7.1")
SHA256 = hashes.SHA256()


@cache
def authority() -> Certified:
    return root("Signers Root")


@cache
def ana() -> Certified:
    return certify("Ana", authority(), usage="digital_signature")


def public(key: Any) -> bytes:
    """Return the public key of a private one, in DER."""
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[no-any-return]


def raw(key: Any, witness: bytes = WITNESS) -> bytes:
    """Sign a digest: Ed25519 its bytes, the others the document that has it."""
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign(witness)
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(witness, padding.PKCS1v15(), Prehashed(SHA256))
    signed: bytes = key.sign(witness, ec.ECDSA(Prehashed(SHA256)))
    return signed


@dataclass(frozen=True, slots=True)
class Sheet:
    """The fields of a detached CMS signature, each of which a test may make wrong."""

    signer: Certified
    witness: bytes = WITNESS
    embedded: Sequence[Certified] | None = None  # None: the signer
    hashed_by: str = "sha256"
    content: bytes | None = None
    content_type: bytes = DATA
    signed_content_type: bytes | None = DATA  # None: no attribute
    message_digest: bool = True
    attributes: bool = True
    identified: Certified | None = None  # the certificate that the ESSCertID names; None: no ESSCertID
    also_identified: Sequence[Certified] = ()  # further certificates that the signer names
    signers: int = 1
    unsigned: bytes = b""
    version: int = 1
    key: Any = None  # another than that of the signer


def cms(sheet: Sheet) -> bytes:
    """Return the ContentInfo of a sheet."""
    embedded = [sheet.signer] if sheet.embedded is None else sheet.embedded
    inside = b"" if sheet.content is None else element(tagged(0), element(OCTETS, sheet.content))
    data = sequence(
        integer(sheet.version),
        set_of(_algorithm(sheet.hashed_by)),
        sequence(element(OID, sheet.content_type), inside),
        element(tagged(0), *(each.der for each in embedded)) if embedded else b"",
        element(SET, *[_info(sheet)] * sheet.signers),
    )
    return sequence(oid("1.2.840.113549.1.7.2"), element(tagged(0), data))


def _info(sheet: Sheet) -> bytes:
    parts = []
    if sheet.signed_content_type is not None:
        parts.append(_attribute("1.2.840.113549.1.9.3", element(OID, sheet.signed_content_type)))
    if sheet.message_digest:
        parts.append(_attribute("1.2.840.113549.1.9.4", element(OCTETS, sheet.witness)))
    if sheet.identified:
        parts.append(_identifier(Recipe(sheet.identified, b"", also_identified=sheet.also_identified)))
    attributes = b"".join(sorted(parts))
    signed = element(SET, attributes) if sheet.attributes else CONTENT
    method, value = _sign(sheet.key or sheet.signer.key, signed)
    return sequence(
        integer(1),
        sequence(sheet.signer.issuer, integer(sheet.signer.certificate.serial_number)),
        _algorithm(sheet.hashed_by),
        element(tagged(0), attributes) if sheet.attributes else b"",
        method,
        element(OCTETS, value),
        element(tagged(1), sheet.unsigned) if sheet.unsigned else b"",
    )


def _sign(key: Any, data: bytes) -> tuple[bytes, bytes]:
    if isinstance(key, rsa.RSAPrivateKey):
        return sequence(oid(RSA["sha256"]), b"\x05\x00"), key.sign(data, padding.PKCS1v15(), SHA256)
    return sequence(oid(ECDSA["sha256"])), key.sign(data, ec.ECDSA(SHA256))


def b64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def jws(
    key: Any,
    algorithm: str,
    witness: bytes = WITNESS,
    *,
    detached: bool = True,
    payload: bytes | None = None,
    header: dict[str, Any] | None = None,
    chain: Sequence[Certified] = (),
) -> bytes:
    """Return a JWS in compact form over the hexadecimal digits of a digest, or over another payload."""
    fields: dict[str, Any] = {"alg": algorithm, **(header or {})}
    if chain:
        fields["x5c"] = [b64encode(each.der).decode() for each in chain]
    head = b64url(json.dumps(fields).encode())
    body = b64url(witness.hex().encode() if payload is None else payload)
    made = _jws_sign(key, algorithm, f"{head}.{body}".encode())
    return f"{head}.{'' if detached else body}.{b64url(made)}".encode()


def _jws_sign(key: Any, algorithm: str, data: bytes) -> bytes:
    digest = {"256": SHA256, "384": hashes.SHA384(), "512": hashes.SHA512()}.get(algorithm[2:], SHA256)
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign(data)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        size = (key.key_size + 7) // 8
        r, s = decode_dss_signature(key.sign(data, ec.ECDSA(digest)))
        return r.to_bytes(size) + s.to_bytes(size)
    if algorithm.startswith("PS"):
        return key.sign(data, padding.PSS(padding.MGF1(digest), digest.digest_size), digest)  # type: ignore[no-any-return]
    return key.sign(data, padding.PKCS1v15(), digest)  # type: ignore[no-any-return]


__all__ = [
    "CONTENT",
    "WITNESS",
    "Sheet",
    "ana",
    "authority",
    "certify",
    "cms",
    "jws",
    "public",
    "raw",
    "rsa_key",
]
