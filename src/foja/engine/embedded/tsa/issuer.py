"""The certificates of the local authority: its own root, and a signer only for timestamps."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from foja.errors import SetupFailed

ROOT_LASTS = timedelta(days=365 * 50)
ROOT_NAME = "Foja local root"
SIGNER_LASTS = timedelta(days=365)
RENEWED_BEFORE = timedelta(days=60)
# A new certificate must be valid even if the clock is then set back a little.
CLOCK_TOLERANCE = timedelta(hours=1)
_USAGES = [
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
]


@dataclass(frozen=True, slots=True)
class SigningIdentity:
    """A certificate and its private key; never printed."""

    certificate: x509.Certificate
    key: EllipticCurvePrivateKey

    def __repr__(self) -> str:
        return f"SigningIdentity({self.certificate.subject.rfc4514_string()})"

    @property
    def der(self) -> bytes:
        """The certificate in DER, as in tokens."""
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def pem(self) -> bytes:
        """The certificate in PEM, as it is published."""
        return self.certificate.public_bytes(Encoding.PEM)

    def encode(self) -> bytes:
        """Return key and certificate in PEM, as they are stored."""
        key = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return key + self.pem


def read_identity(pem: bytes) -> SigningIdentity:
    """Return the identity that `encode` wrote, or raise `SetupFailed`."""
    try:
        key, certificate = load_pem_private_key(pem, None), x509.load_pem_x509_certificate(pem)
    except (ValueError, TypeError):
        raise SetupFailed("a key of the local timestamp authority cannot be read; restore a backup") from None
    if not isinstance(key, EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        raise SetupFailed("a key of the local timestamp authority has another certificate; restore a backup")
    return SigningIdentity(certificate, key)


def new_root(now: datetime) -> SigningIdentity:
    """Return a new root."""
    key = generate_private_key(SECP256R1())
    name = _name(f"{ROOT_NAME} {secrets.token_hex(4)}")
    builder = (
        _builder(name, name, key, now - CLOCK_TOLERANCE, now + ROOT_LASTS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage("key_cert_sign", "crl_sign"), critical=True)
    )
    return SigningIdentity(builder.sign(key, SHA256()), key)


def new_signer(root: SigningIdentity, now: datetime) -> SigningIdentity:
    """Return a new signer of timestamps under a root."""
    key, issuer = generate_private_key(SECP256R1()), root.certificate
    begins = max(now - CLOCK_TOLERANCE, issuer.not_valid_before_utc)
    ends = min(now + SIGNER_LASTS, issuer.not_valid_after_utc)
    label = issuer.subject.rfc4514_string().rpartition(" ")[2].partition(",")[0]
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(root.key.public_key())
    builder = (
        _builder(_name(f"Foja local timestamps {label}"), issuer.subject, key, begins, ends)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage("digital_signature"), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING]), critical=True)
        .add_extension(identifier, critical=False)
    )
    return SigningIdentity(builder.sign(root.key, SHA256()), key)


def is_due(signer: SigningIdentity, now: datetime) -> bool:
    """Return whether a signer should be replaced: it ends soon, or the clock is before its begin."""
    ends = signer.certificate.not_valid_after_utc - RENEWED_BEFORE
    return not signer.certificate.not_valid_before_utc <= now < ends


def _builder(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, begins: datetime, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*allowed: str) -> x509.KeyUsage:
    return x509.KeyUsage(**{name: name in allowed for name in _USAGES})


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
