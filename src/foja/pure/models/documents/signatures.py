"""The signatures of a document: how `document.signed` records them, and what our own check of each shows."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

from foja.errors import BadPayload, Malformed
from foja.pure.core.registry import DIGEST
from foja.pure.models.documents.events import EventLike

if TYPE_CHECKING:
    from foja.pure.proofs.signatures import Checked, Signature

SIGNED: Final = "document.signed"
UNCHECKED: Final = "unchecked"
MAX_SIGNATURES: Final = 16  # of one document; a reader does not check more
_TEXTS = ("signer", "reason")
_PEM = re.compile(rb"\s*-----BEGIN ([A-Z0-9 ]+)-----\s+([A-Za-z0-9+/=\s]+?)-----END \1-----\s*")
_SIGNED_DATA = bytes.fromhex("06092a864886f70d010702")  # how every CMS signature begins
_JWS = re.compile(rb"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*\s*")


class SignatureStatus(StrEnum):
    """What our own check of a signature shows. The event itself cannot say that it was checked."""

    CHECKED = "checked"  # a key signed the digest; whose key it is, its certificate says
    UNCHECKED = "unchecked"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class SignatureView:
    """One signature: what was recorded, and what its check shows."""

    seq: int
    at: datetime | None
    witness_hash: str | None
    format: str
    status: SignatureStatus
    signer: str | None  # by the certificate or the key; None unless it is checked
    claimed_signer: str | None  # by the event alone
    reason: str | None
    detail: str


class SignatureFields(TypedDict, total=False):
    """What may be given with a signature; keys and certificates in DER or PEM."""

    format: str | None  # cms, jws, raw or unchecked; found from the signature if it is left out
    key: bytes | None
    certificate: bytes | None
    signer: str | None  # a name that nothing proves
    reason: str | None


def payload_of(
    signature: bytes | None, witness_hash: str, **given: Unpack[SignatureFields]
) -> dict[str, str]:
    """Return the body of `document.signed`."""
    data = None if signature is None else _der(signature)
    form = given.get("format") or (UNCHECKED if data is None else _format(data))
    if data is not None and form == "jws":
        data = data.strip()
    blobs = {"signature_b64": data, "key_b64": given.get("key"), "certificate_b64": given.get("certificate")}
    texts = {"witness_hash": witness_hash, "format": form, **{name: given.get(name) for name in _TEXTS}}
    return {
        **{name: b64encode(_der(each)).decode() for name, each in blobs.items() if each is not None},
        **{name: str(each) for name, each in texts.items() if each is not None},
    }


def key_of(payload: Mapping[str, str]) -> str | None:
    """Return the idempotency key of a signature: the same bytes over the same digest are recorded once."""
    value = payload.get("signature_b64")
    return f"signature:{payload['witness_hash']}:{sha256(value.encode()).hexdigest()}" if value else None


def check_recordable(payload: Mapping[str, Any], at: datetime) -> None:
    """Raise `BadPayload` unless the signature is checked, or says of itself that it is unchecked."""
    if payload.get("format") == UNCHECKED:
        return
    finding = check_payload(payload, at).finding
    if status_of(finding.status) is not SignatureStatus.CHECKED:
        raise BadPayload(
            f"the signature was not accepted: {finding.detail} ({finding.reason}); correct it, or record it "
            f"with the format {UNCHECKED!r}"
        )


def view_signatures(events: Iterable[EventLike]) -> tuple[SignatureView, ...]:
    """Return every signature that these events record, each as our own check finds it now."""
    signed = [event for event in events if event.kind == SIGNED]
    return tuple(_view(event, checked=place < MAX_SIGNATURES) for place, event in enumerate(signed))


def check_payload(payload: Mapping[str, Any], at: datetime) -> Checked:
    """Return what the check of a recorded signature shows. No payload makes it raise."""
    from foja.pure.proofs.finding import Finding, Reason, Status  # late: most documents have no signature
    from foja.pure.proofs.signatures import Checked, check

    try:
        return check(read_signature(payload), witness_of(payload), at)
    except Malformed as error:
        return Checked(Finding("signature", Status.INVALID, Reason.MALFORMED, str(error)))


def read_signature(payload: Mapping[str, Any]) -> Signature:
    """Return the signature that a payload records, or raise `Malformed`. Version 1 names no format."""
    from foja.pure.proofs.signatures import FORMATS, Signature

    recorded = payload.get("format")
    if recorded not in FORMATS:
        return Signature(UNCHECKED, b"")
    value, key, certificate = (
        _decoded(payload, name) for name in ("signature_b64", "key_b64", "certificate_b64")
    )
    if value is None:
        raise Malformed("it has no signature_b64")
    return Signature(recorded, value, key, certificate)


def witness_of(payload: Mapping[str, Any]) -> bytes:
    """Return the digest that a signature is over, or raise `Malformed`; version 1 may name none."""
    witness = payload.get("witness_hash")
    if witness is None:
        return b""
    if not isinstance(witness, str) or not DIGEST.fullmatch(witness):
        raise Malformed("its witness_hash is not a SHA-256 digest")
    return bytes.fromhex(witness)


def status_of(status: str) -> SignatureStatus:
    """Return the status that people see for that of a finding."""
    known = {"VERIFIED": SignatureStatus.CHECKED, "INVALID": SignatureStatus.INVALID}
    return known.get(status, SignatureStatus.UNCHECKED)


def _view(event: EventLike, *, checked: bool) -> SignatureView:
    payload = event.payload if isinstance(event.payload, dict) else {}
    witness, claimed, form = (payload.get(name) for name in ("witness_hash", "signer", "format"))
    about = (event.seq, event.at, witness if isinstance(witness, str) else None)
    form, claimed = (each if isinstance(each, str) else None for each in (form, claimed))
    if event.at is None or not checked:
        detail = f"only the first {MAX_SIGNATURES} signatures of a document are checked"
        return SignatureView(
            *about, form or UNCHECKED, SignatureStatus.UNCHECKED, None, claimed, "NOT_CHECKED", detail
        )
    found = check_payload(payload, event.at)
    finding, name = found.finding, found.signer.name if found.signer else None
    reason = finding.reason.value if finding.reason else None
    status = status_of(finding.status)
    return SignatureView(*about, form or UNCHECKED, status, name, claimed, reason, finding.detail)


def _decoded(payload: Mapping[str, Any], name: str) -> bytes | None:
    text = payload.get(name)
    if text is None:
        return None
    try:
        data = b64decode(text, validate=True)
    except (NotBase64, ValueError, TypeError):
        data = b""
    if not data or b64encode(data).decode() != text:
        raise Malformed(f"its {name} is not base64")
    return data


def _der(data: bytes) -> bytes:
    """Return the content of a PEM block, or the bytes as they are."""
    found = _PEM.fullmatch(data)
    return b64decode(found[2]) if found else data


def _format(data: bytes) -> str:
    if _SIGNED_DATA in data[:32]:
        return "cms"
    return "jws" if _JWS.fullmatch(data) else "raw"
