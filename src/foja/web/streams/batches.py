"""Many events in one request: all or none, or each by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import Field
from starlette.responses import Response

from foja.errors import BadPayload, FojaError, WrongEntity
from foja.ledger.event import Draft, Event
from foja.ledger.lanes.held import AppendResult
from foja.ledger.stream import Stream
from foja.web.bodies import NewEvent, RequestBody, describe_body
from foja.web.caller import Caller
from foja.web.problems import describe_problem
from foja.web.reference.answers.events import BatchAnswer
from foja.web.streams.appends import check_key, check_kind, describe_event, unknown
from foja.web.transfer.encoder import JsonAnswer

MAX_EVENTS, MAX_ATOMIC = 1_000, 256


class BatchEvent(NewEvent):
    """An event of a batch; its key makes it idempotent by itself."""

    expected_seq: int | None = None
    idempotency_key: str | None = None


class EventBatch(RequestBody):
    """Events to append in order: with `atomic` all or none, else each by itself."""

    events: Annotated[list[BatchEvent], Field(min_length=1, max_length=MAX_EVENTS)]
    atomic: bool = False


# The answer is 201 if every event is new, 200 if some were refused or recorded before.
BATCH_ROUTE: Final[dict[str, Any]] = {
    "status_code": 201,
    "response_model": BatchAnswer,
    "responses": {200: {"description": "Not every event is new.", "model": BatchAnswer}},
    "openapi_extra": describe_body(EventBatch),
}


async def append_batch(stream: Stream, batch: EventBatch, key: str | None, caller: Caller) -> Response:
    """Append a batch; answer 201 if all events are new, 200 if not, with one result for each."""
    check_key(key)
    if batch.atomic:
        if len(batch.events) > MAX_ATOMIC:
            raise BadPayload(f"an atomic batch has at most {MAX_ATOMIC} events; send several, or not atomic")
        drafts = [_draft(stream, at, each, key, caller) for at, each in enumerate(batch.events)]
        found: Sequence[AppendResult] = await _append_all(stream, drafts)
    else:
        found = await _append_each(stream, batch.events, key, caller)
    appended = sum(isinstance(each, Event) and not each.replayed for each in found)
    status = 201 if appended == len(found) else 200
    return JsonAnswer({"appended": appended, "results": [_result(stream, each) for each in found]}, status)


async def _append_all(stream: Stream, drafts: Sequence[Draft]) -> Sequence[AppendResult]:
    try:
        return await stream.append_many(drafts)
    except WrongEntity:
        raise unknown(stream) from None


async def _append_each(
    stream: Stream, events: Sequence[BatchEvent], key: str | None, caller: Caller
) -> Sequence[AppendResult]:
    """Append each event that can be one; what is wrong with the others is their result."""
    made: list[Draft | FojaError] = []
    for at, each in enumerate(events):
        try:
            made.append(_draft(stream, at, each, key, caller))
        except FojaError as error:
            made.append(error)
    drafts = [each for each in made if isinstance(each, Draft)]
    recorded = iter(await stream.append_each(drafts) if drafts else [])
    return [next(recorded) if isinstance(each, Draft) else each for each in made]


def _draft(stream: Stream, at: int, event: BatchEvent, key: str | None, caller: Caller) -> Draft:
    own = event.idempotency_key
    if own is None and key is not None:
        own = f"{key}:{at}"
    check_key(own)
    check_kind(stream, event.kind, caller)
    return stream.draft(
        event.kind,
        event.payload,
        idempotency_key=own,
        expected_seq=event.expected_seq,
        actor=caller.author(event.actor),
        v=event.v,
    )


def _result(stream: Stream, found: AppendResult) -> dict[str, Any]:
    if isinstance(found, WrongEntity):
        found = unknown(stream)
    if isinstance(found, Event):
        return {"event": describe_event(found), "new": not found.replayed, "problem": None}
    return {"event": None, "new": False, "problem": describe_problem(found)}
