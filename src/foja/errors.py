"""Every error that leaves the package, in one family.

FojaError
├── Refused                 the request is wrong; sending it again cannot help
│   ├── UnknownKind         no such kind, or version of it, in this domain
│   ├── WrongSource         this source, or this database role, may not say that
│   ├── BadPayload          the body breaks its schema
│   │   ├── NotCanonical    it has no canonical form: NaN, U+0000, too deep, …
│   │   └── TooLarge        it is over the limit
│   ├── WrongEntity         the stream belongs to another domain or tenant
│   ├── WrongExpectedSeq    somebody wrote first
│   ├── IdempotencyConflict the key was used for another event
│   ├── NotErasable         this event's body may not be erased
│   ├── BadReservation      more numbers or more time than allowed
│   ├── SlotVoided          the number is no longer yours
│   ├── SlotFilled          the number already holds another event
│   ├── UnknownEntity       nothing was ever written there
│   │   ├── UnknownApproval nobody asked for that
│   │   └── NotCovered      no published checkpoint covers it yet
│   ├── UnknownJob          no such job, or job type
│   ├── BadDomain           the domain cannot be registered like that
│   ├── UnknownDomain       no such domain is registered
│   ├── OutOfTurn           the document's history does not allow that, or not any more
│   │   ├── PreconditionFailed  something has to come first; the code says what
│   │   ├── DocumentFinal   its artifact is final; a new version is a new document
│   │   └── DocumentClosed  it was revoked or archived
│   ├── CannotProduce       this installation has no way to produce that evidence
│   └── CursorLost          the cursor belongs to another history
├── Unavailable             nothing was decided; sending it again is safe
│   ├── LedgerUnavailable   nothing can number an event now
│   ├── Unstamped           no timestamp authority gave a token; says why in a code
│   └── Busy                a concurrent transaction was in the way
├── Tampered                bytes and proof disagree
│   ├── BadBundle           a bundle of evidence is not as every honest one is; says why in a code
│   ├── Malformed           the bytes are not in the form they claim
│   └── LogHalted           the log cannot go on without contradicting itself
├── StreamBroken            what a model was saying ended before it was said
├── ObjectMissing           the store has no such object
│   └── ObjectChanged       somebody replaced it first
└── SetupFailed             this installation cannot start
    ├── MigrationFailed
    ├── RoleMissing
    └── EmbeddedFailed
"""

from __future__ import annotations


class FojaError(Exception):
    """Base of every error raised by Foja."""


class Refused(FojaError):
    """The request is wrong; sending it again cannot help."""


class UnknownKind(Refused):
    """No such kind, or version of it, in this domain."""


class WrongSource(Refused):
    """This source, or this database role, may not say that."""


class BadPayload(Refused):
    """The body breaks its schema."""


class NotCanonical(BadPayload):
    """The body has no canonical form."""


class TooLarge(BadPayload):
    """The body is over the limit."""


class WrongEntity(Refused):
    """The stream belongs to another domain or tenant."""


class WrongExpectedSeq(Refused):
    """Somebody wrote first."""


class IdempotencyConflict(Refused):
    """The key was used for another event."""


class NotErasable(Refused):
    """This event's body may not be erased."""


class BadReservation(Refused):
    """More numbers or more time than a reservation may hold."""


class SlotVoided(Refused):
    """The number is no longer yours; append at the head instead."""


class SlotFilled(Refused):
    """The number already holds another event."""


class UnknownEntity(Refused):
    """Nothing was ever written there."""


class UnknownApproval(UnknownEntity):
    """Nobody asked for that in this conversation."""


class UnknownJob(Refused):
    """No such job, or job type."""


class BadDomain(Refused):
    """The domain cannot be registered like that."""


class UnknownDomain(Refused):
    """No such domain is registered here."""


class OutOfTurn(Refused):
    """The document's history does not allow that, or not any more."""


class PreconditionFailed(OutOfTurn):
    """Something has to come first; the message begins with a code that says what."""


class DocumentFinal(OutOfTurn):
    """The artifact is final; a new version is a new document that names this one."""


class DocumentClosed(OutOfTurn):
    """The document was revoked or archived."""


class CannotProduce(Refused):
    """This installation has no way to produce that evidence; nothing is ever simulated."""


class NotCovered(UnknownEntity):
    """No published checkpoint covers it yet; let a worker run."""


class CursorLost(Refused):
    """The cursor belongs to another history; read again from the start."""


class Unavailable(FojaError):
    """Nothing was decided; sending it again is safe."""


class LedgerUnavailable(Unavailable):
    """Nothing can number an event now."""


class Unstamped(Unavailable):
    """No timestamp authority gave a token that holds; `code` says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Busy(Unavailable):
    """A concurrent transaction was in the way."""


class Tampered(FojaError):
    """Bytes and proof disagree."""


class BadBundle(Tampered):
    """A bundle of evidence is not as every honest one is; `code` says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Malformed(Tampered):
    """The bytes are not in the form they claim."""


class LogHalted(Tampered):
    """The log cannot go on without contradicting what it published."""


class StreamBroken(FojaError):
    """What a model was saying ended before it was said."""


class ObjectMissing(FojaError):
    """The store has no such object."""


class ObjectChanged(ObjectMissing):
    """Somebody replaced the object first."""


class SetupFailed(FojaError):
    """This installation cannot start."""


class MigrationFailed(SetupFailed):
    """The schema could not be moved; nothing was changed."""


class RoleMissing(SetupFailed):
    """The connection may not act as the role this process needs."""


class EmbeddedFailed(SetupFailed):
    """The embedded server did not start."""
