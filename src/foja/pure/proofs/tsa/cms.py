"""The parser of signed data (CMS, RFC 5652) with one signer. Nothing is checked yet.

Elements that all tokens of an authority share are cached: its names, algorithms and certificates.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import NamedTuple

from foja.errors import Malformed
from foja.pure.proofs.der import OCTETS, SEQUENCE, SET, DerReader, cached, plain, tagged
from foja.pure.proofs.finding import Flaw, Reason
from foja.pure.proofs.tsa.oids import OCSP_RESPONSE, algorithm_of

MAX_CERTIFICATES, MAX_REVOCATIONS = 16, 16
MAX_ATTRIBUTES = 32
ZERO, ONE = tagged(0), tagged(1)  # [0] and [1]
_SET = bytes((SET,))


class SignerInfo(NamedTuple):
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


class SignedData(NamedTuple):
    """SignedData: what is signed, its only signer, and the certificates and revocations in it."""

    content: bytes
    signer: SignerInfo
    certificates: tuple[bytes, ...]
    crls: tuple[bytes, ...]
    ocsps: tuple[bytes, ...]


def read_signed_data(
    parts: DerReader, versions: Container[int], read_content: Callable[[DerReader], bytes]
) -> SignedData:
    """Return the parts of a SignedData of one of these versions; raise `Flaw` or `Malformed`."""
    if (version := parts.integer()) not in versions:
        raise Malformed(f"its signed data is of version {version}, which is not expected")
    algorithms = _algorithms(parts)
    content = read_content(parts.enter(SEQUENCE))
    certificates = _certificates(parts) if parts.next == ZERO else ()
    crls, ocsps = _revocations(parts.enter(ONE)) if parts.next == ONE else ((), ())
    signer = _signer(_only_signer(parts.enter(SET)))
    parts.finish()
    if signer.digest_algorithm not in algorithms:
        raise Malformed("its signer uses a hash that it does not announce")
    return SignedData(content, signer, certificates, crls, ocsps)


@cached(SET)
def _algorithms(each: DerReader) -> tuple[str | None, ...]:
    found = list[str | None]()
    while each.next != -1 and len(found) < MAX_ATTRIBUTES:
        found.append(algorithm_of(each))
    each.finish()
    return tuple(found)


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
        else:
            other = each.enter(ONE)
            if other.oid() == OCSP_RESPONSE:
                ocsps.append(other.whole(SEQUENCE))
                other.finish()
        if len(crls) + len(ocsps) > MAX_REVOCATIONS:
            raise Malformed(f"it carries more than {MAX_REVOCATIONS} lists of revocations")
    return tuple(crls), tuple(ocsps)


def _only_signer(each: DerReader) -> DerReader:
    """T2: exactly one SignerInfo."""
    if each.next == -1:
        raise Flaw(Reason.SIGNER_COUNT, "it has no signer")
    signer = each.enter(SEQUENCE)
    if each.next != -1:
        raise Flaw(Reason.SIGNER_COUNT, "it is signed more than once; one signer is expected")
    return signer


def _signer(signer: DerReader) -> SignerInfo:
    version = signer.integer()
    issuer, serial, key_id = _signer_name(signer)
    if version != (3 if key_id else 1):
        raise Malformed("its signer's name does not match its version")
    digest_algorithm = algorithm_of(signer)
    if signer.next != ZERO:
        raise Malformed("its signer signed no attributes")
    signed = signer.whole(ZERO)
    method, parameters = _method(signer)
    value = signer.take(OCTETS)
    signer.optional(ONE)
    signer.finish()
    attributes = _attributes(DerReader(signed).into(ZERO))
    as_signed = _SET + signed[1:]  # RFC 5652, 5.4: the tag that is signed is not the tag that is sent
    return SignerInfo(
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
