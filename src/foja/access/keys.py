"""Access keys: create, list, revoke, rotate, and find the one that a request shows."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, NamedTuple

from foja import sql
from foja.access.model.grant import Grant
from foja.access.model.key import SECRET_BYTES, ApiKey, key_with_id, make_key
from foja.access.model.principal import Principal, Scope, parse_scopes
from foja.core.fields import check_limit, check_tenant, many
from foja.driver.database import Database
from foja.errors import BadPayload, Refused

Changed = Callable[[], Awaitable[object]]  # lets this process notice a change at once
OVERLAP_SECONDS = 86_400.0
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


@dataclass(frozen=True, slots=True)
class KeyView:
    """A key as an administrator sees it; its secret was shown once."""

    id: str
    tenant: str
    name: str
    scopes: list[str]
    installation: bool
    created_at: datetime
    created_by: str | None
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    def document(self) -> dict[str, Any]:
        """Return the key as JSON carries it."""
        return asdict(self)


class Keys:
    """The keys of an installation. `tenant` limits an administrator to the keys of that tenant."""

    def __init__(self, database: Database, changed: Changed) -> None:
        self._database, self._changed = database, changed

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

    async def list(self, *, tenant: str | None = None, limit: int = 100) -> Sequence[KeyView]:
        """Return the newest keys, newest first."""
        check_limit(limit)
        return await self._database.rows(sql.query("list_keys"), KeyView, tenant=tenant, limit=limit)

    async def revoke(self, key_id: str, *, tenant: str | None = None, actor: str | None = None) -> bool:
        """End a key and its sessions everywhere within a second; return whether it was not revoked before."""
        values = {"key": key_id, "tenant": tenant, "actor": actor}
        revoked = await self._database.value(sql.query("revoke_key"), **values)
        await self._changed()
        return bool(revoked)

    async def rotate(
        self,
        key_id: str,
        *,
        overlap: float = OVERLAP_SECONDS,
        tenant: str | None = None,
        actor: str | None = None,
    ) -> tuple[ApiKey, datetime]:
        """Give a key a new secret; return it, and until when the one before is valid."""
        if not 0 <= overlap <= MOST_OVERLAP:
            raise BadPayload(f"an overlap has 0 to {MOST_OVERLAP:,.0f} seconds, not {overlap:g}")
        key = key_with_id(key_id, secrets.token_bytes(SECRET_BYTES))
        valid_until = await self._database.value(
            sql.query("rotate_key"), key=key_id, hash=key.digest, overlap=overlap, tenant=tenant, actor=actor
        )
        if valid_until is None:
            raise Refused(f"the key {key_id} was not rotated; try again")
        await self._changed()
        return key, valid_until

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
