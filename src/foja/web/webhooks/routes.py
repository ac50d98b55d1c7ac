"""`/v1/webhooks`: create, list, change, rotate, remove, deliveries, replay."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Protocol
from uuid import UUID

from fastapi import Path, Query, Response
from fastapi.encoders import jsonable_encoder

from foja.errors import BadPayload
from foja.web.bodies import body_of, describe_body
from foja.web.caller import Administrator, Operator
from foja.web.routers import api_router
from foja.web.streams.appends import Key, keyed, refuse_second
from foja.web.transfer.encoder import JsonAnswer
from foja.web.webhooks.bodies import (
    CreatedWebhook,
    DeliveryList,
    DeliveryWithAttempts,
    NewWebhook,
    RemovedWebhook,
    Replay,
    Replayed,
    SecretRotation,
    WebhookAnswer,
    WebhookChange,
    WebhookList,
)
from foja.webhooks.service import DeliveryState

routes = api_router("/v1/webhooks", "webhooks")
Number = Annotated[int, Path(ge=0, le=2**63 - 1)]


class _Shown(Protocol):
    def document(self) -> dict[str, Any]: ...


@routes.post("", status_code=201, response_model=CreatedWebhook, openapi_extra=describe_body(NewWebhook))
async def create(
    caller: Administrator, body: Annotated[NewWebhook, body_of(NewWebhook)], key: Key = None
) -> Response:
    """Create a webhook. Its secret is not shown again, so a repeated request is refused (409)."""
    request, asked = keyed(caller, key, "/v1/webhooks"), body.model_dump(exclude_unset=True)
    refuse_second("webhook", await request.found(asked))
    made = await caller.app.webhooks.create(**dict(body), actor=caller.principal.actor)
    if first := await request.note(asked, str(made.id)):
        await caller.app.webhooks.remove(made.id, actor=caller.principal.actor)
        refuse_second("webhook", first)
    return JsonAnswer(_json(made), 201, {"Location": f"/v1/webhooks/{made.id}"})


@routes.get("", response_model=WebhookList)
async def webhooks(caller: Operator) -> Response:
    """List the webhooks of the tenant, oldest first."""
    return JsonAnswer({"webhooks": [_json(each) for each in await caller.app.webhooks.list()]})


@routes.get("/{webhook_id}", response_model=WebhookAnswer)
async def webhook(caller: Operator, webhook_id: UUID) -> Response:
    """Return one webhook."""
    return JsonAnswer(_json(await caller.app.webhooks.show(webhook_id)))


@routes.patch("/{webhook_id}", response_model=WebhookAnswer, openapi_extra=describe_body(WebhookChange))
async def change(
    caller: Administrator, webhook_id: UUID, body: Annotated[WebhookChange, body_of(WebhookChange)]
) -> Response:
    """Change a webhook, or switch it on or off. What it missed while it was off is delivered."""
    hooks, actor = caller.app.webhooks, caller.principal.actor
    fields = {name: value for name, value in dict(body).items() if value is not None}
    state, reason = fields.pop("state", None), fields.pop("reason", None)
    if fields:
        await hooks.change(webhook_id, **fields, actor=actor)
    if state:
        await hooks.switch(webhook_id, on=state == "on", reason=reason, actor=actor)
    return JsonAnswer(_json(await hooks.show(webhook_id)))


@routes.delete("/{webhook_id}", response_model=RemovedWebhook)
async def remove(caller: Administrator, webhook_id: UUID) -> Response:
    """Remove a webhook with the log of its deliveries."""
    await caller.app.webhooks.remove(webhook_id, actor=caller.principal.actor)
    return JsonAnswer({"id": str(webhook_id), "removed": True})


@routes.post(
    "/{webhook_id}/rotate", response_model=CreatedWebhook, openapi_extra=describe_body(SecretRotation)
)
async def rotate(
    caller: Administrator, webhook_id: UUID, body: Annotated[SecretRotation, body_of(SecretRotation)]
) -> Response:
    """Sign with a new secret; the old one signs as well until the overlap ends."""
    made = await caller.app.webhooks.rotate(webhook_id, **dict(body), actor=caller.principal.actor)
    return JsonAnswer(_json(made))


@routes.get("/{webhook_id}/deliveries", response_model=DeliveryList)
async def deliveries(
    caller: Operator,
    webhook_id: UUID,
    state: DeliveryState | None = None,
    before: Annotated[int | None, Query(ge=0, le=2**63 - 1)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """List deliveries, newest first; `next` is the address of older ones."""
    found = await caller.app.webhooks.deliveries(webhook_id, state=state, before=before, limit=limit)
    more = (
        f"/v1/webhooks/{webhook_id}/deliveries?before={found[-1].id}&limit={limit}"
        if len(found) == limit
        else None
    )
    if more and state:
        more += f"&state={state}"
    return JsonAnswer({"deliveries": [_json(each) for each in found], "next": more})


@routes.get("/{webhook_id}/deliveries/{number}", response_model=DeliveryWithAttempts)
async def delivery(caller: Operator, webhook_id: UUID, number: Number) -> Response:
    """Return one delivery with all its attempts."""
    found, attempts = await caller.app.webhooks.delivery(webhook_id, number)
    return JsonAnswer({**_json(found), "log": [_json(each) for each in attempts]})


@routes.post(
    "/{webhook_id}/replay", status_code=202, response_model=Replayed, openapi_extra=describe_body(Replay)
)
async def replay(caller: Operator, webhook_id: UUID, body: Annotated[Replay, body_of(Replay)]) -> Response:
    """Deliver again: a range of numbers or times, or what failed. Receivers see the same ids."""
    chosen = {**dict(body), "since": _moment(body.since), "until": _moment(body.until)}
    count = await caller.app.webhooks.replay(webhook_id, **chosen, actor=caller.principal.actor)
    return JsonAnswer({"replayed": count}, 202)


def _json(shown: _Shown) -> dict[str, Any]:
    found: dict[str, Any] = jsonable_encoder(shown.document())
    return found


def _moment(text: str | None) -> datetime | None:
    try:
        found = None if text is None else datetime.fromisoformat(text)
    except ValueError:
        raise BadPayload(f"{text!r} is not a time; write it as 2026-01-31T12:00:00Z") from None
    return found.replace(tzinfo=UTC) if found and found.tzinfo is None else found
