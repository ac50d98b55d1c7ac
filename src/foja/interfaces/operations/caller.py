"""Who does an act: the principal, the app as their tenant uses it, and the key of the request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from foja.app import App
from foja.domains.requests.service import KeyedRequest
from foja.domains.system.orphans.run import Progress
from foja.errors import BadPayload
from foja.pure.models.access.principal import Principal
from foja.pure.models.requests.events import REQUEST
from foja.tenant import TenantApp

MAX_KEY_LENGTH = 255


@dataclass(frozen=True, slots=True)
class Caller:
    """A checked caller of one act."""

    app: TenantApp
    principal: Principal
    key: str | None = None  # the Idempotency-Key
    address: str = ""  # under which the key is remembered
    credential: str = "local"  # what was checked
    progress: Progress | None = None  # told how far a long act is

    @property
    def installation(self) -> App:
        """The app of the installation, for an act that concerns all tenants."""
        assert isinstance(self.app, App)
        return self.app

    def author(self, named: str | None) -> str:
        """Return the actor to record, where the request names one or none."""
        return self.principal.author(named)

    async def names(self, actors: Iterable[str | None]) -> dict[str, str]:
        """Return the names of these actors that have one, as this caller may read them."""
        return await self.app.access.names.shown_to(self.principal, actors)

    def request(self) -> KeyedRequest:
        """Return this request, for an act that is not one event of a given stream."""
        ledger = self.app.ledger.only(REQUEST)
        return KeyedRequest(ledger, self.principal.actor, self.address, self.key)


def check_key(key: str | None) -> None:
    """Raise `BadPayload` unless this can be the key of a request."""
    if key is not None and not 0 < len(key) <= MAX_KEY_LENGTH:
        raise BadPayload(f"not a valid Idempotency-Key: expected 1 to {MAX_KEY_LENGTH} characters")
