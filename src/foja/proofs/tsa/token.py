"""The parser of replies and tokens (RFC 3161, RFC 5652). Nothing is checked yet.

Elements that all tokens of an authority share are cached: its names, algorithms and certificates.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from foja.errors import Malformed
from foja.proofs.der import (
    BITS,
    BOOLEAN,
    INTEGER,
    OCTETS,
    OID,
    SEQUENCE,
    SET,
    UTF8,
    DerReader,
    cached,
    dotted,
    plain,
    tagged,
)
from foja.proofs.finding import Reason, Status
from foja.proofs.flaw import Flaw
from foja.proofs.tsa.oids import OCSP_RESPONSE, SIGNED_DATA, TST_INFO, algorithm_of

MAX_BYTES = 262_144
MAX_CERTIFICATES = 16
MAX_ATTRIBUTES = 32
ZERO, ONE = tagged(0), tagged(1)  # [0] and [1]
_SET = bytes((SET,))
_dotted = lru_cache(maxsize=64)(dotted)
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


class TokenSignature(NamedTuple):
    """The only SignerInfo: the signer and the signature."""

    issuer: bytes | None
    serial: int | None
    key_id: bytes | None
    digest_algorithm: str | None
    signed: bytes  # the signed attributes, as they were signed
    attributes: dict[bytes, bytes]
    method: bytes
    parameters: bytes
    value: bytes


class Token(NamedTuple):
    """A TimeStampToken and the certificates and revocations in it."""

    der: bytes
    content: bytes
    info: Info
    signature: TokenSignature
    certificates: tuple[bytes, ...]
    crls: tuple[bytes, ...]
    ocsps: tuple[bytes, ...]


def read_token(data: bytes) -> Token:
    """Return the token in a reply that grants one, or the token itself; raise `Flaw` or `Malformed`."""
    if len(data) > MAX_BYTES:
        raise Malformed(f"the token has {len(data):,} bytes; at most {MAX_BYTES:,} are read")
    inside = DerReader(data).into(SEQUENCE)
    if inside.next == OID:
        return _token(data)
    _check_granted(inside)
    if inside.next == -1:
        raise Flaw(Reason.STATUS_NOT_GRANTED, "the authority granted a token but sent none")
    token = inside.whole(SEQUENCE)
    inside.finish()
    return _token(token)


@cached(SEQUENCE)
def _check_granted(info: DerReader) -> None:
    """T1: the status is granted."""
    status = info.integer()
    texts = info.optional(SEQUENCE)
    parts = [_STATUSES.get(status, f"status {status}")]
    while texts is not None and texts.next != -1:
        parts.append(texts.take(UTF8).decode(errors="replace")[:200])
    if info.next == BITS:
        parts += _failures(info.take(BITS))
    info.finish()
    if status != 0:
        raise Flaw(Reason.STATUS_NOT_GRANTED, f"the authority answered: {', '.join(parts)}")


def _failures(bits: bytes) -> list[str]:
    """Return the names of the failures in a PKIFailureInfo."""
    if not bits or bits[0] > 7:
        raise Malformed("its failure information is not a bit string")
    found = [n for n in range(min(len(bits) - 1, 4) * 8) if bits[1 + n // 8] & 0x80 >> n % 8]
    return [_FAILURES.get(n, f"failure {n}") for n in found]


def _token(der: bytes) -> Token:
    content_info = DerReader(der).into(SEQUENCE)
    if content_info.oid() != SIGNED_DATA:
        raise Flaw(Reason.CONTENT_TYPE, "not a timestamp: it is not signed data")
    return _signed_data(der, content_info.into(ZERO).into(SEQUENCE))


def _signed_data(der: bytes, data: DerReader) -> Token:
    if data.integer() != 3:
        raise Malformed("its signed data is not of version 3")
    algorithms = _algorithms(data)
    content = _content(data.enter(SEQUENCE))
    certificates = _certificates(data) if data.next == ZERO else ()
    crls, ocsps = _revocations(data.enter(ONE)) if data.next == ONE else ((), ())
    signature = _signature(_only_signer(data.enter(SET)))
    data.finish()
    if signature.digest_algorithm not in algorithms:
        raise Malformed("its signer uses a hash that it does not announce")
    return Token(der, content, _info(content), signature, certificates, crls, ocsps)


@cached(SET)
def _algorithms(each: DerReader) -> tuple[str | None, ...]:
    found = list[str | None]()
    while each.next != -1 and len(found) < MAX_ATTRIBUTES:
        found.append(algorithm_of(each))
    each.finish()
    return tuple(found)


def _content(encapsulated: DerReader) -> bytes:
    """T2: what is signed is a TSTInfo."""
    if encapsulated.oid() != TST_INFO:
        raise Flaw(Reason.CONTENT_TYPE, "not a timestamp: its content is not a TSTInfo")
    return encapsulated.into(ZERO).into(OCTETS).rest


@cached(ZERO)
def _certificates(each: DerReader) -> tuple[bytes, ...]:
    found = list[bytes]()
    while each.next != -1:
        if each.next == SEQUENCE:
            found.append(each.whole(SEQUENCE))
        elif each.next in (ONE, tagged(2), tagged(3)):
            each.any()  # attribute certificates prove nothing here
        else:
            raise Malformed("its certificates include another element")
        if len(found) > MAX_CERTIFICATES:
            raise Malformed(f"it carries more than {MAX_CERTIFICATES} certificates")
    return tuple(found)


def _revocations(each: DerReader) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    crls, ocsps = list[bytes](), list[bytes]()
    while each.next != -1:
        if each.next == SEQUENCE:
            crls.append(each.whole(SEQUENCE))
            continue
        other = each.enter(ONE)
        if other.oid() == OCSP_RESPONSE:
            ocsps.append(other.whole(SEQUENCE))
            other.finish()
        if len(crls) + len(ocsps) > MAX_CERTIFICATES:
            raise Malformed(f"it carries more than {MAX_CERTIFICATES} lists of revocations")
    return tuple(crls), tuple(ocsps)


def _only_signer(each: DerReader) -> DerReader:
    """T2: exactly one SignerInfo."""
    if each.next == -1:
        raise Flaw(Reason.SIGNER_COUNT, "it has no signer")
    signer = each.enter(SEQUENCE)
    if each.next != -1:
        raise Flaw(Reason.SIGNER_COUNT, "it is signed more than once; a timestamp has one signer")
    return signer


def _signature(signer: DerReader) -> TokenSignature:
    version = signer.integer()
    issuer, serial, key_id = _signer_name(signer)
    if version != (3 if key_id else 1):
        raise Malformed("its signer's name does not match its version")
    digest_algorithm = algorithm_of(signer)
    signed = signer.whole(ZERO)
    method, parameters = _method(signer)
    value = signer.take(OCTETS)
    signer.optional(ONE)
    signer.finish()
    attributes = _attributes(DerReader(signed).into(ZERO))
    as_signed = _SET + signed[1:]  # RFC 5652, 5.4: the tag that is signed is not the tag that is sent
    return TokenSignature(
        issuer, serial, key_id, digest_algorithm, as_signed, attributes, method, parameters, value
    )


def _signer_name(signer: DerReader) -> tuple[bytes | None, int | None, bytes | None]:
    if signer.next == plain(0):
        return None, None, signer.take(plain(0))
    return *_issuer_serial(signer), None


@cached(SEQUENCE)
def _issuer_serial(name: DerReader) -> tuple[bytes, int]:
    issuer, serial = name.whole(SEQUENCE), name.integer()
    name.finish()
    return issuer, serial


@cached(SEQUENCE)
def _method(parts: DerReader) -> tuple[bytes, bytes]:
    """Return the signature algorithm and its parameters."""
    name = parts.oid()
    parameters = b"" if parts.next == -1 else parts.any()
    parts.finish()
    return name, parameters


def _attributes(each: DerReader) -> dict[bytes, bytes]:
    """Return the value of every attribute; each must occur once and have one value."""
    found = dict[bytes, bytes]()
    while each.next != -1:
        attribute = each.enter(SEQUENCE)
        name = attribute.oid()
        value = attribute.into(SET).any()
        attribute.finish()
        if name in found or len(found) >= MAX_ATTRIBUTES:
            raise Malformed("its signer has an attribute twice, or too many attributes")
        found[name] = value
    return found


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
        parts.take(BOOLEAN)
    nonce = parts.integer() if parts.next == INTEGER else None
    parts.optional(ZERO)
    if parts.next == ONE:
        _check_extensions(parts.enter(ONE))
    parts.finish()
    return Info(policy, algorithm, digest, serial, gen_time, accuracy, nonce)


def _check_extensions(each: DerReader) -> None:
    """Raise `Flaw` for a critical extension: none is supported."""
    while each.next != -1:
        extension = each.enter(SEQUENCE)
        extension.oid()
        if extension.next == BOOLEAN and extension.take(BOOLEAN) != b"\0":
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
