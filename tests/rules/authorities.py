"""Test authorities, valid or not: certificates and tokens with exactly one fault."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from foja.pure.proofs.der import (
    OCTETS,
    OID,
    SEQUENCE,
    SET,
    TIME,
    UTF8,
    DerReader,
    element,
    integer,
    oid,
    oid_content,
    sequence,
    set_of,
    tagged,
)

NOW = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
DAY = timedelta(days=1)
TIME_STAMPING, CODE_SIGNING = ExtendedKeyUsageOID.TIME_STAMPING, ExtendedKeyUsageOID.CODE_SIGNING
HASHES = {"sha256": hashes.SHA256(), "sha384": hashes.SHA384(), "sha512": hashes.SHA512()}
HASH_OIDS = {
    "sha1": "1.3.14.3.2.26",
    "sha256": "2.16.840.1.101.3.4.2.1",
    "sha384": "2.16.840.1.101.3.4.2.2",
    "sha512": "2.16.840.1.101.3.4.2.3",
    "sha3-256": "2.16.840.1.101.3.4.2.8",
}
ECDSA = {f"sha{size}": f"1.2.840.10045.4.3.{last}" for size, last in ((256, 2), (384, 3), (512, 4))}
RSA = {f"sha{size}": f"1.2.840.113549.1.1.{last}" for size, last in ((256, 11), (384, 12), (512, 13))}
POLICY = "1.3.6.1.4.1.99999.1"
TST_INFO = oid_content("1.2.840.113549.1.9.16.1.4")
USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


@dataclass(frozen=True, slots=True)
class Certified:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: Any

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def issuer(self) -> bytes:
        """The issuer's name, as encoded in the certificate."""
        parts = DerReader(self.certificate.tbs_certificate_bytes).enter(SEQUENCE)
        parts.enter(tagged(0))
        parts.integer()
        parts.enter(SEQUENCE)
        return parts.whole(SEQUENCE)


def certify(
    name: str,
    issuer: Certified | None = None,
    *,
    key: Any = None,
    ca: bool = False,
    path_length: int | None = None,
    purposes: Sequence[x509.ObjectIdentifier] = (),
    critical: bool = True,
    begins: datetime = NOW - 300 * DAY,
    ends: datetime = NOW + 300 * DAY,
    usage: str | None = None,
    serial: int | None = None,
    by: Any = None,
    key_ids: bool = True,
    more: x509.ExtensionType | None = None,
    more_critical: bool = True,
    issuer_key: Any = None,
) -> Certified:
    """Return a certificate with these properties, self-issued or issued by another."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    above = issuer.certificate.subject if issuer else _name(name)
    signer = issuer_key or (issuer.key if issuer else key)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(above)
        .public_key(key.public_key())
        .serial_number(serial or x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=path_length), critical=True)
    )
    if key_ids:
        own, theirs = key.public_key(), signer.public_key()
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(own), critical=False)
        above_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(theirs)
        builder = builder.add_extension(above_id, critical=False)
    if more:
        builder = builder.add_extension(more, critical=more_critical)
    if usage:
        builder = builder.add_extension(_usage(usage), critical=True)
    if purposes:
        builder = builder.add_extension(x509.ExtendedKeyUsage(list(purposes)), critical=critical)
    algorithm = None if isinstance(signer, ed25519.Ed25519PrivateKey) else by or hashes.SHA256()
    return Certified(builder.sign(signer, algorithm), key)


def root(name: str = "Test Root", **how: Any) -> Certified:
    """Return a root."""
    return certify(name, ca=True, **how)


def signer(issuer: Certified, name: str = "Test TSA", **how: Any) -> Certified:
    """Return a signer of timestamps."""
    return certify(name, issuer, **{"purposes": [TIME_STAMPING], **how})


@cache
def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    """Return an RSA key; keys are slow to make, so all tests share one."""
    return rsa.generate_private_key(65537, bits)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The fields of a token, each of which a test may make wrong."""

    signer: Certified
    digest: bytes
    algorithm: str = "sha256"
    nonce: int | None = 7
    policy: str = POLICY
    serial: int = 4711
    gen_time: datetime = NOW
    accuracy: bytes = field(default_factory=lambda: sequence(integer(1)))
    version: int = 1
    embedded: Sequence[Certified] | None = None  # None: the signer
    content_type: bytes = TST_INFO
    signed_content_type: bytes = TST_INFO
    hashed_by: str = "sha256"
    identified: Certified | None = None  # the certificate that the ESSCertID names; None: the signer
    identified_by: str | None = "sha256"  # sha1: version 1; None: no ESSCertID
    also_identified: Sequence[Certified] = ()  # further certificates that the signer names
    issuer_serial: tuple[bytes, int] | None = None
    authority: bytes | None = None  # the GeneralName in the field `tsa`
    padding: str = "pkcs1"
    signers: int = 1
    announced: str | None = None
    message_digest: bytes | None = None
    extensions: bytes = b""
    crls: Sequence[bytes] = ()
    ocsps: Sequence[bytes] = ()


def token(recipe: Recipe) -> bytes:
    """Return the TimeStampToken of a recipe."""
    content = tst_info(recipe)
    embedded = [recipe.signer] if recipe.embedded is None else recipe.embedded
    info = signer_info(recipe, content)
    others = [element(tagged(1), oid("1.3.6.1.5.5.7.16.2"), each) for each in recipe.ocsps]
    revocations = [*recipe.crls, *others]
    data = sequence(
        integer(3),
        set_of(_algorithm(recipe.announced or recipe.hashed_by)),
        sequence(element(OID, recipe.content_type), element(tagged(0), element(OCTETS, content))),
        element(tagged(0), *(each.der for each in embedded)) if embedded else b"",
        element(tagged(1), *revocations) if revocations else b"",
        element(SET, *[info] * recipe.signers),  # repeated, it is one too many
    )
    return sequence(oid("1.2.840.113549.1.7.2"), element(tagged(0), data))


def reply(recipe: Recipe) -> bytes:
    """Return the TimeStampResp that grants the token of a recipe."""
    return sequence(sequence(integer(0)), token(recipe))


def refusal(status: int = 2, text: str = "no", bit: int = 2) -> bytes:
    """Return a TimeStampResp without a token."""
    bits = (0x80000000 >> bit).to_bytes(4).rstrip(b"\0")
    failure = element(0x03, bytes((7 - bit % 8,)), bits)
    return sequence(sequence(integer(status), sequence(element(UTF8, text.encode())), failure))


def tst_info(recipe: Recipe) -> bytes:
    moment = f"{recipe.gen_time:%Y%m%d%H%M%S}.{recipe.gen_time.microsecond:06}".rstrip("0").rstrip(".") + "Z"
    return sequence(
        integer(recipe.version),
        oid(recipe.policy),
        sequence(_algorithm(recipe.algorithm), element(OCTETS, recipe.digest)),
        integer(recipe.serial),
        element(TIME, moment.encode()),
        recipe.accuracy,
        b"" if recipe.nonce is None else integer(recipe.nonce),
        b"" if recipe.authority is None else element(tagged(0), recipe.authority),
        recipe.extensions,
    )


def signer_info(recipe: Recipe, content: bytes) -> bytes:
    digest = recipe.message_digest or hashlib.new(recipe.hashed_by, content).digest()
    parts = [
        _attribute("1.2.840.113549.1.9.3", element(OID, recipe.signed_content_type)),
        _attribute("1.2.840.113549.1.9.4", element(OCTETS, digest)),
    ]
    if recipe.identified_by:
        parts.append(_identifier(recipe))
    attributes = b"".join(sorted(parts))
    method, value = _signed(recipe, element(SET, attributes))
    name = sequence(recipe.signer.issuer, integer(recipe.signer.certificate.serial_number))
    return sequence(
        integer(1),
        name,
        _algorithm(recipe.hashed_by),
        element(tagged(0), attributes),
        method,
        element(OCTETS, value),
    )


def _identifier(recipe: Recipe) -> bytes:
    by = recipe.identified_by or ""
    algorithm = b"" if by in ("sha1", "sha256") else _algorithm(by)
    issuer_serial = b""
    if recipe.issuer_serial:
        issuer, serial = recipe.issuer_serial
        issuer_serial = sequence(sequence(element(tagged(4), issuer)), integer(serial))
    first, *others = (
        element(OCTETS, hashlib.new(by, each.der).digest())
        for each in (recipe.identified or recipe.signer, *recipe.also_identified)
    )
    every = [sequence(algorithm, first, issuer_serial), *(sequence(algorithm, each) for each in others)]
    name = "1.2.840.113549.1.9.16.2.12" if by == "sha1" else "1.2.840.113549.1.9.16.2.47"
    return _attribute(name, sequence(sequence(*every)))


def _signed(recipe: Recipe, data: bytes) -> tuple[bytes, bytes]:
    key, by = recipe.signer.key, recipe.hashed_by
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return sequence(oid("1.3.101.112")), key.sign(data)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return sequence(oid(ECDSA[by])), key.sign(data, ec.ECDSA(HASHES[by]))
    if recipe.padding == "pss":
        mask = sequence(oid("1.2.840.113549.1.1.8"), _algorithm(by))
        salt = HASHES[by].digest_size
        how = sequence(
            element(tagged(0), _algorithm(by)), element(tagged(1), mask), element(tagged(2), integer(salt))
        )
        pad = padding.PSS(padding.MGF1(HASHES[by]), salt)
        return sequence(oid("1.2.840.113549.1.1.10"), how), key.sign(data, pad, HASHES[by])
    name = "1.2.840.113549.1.1.1" if recipe.padding == "plain" else RSA[by]
    return sequence(oid(name), b"\x05\x00"), key.sign(data, padding.PKCS1v15(), HASHES[by])


def _attribute(name: str, value: bytes) -> bytes:
    return sequence(oid(name), element(SET, value))


def _algorithm(name: str) -> bytes:
    return sequence(oid(HASH_OIDS[name]), b"\x05\x00")


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage(name: str) -> x509.KeyUsage:
    """Return a usage with these names, separated by spaces."""
    return x509.KeyUsage(**{each: each in name.split() for each in USAGES})


__all__ = [
    "CODE_SIGNING",
    "DAY",
    "NOW",
    "POLICY",
    "TIME_STAMPING",
    "Certified",
    "Recipe",
    "certify",
    "refusal",
    "replace",
    "reply",
    "root",
    "rsa_key",
    "signer",
    "token",
]
