"""The short-lived certificate of a signer: its issuer, its log, and the identity it names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.certificate_transparency import SignedCertificateTimestamp
from cryptography.x509.oid import ExtendedKeyUsageOID

from foja.pure.proofs.finding import Flaw, Reason, Status, TrustItem
from foja.pure.proofs.keys import signs
from foja.pure.proofs.rekor.trusted_root import CertificateAuthority, TrustedRoot
from foja.pure.quotation import quoted

_ISSUER, _OLD_ISSUER = "1.3.6.1.4.1.57264.1.8", "1.3.6.1.4.1.57264.1.1"
_UTF8, _OTHER_NAME = 0x0C, x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.7")
MAX_PROMISES = 16
_ADDED = x509.PrecertificateSignedCertificateTimestamps


@dataclass(frozen=True, slots=True)
class SignerIdentity:
    """The signer, and the issuer that vouches for it."""

    subject: str
    issuer: str


def read_certificate(der: bytes) -> x509.Certificate:
    """Return a certificate with readable extensions and key, or raise `Flaw`."""
    try:
        certificate = x509.load_der_x509_certificate(der)
        _ = certificate.extensions, certificate.public_key()
    except Exception as error:  # the library raises many types for unreadable bytes
        raise Flaw(
            Reason.MALFORMED, f"the signer's certificate cannot be read ({quoted(str(error))})"
        ) from None
    return certificate


def check_certificate(
    certificate: x509.Certificate,
    issuers: Collection[bytes],
    moments: Sequence[datetime],
    roots: Iterable[TrustedRoot],
) -> TrustItem:
    """Return the root of the trusted authority that issued this one, for signing, valid at all moments.

    Raise `Flaw` if there is none. `issuers` came with the bundle; they must be of that authority.
    """
    root, chain = _issuers(certificate, moments, roots)
    if not {each.public_bytes(Encoding.DER) for each in chain}.issuperset(issuers):
        raise Flaw(Reason.UNRELATED_CERTIFICATE, "the bundle holds certificates of other authorities")
    _check_usage(certificate)
    for each in (certificate, *chain):
        for moment in moments:
            if not each.not_valid_before_utc <= moment <= each.not_valid_after_utc:
                name = quoted(each.subject.rfc4514_string()) if each.subject else "the signer"
                detail = f"the certificate of {name} was not valid at that time"
                raise Flaw(Reason.CERT_EXPIRED_AT_GENTIME, detail)
    _check_logged(certificate, chain[0], root)
    fingerprint = sha256(chain[-1].public_bytes(Encoding.DER)).hexdigest()
    return TrustItem("sigstore", chain[-1].subject.rfc4514_string(), f"sha256:{fingerprint}")


def signer_of(certificate: x509.Certificate) -> SignerIdentity:
    """Return the identity that a certificate names."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return SignerIdentity("", _issuer_text(certificate))
    plain = [
        each.value for each in names if isinstance(each, x509.RFC822Name | x509.UniformResourceIdentifier)
    ]
    other = [
        _utf8(each.value)
        for each in names
        if isinstance(each, x509.OtherName) and each.type_id == _OTHER_NAME
    ]
    return SignerIdentity(next(iter([*plain, *other]), ""), _issuer_text(certificate))


def _issuers(
    certificate: x509.Certificate, moments: Sequence[datetime], roots: Iterable[TrustedRoot]
) -> tuple[TrustedRoot, list[x509.Certificate]]:
    for root in roots:
        for authority in root.authorities:
            chain = _chain(certificate, authority)
            if chain and all(authority.period.covers(moment) for moment in moments):
                return root, chain
    detail = "no authority you trust issued the signer's certificate at that time"
    missing = TrustItem("sigstore", certificate.issuer.rfc4514_string())
    raise Flaw(Reason.NO_TRUST_ANCHOR, detail, Status.INDETERMINATE, (missing,))


def _chain(certificate: x509.Certificate, authority: CertificateAuthority) -> list[x509.Certificate]:
    chain = [x509.load_der_x509_certificate(each) for each in authority.certificates]
    child = certificate
    try:
        for issuer in chain:
            child.verify_directly_issued_by(issuer)
            child = issuer
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return []
    return chain


def _check_usage(certificate: x509.Certificate) -> None:
    found = certificate.extensions
    try:
        signing = found.get_extension_for_class(x509.KeyUsage).value.digital_signature
        purposes = found.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        signing, purposes = False, x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    if not signing or ExtendedKeyUsageOID.CODE_SIGNING not in purposes:
        raise Flaw(Reason.EKU_INVALID, "the signer's certificate is not for code signing")


def _check_logged(certificate: x509.Certificate, issuer: x509.Certificate, root: TrustedRoot) -> None:
    """Raise `Flaw` unless a trusted certificate log promised to record the certificate."""
    for promise in _promises(certificate):
        for log in root.certificate_logs:
            if log.id == promise.log_id:
                if signs(log.key, promise.signature, _promised(promise, certificate, issuer)):
                    return
                raise Flaw(
                    Reason.SIGNATURE_INVALID, f"{quoted(log.name)} did not promise to record this certificate"
                )
    detail = "no log you trust promised to record the signer's certificate"
    raise Flaw(Reason.CERTIFICATE_NOT_LOGGED, detail, Status.INDETERMINATE)


def _promises(certificate: x509.Certificate) -> list[SignedCertificateTimestamp]:
    """Return the promises in a certificate, or raise `Flaw` for one that cannot be read."""
    try:
        found = list(certificate.extensions.get_extension_for_class(_ADDED).value)
        _ = [each.timestamp for each in found]
    except x509.ExtensionNotFound:
        return []
    except (ValueError, OverflowError) as error:
        raise Flaw(Reason.MALFORMED, f"a promise of a certificate log cannot be read ({error})") from None
    if len(found) > MAX_PROMISES:
        raise Flaw(Reason.MALFORMED, f"a certificate has more than {MAX_PROMISES} promises of logs")
    return found


def _promised(
    promise: SignedCertificateTimestamp, certificate: x509.Certificate, issuer: x509.Certificate
) -> bytes:
    """Return the bytes that a certificate log signs for a precertificate (RFC 6962 §3.2)."""
    key = issuer.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    body, extensions = certificate.tbs_precertificate_bytes, promise.extension_bytes
    since = promise.timestamp.replace(tzinfo=None) - datetime(1970, 1, 1)  # noqa: DTZ001
    milliseconds = (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
    entry = milliseconds.to_bytes(8) + b"\x00\x01" + sha256(key).digest()
    return b"\x00\x00" + entry + len(body).to_bytes(3) + body + len(extensions).to_bytes(2) + extensions


def _issuer_text(certificate: x509.Certificate) -> str:
    for oid in (_ISSUER, _OLD_ISSUER):
        try:
            found = certificate.extensions.get_extension_for_oid(x509.ObjectIdentifier(oid)).value
        except x509.ExtensionNotFound:
            continue
        if isinstance(found, x509.UnrecognizedExtension):
            return _utf8(found.value) if oid == _ISSUER else found.value.decode(errors="replace")
    return ""


def _utf8(der: bytes) -> str:
    """Return the text of a short DER UTF8String."""
    if len(der) >= 2 and der[0] == _UTF8 and der[1] == len(der) - 2 < 0x80:
        return der[2:].decode(errors="replace")
    if len(der) >= 3 and der[:2] == bytes([_UTF8, 0x81]) and der[2] == len(der) - 3:
        return der[3:].decode(errors="replace")
    return ""
