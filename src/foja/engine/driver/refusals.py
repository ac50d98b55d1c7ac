"""Our errors for what the functions of the schema refuse, by their codes."""

from __future__ import annotations

from foja import errors


class OnRedis(errors.Refused):
    """Redis numbers this stream: take a number there, or claim the stream first."""


# Codes of the database that are not those of our errors.
OWN_CODES: dict[str, type[errors.FojaError]] = {
    "bad_hash": errors.BadPayload,
    "purge_held": errors.Busy,
    "on_redis": OnRedis,
    "already_added": errors.OutOfTurn,
    "already_requested": errors.OutOfTurn,
    "already_asked": errors.OutOfTurn,
    "already_submitted": errors.OutOfTurn,
    "already_confirmed": errors.OutOfTurn,
    "attempt_not_open": errors.OutOfTurn,
}
PRECONDITION = errors.PreconditionFailed.code
ADVICE = {
    "wrong_expected_seq": "read the stream again and decide anew",
    "idempotency_conflict": "use another idempotency key for another event",
    "slot_voided": "append at the head instead",
    "unknown_image": "list the gallery again",
    "bad_place": "list the gallery again",
    "product_deleted": "use the id of another product",
    "gallery_full": "remove an image, or raise FOJA_GALLERY_LIMIT",
    "cannot_produce": "leave it out, or install what produces it",
}


def refusal(detail: str) -> errors.FojaError:
    """Return the error for a refusal of the database, written `code: detail`."""
    code, _, message = detail.partition(": ")
    if code.startswith(PRECONDITION):
        return errors.PreconditionFailed(code, detail)
    advice = f"; {ADVICE[code]}" if code in ADVICE else ""
    kind = OWN_CODES.get(code) or errors.BY_CODE.get(code, errors.Refused)
    return kind(f"{message or code}{advice}")
