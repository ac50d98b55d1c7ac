"""The signature of a token or of other signed data: its certificate, and the check with its key."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from functools import lru_cache
from hashlib import new as digest_by

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from foja.errors import Malformed
from foja.pure.proofs.der import INTEGER, NULL, OCTETS, OID, SEQUENCE, DerReader, tagged
from foja.pure.proofs.finding import Flaw, Reason, Status
from foja.pure.proofs.tsa.certificate import SMALLEST_RSA, Certificate
from foja.pure.proofs.tsa.cms import SignerInfo
from foja.pure.proofs.tsa.oids import (
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
from foja.pure.proofs.tsa.token import Token

HASHES = {"sha256": hashes.SHA256(), "sha384": hashes.SHA384(), "sha512": hashes.SHA512()}
LONGEST_SALT = 128
MAX_IDENTIFIERS = 16
REMEMBERED_BYTES = 4096  # a longer signature is checked each time, so that none fills the memory
CACHE_ENTRIES = 32  # signers; the identifiers of one may be long
_ECDSA = {name: ec.ECDSA(each) for name, each in HASHES.items()}
_NO_PARAMETERS = (b"", bytes((NULL, 0)))


def signer_of(signature: SignerInfo, known: Sequence[Certificate], *, identified: bool = True) -> Certificate:
    """T5: return the certificate that both the signer and its signed ESSCertID name, or raise `Flaw`.

    Without `identified`, a signer without an ESSCertID is accepted.
    """
    named = [each for each in known if _is_named(each, signature)]
    if not named:
        detail = "the certificate of its signer is neither in it nor among those given"
        raise Flaw(Reason.SIGNER_CERTIFICATE_MISSING, detail, Status.INDETERMINATE)
    lists = _identifier_lists(signature)
    for each in named:
        if (lists or not identified) and all(_is_identified(each, *first) for first, *_ in lists):
            return each
    raise Flaw(Reason.ESS_CERT_ID_MISMATCH, f"{named[0].name} is not the certificate that its signer named")


def check_identified(signature: SignerInfo, chain: Sequence[Certificate]) -> None:
    """T5: every other certificate that the signer named is in its chain, or raise `Flaw`."""
    for identifier in (each for _, *others in _identifier_lists(signature) for each in others):
        if not any(_is_identified(certificate, *identifier) for certificate in chain):
            detail = "its signer also named a certificate that is not in its chain"
            raise Flaw(Reason.ESS_CERT_ID_MISMATCH, detail)


def check_signature(token: Token, signer: Certificate) -> None:
    """T7: the signer's key signed exactly this content, or raise `Flaw`."""
    algorithm = token.signature.digest_algorithm
    digest = digest_by(algorithm, token.content).digest() if algorithm else b""
    check_signed(token.signature, signer, TST_INFO, digest)


def check_signed(signature: SignerInfo, signer: Certificate, content_type: bytes, digest: bytes) -> None:
    """Raise `Flaw` unless the signer's key signed the content of this type and with this digest."""
    algorithm = signature.digest_algorithm
    _check_attributes(signature, content_type, digest)
    if algorithm is None:
        raise _unsupported("its hash algorithm is not supported")
    try:
        _verify(signer, signature, HASHES[algorithm])
    except (InvalidSignature, ValueError):
        raise Flaw(Reason.SIGNATURE_INVALID, f"the key of {signer.name} did not sign it") from None
    except UnsupportedAlgorithm:
        raise _unsupported("its signature algorithm is not supported") from None


def _is_named(each: Certificate, signature: SignerInfo) -> bool:
    if signature.key_id is not None:
        return each.key_id == signature.key_id
    return each.issuer == signature.issuer and each.serial == signature.serial


Identifier = tuple[str | None, bytes, tuple[bytes, int] | None]


def _identifier_lists(signature: SignerInfo) -> tuple[tuple[Identifier, ...], ...]:
    attributes = signature.attributes
    return _identifiers(attributes.get(SIGNING_CERTIFICATE_V2), attributes.get(SIGNING_CERTIFICATE))


@lru_cache(maxsize=CACHE_ENTRIES)
def _identifiers(second: bytes | None, first: bytes | None) -> tuple[tuple[Identifier, ...], ...]:
    """Return the ESSCertIDs of each version that is present: hash, and issuer and serial if given."""
    versions = ((second, "sha256"), (first, "sha1"))
    return tuple(_identifier_list(each, by) for each, by in versions if each)


def _identifier_list(attribute: bytes, default: str) -> tuple[Identifier, ...]:
    each, found = DerReader(attribute).enter(SEQUENCE).enter(SEQUENCE), list[Identifier]()
    while each.next != -1 and len(found) < MAX_IDENTIFIERS:
        parts = each.enter(SEQUENCE)
        stated = default == "sha256" and parts.next == SEQUENCE
        algorithm = algorithm_of(parts) if stated else default
        found.append((algorithm, parts.take(OCTETS), _issuer_serial(parts)))
    each.finish()
    if not found:
        raise Malformed("its signer names no certificate")
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


def _check_attributes(signature: SignerInfo, content_type: bytes, digest: bytes) -> None:
    kind = DerReader(signature.attributes.get(CONTENT_TYPE, b"")).take(OID)
    if kind != content_type:
        raise Flaw(Reason.CONTENT_TYPE, "its signed content type is not that of its content")
    signed = DerReader(signature.attributes.get(MESSAGE_DIGEST, b"")).take(OCTETS)
    if signature.digest_algorithm is not None and not hmac.compare_digest(digest, signed):
        raise Flaw(Reason.SIGNATURE_INVALID, "its content is not what its signer signed")


def _verify(signer: Certificate, signature: SignerInfo, digest: hashes.HashAlgorithm) -> None:
    key, method = signer.key, signature.method
    plain = signature.parameters in _NO_PARAMETERS
    if isinstance(key, ec.EllipticCurvePublicKey) and plain and ECDSA_WITH.get(method) == digest.name:
        short = max(map(len, (signature.value, signature.signed, signer.der))) <= REMEMBERED_BYTES
        (_recall if short else _verify_ecdsa)(signer, signature.value, signature.signed, digest.name)
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


def _verify_ecdsa(signer: Certificate, value: bytes, signed: bytes, digest: str) -> None:
    """Raise `InvalidSignature` unless the signer's key made this signature."""
    key = signer.key
    assert isinstance(key, ec.EllipticCurvePublicKey)
    key.verify(value, signed, _ECDSA[digest])


_recall = lru_cache(maxsize=256)(_verify_ecdsa)  # a seal is checked when it comes, and again in its bundle


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
