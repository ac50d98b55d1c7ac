"""What `foja access` prints."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from datetime import datetime

from foja.interfaces.cli.output import table
from foja.pure.models.access.view import (
    CreatedKey,
    KeyList,
    KeyView,
    Revoked,
    RotatedKey,
    SessionList,
    SessionView,
)

HEAD = ("id", "tenant", "name", "scopes", "created", "expires", "last used", "state")
SESSIONS_HEAD = ("id", "tenant", "who", "scopes", "since", "last request", "ends")
NO_KEY = "there is no key: on this machine everyone is administrator; `foja access create` makes one"
ONCE = "keep it now: it is not stored and cannot be shown again"


def created(found: CreatedKey, _: Namespace) -> Iterator[str]:
    """Yield the text of a new key, once."""
    yield found.key
    yield ONCE + (f"; it expires at {_time(found.expires_at)}" if found.expires_at else "")


def rotated(found: RotatedKey, _: Namespace) -> Iterator[str]:
    """Yield the new text of a key, once."""
    yield found.key
    yield f"{ONCE}; the one before is valid until {_time(found.overlap_until)}"


def revoked(found: Revoked, _: Namespace) -> Iterator[str]:
    """Yield whether a key or a session was revoked now."""
    yield f"{found.id} {'is revoked; it ends everywhere within a second' if found else 'was revoked before'}"


def keys(found: KeyList, _: Namespace) -> Iterator[str]:
    """Return a table of keys, newest first."""
    return table(HEAD, [_row(each) for each in found], NO_KEY)


def sessions(found: SessionList, _: Namespace) -> Iterator[str]:
    """Return a table of the sessions that are not over, newest first."""
    return table(SESSIONS_HEAD, [_session_row(each) for each in found], "nobody is logged in")


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
