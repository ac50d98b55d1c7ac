"""T9: revocation, as far as lists or OCSP responses were given.

A certificate that a list names is revoked, whatever else the list is for. That a list does not name it shows
something only if the list covers all such certificates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from cryptography import x509
from cryptography.x509 import ReasonFlags

from foja.pure.proofs.finding import Flaw, Reason, Status
from foja.pure.proofs.notices import OLD_CERTIFICATE
from foja.pure.proofs.tsa.certificate import Certificate

MAX_BYTES = 1_048_576
_OPENED = 128  # lists that are kept: more than one token and a usual trust have
_COMPROMISED = {None, ReasonFlags.key_compromise, ReasonFlags.ca_compromise, ReasonFlags.aa_compromise}


@dataclass(frozen=True, slots=True)
class Revocations:
    """Lists and OCSP responses in DER; none is trusted before its signature is checked."""

    crls: Sequence[bytes]
    ocsps: Sequence[bytes]


class Existence(NamedTuple):
    """The time for which a signature is judged, and by when it is proven to have existed."""

    moment: datetime
    proven: datetime | None = None  # by something newer that is verified; None: nothing proves it
    stated: bool = True  # whether `moment` is in what was signed, as in a token


class Standing(NamedTuple):
    """What is known about the revocation of a chain that is not refused for it."""

    unknown: list[str]  # the names of the certificates whose status is not known
    revoked: list[str]  # what was revoked after the signature was made, as remarks


@dataclass(frozen=True, slots=True)
class RevocationStatus:
    """The status of one certificate in one source: good, or revoked at a time and for a reason."""

    since: datetime
    until: datetime | None
    revoked: datetime | None = None
    reason: ReasonFlags | None = None

    def flaw(self, name: str, existence: Existence) -> Flaw | None:
        """Return why a signature does not count after this revocation, or None (RFC 3161, 4).

        A key that was compromised may have signed with any time: only a proof from before helps. Without a
        reason it counts as compromised.
        """
        if self.revoked is None:
            return None
        on, proven = f"{self.revoked:%Y-%m-%dT%H:%M:%SZ}", existence.proven
        earlier = self.revoked <= existence.moment
        if earlier and existence.stated and self.reason is not ReasonFlags.certificate_hold:
            return Flaw(Reason.REVOKED, f"the certificate of {name} was revoked on {on}, before it was made")
        believed = not earlier and existence.stated and self.reason not in _COMPROMISED
        if believed or (proven and proven < self.revoked):
            return None
        detail = f"the certificate of {name} was revoked on {on}, and nothing shows that it was used before"
        return Flaw(Reason.REVOKED, detail, Status.INDETERMINATE)

    def clears(self, name: str, existence: Existence, at: datetime) -> bool:
        """Return whether it shows no revocation that counts, and was still current at the time `at`.

        An older list does not know of a revocation that also affects earlier signatures.
        """
        current = self.since >= at or (self.until is not None and at <= self.until)
        return current and self.flaw(name, existence) is None


def check_revocation(
    chain: Sequence[Certificate],
    existence: Existence,
    revocations: Revocations,
    *,
    at: datetime | None = None,
    required: bool,
) -> Standing:
    """Return what is known about the revocation of a chain; raise `Flaw` if a revocation counts.

    The status must be current at the time judged (`at`), or at the end of a certificate that ended before.
    """
    standing = Standing([], [])
    for number, each in enumerate(chain[:-1]):
        statuses = list(_statuses(each, chain[number + 1 :], revocations))
        flaws = [flaw for status in statuses if (flaw := status.flaw(each.name, existence))]
        if flaws:
            raise next((flaw for flaw in flaws if flaw.status is Status.INVALID), flaws[0])
        last = max(existence.moment, min(at or existence.moment, each.not_after))
        if not any(status.clears(each.name, existence, last) for status in statuses):
            standing.unknown.append(each.name)
        if revoked := min((status.revoked for status in statuses if status.revoked), default=None):
            standing.revoked.append(f"{OLD_CERTIFICATE} {each.name} was revoked on {revoked:%Y-%m-%d}")
    if standing.unknown and required:
        detail = f"it is not known whether {standing.unknown[0]} was revoked, and the policy requires it"
        raise Flaw(Reason.REVOCATION_UNKNOWN, detail, Status.INDETERMINATE)
    return standing


def _statuses(
    each: Certificate, above: Sequence[Certificate], revocations: Revocations
) -> Iterator[RevocationStatus]:
    for data in revocations.crls:
        if status := _read_crl(each, above, data):
            yield status
    if revocations.ocsps:
        from foja.pure.proofs.tsa.ocsp import read_response  # rarely needed, and slow to import

        for data in revocations.ocsps:
            if len(data) <= MAX_BYTES and (status := read_response(each, above[0], data)):
                yield status


def _read_crl(each: Certificate, above: Sequence[Certificate], data: bytes) -> RevocationStatus | None:
    """Return the status in a list that an issuer in the chain signed, if the list says something about it."""
    try:
        if len(data) > MAX_BYTES:
            return None
        found, issuer = _open(data, tuple(above))
        if issuer is None:
            return None
        return _listed(found, each) or (_absent(found, each) if issuer == above[0] else None)
    except Exception:  # the library raises many types for unreadable bytes
        return None


@lru_cache(maxsize=_OPENED)
def _open(
    data: bytes, above: tuple[Certificate, ...]
) -> tuple[x509.CertificateRevocationList, Certificate | None]:
    """Return a list, and which of these issuers signed it: a long one is read and checked once."""
    found = x509.load_der_x509_crl(data)
    return found, next((one for one in above if _signed(found, one)), None)


def _signed(found: x509.CertificateRevocationList, issuer: Certificate) -> bool:
    if found.issuer != issuer.x509.subject or not issuer.signs_crls:
        return False
    return found.is_signature_valid(issuer.key)  # type: ignore[arg-type]


def _listed(found: x509.CertificateRevocationList, each: Certificate) -> RevocationStatus | None:
    """Return the revocation of a certificate that a list names by its issuer and serial number."""
    entry, point = found.get_revoked_certificate_by_serial_number(each.serial), _distribution_point(found)
    if entry is None or (point and point.only_contains_attribute_certs):
        return None  # in such a list the numbers are of other certificates
    if point and point.indirect_crl:
        entry = _entry_of(found, each)
    elif found.issuer != each.x509.issuer:
        return None
    if entry is None or (reason := _reason(entry)) is ReasonFlags.remove_from_crl:
        return None
    return RevocationStatus(found.last_update_utc, found.next_update_utc, entry.revocation_date_utc, reason)


def _entry_of(found: x509.CertificateRevocationList, each: Certificate) -> x509.RevokedCertificate | None:
    """Return the entry of an indirect list; an issuer in an entry holds for the next ones too."""
    issuer = found.issuer
    for entry in found:
        issuer = _issuer_named(entry) or issuer
        if entry.serial_number == each.serial and issuer == each.x509.issuer:
            return entry
    return None


def _absent(found: x509.CertificateRevocationList, each: Certificate) -> RevocationStatus | None:
    """Return the status of a certificate that a list does not name, if the list covers it."""
    # A list may omit expired certificates.
    if not _is_about(found, each) or found.last_update_utc > each.not_after:
        return None
    return RevocationStatus(found.last_update_utc, found.next_update_utc)


def _distribution_point(found: x509.CertificateRevocationList) -> x509.IssuingDistributionPoint | None:
    try:
        return found.extensions.get_extension_for_class(x509.IssuingDistributionPoint).value
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return None


def _issuer_named(entry: x509.RevokedCertificate) -> x509.Name | None:
    try:
        names = entry.extensions.get_extension_for_class(x509.CertificateIssuer).value
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return None
    return next(iter(names.get_values_for_type(x509.DirectoryName)), None)


def _reason(entry: x509.RevokedCertificate) -> ReasonFlags | None:
    try:
        return entry.extensions.get_extension_for_class(x509.CRLReason).value.reason
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
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
