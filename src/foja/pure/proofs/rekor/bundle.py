"""A Sigstore bundle, versions 0.1 to 0.3: a signature, its signer, and its log entry."""

from __future__ import annotations

from dataclasses import dataclass

from foja.errors import Tampered
from foja.pure.core.canonical import Json
from foja.pure.proofs.finding import Flaw, Reason, Status
from foja.pure.proofs.rekor.fields import Fields
from foja.pure.quotation import quoted

MAX_BYTES = 2 << 20
MEDIA = "application/vnd.dev.sigstore.bundle"
_VERSIONS = {
    f"{MEDIA}+json;version=0.1": 1,
    f"{MEDIA}+json;version=0.2": 2,
    f"{MEDIA}+json;version=0.3": 3,
    f"{MEDIA}.v0.3+json": 3,
}
_BUNDLE = {"mediaType", "verificationMaterial", "messageSignature", "dsseEnvelope"}
_MATERIAL = {
    "certificate",
    "x509CertificateChain",
    "publicKey",
    "tlogEntries",
    "timestampVerificationData",
}
_ENTRY = {
    "logIndex",
    "logId",
    "kindVersion",
    "integratedTime",
    "inclusionPromise",
    "inclusionProof",
    "canonicalizedBody",
}
_PROOF = {"logIndex", "rootHash", "treeSize", "hashes", "checkpoint"}
_STATEMENT = "application/vnd.in-toto+json"
MAX_TOKENS, MAX_HASHES, MAX_SUBJECTS, MAX_ISSUERS = 8, 64, 10_000, 10


@dataclass(frozen=True, slots=True)
class Inclusion:
    """The position of the entry in the log, as the log states it."""

    index: int
    root: bytes
    size: int
    path: tuple[bytes, ...]
    checkpoint: str


@dataclass(frozen=True, slots=True)
class LogEntry:
    """What the log recorded, and what the log states about it."""

    index: int
    log_id: bytes
    kind: str
    version: str
    integrated: int | None
    promise: bytes | None
    inclusion: Inclusion | None
    body: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """A statement and its type: what DSSE signs."""

    type: str
    payload: bytes

    def signed(self) -> bytes:
        """Return the bytes that are signed."""
        kind = self.type.encode()
        return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(self.payload), self.payload)

    def is_about(self, digest: bytes) -> bool:
        """Return whether this SHA-256 digest is a subject of the in-toto statement, or raise `Tampered`."""
        if self.type != _STATEMENT:
            detail = f"an envelope of type {quoted(self.type)} is not supported, only {_STATEMENT}"
            raise Flaw(Reason.ALGORITHM_UNSUPPORTED, detail, Status.UNSUPPORTED)
        subjects = Fields.parse(self.payload, "the statement").each("subject", most=MAX_SUBJECTS)
        named = [each.inner("digest") for each in subjects]
        digests = [each.hexadecimal("sha256") for each in named if each.has("sha256")]
        if subjects and not digests:
            detail = "the statement has no SHA-256 digest of its subjects"
            raise Flaw(Reason.IMPRINT_ALGORITHM, detail, Status.INDETERMINATE)
        return digest in digests


@dataclass(frozen=True, slots=True)
class SigstoreBundle:
    """A whole bundle. Nothing in it is checked yet."""

    signature: bytes
    digest: bytes | None  # as stated; the signature decides whether it is right
    envelope: Envelope | None
    certificate: bytes | None  # None: the signer is identified by a key only
    issuers: tuple[bytes, ...]  # the rest of its chain
    entry: LogEntry
    tokens: tuple[bytes, ...]


def parse_bundle(data: bytes) -> SigstoreBundle:
    """Return the bundle in a file; raise `Tampered`, or `Flaw` if its kind is not supported."""
    if len(data) > MAX_BYTES:
        raise Tampered(f"a bundle of {len(data)} bytes is over the limit of {MAX_BYTES}")
    return _bundle(Fields.parse(data, "the bundle", _BUNDLE))


def read_bundle(value: Json) -> SigstoreBundle:
    """Return the bundle in a JSON value, as `parse_bundle` returns that in a file."""
    return _bundle(Fields(value, "the bundle", _BUNDLE))


def _bundle(whole: Fields) -> SigstoreBundle:
    version = _VERSIONS.get(whole.text("mediaType"))
    if version is None:
        raise Tampered(f"the bundle's mediaType {quoted(whole.text('mediaType'))} is not known")
    material = whole.inner("verificationMaterial", _MATERIAL)
    signature, digest, envelope = _signed(whole)
    certificate, issuers = _certificates(material, version)
    return SigstoreBundle(
        signature, digest, envelope, certificate, issuers, _entry(material), _tokens(material)
    )


def _signed(whole: Fields) -> tuple[bytes, bytes | None, Envelope | None]:
    if whole.has("messageSignature") == whole.has("dsseEnvelope"):
        raise Tampered("a bundle has either a messageSignature or a dsseEnvelope")
    if whole.has("messageSignature"):
        message = whole.inner("messageSignature", {"messageDigest", "signature"})
        return message.data("signature"), _stated(message), None
    envelope = whole.inner("dsseEnvelope", {"payload", "payloadType", "signatures"})
    signatures = envelope.each("signatures", {"sig", "keyid"}, most=1)
    if not signatures:
        raise Tampered("the bundle's dsseEnvelope is not signed")
    signed = Envelope(envelope.text("payloadType"), envelope.data("payload"))
    return signatures[0].data("sig"), None, signed


def _stated(message: Fields) -> bytes | None:
    if not message.has("messageDigest"):
        return None
    digest = message.inner("messageDigest", {"algorithm", "digest"})
    if digest.text("algorithm") != "SHA2_256":
        detail = f"the bundle's digest is by {quoted(digest.text('algorithm'))}; only SHA2_256 is supported"
        raise Flaw(Reason.ALGORITHM_UNSUPPORTED, detail, Status.UNSUPPORTED)
    return digest.data("digest")


def _certificates(material: Fields, version: int) -> tuple[bytes | None, tuple[bytes, ...]]:
    known = [name for name in ("certificate", "x509CertificateChain", "publicKey") if material.has(name)]
    if len(known) != 1:
        raise Tampered("a bundle names its signer once: by a certificate, a chain, or a public key")
    if known == ["publicKey"]:
        material.inner("publicKey", {"hint"})
        return None, ()
    if (known == ["certificate"]) != (version == 3):
        raise Tampered("a bundle has one certificate from version 0.3 on, and a chain before that")
    if version == 3:
        return material.inner("certificate", {"rawBytes"}).data("rawBytes"), ()
    chain = material.inner("x509CertificateChain", {"certificates"})
    found = [each.data("rawBytes") for each in chain.each("certificates", {"rawBytes"}, most=MAX_ISSUERS)]
    if not found:
        raise Tampered("the bundle's chain of certificates is empty")
    return found[0], tuple(found[1:])


def _entry(material: Fields) -> LogEntry:
    entries = material.each("tlogEntries", _ENTRY, most=1)
    if not entries:
        raise Tampered("the bundle has no log entry")
    return _log_entry(entries[0])


def parse_entry(data: bytes) -> LogEntry:
    """Return the entry in the answer of a log, or raise `Tampered`. Unknown fields are left out."""
    return _log_entry(Fields.parse(data, "the entry"))


def _log_entry(entry: Fields) -> LogEntry:
    kind = entry.inner("kindVersion", {"kind", "version"})
    promised = entry.has("inclusionPromise")
    return LogEntry(
        index=entry.count("logIndex") if entry.has("logIndex") else 0,
        log_id=entry.inner("logId", {"keyId"}).data("keyId"),
        kind=kind.text("kind"),
        version=kind.text("version"),
        integrated=entry.count("integratedTime") or None if entry.has("integratedTime") else None,
        promise=entry.inner("inclusionPromise", {"signedEntryTimestamp"}).data("signedEntryTimestamp")
        if promised
        else None,
        inclusion=_inclusion(entry.inner("inclusionProof", _PROOF)) if entry.has("inclusionProof") else None,
        body=entry.data("canonicalizedBody"),
    )


def _inclusion(proof: Fields) -> Inclusion | None:
    if not proof.has("checkpoint"):
        return None  # early bundles: a path to a root that is not signed
    return Inclusion(
        index=proof.count("logIndex") if proof.has("logIndex") else 0,
        root=proof.data("rootHash"),
        size=proof.count("treeSize"),
        path=proof.data_list("hashes", most=MAX_HASHES),
        checkpoint=proof.inner("checkpoint", {"envelope"}).text("envelope"),
    )


def _tokens(material: Fields) -> tuple[bytes, ...]:
    if not material.has("timestampVerificationData"):
        return ()
    data = material.inner("timestampVerificationData", {"rfc3161Timestamps"})
    tokens = data.each("rfc3161Timestamps", {"signedTimestamp"}, most=MAX_TOKENS)
    return tuple(each.data("signedTimestamp") for each in tokens)
