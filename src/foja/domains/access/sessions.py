"""Sessions of people: open, find, list, end. The browser has the secret, the database its hash."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from copy import copy
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from foja.domains.access.keys import Changed, Limit, OfTenant, choose_tenant
from foja.domains.access.names import Names
from foja.engine import sql
from foja.engine.driver.database import Database
from foja.errors import UnknownEntity
from foja.pure.core.fields import check_limit
from foja.pure.models.access.grant import Grant
from foja.pure.models.access.principal import Principal, Scope
from foja.pure.models.access.view import Revoked, SessionList, SessionView

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


class Sessions:
    """The sessions of an installation, or those of one tenant, to which its administrator is limited."""

    def __init__(
        self, database: Database, changed: Changed, names: Names, idle_seconds: float, seconds: float
    ) -> None:
        self._database, self._changed, self._names = database, changed, names
        self._idle, self._seconds = idle_seconds, seconds
        self._tenant: str | None = None

    def of(self, tenant: str | None) -> Sessions:
        """Return the sessions of one tenant; None: of all."""
        other = copy(self)
        other._tenant = tenant
        return other

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

    async def list(self, *, tenant: OfTenant = None, limit: Limit = 100) -> SessionList:
        """List the newest sessions that are not over."""
        check_limit(limit)
        chosen = choose_tenant(self._tenant, tenant)
        return SessionList(
            await self._database.rows(sql.query("list_sessions"), SessionView, tenant=chosen, limit=limit)
        )

    async def end(self, digest: bytes, *, actor: str) -> None:
        """End the session of a cookie: its own person logs out."""
        await self._end(digest, None, actor)

    async def revoke(self, session_id: UUID | str, *, actor: str | None = None) -> Revoked:
        """End a session everywhere within a second."""
        try:
            session = UUID(str(session_id))
        except ValueError:
            raise UnknownEntity("there is no such session; list the sessions again") from None
        return Revoked(str(session_id), await self._end(None, session, actor))

    async def _end(self, digest: bytes | None, session_id: UUID | None, actor: str | None) -> bool:
        values = {"hash": digest, "session": session_id, "tenant": self._tenant, "actor": actor}
        ended = await self._database.value(sql.query("end_session"), **values)
        await self._changed()
        return bool(ended)


def digest_of(cookie: str) -> bytes:
    """Return what the database has in place of a cookie."""
    return sha256(cookie.encode()).digest()
