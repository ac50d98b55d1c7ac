"""The fields of a certificate that a chain check needs; each certificate is parsed once."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtensionOID

from foja.errors import Malformed, Refused
from foja.pure.proofs.der import BITS, SEQUENCE, DerReader, tagged
from foja.pure.proofs.tsa.oids import SIZES
from foja.pure.quotation import Foreign

MAX_BYTES = 16_384
SMALLEST_RSA, LARGEST_RSA = 2048, 8192
SMALLEST_CURVE, FAST_CURVE = 224, 384
EXPONENT_BITS = 32  # a larger exponent makes a check slow
_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----")
_SUPPORTED = {
    ExtensionOID.BASIC_CONSTRAINTS,
    ExtensionOID.KEY_USAGE,
    ExtensionOID.EXTENDED_KEY_USAGE,
    ExtensionOID.CERTIFICATE_POLICIES,
    ExtensionOID.SUBJECT_KEY_IDENTIFIER,
    ExtensionOID.AUTHORITY_KEY_IDENTIFIER,
}


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """One certificate. Two are equal if their bytes are."""

    der: bytes
    x509: x509.Certificate
    key: PublicKeyTypes | None  # None: of an unknown type
    subject: bytes
    issuer: bytes
    name: str
    serial: int
    not_before: datetime
    not_after: datetime
    key_id: bytes | None
    issuer_key_id: bytes | None
    is_ca: bool  # may issue certificates
    path_length: int | None
    signs_data: bool  # its key may sign data other than certificates
    signs_data_only: bool  # its key may sign data, and be used for nothing else
    signs_crls: bool  # its key may sign lists of revoked certificates
    purposes: frozenset[str] | None
    purposes_critical: bool
    unknown_critical: bool  # has a critical extension that is not supported
    constrains_names: bool  # restricts the names below it, critical or not
    short_key: bool  # too short, slow, or of a type that is not supported
    weak: bool  # signed with a broken hash, or its key is too short
    sha256: str  # the digest of its DER bytes
    cost: int  # units of the judge's budget for a check with its key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificate) and self.der == other.der

    def __hash__(self) -> int:
        return hash(self.der)

    @property
    def is_self_issued(self) -> bool:
        """Whether it names itself as its issuer, as roots do."""
        return self.issuer == self.subject

    @property
    def pem(self) -> bytes:
        """The certificate as PEM."""
        return self.x509.public_bytes(Encoding.PEM)


def trusted(*given: bytes) -> tuple[Certificate, ...]:
    """Return the certificates in PEM or DER files that the caller trusts, or raise `Refused`."""
    return tuple(dict.fromkeys(each for data in given for each in _file(data)))


def revocation_lists(*given: bytes) -> tuple[bytes, ...]:
    """Return the lists of revoked certificates in PEM or DER files, or raise `Refused`."""
    try:
        return tuple(_crl(data).public_bytes(Encoding.DER) for data in given)
    except ValueError as error:
        raise Refused(f"not a list of revoked certificates ({error}); give PEM or DER") from None


def parse_certificates(given: Iterable[bytes]) -> tuple[Certificate, ...]:
    """Return the certificates in DER elements, or raise `Malformed`."""
    return tuple(dict.fromkeys(map(certificate, given)))


@lru_cache(maxsize=256)
def certificate(der: bytes) -> Certificate:
    """Return one certificate, or raise `Malformed`."""
    if len(der) > MAX_BYTES:
        raise Malformed(f"a certificate has {len(der):,} bytes; at most {MAX_BYTES:,} are read")
    try:
        names = _names(der)
        return _certificate(der, x509.load_der_x509_certificate(der), *names)
    except Exception as error:  # the library raises many types for unreadable bytes
        raise Malformed(f"a certificate cannot be read: {error}") from None


@lru_cache(maxsize=1024)
def is_issued_by(child: Certificate, issuer: Certificate) -> bool:
    """Return whether the issuer's key signed the child."""
    try:
        child.x509.verify_directly_issued_by(issuer.x509)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _file(data: bytes) -> list[Certificate]:
    try:
        if b"-----BEGIN" not in data:
            return [certificate(data)]
        # Block by block: the library would write warnings about the serial numbers of some public roots.
        if found := [certificate(b64decode(body)) for body in _PEM.findall(data)]:
            return found
        raise Malformed("there is no PEM block of one")
    except (ValueError, Malformed) as error:
        raise Refused(f"not a certificate ({error}); give PEM or DER, without any other") from None


def _crl(data: bytes) -> x509.CertificateRevocationList:
    return x509.load_pem_x509_crl(data) if b"-----BEGIN" in data else x509.load_der_x509_crl(data)


def _certificate(der: bytes, found: x509.Certificate, issuer: bytes, subject: bytes) -> Certificate:
    key = _key(found)
    values: dict[x509.ObjectIdentifier, Any] = {each.oid: each.value for each in found.extensions}
    critical = {each.oid for each in found.extensions if each.critical}
    constraints = values.get(ExtensionOID.BASIC_CONSTRAINTS)
    usage = values.get(ExtensionOID.KEY_USAGE)
    purposes = values.get(ExtensionOID.EXTENDED_KEY_USAGE)
    key_id = values.get(ExtensionOID.SUBJECT_KEY_IDENTIFIER)
    issuer_key_id = values.get(ExtensionOID.AUTHORITY_KEY_IDENTIFIER)
    return Certificate(
        der,
        found,
        key,
        subject,
        issuer,
        Foreign(found.subject.rfc4514_string()),
        found.serial_number,
        found.not_valid_before_utc,
        found.not_valid_after_utc,
        key_id.digest if key_id else None,
        issuer_key_id.key_identifier if issuer_key_id else None,
        is_ca=bool(constraints and constraints.ca) and (usage is None or usage.key_cert_sign),
        path_length=constraints.path_length if constraints else None,
        signs_crls=usage is None or usage.crl_sign,
        signs_data=usage is None or _is_for_data(usage),
        signs_data_only=usage is None or _is_for_data_only(usage),
        purposes=None if purposes is None else frozenset(each.dotted_string for each in purposes),
        purposes_critical=ExtensionOID.EXTENDED_KEY_USAGE in critical,
        unknown_critical=not critical <= _SUPPORTED,
        constrains_names=ExtensionOID.NAME_CONSTRAINTS in values,
        short_key=_is_short(key),
        weak=_is_short(key) or _is_weakly_signed(found),
        sha256=sha256(der).hexdigest(),
        cost=_cost(key),
    )


def _names(der: bytes) -> tuple[bytes, bytes]:
    """Return issuer and subject as encoded: names are compared byte by byte."""
    whole = DerReader(der).enter(SEQUENCE)
    parts = whole.enter(SEQUENCE)
    whole.enter(SEQUENCE)
    if whole.take(BITS)[:1] != b"\0":
        raise Malformed("its signature does not have whole bytes")
    whole.finish()
    parts.optional(tagged(0))
    if parts.integer() <= 0:
        raise Malformed("its serial number is not positive")  # cryptography would only warn
    parts.enter(SEQUENCE)
    issuer = parts.whole(SEQUENCE)
    parts.enter(SEQUENCE)
    return issuer, parts.whole(SEQUENCE)


def _key(found: x509.Certificate) -> PublicKeyTypes | None:
    try:
        return found.public_key()
    except (ValueError, UnsupportedAlgorithm):
        return None


def is_slow(key: RSAPublicKey) -> bool:
    """Return whether the exponent of a key is so large that checks with it are slow."""
    return key.public_numbers().e.bit_length() > EXPONENT_BITS


def _is_for_data(usage: x509.KeyUsage) -> bool:
    return usage.digital_signature or usage.content_commitment


def _is_for_data_only(usage: x509.KeyUsage) -> bool:
    others = (usage.key_encipherment, usage.data_encipherment, usage.key_agreement)
    issues = usage.key_cert_sign or usage.crl_sign
    return _is_for_data(usage) and not (issues or any(others))


def _is_short(key: PublicKeyTypes | None) -> bool:
    """Return whether a key has less than 112 bits of security, or is slow or of an unsupported type."""
    if isinstance(key, RSAPublicKey):
        return not SMALLEST_RSA <= key.key_size <= LARGEST_RSA or is_slow(key)
    if isinstance(key, EllipticCurvePublicKey):
        return key.curve.key_size < SMALLEST_CURVE
    return not isinstance(key, Ed25519PublicKey | Ed448PublicKey)


def _cost(key: PublicKeyTypes | None) -> int:
    """Return the units of one check with a key: most curves are slower than RSA and P-256."""
    if isinstance(key, EllipticCurvePublicKey) and not isinstance(key.curve, SECP256R1):
        return 2 if key.curve.key_size <= FAST_CURVE else 3
    return 2 if isinstance(key, Ed448PublicKey) else 1


def _is_weakly_signed(found: x509.Certificate) -> bool:
    try:
        algorithm = found.signature_hash_algorithm
    except UnsupportedAlgorithm:
        return True
    return algorithm is not None and algorithm.name not in SIZES
