"""The file `x.rekor.json` (docs/verify.md): a Sigstore bundle over the root of a batch, and a place in it.

Closed and canonical: a proof has one encoding. The bundle inside is one that other tools accept.
"""

from __future__ import annotations

from dataclasses import dataclass

from foja.errors import NotCanonical, Tampered
from foja.pure.core.bundle.names import BATCHED_START
from foja.pure.core.canonical import Json, canonical, parse
from foja.pure.proofs.batch import BatchPlace, parse_place
from foja.pure.proofs.rekor.bundle import MAX_BYTES, SigstoreBundle, parse_bundle, read_bundle

FORM = "foja/rekor/v1"
MIN_SIZE = 2  # a batch of one is a plain bundle over the digest itself
_END = b',"form":"%b"}' % FORM.encode()
_FIELDS = {"form", "bundle", "batch"}


@dataclass(frozen=True, slots=True)
class RekorProof:
    """A bundle, and the place of the digest under the root that it signs; None: it signs the digest."""

    bundle: SigstoreBundle
    place: BatchPlace | None = None


def is_batched(data: bytes) -> bool:
    """Return whether a file begins as a proof of this form does."""
    return data.startswith(BATCHED_START)


def encode_batched(bundle: bytes, place: BatchPlace) -> bytes:
    """Return the proof of one digest of a batch, given the bundle over its root as `encode_bundle` wrote it.

    The bundle is not parsed again: a batch may have many thousand proofs.
    """
    return BATCHED_START + canonical(place.document()) + b',"bundle":' + bundle + _END


def split_batched(data: bytes) -> tuple[bytes, BatchPlace]:
    """Return the bundle of a proof, as a file for other tools, and the place; or raise `Tampered`."""
    document = _document(data)
    return canonical(document["bundle"]), parse_place(document["batch"], "the batch", fewest=MIN_SIZE)


def parse_proof(data: bytes) -> RekorProof:
    """Return the proof in a file of either form; raise `Tampered`, or `Flaw` if it is not supported."""
    if not is_batched(data):
        return RekorProof(parse_bundle(data))
    document = _document(data)
    place = parse_place(document["batch"], "the batch", fewest=MIN_SIZE)
    bundle = read_bundle(document["bundle"])
    if bundle.digest is None:
        raise Tampered("the bundle of a batch must state the root that it signs as its messageDigest")
    return RekorProof(bundle, place)


def _document(data: bytes) -> dict[str, Json]:
    if len(data) > MAX_BYTES:
        raise Tampered(f"a proof of {len(data)} bytes is over the limit of {MAX_BYTES}")
    try:
        document = parse(data)
        encoded = canonical(document)
    except NotCanonical as error:
        raise Tampered(f"the proof of a batch is not JSON: {error}") from None
    if not isinstance(document, dict) or set(document) != _FIELDS or document["form"] != FORM:
        raise Tampered(f"the proof of a batch has exactly {', '.join(sorted(_FIELDS))}, of the form {FORM}")
    if encoded != data.removesuffix(b"\n"):
        raise Tampered("the proof of a batch is not in canonical form (RFC 8785)")
    return document
