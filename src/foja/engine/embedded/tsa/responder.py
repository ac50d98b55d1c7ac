"""Replies of a timestamp authority, in DER (RFC 3161). Constant parts are encoded once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
from cryptography.hazmat.primitives.hashes import SHA256

from foja.engine.embedded.tsa.issuer import SigningIdentity
from foja.pure.proofs.der import (
    BITS,
    OCTETS,
    OID,
    SEQUENCE,
    SET,
    TIME,
    UTC_TIME,
    UTF8,
    DerReader,
    element,
    integer,
    oid,
    sequence,
    tagged,
)
from foja.pure.proofs.tsa.oids import (
    CONTENT_TYPE,
    ECDSA_WITH,
    IDENTIFIERS,
    MESSAGE_DIGEST,
    SIGNED_DATA,
    SIGNING_CERTIFICATE_V2,
    TST_INFO,
)
from foja.pure.proofs.tsa.request import TimestampRequest

ACCURACY_SECONDS = 1
_SIGNING_TIME = oid("1.2.840.113549.1.9.5")
_GRANTED = sequence(integer(0))
_REJECTED = integer(2)
_METHOD = sequence(element(OID, next(each for each, name in ECDSA_WITH.items() if name == "sha256")))
_KIND = element(OID, TST_INFO)
_SIGNED_TYPE = sequence(element(OID, CONTENT_TYPE), element(SET, _KIND))
_DIGEST = element(OID, MESSAGE_DIGEST)
_ACCURACY = sequence(integer(ACCURACY_SECONDS))
_HEAD = integer(3) + element(SET, IDENTIFIERS["sha256"])


class Failure(IntEnum):
    """Why an authority refuses: bits of PKIFailureInfo."""

    BAD_ALGORITHM = 0
    BAD_DATA_FORMAT = 5
    TIME_NOT_AVAILABLE = 14
    UNACCEPTED_POLICY = 15
    UNACCEPTED_EXTENSION = 16


@dataclass(frozen=True, slots=True)
class ReplyEncoder:
    """A signer and the parts of every token that depend only on it."""

    signer: SigningIdentity
    name: bytes  # version, SignerIdentifier and digest algorithm
    certificate: bytes
    identifier: bytes  # the attribute with its ESSCertIDv2
    policy: bytes

    @classmethod
    def of(cls, signer: SigningIdentity, policy: str) -> ReplyEncoder:
        """Return an encoder for this signer and policy."""
        parts = DerReader(signer.certificate.tbs_certificate_bytes).enter(SEQUENCE)
        parts.optional(tagged(0))
        parts.integer()
        parts.enter(SEQUENCE)
        name = sequence(parts.whole(SEQUENCE), integer(signer.certificate.serial_number))
        certificate_id = sequence(element(OCTETS, sha256(signer.der).digest()))
        identifier = sequence(
            element(OID, SIGNING_CERTIFICATE_V2), element(SET, sequence(sequence(certificate_id)))
        )
        embedded = element(tagged(0), signer.der)
        return cls(signer, integer(1) + name + IDENTIFIERS["sha256"], embedded, identifier, oid(policy))


def granted(encoder: ReplyEncoder, request: TimestampRequest, moment: datetime, serial: int) -> bytes:
    """Return the TimeStampResp with a token for the request."""
    nonce = b"" if request.nonce is None else integer(request.nonce)
    content = sequence(
        integer(1),
        encoder.policy,
        request.message_imprint,
        integer(serial),
        element(TIME, _generalized_time(moment)),
        _ACCURACY,
        nonce,
    )
    attributes = _attributes(encoder, content, moment)
    signature = encoder.signer.key.sign(element(SET, attributes), ECDSA(SHA256()))
    signer = sequence(encoder.name, element(tagged(0), attributes), _METHOD, element(OCTETS, signature))
    data = sequence(
        _HEAD,
        sequence(_KIND, element(tagged(0), element(OCTETS, content))),
        encoder.certificate if request.certificate else b"",
        element(SET, signer),
    )
    return sequence(_GRANTED, sequence(element(OID, SIGNED_DATA), element(tagged(0), data)))


def rejected(failure: Failure, text: str) -> bytes:
    """Return the TimeStampResp that refuses the request, with the reason."""
    bits = (0x80000000 >> failure).to_bytes(4).rstrip(b"\0")
    unused = 7 - failure % 8
    message = sequence(element(UTF8, text.encode()))
    return sequence(sequence(_REJECTED, message, element(BITS, bytes((unused,)), bits)))


def _attributes(encoder: ReplyEncoder, content: bytes, moment: datetime) -> bytes:
    """Return the signed attributes, in the order of a DER set: shorter ones first."""
    digest = sequence(_DIGEST, element(SET, element(OCTETS, sha256(content).digest())))
    time = sequence(_SIGNING_TIME, element(SET, element(UTC_TIME, f"{moment:%y%m%d%H%M%S}Z".encode())))
    return _SIGNED_TYPE + time + digest + encoder.identifier


def _generalized_time(moment: datetime) -> bytes:
    """Return a GeneralizedTime with three digits of a second or none, later by a millisecond if need be.

    DER forbids zeros at the end, and some readers (@sigstore/verify) accept no one or two digits.
    """
    thousandths = moment.microsecond // 1000
    fraction = f".{thousandths + (thousandths % 10 == 0):03}" if thousandths else ""
    return f"{moment:%Y%m%d%H%M%S}{fraction}Z".encode()
