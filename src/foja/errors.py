"""Every error that leaves the package, in one hierarchy.

FojaError
├── Refused
│   ├── UnknownKind, WrongSource, WrongEntity, WrongExpectedSeq, IdempotencyConflict, NotErasable
│   ├── BadReservation, SlotVoided, SlotFilled, UnknownJob, BadDomain, UnknownDomain
│   ├── CannotProduce, CursorLost, ImageRefused
│   ├── ProductDeleted, WrongSupplier, GalleryFull, AttemptsSpent, WrongIsolation
│   ├── NotAllowed
│   │   └── NotAuthenticated
│   ├── BadPayload
│   │   └── NotCanonical, TooLarge, BadPlace
│   ├── UnknownEntity
│   │   └── UnknownApproval, UnknownProduct, UnknownImage, UnknownWebhook
│   └── OutOfTurn
│       └── PreconditionFailed, DocumentFinal, DocumentClosed
├── Unavailable
│   └── LedgerUnavailable, SchemaDiffers, NotCovered, Unstamped, Busy, DecoderFailed
├── Tampered
│   └── BadBundle, Malformed, LogHalted
├── StreamBroken, ObjectMissing, ObjectChanged
└── SetupFailed
    └── MigrationFailed, RoleMissing, EmbeddedFailed

`code` is the name of an error for programs: it never changes, and a few errors carry a more precise one
on the instance. `retryable` says whether the same request may succeed later. docs/errors.md lists both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

HIDDEN = "***"
# Every pattern takes linear time: messages quote what a caller sent.
_WORD = re.compile(r"[^\s'\"<>]+")
_USER = re.compile(r"://[^:/?#@]*:")
# The user of an HTTP address is often an access token.
_HTTP_USER = re.compile(r"(https?://)[^\s/?#@:'\"]+@", re.IGNORECASE)
_FIELD = re.compile(
    r"((?:\b|_)(?:password|passwd|pwd|secret|api_?key|access_?key|access_?token|credentials?|sig|signature)"
    r"\s*=\s*)('(?:[^'\\]|\\.?)*(?:'|\Z)|[^\s&;,'\")]+)",
    re.IGNORECASE | re.DOTALL,
)
# An access key and a bearer token, wherever they stand.
_KEY = re.compile(r"\b(foja_[a-z0-9]{12}_)[0-9A-Za-z]{20,}(?:_[0-9a-f]{0,8})?")
_TOKEN = re.compile(r"\beyJ[\w-]{5,}\.[\w-]+\.[\w-]*")


class FojaError(Exception):
    """Base of every error raised by Foja. Its message contains no secret."""

    code = "foja_error"
    retryable = False
    part: str | None = None  # of the installation that failed, once its health was told
    public: str | None = None  # what a stranger may read, where the message names servers

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(redact(each) if isinstance(each, str) else each for each in arguments))

    def __init_subclass__(cls, *, code: str | None = None) -> None:
        """Set the code that the subclass gives; without one it is inherited."""
        cls.code = code or cls.code


class _Coded(FojaError):
    """An error with a more precise code on the instance."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Refused(FojaError, code="refused"):
    """The request is invalid; sending it again gives the same error."""


class UnknownKind(Refused, code="unknown_kind"):
    """The domain has no such kind, or not in this version."""


class WrongSource(Refused, code="wrong_source"):
    """The source or database role may not record this kind."""


class NotAllowed(Refused, code="not_allowed"):
    """The key, token or session does not have the scope that this needs."""


class NotAuthenticated(NotAllowed, code="not_authenticated"):
    """The key, token or session is missing, unknown, expired or revoked."""


class BadPayload(Refused, code="bad_payload"):
    """The payload does not match its kind."""


class NotCanonical(BadPayload, code="not_canonical"):
    """The payload has no canonical form."""


class TooLarge(BadPayload, code="too_large"):
    """The payload is over the size limit."""


class WrongEntity(Refused, code="wrong_entity"):
    """The stream belongs to another domain or tenant."""


class WrongExpectedSeq(Refused, code="wrong_expected_seq"):
    """The stream has grown since it was read; read it again and decide again."""


class IdempotencyConflict(Refused, code="idempotency_conflict"):
    """The idempotency key was used for another event."""


class NotErasable(Refused, code="not_erasable"):
    """The body of this event may not be erased."""


class BadReservation(Refused, code="bad_reservation"):
    """The reservation asks for too many numbers or too much time."""


class SlotVoided(Refused, code="slot_voided"):
    """The slot was voided; append at the end of the stream instead."""


class SlotFilled(Refused, code="slot_filled"):
    """The slot holds another event."""


class UnknownEntity(Refused, code="unknown_entity"):
    """There is no such stream, or no such event in it."""


class UnknownApproval(UnknownEntity, code="unknown_approval"):
    """The conversation has no such approval."""


class UnknownWebhook(UnknownEntity, code="unknown_webhook"):
    """There is no such webhook, or no such delivery of it."""


class UnknownProduct(UnknownEntity, code="unknown_product"):
    """There is no such product."""


class UnknownImage(UnknownEntity, code="unknown_image"):
    """The gallery has no such image; it may have been removed."""


class BadPlace(BadPayload, code="bad_place"):
    """The gallery has no such place; it may have become shorter."""


class ProductDeleted(Refused, code="product_deleted"):
    """The product was deleted, and its images were removed with it."""


class WrongSupplier(Refused, code="wrong_supplier"):
    """The product belongs to another supplier."""


class GalleryFull(Refused, code="gallery_full"):
    """The gallery has as many images as a product may have."""


class AttemptsSpent(Refused, code="attempts_spent"):
    """The image failed as often as it may be tried; only force tries it again."""


class WrongIsolation(Refused, code="wrong_isolation"):
    """The transaction has another isolation level than READ COMMITTED."""


class UnknownJob(Refused, code="unknown_job"):
    """There is no such job or job type."""


class BadDomain(Refused, code="bad_domain"):
    """The domain cannot be registered as it is."""


class UnknownDomain(Refused, code="unknown_domain"):
    """No such domain is registered."""


class OutOfTurn(Refused, code="out_of_turn"):
    """The document's history does not allow this event."""


class PreconditionFailed(_Coded, OutOfTurn, code="precondition_failed"):
    """Another event has to come first; `code` and the message say which."""


class DocumentFinal(OutOfTurn, code="document_final"):
    """The artifact is final; add a new version as a new document with this predecessor."""


class DocumentClosed(OutOfTurn, code="document_closed"):
    """The document was revoked or archived."""


class CannotProduce(Refused, code="cannot_produce"):
    """This installation cannot produce the evidence; nothing is simulated."""


class CursorLost(Refused, code="cursor_lost"):
    """The cursor belongs to another history; read again from the start."""


class ImageRefused(_Coded, Refused, code="image_refused"):
    """The file is not an image that is accepted; `code` says why, the message names limit and value."""


class Unavailable(FojaError, code="unavailable"):
    """Nothing was decided; sending the request again is safe."""

    retryable = True


class LedgerUnavailable(Unavailable, code="ledger_unavailable"):
    """The database does not accept events now."""


class SchemaDiffers(Unavailable, code="schema_differs"):
    """The schema of the database is not that of this version of Foja."""


class NotCovered(Unavailable, code="not_covered"):
    """No published checkpoint covers the event yet; let a worker run and ask again."""


class Unstamped(_Coded, Unavailable, code="unstamped"):
    """No timestamp authority returned a valid token; `code` says why."""


class Busy(Unavailable, code="busy"):
    """A concurrent transaction was in the way."""


class DecoderFailed(_Coded, Unavailable, code="decoder_failed"):
    """The decoder of images died or did not answer in time; `code` says which."""


class Tampered(FojaError, code="tampered"):
    """The bytes do not match their hash, signature or proof."""


class BadBundle(_Coded, Tampered, code="bad_bundle"):
    """The bundle is not valid; `code` says why."""


class Malformed(Tampered, code="malformed"):
    """The bytes are not in the format they claim."""


class LogHalted(Tampered, code="log_halted"):
    """The log would contradict what it published."""


class StreamBroken(FojaError, code="stream_broken"):
    """The stream of a model's answer ended early."""


class ObjectMissing(FojaError, code="object_missing"):
    """The store has no such object."""


class ObjectChanged(FojaError, code="object_changed"):
    """The stored object is not the version that was read; read it and decide again."""


class SetupFailed(FojaError, code="setup_failed"):
    """The installation cannot start."""


class MigrationFailed(SetupFailed, code="migration_failed"):
    """The schema could not be migrated; nothing was changed."""


class RoleMissing(SetupFailed, code="role_missing"):
    """The connection may not act as the role that this process needs."""


class EmbeddedFailed(SetupFailed, code="embedded_failed"):
    """The embedded server did not start."""


BY_CODE: Final[Mapping[str, type[FojaError]]] = {
    each.code: each
    for each in [*globals().values()]
    if isinstance(each, type) and issubclass(each, FojaError) and each is not _Coded
}


def redact(text: str) -> str:
    """Return the text with `***` for each password, access key and token in an address or a field."""
    text = _WORD.sub(_hide_password, text)
    text = _TOKEN.sub(HIDDEN, _KEY.sub(rf"\1{HIDDEN}", text))
    return _FIELD.sub(rf"\1{HIDDEN}", _HTTP_USER.sub(rf"\1{HIDDEN}@", text))


def _hide_password(word: re.Match[str]) -> str:
    """Hide the password of an address, up to the last @: one with an unescaped @ or / is hidden whole."""
    address, _, host = word[0].rpartition("@")
    user = _USER.search(address)
    return word[0] if user is None else f"{address[: user.end()]}{HIDDEN}@{host}"
