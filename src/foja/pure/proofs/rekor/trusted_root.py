"""A `trusted_root.json`: the logs and authorities of one Sigstore instance, given by the caller."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha256

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes

from foja.errors import Refused, Tampered
from foja.pure.core.note import Verifier
from foja.pure.proofs.keys import public_key
from foja.pure.proofs.rekor.fields import Fields


@dataclass(frozen=True, slots=True)
class Period:
    """The time in which something is trusted; None means no limit."""

    start: datetime | None
    end: datetime | None

    def covers(self, moment: datetime) -> bool:
        """Return whether a moment is in the period."""
        return (not self.start or self.start <= moment) and (not self.end or moment <= self.end)


@dataclass(frozen=True, slots=True)
class TransparencyLog:
    """A log and the key it signs with."""

    name: str
    id: bytes
    key: PublicKeyTypes
    period: Period

    @classmethod
    def of(cls, verifier: Verifier) -> TransparencyLog:
        """Return a log that is known only by its note key."""
        key = b"\x01" + verifier.public_key
        log_id = sha256(verifier.name.encode() + b"\n" + key).digest()
        return cls(verifier.name, log_id, public_key(_ED25519 + verifier.public_key), Period(None, None))


@dataclass(frozen=True, slots=True)
class CertificateAuthority:
    """An authority's certificates, from the one that signs to its root."""

    certificates: tuple[bytes, ...]
    period: Period


@dataclass(frozen=True, slots=True)
class TrustedRoot:
    """The logs and authorities of one Sigstore instance."""

    logs: tuple[TransparencyLog, ...]
    authorities: tuple[CertificateAuthority, ...]
    certificate_logs: tuple[TransparencyLog, ...]
    timestamp_authorities: tuple[CertificateAuthority, ...]


@lru_cache(maxsize=16)
def parse_trusted_root(data: bytes) -> TrustedRoot:
    """Return the trusted root in a file, or raise `Refused`."""
    try:
        whole = Fields.parse(data, "the trusted root")
        return TrustedRoot(
            logs=tuple(map(_log, whole.each("tlogs"))),
            authorities=tuple(map(_authority, whole.each("certificateAuthorities"))),
            certificate_logs=tuple(map(_log, whole.each("ctlogs"))),
            timestamp_authorities=tuple(map(_authority, whole.each("timestampAuthorities"))),
        )
    except Tampered as error:
        raise Refused(f"the trusted root cannot be read: {error}; fetch it again") from None


def _log(log: Fields) -> TransparencyLog:
    name = log.text("baseUrl").partition("://")[2].partition("/")[0]
    key = log.inner("publicKey")
    return TransparencyLog(
        name=name,
        id=log.inner("logId").data("keyId"),
        key=public_key(key.data("rawBytes")),
        period=_period(key),
    )


def _authority(authority: Fields) -> CertificateAuthority:
    certificates = authority.inner("certChain").each("certificates")
    chain = tuple(each.data("rawBytes") for each in certificates)
    try:
        for each in chain:
            x509.load_der_x509_certificate(each)
    except Exception as error:  # the library raises many types for unreadable bytes
        raise Tampered(f"a certificate of the trusted root cannot be read ({error})") from None
    return CertificateAuthority(chain, _period(authority))


def _period(holder: Fields) -> Period:
    if not holder.has("validFor"):
        return Period(None, None)
    period = holder.inner("validFor")
    return Period(period.time("start"), period.time("end"))


_ED25519 = bytes.fromhex("302a300506032b6570032100")  # the DER prefix of the 32 bytes of a key
