"""The signature of a token: its certificate, and the check with its key."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from functools import lru_cache
from hashlib import new as digest_by
from hashlib import sha256, sha384, sha512

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from foja.errors import Malformed
from foja.proofs.der import INTEGER, NULL, OCTETS, OID, SEQUENCE, DerReader, tagged
from foja.proofs.finding import Reason, Status
from foja.proofs.flaw import Flaw
from foja.proofs.tsa.certificate import SMALLEST_RSA, Certificate
from foja.proofs.tsa.oids import (
    CONTENT_TYPE,
    ECDSA_WITH,
    ED25519,
    MESSAGE_DIGEST,
    MGF1,
    RSA_PSS,
    RSA_WITH,
    SIGNING_CERTIFICATE,
    SIGNING_CERTIFICATE_V2,
    TST_INFO,
    algorithm_of,
)
from foja.proofs.tsa.token import Token, TokenSignature

HASHES = {"sha256": hashes.SHA256(), "sha384": hashes.SHA384(), "sha512": hashes.SHA512()}
LONGEST_SALT = 128
DIGESTS = {"sha256": sha256, "sha384": sha384, "sha512": sha512}
CACHE_ENTRIES = 32  # signers; the identifiers of one may be long
_ECDSA = {name: ec.ECDSA(each) for name, each in HASHES.items()}
_NO_PARAMETERS = (b"", bytes((NULL, 0)))


def signer_of(token: Token, known: Sequence[Certificate]) -> Certificate:
    """T5: return the certificate that both the signer and its signed ESSCertID name, or raise `Flaw`."""
    named = [each for each in known if _is_named(each, token.signature)]
    if not named:
        raise Flaw(
            Reason.SIGNER_CERTIFICATE_MISSING,
            "the certificate of its signer is neither in it nor among those given",
            Status.INDETERMINATE,
        )
    attributes = token.signature.attributes
    identifiers = _identifiers(attributes.get(SIGNING_CERTIFICATE_V2), attributes.get(SIGNING_CERTIFICATE))
    for each in named:
        if identifiers and all(_is_identified(each, *identifier) for identifier in identifiers):
            return each
    raise Flaw(Reason.ESS_CERT_ID_MISMATCH, f"{named[0].name} is not the certificate that its signer named")


def check_signature(token: Token, signer: Certificate) -> None:
    """T7: the signer's key signed exactly this content, or raise `Flaw`."""
    signature = token.signature
    _check_attributes(signature, token.content)
    algorithm = signature.digest_algorithm
    if algorithm is None:
        raise _unsupported("its hash algorithm is not supported")
    try:
        _verify(signer, signature, HASHES[algorithm])
    except (InvalidSignature, ValueError):
        raise Flaw(Reason.SIGNATURE_INVALID, f"the key of {signer.name} did not sign it") from None
    except UnsupportedAlgorithm:
        raise _unsupported("its signature algorithm is not supported") from None


def _is_named(each: Certificate, signature: TokenSignature) -> bool:
    if signature.key_id is not None:
        return each.key_id == signature.key_id
    return each.issuer == signature.issuer and each.serial == signature.serial


Identifier = tuple[str | None, bytes, tuple[bytes, int] | None]


@lru_cache(maxsize=CACHE_ENTRIES)
def _identifiers(second: bytes | None, first: bytes | None) -> tuple[Identifier, ...]:
    """Return the first ESSCertID of each version: hash, and issuer and serial if they are given."""
    found = list[Identifier]()
    if second:
        parts = DerReader(second).enter(SEQUENCE).enter(SEQUENCE).enter(SEQUENCE)
        algorithm = algorithm_of(parts) if parts.next == SEQUENCE else "sha256"
        found.append((algorithm, parts.take(OCTETS), _issuer_serial(parts)))
    if first:
        parts = DerReader(first).enter(SEQUENCE).enter(SEQUENCE).enter(SEQUENCE)
        found.append(("sha1", parts.take(OCTETS), _issuer_serial(parts)))
    return tuple(found)


def _issuer_serial(identifier: DerReader) -> tuple[bytes, int] | None:
    parts = identifier.optional(SEQUENCE)
    identifier.finish()
    if parts is None:
        return None
    names = parts.enter(SEQUENCE)
    name = names.enter(tagged(4))
    names.finish()
    issuer, serial = name.whole(SEQUENCE), parts.integer()
    parts.finish()
    return issuer, serial


def _is_identified(
    each: Certificate, algorithm: str | None, digest: bytes, issuer_serial: tuple[bytes, int] | None
) -> bool:
    """SHA-1 only distinguishes certificates here: the signature by the key is checked in any case."""
    if algorithm is None or not hmac.compare_digest(_fingerprint(each, algorithm), digest):
        return False
    return issuer_serial is None or issuer_serial == (each.issuer, each.serial)


@lru_cache(maxsize=CACHE_ENTRIES)
def _fingerprint(each: Certificate, algorithm: str) -> bytes:
    return digest_by(algorithm, each.der).digest()


def _check_attributes(signature: TokenSignature, content: bytes) -> None:
    kind = DerReader(signature.attributes.get(CONTENT_TYPE, b"")).take(OID)
    if kind != TST_INFO:
        raise Flaw(Reason.CONTENT_TYPE, "its signed content type is not a timestamp")
    signed = DerReader(signature.attributes.get(MESSAGE_DIGEST, b"")).take(OCTETS)
    algorithm = signature.digest_algorithm
    if algorithm is not None and not hmac.compare_digest(DIGESTS[algorithm](content).digest(), signed):
        raise Flaw(Reason.SIGNATURE_INVALID, "its content is not what its signer signed")


def _verify(signer: Certificate, signature: TokenSignature, digest: hashes.HashAlgorithm) -> None:
    key, method = signer.key, signature.method
    plain = signature.parameters in _NO_PARAMETERS
    if isinstance(key, ec.EllipticCurvePublicKey) and plain and ECDSA_WITH.get(method) == digest.name:
        key.verify(signature.value, signature.signed, _ECDSA[digest.name])
    elif isinstance(key, rsa.RSAPublicKey) and key.key_size < SMALLEST_RSA:
        raise _unsupported(f"the key of {signer.name} is shorter than {SMALLEST_RSA} bits")
    elif isinstance(key, rsa.RSAPublicKey) and plain and digest.name in RSA_WITH.get(method, ()):
        key.verify(signature.value, signature.signed, padding.PKCS1v15(), digest)
    elif isinstance(key, rsa.RSAPublicKey) and method == RSA_PSS:
        key.verify(signature.value, signature.signed, _pss(signature.parameters, digest), digest)
    elif isinstance(key, ed25519.Ed25519PublicKey) and plain and method == ED25519:
        key.verify(signature.value, signature.signed)
    else:
        raise _unsupported("this combination of key, hash and signature is not supported")


def _pss(parameters: bytes, digest: hashes.HashAlgorithm) -> padding.PSS:
    """Return the padding that RSASSA-PSS-params require; the hash must be the token's own."""
    parts = DerReader(parameters).enter(SEQUENCE)
    hashed, mask, salt = (parts.optional(tagged(number)) for number in range(3))
    parts.finish()
    length = salt.integer(INTEGER) if salt else 20
    if hashed is None or mask is None or algorithm_of(hashed) != digest.name:
        raise Malformed("its padding and its digest have different hashes")
    generator = mask.enter(SEQUENCE)
    if generator.oid() != MGF1 or algorithm_of(generator) != digest.name or not 0 <= length <= LONGEST_SALT:
        raise Malformed("its padding is not supported")
    return padding.PSS(padding.MGF1(digest), length)


def _unsupported(detail: str) -> Flaw:
    return Flaw(Reason.ALGORITHM_UNSUPPORTED, detail, Status.UNSUPPORTED)
