"""Our errors for what the functions of the schema refuse, by their codes."""

from __future__ import annotations

from foja import errors


class OnRedis(errors.Refused):
    """Redis numbers this stream: take a number there, or claim the stream first."""


REFUSALS: dict[str, type[errors.FojaError]] = {
    "unknown_kind": errors.UnknownKind,
    "wrong_source": errors.WrongSource,
    "bad_payload": errors.BadPayload,
    "bad_hash": errors.BadPayload,
    "not_canonical": errors.NotCanonical,
    "too_large": errors.TooLarge,
    "wrong_entity": errors.WrongEntity,
    "wrong_expected_seq": errors.WrongExpectedSeq,
    "idempotency_conflict": errors.IdempotencyConflict,
    "not_erasable": errors.NotErasable,
    "bad_reservation": errors.BadReservation,
    "slot_voided": errors.SlotVoided,
    "slot_filled": errors.SlotFilled,
    "unknown_entity": errors.UnknownEntity,
    "object_missing": errors.ObjectMissing,
    "purge_held": errors.Busy,
    "not_allowed": errors.NotAllowed,
    "unknown_job": errors.UnknownJob,
    "unknown_product": errors.UnknownProduct,
    "unknown_image": errors.UnknownImage,
    "unknown_webhook": errors.UnknownWebhook,
    "bad_place": errors.BadPlace,
    "product_deleted": errors.ProductDeleted,
    "wrong_supplier": errors.WrongSupplier,
    "gallery_full": errors.GalleryFull,
    "attempts_spent": errors.AttemptsSpent,
    "wrong_isolation": errors.WrongIsolation,
    "bad_domain": errors.BadDomain,
    "on_redis": OnRedis,
    "cannot_produce": errors.CannotProduce,
    "document_final": errors.DocumentFinal,
    "document_closed": errors.DocumentClosed,
    "already_added": errors.OutOfTurn,
    "already_requested": errors.OutOfTurn,
    "already_asked": errors.OutOfTurn,
    "already_submitted": errors.OutOfTurn,
    "already_confirmed": errors.OutOfTurn,
    "attempt_not_open": errors.OutOfTurn,
    "out_of_turn": errors.OutOfTurn,
}
PRECONDITION = "precondition_failed:"
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
    return REFUSALS.get(code, errors.Refused)(f"{message or code}{advice}")
