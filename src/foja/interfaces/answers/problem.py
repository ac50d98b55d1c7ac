"""Why something was refused, as every door says it: a problem document (RFC 9457)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from foja import errors

# The first match applies; any other error is a fault of the server (500).
STATUSES: tuple[tuple[type[errors.FojaError], int], ...] = (
    (errors.TooLarge, 413),
    (errors.NotCanonical, 400),
    (errors.UnknownEntity, 404),
    (errors.UnknownDomain, 404),
    (errors.UnknownJob, 404),
    (errors.ObjectMissing, 404),
    (errors.NotAuthenticated, 401),
    (errors.NotAllowed, 403),
    (errors.WrongSource, 403),
    (errors.WrongSupplier, 403),
    (errors.SlotVoided, 410),
    (errors.CursorLost, 410),
    (errors.ProductDeleted, 410),
    (errors.WrongEntity, 409),
    (errors.WrongExpectedSeq, 409),
    (errors.IdempotencyConflict, 409),
    (errors.SlotFilled, 409),
    (errors.GalleryFull, 409),
    (errors.AttemptsSpent, 409),
    (errors.NotErasable, 409),
    (errors.NotCovered, 409),
    (errors.Refused, 422),
    (errors.Unavailable, 503),
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a request was refused, and what to do next (RFC 9457)."""

    type: Annotated[str, "`urn:foja:` and the class of the error, or `about:blank`"]
    title: str
    status: int
    detail: Annotated[str, "what was refused, why, and what to do next"]
    error: Annotated[str | None, "the class of the error, if it is one of Foja's"] = None
    code: Annotated[str | None, "the stable code of the error"] = None


def problem_from(error: errors.FojaError) -> Problem:
    """Return an error as a problem."""
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
    name, title = type(error).__name__, (type(error).__doc__ or "").partition("\n")[0]
    return Problem(f"urn:foja:{name}", title, status, error.public or str(error), name, error.code)
