"""The names of actors, for people who read; what is recorded and proven is the actor itself."""

from __future__ import annotations

from collections.abc import Iterable

from foja.domains.access.local import LOCAL
from foja.engine import sql
from foja.engine.driver.database import Database
from foja.pure.models.access.principal import Principal, Scope


class Names:
    """The names of keys, of people as their issuer gives them, and of users of this machine."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, principal: Principal) -> None:
        """Keep the name of a person. A new or another name is an `access.changed` event."""
        if principal.person and principal.name:
            await self._database.row(
                sql.query("name_person"),
                tenant=principal.tenant,
                actor=principal.actor,
                name=principal.name,
                installation=principal.installation,
            )

    async def shown_to(self, principal: Principal, actors: Iterable[str | None]) -> dict[str, str]:
        """Return the names of these actors that have one, as a caller may read them."""
        whole = principal.installation and principal.may(Scope.ADMIN)
        return await self.find(actors, tenant=None if whole else principal.tenant)

    async def find(self, actors: Iterable[str | None], *, tenant: str | None = None) -> dict[str, str]:
        """Return the names of these actors that have one, as a tenant may read them; null: as all may."""
        wanted = {actor for actor in actors if actor}
        found = {actor: actor.removeprefix(LOCAL) for actor in wanted if actor.startswith(LOCAL)}
        if asked := sorted(wanted - found.keys()):
            rows = await self._database.rows(sql.query("find_names"), tenant=tenant, actors=asked)
            found.update((actor, name) for actor, name in rows)
        return found
