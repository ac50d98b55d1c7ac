"""`foja access create`, `list`, `revoke`, `rotate`, `sessions`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from foja.interfaces.cli.installation import open_to_write
from foja.interfaces.cli.output import print_result, table
from foja.pure.models.access.view import KeyList, KeyView, SessionList, SessionView

HEAD = ("id", "tenant", "name", "scopes", "created", "expires", "last used", "state")
SESSIONS_HEAD = ("id", "tenant", "who", "scopes", "since", "last request", "ends")
ONCE = "keep it now: it is not stored and cannot be shown again"


async def create(arguments: Namespace) -> int:
    """Make a key and print it, once."""
    async with open_to_write(arguments) as app:
        tenant = arguments.tenant or app.settings.own_tenant
        key = await app.access.keys.create(
            tenant,
            arguments.scopes,
            name=arguments.name,
            installation=arguments.installation,
            expires_at=arguments.expires,
            actor=arguments.actor,
        )
    document = {
        "id": key.id,
        "key": key.text,
        "tenant": tenant,
        "scopes": sorted(arguments.scopes),
        "installation": arguments.installation,
        "expires_at": arguments.expires,
    }
    until = f"; it expires at {_time(arguments.expires)}" if arguments.expires else ""
    print_result(arguments, document, key.text, f"{ONCE}{until}")
    return 0


def keys(found: KeyList, _: str) -> Iterator[str]:
    """Yield a table of keys, newest first."""
    none = "there is no key: on this machine everyone is administrator; `foja access create` makes one"
    yield from table(HEAD, [_row(each) for each in found]) if found else [none]


async def revoke(arguments: Namespace) -> int:
    """Revoke a key, or a session."""
    async with open_to_write(arguments, existing=True) as app:
        if _session(arguments.id):
            done = await app.access.sessions.revoke(arguments.id, actor=arguments.actor)
        else:
            done = await app.access.keys.revoke(arguments.id, actor=arguments.actor)
    line = "is revoked; it ends everywhere within a second" if done else "was revoked before"
    print_result(arguments, asdict(done), f"{arguments.id} {line}")
    return 0


async def rotate(arguments: Namespace) -> int:
    """Give a key a new secret and print it, once."""
    async with open_to_write(arguments, existing=True) as app:
        made = await app.access.keys.rotate(
            arguments.id, overlap_seconds=arguments.overlap.total_seconds(), actor=arguments.actor
        )
    until = _time(made.overlap_until)
    print_result(arguments, asdict(made), made.key, f"{ONCE}; the one before is valid until {until}")
    return 0


def sessions(found: SessionList, _: str) -> Iterator[str]:
    """Yield a table of the sessions that are not over, newest first."""
    rows = [_session_row(each) for each in found]
    yield from table(SESSIONS_HEAD, rows) if rows else ["nobody is logged in"]


def _session(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _session_row(session: SessionView) -> tuple[object, ...]:
    times = map(_time, (session.created_at, session.seen_at, session.ends_at))
    return session.id, session.tenant, session.actor, " ".join(session.scopes), *times


def _row(key: KeyView) -> tuple[object, ...]:
    scopes = " ".join(key.scopes) + (" (installation)" if key.installation else "")
    times = map(_time, (key.created_at, key.expires_at, key.last_used_at))
    return key.id, key.tenant, key.name, scopes, *times, _state(key)


def _state(key: KeyView) -> str:
    if key.revoked_at:
        return "revoked"
    return "expired" if key.expires_at and key.expires_at <= datetime.now(key.expires_at.tzinfo) else "valid"


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat(sep=" ", timespec="minutes") if moment else None
