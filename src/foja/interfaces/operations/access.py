"""What callers can do about access: who they are, names of actors, keys and sessions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from foja.domains.access.keys import Keys
from foja.domains.access.sessions import Sessions
from foja.interfaces.answers.access import Me, NameList
from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.operation import Operation
from foja.interfaces.operations.requests import make_secret
from foja.pure.core.fields import many
from foja.pure.models.access.key import LIFETIME, parse_end
from foja.pure.models.access.principal import Scope
from foja.pure.models.access.view import NewKey

MAX_ACTORS = 200


async def me(caller: Caller) -> Me:
    """Return who sends this request, and what it may do."""
    who = caller.principal
    return Me(who.actor, who.name, who.tenant, sorted(who.scopes), who.installation, caller.credential)


async def names(
    caller: Caller, actors: Annotated[list[str], Field(alias="actor", max_length=MAX_ACTORS)]
) -> NameList:
    """Return the names of these actors that have one: of keys, people, and users of this machine."""
    return NameList(await caller.app.access.names.shown_to(caller.principal, actors))


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


def _keys(caller: Caller) -> Keys:
    return caller.app.access.keys.of(_limit(caller))


def _sessions(caller: Caller) -> Sessions:
    return caller.app.access.sessions.of(_limit(caller))


def _limit(caller: Caller) -> str | None:
    """Return the tenant whose keys a caller may see; None: all."""
    return None if caller.principal.installation else caller.principal.tenant


KEYS, SESSIONS, READ, ADMIN = "/v1/access/keys", "/v1/access/sessions", Scope.READ, Scope.ADMIN
KEY, SESSION = f"{KEYS}/{{key_id}}", f"{SESSIONS}/{{session_id}}"
OPERATIONS = (
    Operation("access.me", "GET /v1/access/me", me, None),
    Operation("access.names", "GET /v1/access/names", names, READ),
    Operation(
        *("access.keys", f"GET {KEYS}", Keys.list, ADMIN, _keys),
        verb="access list",
        examples="foja access list --json",
    ),
    Operation("access.create_key", f"POST {KEYS}", create_key, ADMIN, takes_key=True, status=201),
    Operation("access.revoke_key", f"POST {KEY}/revoke", Keys.revoke, ADMIN, _keys),
    Operation("access.rotate_key", f"POST {KEY}/rotate", Keys.rotate, ADMIN, _keys, repeatable=False),
    Operation(
        *("access.sessions", f"GET {SESSIONS}", Sessions.list, ADMIN, _sessions),
        verb="access sessions",
        examples="foja access sessions\nfoja access revoke SESSION",
    ),
    Operation("access.revoke_session", f"POST {SESSION}/revoke", Sessions.revoke, ADMIN, _sessions),
)
