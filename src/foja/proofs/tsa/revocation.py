"""T9: what lists and answers say about revocation, as far as somebody brought any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from cryptography import x509
from cryptography.x509 import ReasonFlags

from foja.proofs.finding import Reason, Status
from foja.proofs.flaw import Flaw
from foja.proofs.tsa.certificate import Certificate

MAX_BYTES = 1_048_576
_COMPROMISED = {None, ReasonFlags.key_compromise, ReasonFlags.ca_compromise, ReasonFlags.aa_compromise}


@dataclass(frozen=True, slots=True)
class Revocations:
    """Lists and answers that somebody brought, in DER; none is trusted before its signature is."""

    crls: Sequence[bytes]
    ocsps: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Word:
    """What one source says about one certificate: good, or revoked then and why."""

    since: datetime
    until: datetime | None
    revoked: datetime | None = None
    reason: ReasonFlags | None = None

    def spoils(self, moment: datetime) -> bool:
        """Say whether it ends what was signed at that moment (RFC 3161, 4): no reason given spoils all."""
        return self.revoked is not None and (self.revoked <= moment or self.reason in _COMPROMISED)

    def clears(self, moment: datetime) -> bool:
        """Say whether it covers that moment and knows of no revocation until then."""
        covers = self.since >= moment or (self.until is not None and moment <= self.until)
        return covers and not self.spoils(moment)


def check_revocation(
    chain: Sequence[Certificate], moment: datetime, brought: Revocations, required: bool
) -> list[str]:
    """Return the names of those nothing is known about; a revoked one raises `Flaw`."""
    unknown = list[str]()
    for each, issuer in pairwise(chain):
        words = list(_words(each, issuer, brought))
        if any(word.spoils(moment) for word in words):
            raise Flaw(Reason.REVOKED, f"the certificate of {each.name} was revoked")
        if not any(word.clears(moment) for word in words):
            unknown.append(each.name)
    if unknown and required:
        raise Flaw(
            Reason.REVOCATION_UNKNOWN,
            f"nothing says whether {unknown[0]} was revoked, and the policy asks for it",
            Status.INDETERMINATE,
        )
    return unknown


def _words(each: Certificate, issuer: Certificate, brought: Revocations) -> Iterator[Word]:
    for data in brought.crls:
        if word := _listed(each, issuer, data):
            yield word
    if brought.ocsps:
        from foja.proofs.tsa.ocsp import answered  # seldom there, and slow to import

        for data in brought.ocsps:
            if len(data) <= MAX_BYTES and (word := answered(each, issuer, data)):
                yield word


def _listed(each: Certificate, issuer: Certificate, data: bytes) -> Word | None:
    """Return what a list says, if its issuer signed it and it is about such certificates."""
    try:
        found = x509.load_der_x509_crl(data) if len(data) <= MAX_BYTES else None
        if found is None or found.issuer != issuer.x509.subject or not _is_about(found, each):
            return None
        if not issuer.lists:
            return None
        if not found.is_signature_valid(issuer.key):  # type: ignore[arg-type]
            return None
        entry = found.get_revoked_certificate_by_serial_number(each.serial)
        return _word(found, entry, each)
    except Exception:  # a library has many words for bytes that it cannot read
        return None


def _word(found: x509.CertificateRevocationList, entry: object, each: Certificate) -> Word | None:
    since, until = found.last_update_utc, found.next_update_utc
    if isinstance(entry, x509.RevokedCertificate):
        return Word(since, until, entry.revocation_date_utc, _reason(entry))
    # A list may leave out those whose time has run out.
    return Word(since, until) if since <= each.not_after else None


def _reason(entry: x509.RevokedCertificate) -> ReasonFlags | None:
    try:
        return entry.extensions.get_extension_for_class(x509.CRLReason).value.reason
    except x509.ExtensionNotFound:
        return None


def _is_about(found: x509.CertificateRevocationList, each: Certificate) -> bool:
    """Say whether a list covers such a certificate whole: no delta, no part, nobody else's."""
    for extension in found.extensions:
        value = extension.value
        if isinstance(value, x509.IssuingDistributionPoint):
            partial = value.indirect_crl or value.only_some_reasons or value.only_contains_attribute_certs
            other = value.only_contains_user_certs if each.authority else value.only_contains_ca_certs
            if partial or other:
                return False
        elif extension.critical:
            return False
    return True
