"""The parser of replies and tokens (RFC 3161). Nothing is checked yet.

Elements that all tokens of an authority share are cached: its names, algorithms and certificates. So are the
last small tokens: one is read when it comes and when its bundle is judged, one of a batch for each document.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from foja.errors import Malformed
from foja.pure.proofs.der import (
    BITS,
    BOOLEAN,
    INTEGER,
    OCTETS,
    OID,
    SEQUENCE,
    UTF8,
    DerReader,
    cached,
    dotted,
    plain,
)
from foja.pure.proofs.finding import Flaw, Reason, Status
from foja.pure.proofs.tsa.cms import ONE, ZERO, SignerInfo, read_signed_data
from foja.pure.proofs.tsa.oids import SIGNED_DATA, TST_INFO, algorithm_of
from foja.pure.quotation import quoted

MAX_BYTES = 262_144
CACHED_TOKENS, CACHED_BYTES = 256, 8192  # of one token; larger ones are read again
_dotted = lru_cache(maxsize=64)(dotted)
_GRANTED = (0, 1)
_STATUSES = {0: "granted", 1: "granted with changes", 2: "rejection", 3: "waiting", 4: "revocation warning"}
_FAILURES = {
    0: "badAlg",
    2: "badRequest",
    5: "badDataFormat",
    14: "timeNotAvailable",
    15: "unacceptedPolicy",
    16: "unacceptedExtension",
    17: "addInfoNotAvailable",
    25: "systemFailure",
}


class Info(NamedTuple):
    """The TSTInfo: what the authority states."""

    policy: str
    algorithm: str | None
    imprint: bytes
    serial: int
    gen_time: datetime
    accuracy: timedelta | None
    nonce: int | None
    authority: bytes | None  # the GeneralName in its field `tsa`, as encoded


class Token(NamedTuple):
    """A TimeStampToken and the certificates and revocations in it."""

    der: bytes
    content: bytes
    info: Info
    signature: SignerInfo
    certificates: tuple[bytes, ...]
    crls: tuple[bytes, ...]
    ocsps: tuple[bytes, ...]


def read_token(data: bytes) -> Token:
    """Return the token in a reply that grants one, or the token itself; raise `Flaw` or `Malformed`."""
    if len(data) > MAX_BYTES:
        detail = f"the token has {len(data):,} bytes; at most {MAX_BYTES:,} are read"
        raise Flaw(Reason.TOO_LARGE, detail, Status.UNSUPPORTED)
    inside = DerReader(data).into(SEQUENCE)
    if inside.next == OID:
        return _token(data)
    status, answer = _status(inside)
    if status not in _GRANTED or inside.next == -1:
        raise Flaw(Reason.STATUS_NOT_GRANTED, f"the authority sent no token; it answered: {answer}")
    token = inside.whole(SEQUENCE)
    inside.finish()
    return _token(token)


@cached(SEQUENCE)
def _status(info: DerReader) -> tuple[int, str]:
    """T1: return the status, and all that is said about it; with changes or without, the token counts."""
    status = info.integer()
    texts = info.optional(SEQUENCE)
    parts = [_STATUSES.get(status, f"status {status}")]
    while texts is not None and texts.next != -1:
        parts.append(quoted(texts.take(UTF8).decode(errors="replace")))
    if info.next == BITS:
        parts += _failures(info.take(BITS))
    info.finish()
    return status, ", ".join(parts)


def _failures(bits: bytes) -> list[str]:
    """Return the names of the failures in a PKIFailureInfo."""
    if not bits or bits[0] > 7:
        raise Malformed("its failure information is not a bit string")
    found = [n for n in range(min(len(bits) - 1, 4) * 8) if bits[1 + n // 8] & 0x80 >> n % 8]
    return [_FAILURES.get(n, f"failure {n}") for n in found]


def _token(der: bytes) -> Token:
    return _read_small(der) if len(der) <= CACHED_BYTES else _read(der)


def _read(der: bytes) -> Token:
    content_info = DerReader(der).into(SEQUENCE)
    if content_info.oid() != SIGNED_DATA:
        raise Flaw(Reason.CONTENT_TYPE, "not a timestamp: it is not signed data")
    return _signed_data(der, content_info.into(ZERO).into(SEQUENCE))


_read_small = lru_cache(maxsize=CACHED_TOKENS)(_read)


def _signed_data(der: bytes, parts: DerReader) -> Token:
    data = read_signed_data(parts, {3}, _content)
    info = _info(data.content)
    return Token(der, data.content, info, data.signer, data.certificates, data.crls, data.ocsps)


def _content(encapsulated: DerReader) -> bytes:
    """T2: what is signed is a TSTInfo."""
    if encapsulated.oid() != TST_INFO:
        raise Flaw(Reason.CONTENT_TYPE, "not a timestamp: its content is not a TSTInfo")
    return encapsulated.into(ZERO).into(OCTETS).rest


def _info(content: bytes) -> Info:
    parts = DerReader(content).into(SEQUENCE)
    if parts.integer() != 1:
        raise Flaw(Reason.CONTENT_TYPE, "only version 1 of a TSTInfo is supported")
    policy = _dotted(parts.oid())
    imprint = parts.enter(SEQUENCE)
    algorithm, digest = algorithm_of(imprint), imprint.into(OCTETS).rest
    serial, gen_time = parts.integer(), parts.time()
    accuracy = _accuracy(parts) if parts.next == SEQUENCE else None
    if parts.next == BOOLEAN:
        parts.boolean()
    nonce = parts.integer() if parts.next == INTEGER else None
    authority = parts.take(ZERO) if parts.next == ZERO else None
    if parts.next == ONE:
        _check_extensions(parts.enter(ONE))
    parts.finish()
    return Info(policy, algorithm, digest, serial, gen_time, accuracy, nonce, authority)


def _check_extensions(each: DerReader) -> None:
    """Raise `Flaw` for a critical extension: none is supported."""
    while each.next != -1:
        extension = each.enter(SEQUENCE)
        extension.oid()
        if extension.next == BOOLEAN and extension.boolean():
            raise Flaw(Reason.EXTENSION_UNSUPPORTED, "it carries a critical extension", Status.UNSUPPORTED)


@cached(SEQUENCE)
def _accuracy(parts: DerReader) -> timedelta:
    seconds = parts.integer() if parts.next == INTEGER else 0
    millis = parts.integer(plain(0)) if parts.next == plain(0) else 0
    micros = parts.integer(plain(1)) if parts.next == plain(1) else 0
    parts.finish()
    if not (0 <= seconds < 1 << 31 and 0 <= millis < 1000 and 0 <= micros < 1000):
        raise Malformed("its accuracy is not valid")
    return timedelta(seconds=seconds, milliseconds=millis, microseconds=micros)
