"""Access keys: create, list, revoke, rotate, and find the one that a request shows."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import Annotated, NamedTuple, TypeAlias

from pydantic import Field

from foja.engine import sql
from foja.engine.driver.database import Database
from foja.errors import BadPayload, NotAllowed, Refused
from foja.pure.core.fields import check_limit, check_tenant, many
from foja.pure.models.access.grant import Grant
from foja.pure.models.access.key import SECRET_BYTES, ApiKey, key_with_id, make_key
from foja.pure.models.access.principal import Principal, Scope, parse_scopes
from foja.pure.models.access.view import KeyList, KeyView, Revoked, RotatedKey
from foja.pure.pages import MAX_LIMIT

Changed = Callable[[], Awaitable[object]]  # lets this process notice a change at once
OVERLAP_SECONDS = 86_400.0
OfTenant: TypeAlias = Annotated[str | None, "only of this tenant"]
Limit: TypeAlias = Annotated[int, Field(ge=1, le=MAX_LIMIT), "at most this many"]
MOST_OVERLAP = 30 * 86_400.0


class KeyRow(NamedTuple):
    """A valid secret of a key, and what it may do."""

    secret_hash: bytes
    tenant: str
    name: str
    scopes: Sequence[str]
    installation: bool
    seconds: float | None  # that it is valid for


NO_KEY = [
    KeyRow(bytes(32), "", "", (), installation=False, seconds=None)
]  # in place of one that does not exist


class Keys:
    """The keys of an installation, or those of one tenant, to which its administrator is limited."""

    def __init__(self, database: Database, changed: Changed, tenant: str | None = None) -> None:
        self._database, self._changed, self._tenant = database, changed, tenant

    def of(self, tenant: str | None) -> Keys:
        """Return the keys of one tenant; None: of all."""
        return Keys(self._database, self._changed, tenant)

    async def create(
        self,
        tenant: str,
        scopes: str | Collection[str] = (Scope.READ,),
        *,
        name: str = "",
        installation: bool = False,
        expires_at: datetime | None = None,
        actor: str | None = None,
    ) -> ApiKey:
        """Make a key and return it. Its text is not stored: this is the only time that it can be read."""
        key = make_key(secrets.token_bytes(SECRET_BYTES), secrets.token_bytes(SECRET_BYTES))
        await self._database.row(
            sql.query("create_key"),
            key=key.id,
            hash=key.digest,
            tenant=check_tenant(tenant, BadPayload),
            name=name,
            scopes=sorted(check_scopes(many(scopes))),
            installation=installation,
            expires=expires_at,
            actor=actor,
        )
        await self._changed()
        return key

    async def list(self, *, tenant: OfTenant = None, limit: Limit = 100) -> KeyList:
        """List the newest keys of the tenant; of all tenants for a key of the installation."""
        check_limit(limit)
        chosen = choose_tenant(self._tenant, tenant)
        return KeyList(await self._database.rows(sql.query("list_keys"), KeyView, tenant=chosen, limit=limit))

    async def revoke(self, key_id: str, *, actor: str | None = None) -> Revoked:
        """Revoke a key. It ends everywhere within a second, with its sessions and streams."""
        values = {"key": key_id, "tenant": self._tenant, "actor": actor}
        revoked = await self._database.value(sql.query("revoke_key"), **values)
        await self._changed()
        return Revoked(key_id, bool(revoked))

    async def rotate(
        self,
        key_id: str,
        *,
        overlap_seconds: float = OVERLAP_SECONDS,
        actor: str | None = None,
    ) -> RotatedKey:
        """Give a key a new secret; the one before stays valid for a while."""
        if not 0 <= overlap_seconds <= MOST_OVERLAP:
            raise BadPayload(f"an overlap has 0 to {MOST_OVERLAP:,.0f} seconds, not {overlap_seconds:g}")
        key = key_with_id(key_id, secrets.token_bytes(SECRET_BYTES))
        valid_until = await self._database.value(
            sql.query("rotate_key"),
            key=key_id,
            hash=key.digest,
            overlap=overlap_seconds,
            tenant=self._tenant,
            actor=actor,
        )
        if valid_until is None:
            raise Refused(f"the key {key_id} was not rotated; try again")
        await self._changed()
        return RotatedKey(key.id, key.text, valid_until)

    async def find(self, key_id: str, digest: bytes, version: int) -> Grant | None:
        """Return what a key gives, or None if it is unknown, wrong, revoked or expired: all take one path."""
        asked = time.monotonic()
        rows = await self._database.rows(sql.query("find_key"), KeyRow, key=key_id)
        matches = [hmac.compare_digest(row.secret_hash, digest) for row in rows or NO_KEY]
        found = [row for row, match in zip(rows, matches, strict=False) if match]
        if not found:
            return None
        row = found[0]
        principal = Principal(
            row.tenant,
            f"key:{key_id}",
            frozenset(map(Scope, row.scopes)),
            installation=row.installation,
            name=row.name or None,
        )
        ends = None if row.seconds is None else asked + row.seconds
        return Grant(principal, "key", digest, key_id, ends, version=version)


def check_scopes(scopes: Collection[str]) -> frozenset[Scope]:
    """Return these scopes, or raise if there is none or one is unknown."""
    if not scopes:
        raise BadPayload(f"a key needs at least one scope: {', '.join(Scope)}")
    return parse_scopes(scopes)


def choose_tenant(own: str | None, named: str | None) -> str | None:
    """Return the tenant to show: that of an administrator, or the one that another names; None: all."""
    if own is not None and named not in (None, own):
        raise NotAllowed("this is another tenant's; use a key made with `foja access create --installation`")
    return own or named
