"""Who a request comes from: check its key, token or session, and remember it while it is valid."""

from __future__ import annotations

from asyncio import Event
from contextlib import AbstractContextManager
from hashlib import sha256
from typing import TYPE_CHECKING
from uuid import UUID

from foja.domains.access.keys import Keys
from foja.domains.access.local import LOCAL, local_actor
from foja.domains.access.monitor import Monitor
from foja.domains.access.names import Names
from foja.domains.access.sessions import Sessions, digest_of
from foja.engine.driver.database import Database
from foja.engine.ledger.live.notifier import Notifier
from foja.engine.settings import Settings
from foja.errors import NotAuthenticated
from foja.pure.models.access.grant import Grant
from foja.pure.models.access.key import parse_key
from foja.pure.models.access.principal import ALL, Principal

if TYPE_CHECKING:
    from foja.domains.access.provider import Provider
    from foja.domains.access.tokens import Tokens

REFUSED = "the key, token or session is unknown, expired or revoked; log in again, or use another key"


class Access:
    """The keys and sessions of an installation, and the tokens that it accepts."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        notifier: Notifier,
        installation_id: UUID,
        tokens: Tokens | None = None,
        provider: Provider | None = None,
    ) -> None:
        self._monitor = Monitor(database, notifier, installation_id, self._again)
        self.keys = Keys(database, self._monitor.look)
        idle, seconds = settings.session_idle_seconds, settings.session_seconds
        self.names = Names(database)
        self.sessions = Sessions(database, self._monitor.look, self.names, idle, seconds)
        self.provider = provider
        self._own_tenant, self._tokens, self._local_actor = settings.own_tenant, tokens, local_actor()

    async def open(self) -> None:
        """Start to notice changes. Raise `RoleMissing` if this process may not check keys."""
        await self._monitor.open()

    async def close(self) -> None:
        """Stop noticing changes."""
        await self._monitor.close()

    async def required(self) -> bool:
        """Return whether callers must show who they are: a key was made, or an issuer is set."""
        return bool(self._tokens or self.provider) or await self._monitor.has_keys()

    def local(self) -> Grant:
        """Return what the local user may do while nothing else is required: everything."""
        name = self._local_actor.removeprefix(LOCAL)
        principal = Principal(self._own_tenant, self._local_actor, ALL, installation=True, name=name)
        return Grant(principal, "local", version=self._monitor.version)

    async def bearer(self, text: str) -> Grant:
        """Return what a key or a token gives, or raise `NotAuthenticated`."""
        digest = sha256(text.encode()).digest()
        if grant := self._remembered(digest):
            return grant
        version = self._monitor.version
        if key := parse_key(text):
            return self._keep(await self.keys.find(key.id, digest, version), version)
        if self._tokens is None:
            raise NotAuthenticated(REFUSED)
        found = await self._tokens.grant(text, digest)
        await self.names.note(found.principal)
        return self._keep(found, version)

    async def session(self, cookie: str) -> Grant:
        """Return what a session gives, or raise `NotAuthenticated`."""
        digest, version = digest_of(cookie), self._monitor.version
        return self._remembered(digest) or self._keep(await self.sessions.find(digest, version), version)

    def use(self, grant: Grant) -> AbstractContextManager[Event]:
        """Yield an event that is set when this grant is no longer valid, for what lasts."""
        return self._monitor.use(grant)

    def _remembered(self, digest: bytes) -> Grant | None:
        grant = self._monitor.grants.find(digest) if self._monitor.fresh else None
        return grant if grant is None or self._tokens is None or self._tokens.accepts(grant) else None

    def _keep(self, grant: Grant | None, version: int) -> Grant:
        if grant is None:
            raise NotAuthenticated(REFUSED)
        if self._monitor.version == version:  # otherwise it may have ended while it was looked up
            self._monitor.grants.keep(grant)
        return grant

    async def _again(self, grant: Grant) -> Grant | None:
        """Check a grant again; None: it is over."""
        version = self._monitor.version
        if grant.credential == "key":
            return await self.keys.find(str(grant.id), grant.digest, version)
        if grant.credential == "session":
            return await self.sessions.find(grant.digest, version)
        if grant.credential == "local":
            return None if await self.required() else grant
        return self._tokens.again(grant) if self._tokens else None
