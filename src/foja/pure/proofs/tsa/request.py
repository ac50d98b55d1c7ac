"""The request to an authority: a digest, never the bytes behind it."""

from __future__ import annotations

from dataclasses import dataclass

from foja.errors import Malformed, Refused
from foja.pure.proofs.der import (
    BOOLEAN,
    OCTETS,
    SEQUENCE,
    DerReader,
    dotted,
    element,
    integer,
    oid,
    sequence,
    tagged,
)
from foja.pure.proofs.tsa.oids import IDENTIFIERS, SIZES, algorithm_of

_CERT_REQ = element(BOOLEAN, b"\xff")


@dataclass(frozen=True, slots=True)
class TimestampRequest:
    """A TimeStampReq, as an authority reads it."""

    algorithm: str | None  # None: an unknown one
    imprint: bytes
    message_imprint: bytes  # the element itself, to be repeated byte by byte
    policy: str | None
    nonce: int | None
    certificate: bool
    extensions: bool


def request(digest: bytes, *, nonce: int, algorithm: str = "sha256", policy: str | None = None) -> bytes:
    """Return the TimeStampReq for a digest; it asks for the authority's certificate."""
    if len(digest) != SIZES.get(algorithm):
        raise Refused(f"not a digest by {algorithm}: {len(digest)} bytes; use one of {', '.join(SIZES)}")
    if nonce < 0:
        raise Refused("a nonce is a number of 0 or more; draw one at random")
    imprint = sequence(IDENTIFIERS[algorithm], element(OCTETS, digest))
    req_policy = oid(policy) if policy else b""
    return sequence(integer(1), imprint, req_policy, integer(nonce), _CERT_REQ)


def read_request(data: bytes) -> TimestampRequest:
    """Return the fields of a TimeStampReq, or raise `Malformed`."""
    outer = DerReader(data)
    parts = outer.enter(SEQUENCE)
    outer.finish()
    if parts.integer() != 1:
        raise Malformed("only version 1 of a request is supported")
    message_imprint = parts.whole(SEQUENCE)
    imprint = DerReader(message_imprint).enter(SEQUENCE)
    algorithm, digest = algorithm_of(imprint), imprint.take(OCTETS)
    imprint.finish()
    policy = dotted(parts.oid()) if parts.next == 0x06 else None
    nonce = parts.integer() if parts.next == 0x02 else None
    # A client may state the default of certReq, although DER forbids it.
    certificate = parts.next == BOOLEAN and parts.boolean()
    extensions = parts.optional(tagged(0)) is not None
    parts.finish()
    return TimestampRequest(algorithm, digest, message_imprint, policy, nonce, certificate, extensions)
