"""`/v1/access`: keys and sessions, for administrators; and who a caller is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Response
from fastapi.encoders import jsonable_encoder

from foja.access.model.key import LIFETIME
from foja.access.model.principal import Scope
from foja.errors import BadPayload, UnknownEntity
from foja.web.access.answers import (
    KeyList,
    KeyRotation,
    Me,
    NameList,
    NewKey,
    NewKeyAnswer,
    Revoked,
    RotatedKey,
    SessionList,
)
from foja.web.bodies import body_of, describe_body
from foja.web.caller import Administrator, AnyCaller, Caller, Reader
from foja.web.routers import api_router
from foja.web.streams.appends import Key, keyed, refuse_second
from foja.web.transfer.encoder import JsonAnswer

routes = api_router("/v1/access", "access")
Limit = Annotated[int, Query(ge=1, le=1000)]


@routes.get("/me", response_model=Me)
async def me(caller: AnyCaller) -> Response:
    """Return who sends this request, and what it may do."""
    principal = caller.principal
    found = {
        "actor": principal.actor,
        "name": principal.name,
        "tenant": principal.tenant,
        "scopes": sorted(principal.scopes),
    }
    return _answer({**found, "installation": principal.installation, "credential": caller.grant.credential})


@routes.get("/names", response_model=NameList)
async def names(caller: Reader, actor: Annotated[list[str], Query(max_length=200)]) -> Response:
    """Return the names of these actors that have one: of keys, of people, and of users of this machine."""
    return JsonAnswer({"names": await caller.names(actor)})


@routes.get("/keys", response_model=KeyList)
async def keys(caller: Administrator, limit: Limit = 100) -> Response:
    """List the newest keys of the tenant; of all tenants for a key of the installation."""
    found = await caller.ctx.app.access.keys.list(tenant=_tenant(caller), limit=limit)
    return _answer({"keys": [each.document() for each in found]})


@routes.post("/keys", status_code=201, response_model=NewKeyAnswer, openapi_extra=describe_body(NewKey))
async def create(
    caller: Administrator, body: Annotated[NewKey, body_of(NewKey)], key: Key = None
) -> Response:
    """Make a key. Its text is in this answer and nowhere else, so a repeated request is refused (409)."""
    request, asked = keyed(caller, key, "/v1/access/keys"), body.model_dump(exclude_unset=True)
    refuse_second("key", await request.found(asked))
    tenant = body.tenant or caller.principal.tenant
    if body.installation or tenant != caller.principal.tenant:
        caller.principal.check(Scope.ADMIN, installation=True)
    made = await caller.ctx.app.access.keys.create(
        tenant,
        body.scopes,
        name=body.name,
        installation=body.installation,
        expires_at=_end(body),
        actor=caller.principal.actor,
    )
    if first := await request.note(asked, made.id):
        await caller.ctx.app.access.keys.revoke(made.id, actor=caller.principal.actor)
        refuse_second("key", first)
    return _answer({"id": made.id, "key": made.text}, 201)


@routes.post("/keys/{key_id}/revoke", response_model=Revoked)
async def revoke(caller: Administrator, key_id: str) -> Response:
    """Revoke a key. It ends everywhere within a second, with its sessions and streams."""
    actor = caller.principal.actor
    revoked = await caller.ctx.app.access.keys.revoke(key_id, tenant=_tenant(caller), actor=actor)
    return _answer({"id": key_id, "revoked": revoked})


@routes.post("/keys/{key_id}/rotate", response_model=RotatedKey, openapi_extra=describe_body(KeyRotation))
async def rotate(
    caller: Administrator, key_id: str, body: Annotated[KeyRotation, body_of(KeyRotation)]
) -> Response:
    """Give a key a new text; the one before stays valid for a while."""
    key, until = await caller.ctx.app.access.keys.rotate(
        key_id, overlap=body.overlap_seconds, tenant=_tenant(caller), actor=caller.principal.actor
    )
    return _answer({"id": key.id, "key": key.text, "overlap_until": until})


@routes.get("/sessions", response_model=SessionList)
async def sessions(caller: Administrator, limit: Limit = 100) -> Response:
    """List the newest sessions that are not over."""
    found = await caller.ctx.app.access.sessions.list(tenant=_tenant(caller), limit=limit)
    return _answer({"sessions": [each.document() for each in found]})


@routes.post("/sessions/{session_id}/revoke", response_model=Revoked)
async def revoke_session(caller: Administrator, session_id: str) -> Response:
    """End a session everywhere within a second."""
    try:
        session = UUID(session_id)
    except ValueError:
        raise UnknownEntity("there is no such session; list the sessions again") from None
    actor = caller.principal.actor
    revoked = await caller.ctx.app.access.sessions.revoke(session, tenant=_tenant(caller), actor=actor)
    return _answer({"id": session_id, "revoked": revoked})


def _tenant(caller: Caller) -> str | None:
    """Return the tenant whose keys a caller may see; None: all."""
    return None if caller.principal.installation else caller.principal.tenant


def _end(body: NewKey) -> datetime | None:
    """Return when a key expires: as its maker says, never if it is null, after a year if nothing is said."""
    if "expires_at" not in body.model_fields_set:
        return datetime.now(UTC) + LIFETIME
    return None if body.expires_at is None else _moment(body.expires_at)


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise BadPayload(f"{text!r} is not a time: expected 2026-01-31T12:00:00Z") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _answer(value: dict[str, Any], status: int = 200) -> Response:
    return JsonAnswer(jsonable_encoder(value), status)
