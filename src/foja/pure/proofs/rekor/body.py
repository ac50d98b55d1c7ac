"""The content of a log entry: digest, signature and signer, as Rekor versions 1 and 2 encode them."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable
from dataclasses import dataclass

from foja.errors import Tampered
from foja.pure.proofs.finding import Flaw, Reason, Status
from foja.pure.proofs.rekor.bundle import LogEntry
from foja.pure.proofs.rekor.fields import Fields
from foja.pure.quotation import quoted


@dataclass(frozen=True, slots=True)
class Recorded:
    """The content of one entry; `verifier` is a certificate or a public key, DER."""

    digest: bytes
    signature: bytes
    verifier: bytes
    of_payload: bool  # the digest is of an envelope's payload, not of what was signed


def read_body(entry: LogEntry) -> Recorded:
    """Return the content of an entry; raise `Tampered`, or `Flaw` if its kind is not supported."""
    body = Fields.parse(entry.body, "the entry")
    if (body.text("kind"), body.text("apiVersion")) != (entry.kind, entry.version):
        raise Tampered("the entry is not of the kind that the bundle names")
    reader = _READERS.get((entry.kind, entry.version))
    if reader is None:
        detail = f"entries of kind {quoted(entry.kind)} version {quoted(entry.version)} are not supported"
        raise Flaw(Reason.ALGORITHM_UNSUPPORTED, detail, Status.UNSUPPORTED)
    return reader(body.inner("spec"))


def _hashedrekord_1(spec: Fields) -> Recorded:
    found, signature = spec.inner("data").inner("hash"), spec.inner("signature")
    _check_sha256(found.text("algorithm"))
    verifier = signature.inner("publicKey").pem("content")
    return Recorded(found.hexadecimal("value"), signature.data("content"), verifier, of_payload=False)


def _dsse_1(spec: Fields) -> Recorded:
    found, signature = spec.inner("payloadHash"), _only(spec)
    _check_sha256(found.text("algorithm"))
    verifier = signature.pem("verifier")
    return Recorded(found.hexadecimal("value"), signature.data("signature"), verifier, of_payload=True)


def _intoto_2(spec: Fields) -> Recorded:
    content = spec.inner("content")
    found, signature = content.inner("payloadHash"), _only(content.inner("envelope"))
    _check_sha256(found.text("algorithm"))
    try:
        decoded = b64decode(signature.data("sig"), validate=True)
    except (NotBase64, ValueError):
        raise Tampered("the entry's signature is not in base64 twice, as its kind requires") from None
    verifier = signature.pem("publicKey")
    return Recorded(found.hexadecimal("value"), decoded, verifier, of_payload=True)


def _hashedrekord_2(spec: Fields) -> Recorded:
    record = spec.inner("hashedRekordV002")
    return _version_2(record.inner("data"), record.inner("signature"), of_payload=False)


def _dsse_2(spec: Fields) -> Recorded:
    record = spec.inner("dsseV002")
    return _version_2(record.inner("payloadHash"), _only(record), of_payload=True)


def _version_2(found: Fields, signature: Fields, *, of_payload: bool) -> Recorded:
    _check_sha256(found.text("algorithm"))
    verifier = signature.inner("verifier")
    key = verifier.inner("x509Certificate" if verifier.has("x509Certificate") else "publicKey")
    return Recorded(found.data("digest"), signature.data("content"), key.data("rawBytes"), of_payload)


def _only(record: Fields) -> Fields:
    signatures = record.each("signatures")
    if len(signatures) != 1:
        detail = f"the entry has {len(signatures)} signatures; only one is supported"
        raise Flaw(Reason.ALGORITHM_UNSUPPORTED, detail, Status.UNSUPPORTED)
    return signatures[0]


def _check_sha256(algorithm: str) -> None:
    if algorithm not in ("sha256", "SHA2_256"):
        detail = f"the entry's digest is by {quoted(algorithm)}; only SHA-256 is supported"
        raise Flaw(Reason.ALGORITHM_UNSUPPORTED, detail, Status.UNSUPPORTED)


_READERS: dict[tuple[str, str], Callable[[Fields], Recorded]] = {
    ("hashedrekord", "0.0.1"): _hashedrekord_1,
    ("dsse", "0.0.1"): _dsse_1,
    ("intoto", "0.0.2"): _intoto_2,
    ("hashedrekord", "0.0.2"): _hashedrekord_2,
    ("dsse", "0.0.2"): _dsse_2,
}
