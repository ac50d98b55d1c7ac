"""Every error that leaves the package, in one hierarchy.

FojaError
├── Refused                 the request is invalid; sending it again gives the same error
│   ├── UnknownKind         the domain has no such kind, or not in this version
│   ├── WrongSource         the source or database role may not record this kind
│   ├── BadPayload          the payload does not match its kind
│   │   ├── NotCanonical    the payload has no canonical form: NaN, U+0000, nested too deep, …
│   │   └── TooLarge        the payload is over the size limit
│   ├── WrongEntity         the stream belongs to another domain or tenant
│   ├── WrongExpectedSeq    the stream has grown since it was read
│   ├── IdempotencyConflict the idempotency key was used for another event
│   ├── NotErasable         the body of this event may not be erased
│   ├── BadReservation      the reservation asks for too many numbers or too much time
│   ├── SlotVoided          the slot was voided
│   ├── SlotFilled          the slot holds another event
│   ├── UnknownEntity       there is no such stream, or no such event in it
│   │   └── UnknownApproval the conversation has no such approval
│   ├── UnknownJob          there is no such job or job type
│   ├── BadDomain           the domain cannot be registered as it is
│   ├── UnknownDomain       no such domain is registered
│   ├── OutOfTurn           the document's history does not allow this event
│   │   ├── PreconditionFailed  another event has to come first; `code` says which
│   │   ├── DocumentFinal   the document's artifact is final
│   │   └── DocumentClosed  the document was revoked or archived
│   ├── CannotProduce       this installation cannot produce the evidence
│   └── CursorLost          the cursor belongs to another history
├── Unavailable             nothing was decided; sending the request again is safe
│   ├── LedgerUnavailable   the database does not accept events now
│   ├── NotCovered          no published checkpoint covers the event yet
│   ├── Unstamped           no timestamp authority returned a valid token; `code` says why
│   └── Busy                a concurrent transaction was in the way
├── Tampered                the bytes do not match their hash, signature or proof
│   ├── BadBundle           the bundle is not valid; `code` says why
│   ├── Malformed           the bytes are not in the format they claim
│   └── LogHalted           the log would contradict what it published
├── StreamBroken            the stream of a model's answer ended early
├── ObjectMissing           the store has no such object
├── ObjectChanged           the stored object is not the version that was read
└── SetupFailed             the installation cannot start
    ├── MigrationFailed     the schema could not be migrated
    ├── RoleMissing         the connection may not act as the role that this process needs
    └── EmbeddedFailed      the embedded server did not start

`code` is the name of an error for programs: it never changes, and a few errors carry a more precise one
on the instance. `retryable` says whether the same request may succeed later. docs/errors.md lists both.
"""

from __future__ import annotations


class FojaError(Exception):
    """Base of every error raised by Foja."""

    code = "foja_error"
    retryable = False

    def __init_subclass__(cls, *, code: str | None = None, retryable: bool | None = None) -> None:
        """Set what the subclass gives; the rest is inherited."""
        if code is not None:
            cls.code = code
        if retryable is not None:
            cls.retryable = retryable


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


class Unavailable(FojaError, code="unavailable", retryable=True):
    """Nothing was decided; sending the request again is safe."""


class LedgerUnavailable(Unavailable, code="ledger_unavailable"):
    """The database does not accept events now."""


class NotCovered(Unavailable, code="not_covered"):
    """No published checkpoint covers the event yet; let a worker run and ask again."""


class Unstamped(_Coded, Unavailable, code="unstamped"):
    """No timestamp authority returned a valid token; `code` says why."""


class Busy(Unavailable, code="busy"):
    """A concurrent transaction was in the way."""


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
