"""An in-toto statement: the subjects of a DSSE envelope."""

from __future__ import annotations

from foja.core.canonical import parse
from foja.errors import NotCanonical, Tampered
from foja.proofs.finding import Reason, Status
from foja.proofs.flaw import Flaw
from foja.proofs.rekor.bundle import Envelope
from foja.proofs.rekor.fields import Fields

_TYPE = "application/vnd.in-toto+json"
_MOST_SUBJECTS = 10_000


def is_about(envelope: Envelope, digest: bytes) -> bool:
    """Return whether this SHA-256 digest is one of the statement's subjects, or raise `Tampered`."""
    if envelope.type != _TYPE:
        detail = f"an envelope of type {envelope.type[:60]!a} is not supported, only {_TYPE}"
        raise Flaw(Reason.ALGORITHM_UNSUPPORTED, detail, Status.UNSUPPORTED)
    try:
        statement = Fields(parse(envelope.payload), "the statement")
    except NotCanonical as error:
        raise Tampered(f"the statement is not JSON: {error}") from None
    subjects = statement.each("subject", most=_MOST_SUBJECTS)
    named = [each.inner("digest") for each in subjects]
    digests = [each.hexadecimal("sha256") for each in named if each.has("sha256")]
    if subjects and not digests:
        detail = "the statement has no SHA-256 digest of its subjects"
        raise Flaw(Reason.IMPRINT_ALGORITHM, detail, Status.INDETERMINATE)
    return digest in digests
