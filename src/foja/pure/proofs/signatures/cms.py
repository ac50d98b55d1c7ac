"""Detached CMS (RFC 5652) and CAdES: the signed message digest is the document's SHA-256."""

from __future__ import annotations

import hmac

from foja.pure.proofs.der import OCTETS, SEQUENCE, DerReader
from foja.pure.proofs.finding import Flaw, Reason, Status
from foja.pure.proofs.signatures.signer import Signature, Signer, certified, given_signer, unsupported
from foja.pure.proofs.tsa.certificate import parse_certificates
from foja.pure.proofs.tsa.cms import ZERO, SignedData, read_signed_data
from foja.pure.proofs.tsa.oids import DATA, MESSAGE_DIGEST, SIGNED_DATA
from foja.pure.proofs.tsa.signature import check_signed, signer_of

VERSIONS = frozenset({1, 3, 4, 5})


def verify_cms(signature: Signature, witness: bytes) -> Signer:
    """Return the signer of a detached signature over this digest, or raise `Flaw` or `Malformed`."""
    data = _parse(signature.value)
    _check_digest(data, witness)
    given = given_signer(signature)
    embedded = parse_certificates(data.certificates)
    own = (given.certificate,) if given and given.certificate else ()
    certificate = signer_of(data.signer, (*own, *embedded), identified=False)
    signer = certified(certificate)
    if given and given.spki != signer.spki:
        raise Flaw(Reason.SIGNATURE_INVALID, f"it is signed by {certificate.name}, not by the key given")
    check_signed(data.signer, certificate, DATA, witness)
    return signer._replace(embedded=embedded, crls=data.crls, ocsps=data.ocsps, info=data.signer)


def _parse(value: bytes) -> SignedData:
    content_info = DerReader(value).into(SEQUENCE)
    if content_info.oid() != SIGNED_DATA:
        raise Flaw(Reason.CONTENT_TYPE, "it is not signed data")
    try:
        return read_signed_data(content_info.into(ZERO).into(SEQUENCE), VERSIONS, _detached)
    except Flaw as flaw:
        if flaw.reason is not Reason.SIGNER_COUNT:
            raise
        detail = f"{flaw.detail}; record each signature by itself"
        raise Flaw(flaw.reason, detail, Status.UNSUPPORTED) from None


def _detached(encapsulated: DerReader) -> bytes:
    """Return nothing: the content is elsewhere, or raise `Flaw`."""
    if encapsulated.oid() != DATA:
        raise Flaw(Reason.CONTENT_TYPE, "it is over a content of another type than data")
    if encapsulated.next != -1:
        detail = "it contains what it signs; make it detached"
        raise Flaw(Reason.CONTENT_TYPE, detail, Status.UNSUPPORTED)
    return b""


def _check_digest(data: SignedData, witness: bytes) -> None:
    if data.signer.digest_algorithm != "sha256":
        used = data.signer.digest_algorithm or "an unknown algorithm"
        raise unsupported(f"it is over a digest by {used}; only that by sha256 is known")
    signed = DerReader(data.signer.attributes.get(MESSAGE_DIGEST, b"")).take(OCTETS)
    if not hmac.compare_digest(signed, witness):
        raise Flaw(Reason.DIGEST_MISMATCH, f"it is over another digest: {signed[:64].hex()}")
