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
from foja.interfaces.operations.operation import Operation, Option
from foja.interfaces.operations.requests import make_secret
from foja.pure.core.fields import many
from foja.pure.models.access.key import LIFETIME, parse_end
from foja.pure.models.access.principal import Scope
from foja.pure.models.access.view import CreatedKey

MAX_ACTORS = 200
MAY = f"what it may do: {', '.join(Scope)}; `admin` includes the others"
EXPIRES = "a time, a duration such as 12h or 90d, or `never` (365d)"
Scopes = Annotated[str | Sequence[str], MAY]


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
    scopes: Scopes = ("read",),
    *,
    name: Annotated[str, "what it is for"] = "",
    tenant: Annotated[str | None, "its tenant; your own, if it is left out"] = None,
    installation: Annotated[bool, "it also covers what all tenants share"] = False,
    expires_at: Annotated[str | None, "a time, or a duration such as 90d; `never` or null: never"] = LIFETIME,
) -> CreatedKey:
    """Make a key and show it, once; from then on, every HTTP request needs a key or a login.

    Its text is in this answer and nowhere else, so a repeated request is refused (409).
    """
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
    return CreatedKey(made.id, made.text, tenant, sorted(many(scopes)), installation, end)


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
    Operation("access.keys", f"GET {KEYS}", Keys.list, ADMIN, _keys, verb="access list"),
    Operation(
        *("access.create_key", f"POST {KEYS}", create_key, ADMIN),
        takes_key=True,
        status=201,
        verb="access create",
        options=(
            Option("scopes", "--scopes LIST", "scopes"),
            Option("expires_at", "--expires WHEN", "expiry", EXPIRES),
        ),
        examples="foja access create --scopes read,write --name crm\n"
        "foja access create --scopes admin --installation     for all tenants\n"
        "foja access create --scopes operate --installation --name prometheus --expires 30d --json",
    ),
    Operation("access.revoke_key", f"POST {KEY}/revoke", Keys.revoke, ADMIN, _keys),
    Operation(
        *("access.rotate_key", f"POST {KEY}/rotate", Keys.rotate, ADMIN, _keys),
        repeatable=False,
        verb="access rotate",
        options=(
            Option("key_id", "ID", help="as `foja access list` shows it"),
            Option("overlap_seconds", "--overlap TIME", "duration", "how long (1d)"),
        ),
        examples="foja access rotate 3k9x0d2m1q7a --overlap 1h",
    ),
    Operation(
        *("access.sessions", f"GET {SESSIONS}", Sessions.list, ADMIN, _sessions),
        verb="access sessions",
        examples="foja access sessions\nfoja access revoke SESSION",
    ),
    Operation("access.revoke_session", f"POST {SESSION}/revoke", Sessions.revoke, ADMIN, _sessions),
)
