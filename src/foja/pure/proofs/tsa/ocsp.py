"""OCSP responses, signed by the issuer or by a responder that it delegated."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import new as digest_by

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ocsp

from foja.pure.proofs.der import BITS, SEQUENCE, DerReader, tagged
from foja.pure.proofs.keys import accepts
from foja.pure.proofs.tsa.certificate import Certificate, certificate, is_issued_by
from foja.pure.proofs.tsa.oids import SIZES
from foja.pure.proofs.tsa.revocation import RevocationStatus

OCSP_SIGNING = "1.3.6.1.5.5.7.3.9"


def read_response(each: Certificate, issuer: Certificate, data: bytes) -> RevocationStatus | None:
    """Return the status of a certificate in a response, if an authorized responder signed it."""
    try:
        found = ocsp.load_der_ocsp_response(data)
        if found.response_status is not ocsp.OCSPResponseStatus.SUCCESSFUL:
            return None
        if not any(_signed(found, responder) for responder in _responders(found, issuer)):
            return None
        return next((_status(single) for single in found.responses if _is_about(single, each, issuer)), None)
    except Exception:  # the library raises many types for unreadable bytes
        return None


def _responders(found: ocsp.OCSPResponse, issuer: Certificate) -> Iterator[Certificate]:
    yield issuer
    for each in found.certificates[:4]:
        delegate = certificate(each.public_bytes(Encoding.DER))
        authorized = OCSP_SIGNING in (delegate.purposes or ()) and not delegate.weak
        current = delegate.not_before <= found.produced_at_utc <= delegate.not_after
        if authorized and current and delegate.issuer == issuer.subject and is_issued_by(delegate, issuer):
            yield delegate


def _signed(found: ocsp.OCSPResponse, responder: Certificate) -> bool:
    algorithm = found.signature_hash_algorithm
    if algorithm is None or algorithm.name not in SIZES:
        return False
    return accepts(responder.key, found.signature, found.tbs_response_bytes, algorithm)


def _is_about(single: ocsp.OCSPSingleResponse, each: Certificate, issuer: Certificate) -> bool:
    by = single.hash_algorithm.name
    name, key = digest_by(by, issuer.subject).digest(), digest_by(by, _key_bits(issuer)).digest()
    named = (single.serial_number, single.issuer_name_hash, single.issuer_key_hash)
    return named == (each.serial, name, key)


def _status(single: ocsp.OCSPSingleResponse) -> RevocationStatus | None:
    since, until = single.this_update_utc, single.next_update_utc
    if single.certificate_status is ocsp.OCSPCertStatus.REVOKED:
        return RevocationStatus(since, until, single.revocation_time_utc, single.revocation_reason)
    return RevocationStatus(since, until) if single.certificate_status is ocsp.OCSPCertStatus.GOOD else None


def _key_bits(issuer: Certificate) -> bytes:
    """Return the bits of the issuer's public key, without its algorithm identifier."""
    parts = DerReader(issuer.x509.tbs_certificate_bytes).enter(SEQUENCE)
    parts.optional(tagged(0))
    parts.integer()
    for _ in range(4):
        parts.enter(SEQUENCE)
    key = parts.enter(SEQUENCE)
    key.enter(SEQUENCE)
    return key.take(BITS)[1:]
