"""Webhooks of one tenant: create, list, change, switch, rotate, remove, and the log of deliveries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

from foja import sql
from foja.core.fields import check_limit
from foja.driver.database import Database
from foja.errors import BadPayload, UnknownWebhook
from foja.ledger.event import new_id
from foja.webhooks.model.addresses import Network
from foja.webhooks.model.rules import check_kinds, check_url
from foja.webhooks.model.signature import decode_secret, encode_secret

SECRET_BYTES = 32
OVERLAP_SECONDS = 86_400.0
MAX_OVERLAP_SECONDS = 30 * 86_400.0
DeliveryState: TypeAlias = Literal["waiting", "delivered", "failed"]
STATES = ("waiting", "delivered", "failed")


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook as it stands. Its secret is shown only when it is made."""

    id: UUID
    url: str
    kinds: Sequence[str]
    include_payload: bool
    description: str
    state: Literal["on", "off"]
    off_reason: str | None
    failures: int  # attempts in a row
    failing_since: datetime | None
    created_at: datetime
    waiting: int  # deliveries; at most 10,000 are counted
    behind: int  # events of the log that it has not seen
    secret: str | None = None

    def document(self) -> dict[str, Any]:
        """Return it as JSON carries it; the secret only if it was just made."""
        fields = asdict(self)
        if self.secret is None:
            del fields["secret"]
        return fields


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """A delivery as it stands, with its last attempt."""

    id: int
    entity_id: UUID
    seq: int
    kind: str
    state: DeliveryState
    attempts: int
    created_at: datetime
    ended_at: datetime | None
    status: int | None
    error: str | None

    def document(self) -> dict[str, Any]:
        """Return it as JSON carries it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One attempt to deliver."""

    at: datetime
    status: int | None
    error: str | None
    seconds: float

    def document(self) -> dict[str, Any]:
        """Return it as JSON carries it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Webhooks:
    """The webhooks of one tenant. `actor` is who does it; each act is an event of the domain `system`."""

    database: Database
    tenant: str
    networks: Sequence[Network] = ()  # that are not public, and allowed

    def of(self, tenant: str) -> Webhooks:
        """Return the webhooks of another tenant."""
        return replace(self, tenant=tenant)

    async def create(
        self,
        url: str,
        kinds: str | Iterable[str] = ("*",),
        *,
        include_payload: bool = False,
        description: str = "",
        secret: str | None = None,
        from_start: bool = False,
        actor: str | None = None,
    ) -> Webhook:
        """Create a webhook and return it with its secret, which is not shown again.

        `kinds` are kinds or beginnings with a star. It is told of what is recorded from now on, or with
        `from_start` of everything that the log has.
        """
        webhook_id = new_id()
        key = decode_secret(secret) if secret is not None else os.urandom(SECRET_BYTES)
        values = {"url": check_url(url, self.networks), "kinds": check_kinds(kinds), "secret": key}
        more = {"payload": include_payload, "description": description, "from_start": from_start}
        await self._run("create_webhook", webhook=webhook_id, actor=actor, **values, **more)
        return replace(await self.show(webhook_id), secret=encode_secret(key))

    async def list(self) -> Sequence[Webhook]:
        """Return all webhooks, oldest first."""
        return await self._find(None)

    async def show(self, webhook_id: UUID) -> Webhook:
        """Return one webhook, or raise `UnknownWebhook`."""
        found = await self._find(webhook_id)
        if not found:
            raise UnknownWebhook(f"there is no webhook {webhook_id}; `foja webhooks list` shows them")
        return found[0]

    async def change(
        self,
        webhook_id: UUID,
        *,
        url: str | None = None,
        kinds: str | Iterable[str] | None = None,
        include_payload: bool | None = None,
        description: str | None = None,
        actor: str | None = None,
    ) -> Webhook:
        """Change what is given, and return the webhook."""
        await self._run(
            "change_webhook",
            webhook=webhook_id,
            url=None if url is None else check_url(url, self.networks),
            kinds=None if kinds is None else check_kinds(kinds),
            payload=include_payload,
            description=description,
            actor=actor,
        )
        return await self.show(webhook_id)

    async def switch(
        self, webhook_id: UUID, *, on: bool, reason: str | None = None, actor: str | None = None
    ) -> Webhook:
        """Switch a webhook on or off. Nothing is lost: what it missed is delivered once it is on."""
        await self._run("switch_webhook", webhook=webhook_id, on=on, reason=reason, actor=actor)
        return await self.show(webhook_id)

    async def rotate(
        self,
        webhook_id: UUID,
        *,
        secret: str | None = None,
        overlap_seconds: float = OVERLAP_SECONDS,
        actor: str | None = None,
    ) -> Webhook:
        """Sign with a new secret, and with the old one as well while they overlap."""
        if not 0 <= overlap_seconds <= MAX_OVERLAP_SECONDS:
            raise BadPayload(f"the old secret is used for 0 to {MAX_OVERLAP_SECONDS:,.0f} seconds more")
        key = decode_secret(secret) if secret is not None else os.urandom(SECRET_BYTES)
        await self._run(
            "rotate_webhook", webhook=webhook_id, secret=key, overlap=overlap_seconds, actor=actor
        )
        return replace(await self.show(webhook_id), secret=encode_secret(key))

    async def remove(self, webhook_id: UUID, *, actor: str | None = None) -> None:
        """Remove a webhook with its log; what waits is not delivered."""
        await self._run("remove_webhook", webhook=webhook_id, actor=actor)

    async def deliveries(
        self,
        webhook_id: UUID,
        *,
        state: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> Sequence[DeliveryView]:
        """Return the newest deliveries, newest first."""
        if state is not None and state not in STATES:
            raise BadPayload(f"there is no state {state!r}; a delivery is {', '.join(STATES)}")
        check_limit(limit)
        await self.show(webhook_id)
        return await self._deliveries(webhook_id, state=state, before=before, limit=limit)

    async def delivery(self, webhook_id: UUID, number: int) -> tuple[DeliveryView, Sequence[AttemptView]]:
        """Return one delivery with its attempts, oldest first."""
        found = await self._deliveries(webhook_id, delivery=number)
        if not found:
            raise UnknownWebhook(f"the webhook {webhook_id} has no delivery {number}; it may be forgotten")
        values = {"tenant": self.tenant, "delivery": number}
        return found[0], await self.database.rows(sql.query("webhook_attempts"), AttemptView, **values)

    async def replay(
        self,
        webhook_id: UUID,
        *,
        first: int | None = None,
        last: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        failed: bool = False,
        actor: str | None = None,
    ) -> int:
        """Deliver again: one delivery, those of a range, or those that failed; return how many."""
        if (first, last, since, until, failed) == (None, None, None, None, False):
            raise BadPayload("a replay names deliveries: one number, a range of numbers or times, or failed")
        chosen = {"first": first, "last": last, "since": since, "until": until, "failed": failed}
        return int(await self._run("replay_deliveries", webhook=webhook_id, actor=actor, **chosen))

    async def _find(self, webhook_id: UUID | None) -> Sequence[Webhook]:
        return await self.database.rows(
            sql.query("webhooks"), Webhook, tenant=self.tenant, webhook=webhook_id
        )

    async def _deliveries(self, webhook_id: UUID, **wanted: object) -> Sequence[DeliveryView]:
        values = dict.fromkeys(("state", "before", "delivery")) | {"limit": 1} | wanted
        return await self.database.rows(
            sql.query("webhook_deliveries"), DeliveryView, tenant=self.tenant, webhook=webhook_id, **values
        )

    async def _run(self, query: str, **values: object) -> Any:
        """Return the only value of a query that changes webhooks."""
        return await self.database.value(sql.query(query), tenant=self.tenant, **values)
