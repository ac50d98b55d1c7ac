"""Sessions of people: open, find, list, end. The browser has the secret, the database its hash."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from foja import sql
from foja.access.keys import Changed
from foja.access.model.grant import Grant
from foja.access.model.principal import Principal, Scope
from foja.access.names import Names
from foja.core.fields import check_limit
from foja.driver.database import Database

COOKIE_BYTES = 32


class SessionRow(NamedTuple):
    """A valid session, and what its person may do."""

    session_id: UUID
    tenant: str
    actor: str
    scopes: Sequence[str]
    installation: bool
    seconds: float
    idle: float
    name: str | None


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session that is not over."""

    id: UUID
    tenant: str
    actor: str
    scopes: list[str]
    installation: bool
    key_id: str | None  # it was opened with this key
    created_at: datetime
    seen_at: datetime
    ends_at: datetime

    def document(self) -> dict[str, Any]:
        """Return the session as JSON carries it."""
        return {**asdict(self), "id": str(self.id)}


class Sessions:
    """The sessions of an installation. `tenant` limits an administrator to those of one tenant."""

    def __init__(
        self, database: Database, changed: Changed, names: Names, idle_seconds: float, seconds: float
    ) -> None:
        self._database, self._changed, self._names = database, changed, names
        self._idle, self._seconds = idle_seconds, seconds

    async def open(self, principal: Principal, key_id: str | None = None) -> str:
        """Open a session and return the value of its cookie, which is new at every login."""
        cookie = secrets.token_urlsafe(COOKIE_BYTES)
        await self._names.note(principal)
        await self._database.row(
            sql.query("open_session"),
            hash=digest_of(cookie),
            tenant=principal.tenant,
            actor=principal.actor,
            scopes=sorted(principal.scopes),
            installation=principal.installation,
            key=key_id,
            idle=self._idle,
            seconds=self._seconds,
        )
        return cookie

    async def find(self, digest: bytes, version: int) -> Grant | None:
        """Return what a session gives, or None if it is unknown, idle for too long, over or revoked."""
        asked = time.monotonic()
        row = await self._database.row(sql.query("find_session"), SessionRow, hash=digest)
        if row is None:
            return None
        rights = frozenset(map(Scope, row.scopes))
        principal = Principal(
            row.tenant, row.actor, rights, installation=row.installation, person=True, name=row.name
        )
        # Another process may see this session too: after a while it is looked up again.
        ends = asked + min(row.seconds, row.idle)
        return Grant(principal, "session", digest, row.session_id, ends, row.idle, version)

    async def list(self, *, tenant: str | None = None, limit: int = 100) -> Sequence[SessionView]:
        """Return the newest sessions that are not over, newest first."""
        check_limit(limit)
        return await self._database.rows(sql.query("list_sessions"), SessionView, tenant=tenant, limit=limit)

    async def end(self, digest: bytes, *, actor: str) -> None:
        """End the session of a cookie: its own person logs out."""
        await self._end(digest, None, None, actor)

    async def revoke(self, session_id: UUID, *, tenant: str | None = None, actor: str | None = None) -> bool:
        """End a session everywhere within a second; return whether it was not ended before."""
        return await self._end(None, session_id, tenant, actor)

    async def _end(
        self, digest: bytes | None, session_id: UUID | None, tenant: str | None, actor: str | None
    ) -> bool:
        values = {"hash": digest, "session": session_id, "tenant": tenant, "actor": actor}
        ended = await self._database.value(sql.query("end_session"), **values)
        await self._changed()
        return bool(ended)


def digest_of(cookie: str) -> bytes:
    """Return what the database has in place of a cookie."""
    return sha256(cookie.encode()).digest()
