"""What callers can do about access: who they are, names of actors, keys and sessions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from foja.access.keys import OVERLAP_SECONDS
from foja.access.model.key import LIFETIME, parse_end
from foja.access.model.principal import Scope
from foja.access.model.view import KeyList, SessionList
from foja.answers.access import Me, NameList, NewKey, Revoked, RotatedKey
from foja.core.fields import many
from foja.errors import UnknownEntity
from foja.operations.caller import Caller
from foja.operations.operation import Operation
from foja.operations.requests import make_secret
from foja.pages import MAX_LIMIT

MAX_ACTORS = 200
Tenant = Annotated[str | None, "only of this tenant"]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT)]


async def me(caller: Caller) -> Me:
    """Return who sends this request, and what it may do."""
    who = caller.principal
    return Me(who.actor, who.name, who.tenant, sorted(who.scopes), who.installation, caller.credential)


async def names(
    caller: Caller, actors: Annotated[list[str], Field(alias="actor", max_length=MAX_ACTORS)]
) -> NameList:
    """Return the names of these actors that have one: of keys, people, and users of this machine."""
    return NameList(await caller.app.access.names.shown_to(caller.principal, actors))


async def keys(caller: Caller, *, tenant: Tenant = None, limit: Limit = 100) -> KeyList:
    """List the newest keys of the tenant; of all tenants for a key of the installation."""
    return await caller.app.access.keys.list(tenant=_tenant(caller, tenant), limit=limit)


async def create_key(
    caller: Caller,
    scopes: str | Sequence[str],
    *,
    name: str = "",
    tenant: str | None = None,
    installation: bool = False,
    expires_at: Annotated[str | None, "a time, or a duration such as 90d; `never` or null: never"] = LIFETIME,
) -> NewKey:
    """Make a key. Its text is in this answer and nowhere else, so a repeated request is refused (409)."""
    keys, who = caller.app.access.keys, caller.principal
    tenant = tenant or who.tenant
    if installation or tenant != who.tenant:
        who.check(Scope.ADMIN, installation=True)
    asked: dict[str, Any] = {"tenant": tenant, "scopes": many(scopes), "name": name}
    asked |= {"installation": installation}
    end = parse_end(expires_at, datetime.now(UTC))
    make = partial(keys.create, **asked, expires_at=end, actor=who.actor)
    undo = partial(keys.revoke, actor=who.actor)
    made = await make_secret(caller, "key", {**asked, "expires_at": expires_at}, make, undo)
    return NewKey(made.id, made.text)


async def revoke_key(caller: Caller, key_id: str) -> Revoked:
    """Revoke a key. It ends everywhere within a second, with its sessions and streams."""
    keys, actor = caller.app.access.keys, caller.principal.actor
    return Revoked(key_id, await keys.revoke(key_id, tenant=_tenant(caller), actor=actor))


async def rotate_key(caller: Caller, key_id: str, *, overlap_seconds: float = OVERLAP_SECONDS) -> RotatedKey:
    """Give a key a new text; the one before stays valid for a while."""
    key, until = await caller.app.access.keys.rotate(
        key_id, overlap=overlap_seconds, tenant=_tenant(caller), actor=caller.principal.actor
    )
    return RotatedKey(key.id, key.text, until)


async def sessions(caller: Caller, *, tenant: Tenant = None, limit: Limit = 100) -> SessionList:
    """List the newest sessions that are not over."""
    return await caller.app.access.sessions.list(tenant=_tenant(caller, tenant), limit=limit)


async def revoke_session(caller: Caller, session_id: str) -> Revoked:
    """End a session everywhere within a second."""
    try:
        session = UUID(session_id)
    except ValueError:
        raise UnknownEntity("there is no such session; list the sessions again") from None
    sessions, actor = caller.app.access.sessions, caller.principal.actor
    return Revoked(session_id, await sessions.revoke(session, tenant=_tenant(caller), actor=actor))


def _tenant(caller: Caller, named: str | None = None) -> str | None:
    """Return the tenant whose keys a caller may see, or the one that they name; None: all."""
    own = caller.principal.tenant
    if named not in (None, own):
        caller.principal.check(Scope.ADMIN, installation=True)
    return named if caller.principal.installation else own


KEYS, SESSIONS, READ, ADMIN = "/v1/access/keys", "/v1/access/sessions", Scope.READ, Scope.ADMIN
KEY = f"{KEYS}/{{key_id}}"
OPERATIONS = (
    Operation("access.me", "GET /v1/access/me", me, None),
    Operation("access.names", "GET /v1/access/names", names, READ),
    Operation(
        *("access.keys", f"GET {KEYS}", keys, ADMIN),
        verb="access list",
        examples="foja access list --json",
    ),
    Operation("access.create_key", f"POST {KEYS}", create_key, ADMIN, takes_key=True, status=201),
    Operation("access.revoke_key", f"POST {KEY}/revoke", revoke_key, ADMIN),
    Operation("access.rotate_key", f"POST {KEY}/rotate", rotate_key, ADMIN, repeatable=False),
    Operation(
        *("access.sessions", f"GET {SESSIONS}", sessions, ADMIN),
        verb="access sessions",
        examples="foja access sessions\nfoja access revoke SESSION",
    ),
    Operation("access.revoke_session", f"POST {SESSIONS}/{{session_id}}/revoke", revoke_session, ADMIN),
)
