"""T9: revocation, as far as lists or OCSP responses were given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from cryptography import x509
from cryptography.x509 import ReasonFlags

from foja.proofs.finding import Flaw, Reason, Status
from foja.proofs.tsa.certificate import Certificate

MAX_BYTES = 1_048_576
_COMPROMISED = {None, ReasonFlags.key_compromise, ReasonFlags.ca_compromise, ReasonFlags.aa_compromise}


@dataclass(frozen=True, slots=True)
class Revocations:
    """Lists and OCSP responses in DER; none is trusted before its signature is checked."""

    crls: Sequence[bytes]
    ocsps: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class RevocationStatus:
    """The status of one certificate in one source: good, or revoked at a time and for a reason."""

    since: datetime
    until: datetime | None
    revoked: datetime | None = None
    reason: ReasonFlags | None = None

    def invalidates(self, moment: datetime) -> bool:
        """Return whether a signature of that moment is invalid (RFC 3161, 4); without a reason, all are."""
        return self.revoked is not None and (self.revoked <= moment or self.reason in _COMPROMISED)

    def clears(self, moment: datetime, at: datetime) -> bool:
        """Return whether it shows no revocation of that moment, and was still current at the time `at`.

        An older list does not know of a revocation that also affects earlier signatures.
        """
        current = self.since >= at or (self.until is not None and at <= self.until)
        return current and not self.invalidates(moment)


def check_revocation(
    chain: Sequence[Certificate],
    moment: datetime,
    revocations: Revocations,
    *,
    at: datetime | None = None,
    required: bool,
) -> list[str]:
    """Return the names of the certificates with unknown status; raise `Flaw` if one is revoked.

    The status must be current at the time judged (`at`), or at the end of a certificate that ended before.
    """
    unknown = list[str]()
    for each, issuer in pairwise(chain):
        statuses = list(_statuses(each, issuer, revocations))
        if any(status.invalidates(moment) for status in statuses):
            raise Flaw(Reason.REVOKED, f"the certificate of {each.name} was revoked")
        last = max(moment, min(at or moment, each.not_after))
        if not any(status.clears(moment, last) for status in statuses):
            unknown.append(each.name)
    if unknown and required:
        detail = f"it is not known whether {unknown[0]} was revoked, and the policy requires it"
        raise Flaw(Reason.REVOCATION_UNKNOWN, detail, Status.INDETERMINATE)
    return unknown


def _statuses(each: Certificate, issuer: Certificate, revocations: Revocations) -> Iterator[RevocationStatus]:
    for data in revocations.crls:
        if status := _read_crl(each, issuer, data):
            yield status
    if revocations.ocsps:
        from foja.proofs.tsa.ocsp import read_response  # rarely needed, and slow to import

        for data in revocations.ocsps:
            if len(data) <= MAX_BYTES and (status := read_response(each, issuer, data)):
                yield status


def _read_crl(each: Certificate, issuer: Certificate, data: bytes) -> RevocationStatus | None:
    """Return the status in a list, if its issuer signed it and it covers such certificates."""
    try:
        found = x509.load_der_x509_crl(data) if len(data) <= MAX_BYTES else None
        if found is None or found.issuer != issuer.x509.subject or not _is_about(found, each):
            return None
        if not issuer.signs_crls or not found.is_signature_valid(issuer.key):  # type: ignore[arg-type]
            return None
        entry = found.get_revoked_certificate_by_serial_number(each.serial)
        return _status(found, entry, each)
    except Exception:  # the library raises many types for unreadable bytes
        return None


def _status(
    found: x509.CertificateRevocationList, entry: object, each: Certificate
) -> RevocationStatus | None:
    since, until = found.last_update_utc, found.next_update_utc
    if isinstance(entry, x509.RevokedCertificate):
        return RevocationStatus(since, until, entry.revocation_date_utc, _reason(entry))
    # A list may omit expired certificates.
    return RevocationStatus(since, until) if since <= each.not_after else None


def _reason(entry: x509.RevokedCertificate) -> ReasonFlags | None:
    try:
        return entry.extensions.get_extension_for_class(x509.CRLReason).value.reason
    except x509.ExtensionNotFound:
        return None


def _is_about(found: x509.CertificateRevocationList, each: Certificate) -> bool:
    """Return whether a list fully covers such a certificate: not a delta, not partial, not indirect."""
    for extension in found.extensions:
        value = extension.value
        if isinstance(value, x509.IssuingDistributionPoint):
            partial = value.indirect_crl or value.only_some_reasons or value.only_contains_attribute_certs
            other = value.only_contains_user_certs if each.is_ca else value.only_contains_ca_certs
            if partial or other:
                return False
        elif extension.critical:
            return False
    return True
