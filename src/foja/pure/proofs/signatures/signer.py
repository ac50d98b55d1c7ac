"""A signature as it is recorded, and its signer: a public key, or a certificate with its key."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from foja.errors import Malformed, Tampered
from foja.pure.proofs.finding import Flaw, Reason, Status
from foja.pure.proofs.keys import public_key
from foja.pure.proofs.tsa.certificate import EXPONENT_BITS, LARGEST_RSA, SMALLEST_RSA, Certificate, is_slow
from foja.pure.proofs.tsa.certificate import certificate as parse_certificate
from foja.pure.proofs.tsa.chain import ANY_PURPOSE
from foja.pure.proofs.tsa.cms import SignerInfo

FORMATS = ("cms", "jws", "raw")
MAX_BYTES = 262_144
MAX_KEY_BYTES = 16_384
CURVES = ("secp256r1", "secp384r1", "secp521r1")
# Mail, clients, documents (RFC 9336), and documents by Microsoft and Adobe.
PURPOSES = frozenset(
    {
        ANY_PURPOSE,
        "1.3.6.1.5.5.7.3.2",
        "1.3.6.1.5.5.7.3.4",
        "1.3.6.1.5.5.7.3.36",
        "1.3.6.1.4.1.311.10.3.12",
        "1.2.840.113583.1.1.5",
    }
)


class Signature(NamedTuple):
    """The bytes of a signature, its format, and the key or the certificate that was given with it, in DER."""

    format: str
    value: bytes
    key: bytes | None = None
    certificate: bytes | None = None


class Signer(NamedTuple):
    """Who signed, as far as the signature tells it. Nothing about it is trusted."""

    key: PublicKeyTypes
    certificate: Certificate | None = None
    embedded: tuple[Certificate, ...] = ()  # may help to find a chain
    crls: tuple[bytes, ...] = ()
    ocsps: tuple[bytes, ...] = ()
    info: SignerInfo | None = None  # of a CMS signature

    @property
    def spki(self) -> bytes:
        """The public key in DER."""
        return self.key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the public key."""
        return sha256(self.spki).hexdigest()

    @property
    def name(self) -> str:
        """The subject of the certificate, else the fingerprint of the key."""
        return self.certificate.name if self.certificate else f"key sha256:{self.fingerprint}"


def given_signer(signature: Signature) -> Signer | None:
    """Return the signer that was given beside a signature, or None; raise `Flaw` or `Malformed`."""
    if signature.key is not None and signature.certificate is not None:
        raise Malformed("a key and a certificate are given; one of the two is expected")
    if signature.certificate is not None:
        return certified(parse_certificate(signature.certificate))
    if signature.key is None:
        return None
    if len(signature.key) > MAX_KEY_BYTES:
        raise Malformed(f"the key has {len(signature.key):,} bytes; at most {MAX_KEY_BYTES:,} are read")
    try:
        return Signer(strong(public_key(signature.key), "the key"))
    except Tampered as error:
        raise Malformed(str(error)) from None


def certified(certificate: Certificate) -> Signer:
    """Return the signer that a certificate names; raise `Flaw` if its key is not supported."""
    return Signer(strong(certificate.key, f"the key of {certificate.name}"), certificate)


def strong(key: PublicKeyTypes | None, name: str) -> PublicKeyTypes:
    """Return a key whose signatures count, or raise `Flaw`."""
    if isinstance(key, rsa.RSAPublicKey):
        if not SMALLEST_RSA <= key.key_size <= LARGEST_RSA:
            raise unsupported(
                f"{name} has {key.key_size} bits; {SMALLEST_RSA} to {LARGEST_RSA} are supported"
            )
        if is_slow(key):
            raise unsupported(f"{name} has an exponent of more than {EXPONENT_BITS} bits")
        return key
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in CURVES:
        return key
    if isinstance(key, ed25519.Ed25519PublicKey):
        return key
    raise unsupported(f"{name} is not an Ed25519, RSA, P-256, P-384 or P-521 key")


def check_certificate(each: Certificate, at: datetime, earliest: datetime) -> None:
    """Raise `Flaw` unless a certificate is for signing, and was valid when the signature existed."""
    if each.purposes is not None and not each.purposes & PURPOSES:
        raise Flaw(Reason.EKU_INVALID, f"{each.name} is not issued for signing documents")
    if not each.signs_data:
        raise Flaw(Reason.KEY_USAGE_INVALID, f"the key of {each.name} may not sign documents")
    if each.unknown_critical:
        detail = f"{each.name} has a critical extension that is not supported"
        raise Flaw(Reason.EXTENSION_UNSUPPORTED, detail, Status.UNSUPPORTED)
    if earliest < each.not_before:
        detail = f"{each.name} is valid from {_time(each.not_before)}, and it existed by {_time(earliest)}"
        raise Flaw(Reason.CERT_NOT_YET_VALID_AT_GENTIME, detail, Status.INDETERMINATE)
    if at.replace(microsecond=0) > each.not_after:
        detail = (
            f"{each.name} was valid until {_time(each.not_after)}, and it is proven to exist by {_time(at)}"
        )
        raise Flaw(Reason.CERT_EXPIRED_AT_GENTIME, detail, Status.INDETERMINATE)


def unsupported(detail: str) -> Flaw:
    """Return the flaw of something that is not supported; it proves nothing, and fails nothing."""
    return Flaw(Reason.ALGORITHM_UNSUPPORTED, detail, Status.UNSUPPORTED)


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
