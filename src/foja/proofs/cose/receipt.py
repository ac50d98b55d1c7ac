"""A COSE receipt: a COSE_Sign1 by the log's key over the root that an inclusion proof leads to (RFC 9942).

The tree is that of RFC 9162 (RFC9162_SHA256). The key also signs checkpoints; neither signature can be taken
for the other, since what is signed here begins with a byte that no text in UTF-8 has. RFC 9942 does not sign
the size of the tree, and several sizes can lead to one root; so it is a claim too, of private use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from foja.core.merkle import leaf_hash, root_above
from foja.core.note import Checkpoint, Signer, Verifier
from foja.core.proof import MAX_BYTES, MAX_HASHES, Proof
from foja.core.proof import RECEIPT as START
from foja.errors import Malformed
from foja.proofs.cose.cbor import Cbor, decode, encode

_ALGORITHM, _KEY, _CLAIMS, _STRUCTURE, _PROOFS = 1, 4, 15, 395, 396  # labels of headers
_EDDSA, _RFC9162_SHA256, _INCLUSION = -8, 1, -1
_ISSUER, _SUBJECT, _SIZE = 1, 2, -65537  # claims of a CWT


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a receipt says: which log, which event of which stream, its place, and who signed."""

    origin: str
    subject: str
    key: str  # name and id of the log's key, as `foja log key` shows them
    index: int
    size: int
    path: tuple[bytes, ...]
    signature: bytes = b""

    def encode(self) -> bytes:
        """Return the receipt as it is written to a `.cose` file."""
        place: Cbor = encode([self.size, self.index, self.path])
        unprotected: Cbor = {_PROOFS: {_INCLUSION: [place]}}
        return START[:1] + encode([self._protected(), unprotected, None, self.signature])

    def to_sign(self, root: bytes) -> bytes:
        """Return what the log signs: the `Sig_structure` of RFC 9052, with the root as its payload."""
        return encode(["Signature1", self._protected(), b"", root])

    def check(self, entry: bytes) -> Checkpoint:
        """Return the checkpoint that covers this entry; its signature is not checked yet."""
        root = root_above(leaf_hash(entry), self.index, self.size, self.path)
        return Checkpoint(self.origin, self.size, root)

    def is_signed_by(self, verifier: Verifier, root: bytes) -> bool:
        """Return whether this key signed the receipt over this root."""
        try:
            Ed25519PublicKey.from_public_bytes(verifier.public_key).verify(self.signature, self.to_sign(root))
        except InvalidSignature:
            return False
        return True

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


def key_name(verifier: Verifier) -> str:
    """Return name and id of a key."""
    return f"{verifier.name}+{verifier.key_id.hex()}"


def write_receipt(signer: Signer, checkpoint: Checkpoint, proof: Proof, subject: str) -> Receipt:
    """Return the receipt of an entry under a checkpoint that this log has published."""
    key = key_name(signer.verifier())
    draft = Receipt(checkpoint.origin, subject, key, proof.index, checkpoint.size, proof.path)
    private = Ed25519PrivateKey.from_private_bytes(signer.private_key)
    return replace(draft, signature=private.sign(draft.to_sign(checkpoint.root)))


def read_receipt(data: bytes) -> Receipt:
    """Return what `Receipt.encode` wrote, or raise `Malformed`; receipts in another form are not read."""
    if len(data) > MAX_BYTES or not data.startswith(START):
        raise Malformed(f"it is not a COSE receipt of at most {MAX_BYTES:,} bytes")
    match decode(data[1:]):
        case [bytes(protected), {396: {-1: [bytes(place)]}}, None, bytes(signature)]:
            found = _receipt(decode(protected), decode(place), signature)
            if found and found.encode() == data:
                return found
    raise Malformed("it is not a COSE receipt of a log of Foja: other headers, another proof or a payload")


def _receipt(protected: Cbor, place: Cbor, signature: bytes) -> Receipt | None:
    match protected, place:
        case {4: bytes(key), 15: {1: str(origin), 2: str(subject)}}, [int(size), int(index), [*path]]:
            hashes = tuple(each for each in path if isinstance(each, bytes))[:MAX_HASHES]
            return Receipt(origin, subject, key.decode(errors="replace"), index, size, hashes, signature)
    return None
