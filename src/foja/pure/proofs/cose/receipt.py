"""COSE receipts: a COSE_Sign1 by the log's key over the root that a proof leads to (RFC 9942).

The tree is that of RFC 9162 (RFC9162_SHA256). A receipt is about an entry (a proof of inclusion) or about an
older tree (a proof of consistency). The key also signs checkpoints; neither signature can be taken for the
other, since what is signed here begins with a byte that no text in UTF-8 has. RFC 9942 does not sign the size
of the tree, and several sizes can lead to one root; so it is a claim too, of private use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from foja.errors import Malformed, Tampered
from foja.pure.core.merkle import leaf_hash, root_above, root_after
from foja.pure.core.note import Checkpoint, Signer, Verifier
from foja.pure.core.proof import MAX_HASHES, Proof
from foja.pure.core.proof import RECEIPT as START
from foja.pure.proofs.cose.cbor import Cbor, decode, encode

_ALGORITHM, _KEY, _CLAIMS, _STRUCTURE, _PROOFS = 1, 4, 15, 395, 396  # labels of headers
_EDDSA, _RFC9162_SHA256, _INCLUSION, _CONSISTENCY = -8, 1, -1, -2
_ISSUER, _SUBJECT, _SIZE = 1, 2, -65537  # claims of a CWT
MEDIA_TYPE = "application/scitt-receipt+cose"  # RFC 9943
MAX_BYTES = 16 << 10  # the longest path has 64 hashes


@dataclass(frozen=True, slots=True)
class Signed:
    """What every receipt says: which log, what about it, the size of the tree, and who signed."""

    origin: str
    subject: str
    key: str  # name and id of the log's key, as `foja log key` shows them
    size: int
    path: tuple[bytes, ...]
    signature: bytes = b""

    def to_sign(self, root: bytes) -> bytes:
        """Return what the log signs: the `Sig_structure` of RFC 9052, with the root as its payload."""
        return encode(["Signature1", self._protected(), b"", root])

    def is_signed_by(self, verifier: Verifier, root: bytes) -> bool:
        """Return whether this key signed the receipt over this root."""
        try:
            Ed25519PublicKey.from_public_bytes(verifier.public_key).verify(self.signature, self.to_sign(root))
        except InvalidSignature:
            return False
        return True

    def signature_by(self, signer: Signer, root: bytes) -> bytes:
        """Return the signature of the log over this root."""
        return Ed25519PrivateKey.from_private_bytes(signer.private_key).sign(self.to_sign(root))

    def _encode(self, kind: int, proof: Cbor) -> bytes:
        unprotected: Cbor = {_PROOFS: {kind: [encode(proof)]}}
        return START[:1] + encode([self._protected(), unprotected, None, self.signature])

    def _protected(self) -> bytes:
        claims: Cbor = {_ISSUER: self.origin, _SUBJECT: self.subject, _SIZE: self.size}
        return encode(
            {
                _ALGORITHM: _EDDSA,
                _KEY: self.key.encode(),
                _CLAIMS: claims,
                _STRUCTURE: _RFC9162_SHA256,
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt(Signed):
    """An entry is in the tree, at this index. The subject is `ENTITY/SEQ`."""

    index: int

    def encode(self) -> bytes:
        """Return the receipt as it is written to a `.cose` file."""
        return self._encode(_INCLUSION, [self.size, self.index, self.path])

    def check(self, entry: bytes) -> Checkpoint:
        """Return the checkpoint that covers this entry; its signature is not checked yet."""
        root = root_above(leaf_hash(entry), self.index, self.size, self.path)
        return Checkpoint(self.origin, self.size, root)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsistencyReceipt(Signed):
    """The tree continues an older one of the same log. The subject is `checkpoint/SIZE` of the older one."""

    old_size: int

    def encode(self) -> bytes:
        """Return the receipt as it is written to a `.cose` file."""
        return self._encode(_CONSISTENCY, [self.old_size, self.size, self.path])

    def check(self, old: Checkpoint) -> Checkpoint:
        """Return the checkpoint that continues this one; its signature is not checked yet."""
        if (old.origin, old.size) != (self.origin, self.old_size):
            raise Tampered(f"it is about {self.old_size} entries of another log, or of another size")
        return Checkpoint(self.origin, self.size, root_after(old.size, old.root, self.size, self.path))


def key_name(verifier: Verifier) -> str:
    """Return name and id of a key."""
    return f"{verifier.name}+{verifier.key_id.hex()}"


def write_receipt(signer: Signer, checkpoint: Checkpoint, proof: Proof, subject: str) -> Receipt:
    """Return the receipt of an entry under a checkpoint that this log has published."""
    key = key_name(signer.verifier())
    draft = Receipt(checkpoint.origin, subject, key, checkpoint.size, proof.path, index=proof.index)
    return replace(draft, signature=draft.signature_by(signer, checkpoint.root))


def write_consistency(
    signer: Signer, old: Checkpoint, new: Checkpoint, path: Sequence[bytes]
) -> ConsistencyReceipt:
    """Return the receipt that a published checkpoint continues an older one of the same log."""
    key, subject = key_name(signer.verifier()), f"checkpoint/{old.size}"
    draft = ConsistencyReceipt(new.origin, subject, key, new.size, tuple(path), old_size=old.size)
    if draft.check(old) != new:
        raise Tampered(f"the checkpoint of {new.size} entries does not continue the one of {old.size}")
    return replace(draft, signature=draft.signature_by(signer, new.root))


def read_receipt(data: bytes) -> Receipt | ConsistencyReceipt:
    """Return the receipt that was encoded, or raise `Malformed`; those in another form are not read."""
    if len(data) > MAX_BYTES or not data.startswith(START):
        raise Malformed(f"it is not a COSE receipt of at most {MAX_BYTES:,} bytes")
    match decode(data[1:]):
        case [bytes(protected), {396: Mapping() as proofs}, None, bytes(signature)]:
            found = _receipt(decode(protected), proofs, signature)
            if found and found.encode() == data:
                return found
    raise Malformed("it is not a COSE receipt of a log of Foja: other headers, another proof or a payload")


def _receipt(
    protected: Cbor, proofs: Mapping[int, Cbor], signature: bytes
) -> Receipt | ConsistencyReceipt | None:
    match protected, proofs:
        case {4: bytes(key), 15: {1: str(origin), 2: str(subject)}}, {-1: [bytes(proof)]}:
            [size, index], path = _proof(proof)
            named = key.decode(errors="replace")
            return Receipt(origin, subject, named, size, path, signature, index=index)
        case {4: bytes(key), 15: {1: str(origin), 2: str(subject)}}, {-2: [bytes(proof)]}:
            [old, size], path = _proof(proof)
            named = key.decode(errors="replace")
            return ConsistencyReceipt(origin, subject, named, size, path, signature, old_size=old)
    return None


def _proof(data: bytes) -> tuple[tuple[int, int], tuple[bytes, ...]]:
    """Return the two numbers and the hashes of a proof."""
    match decode(data):
        case [int(first), int(second), [*path]]:
            return (first, second), tuple(each for each in path if isinstance(each, bytes))[:MAX_HASHES]
    raise Malformed("its proof is not two numbers and hashes")
