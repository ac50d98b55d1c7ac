"""Webhooks of one tenant: create, list, change, switch, rotate, remove, and the log of deliveries."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from pydantic import Field

from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.ledger.event import new_id
from foja.errors import BadPayload, UnknownWebhook
from foja.pure.core.fields import check_limit
from foja.pure.models.webhooks.addresses import Network
from foja.pure.models.webhooks.rules import check_kinds, check_url
from foja.pure.models.webhooks.signature import decode_secret, encode_secret
from foja.pure.models.webhooks.view import (
    STATES,
    AttemptView,
    CreatedWebhook,
    DeliveryPage,
    DeliveryState,
    DeliveryView,
    DeliveryWithAttempts,
    RemovedWebhook,
    Replayed,
    Webhook,
    WebhookList,
)
from foja.pure.pages import MAX_LIMIT

SECRET_BYTES = 32
OVERLAP_SECONDS = 86_400.0
MAX_OVERLAP_SECONDS = 30 * 86_400.0
Number: TypeAlias = Annotated[int, Field(ge=0, le=2**63 - 1)]
WebhookId: TypeAlias = Annotated[UUID, "the id of the webhook"]
Reason: TypeAlias = Annotated[str | None, "why; recorded"]
TARGET = "where messages are sent, https://…"
WITH_PAYLOAD = "send the payload of events, too"
PURPOSE = "what it is for"


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
        kinds: str | Sequence[str] = ("*",),
        *,
        include_payload: bool = False,
        description: str = "",
        secret: str | None = None,
        from_start: bool = False,
        actor: str | None = None,
    ) -> CreatedWebhook:
        """Create a webhook and return it with its secret, which is not shown again.

        `kinds` are kinds or beginnings with a star. It is told of what is recorded from now on, or with
        `from_start` of everything that the log has.
        """
        webhook_id = new_id()
        key = decode_secret(secret) if secret is not None else os.urandom(SECRET_BYTES)
        values = {"url": check_url(url, self.networks), "kinds": check_kinds(kinds), "secret": key}
        more = {"payload": include_payload, "description": description, "from_start": from_start}
        await self._run("create_webhook", webhook=webhook_id, actor=actor, **values, **more)
        return CreatedWebhook(**asdict(await self.show(webhook_id)), secret=encode_secret(key))

    async def list(self) -> WebhookList:
        """List the webhooks of the tenant, oldest first."""
        return WebhookList(await self._find(None))

    async def show(self, webhook_id: WebhookId) -> Webhook:
        """Return one webhook as it stands.

        Raise `UnknownWebhook` if there is none.
        """
        found = await self._find(webhook_id)
        if not found:
            raise UnknownWebhook(f"there is no webhook {webhook_id}; `foja webhooks list` shows them")
        return found[0]

    async def change(
        self,
        webhook_id: WebhookId,
        *,
        url: Annotated[str | None, TARGET] = None,
        kinds: str | Sequence[str] | None = None,
        include_payload: Annotated[bool | None, WITH_PAYLOAD] = None,
        description: Annotated[str | None, PURPOSE] = None,
        state: Annotated[Literal["on", "off"] | None, "switch it; nothing is lost while it is off"] = None,
        reason: Reason = None,
        actor: str | None = None,
    ) -> Webhook:
        """Change a webhook, or switch it on or off. What it missed while it was off is delivered."""
        if any(each is not None for each in (url, kinds, include_payload, description)):
            await self._run(
                "change_webhook",
                webhook=webhook_id,
                url=None if url is None else check_url(url, self.networks),
                kinds=None if kinds is None else check_kinds(kinds),
                payload=include_payload,
                description=description,
                actor=actor,
            )
        if state:
            await self.switch(webhook_id, on=state == "on", reason=reason, actor=actor)
        return await self.show(webhook_id)

    async def switch(
        self, webhook_id: WebhookId, *, on: bool, reason: str | None = None, actor: str | None = None
    ) -> Webhook:
        """Switch a webhook on or off. Nothing is lost: what it missed is delivered once it is on."""
        await self._run("switch_webhook", webhook=webhook_id, on=on, reason=reason, actor=actor)
        return await self.show(webhook_id)

    async def rotate(
        self,
        webhook_id: WebhookId,
        *,
        secret: str | None = None,
        overlap_seconds: float = OVERLAP_SECONDS,
        actor: str | None = None,
    ) -> CreatedWebhook:
        """Make a new secret and show it, once; the old one signs as well until the overlap ends."""
        if not 0 <= overlap_seconds <= MAX_OVERLAP_SECONDS:
            raise BadPayload(f"the old secret is used for 0 to {MAX_OVERLAP_SECONDS:,.0f} seconds more")
        key = decode_secret(secret) if secret is not None else os.urandom(SECRET_BYTES)
        await self._run(
            "rotate_webhook", webhook=webhook_id, secret=key, overlap=overlap_seconds, actor=actor
        )
        return CreatedWebhook(**asdict(await self.show(webhook_id)), secret=encode_secret(key))

    async def remove(self, webhook_id: WebhookId, *, actor: str | None = None) -> RemovedWebhook:
        """Remove a webhook with its log; what waits is not delivered."""
        await self._run("remove_webhook", webhook=webhook_id, actor=actor)
        return RemovedWebhook(webhook_id)

    async def deliveries(
        self,
        webhook_id: WebhookId,
        *,
        state: Annotated[DeliveryState | None, "only these"] = None,
        before: Annotated[Number | None, "the last id of the page before"] = None,
        limit: Annotated[int, Field(ge=1, le=MAX_LIMIT), "at most this many"] = 100,
    ) -> DeliveryPage:
        """List deliveries, newest first."""
        if state is not None and state not in STATES:
            raise BadPayload(f"there is no state {state!r}; a delivery is {', '.join(STATES)}")
        check_limit(limit)
        await self.show(webhook_id)
        found = await self._deliveries(webhook_id, state=state, before=before, limit=limit)
        return DeliveryPage(found, found[-1].id if len(found) == limit else None)

    async def delivery(self, webhook_id: WebhookId, number: Number) -> DeliveryWithAttempts:
        """Return one delivery with all its attempts, oldest first."""
        found = await self._deliveries(webhook_id, delivery=number)
        if not found:
            raise UnknownWebhook(f"the webhook {webhook_id} has no delivery {number}; it may be forgotten")
        values = {"tenant": self.tenant, "delivery": number}
        log = await self.database.rows(sql.query("webhook_attempts"), AttemptView, **values)
        return DeliveryWithAttempts(**asdict(found[0]), log=log)

    async def replay(
        self,
        webhook_id: WebhookId,
        *,
        first: Annotated[Number | None, "from this delivery on"] = None,
        last: Annotated[Number | None, "up to this delivery"] = None,
        since: Annotated[datetime | None, "planned at this time or later"] = None,
        until: Annotated[datetime | None, "planned before this time"] = None,
        failed: Annotated[bool, "only those that failed"] = False,
        actor: str | None = None,
    ) -> Replayed:
        """Deliver again: a range of numbers or times, or what failed. Receivers see the same ids."""
        if (first, last, since, until, failed) == (None, None, None, None, False):
            raise BadPayload("a replay names deliveries: one number, a range of numbers or times, or failed")
        chosen = {"first": first, "last": last, "since": since, "until": until, "failed": failed}
        return Replayed(int(await self._run("replay_deliveries", webhook=webhook_id, actor=actor, **chosen)))

    async def _find(self, webhook_id: UUID | None) -> builtins.list[Webhook]:
        return await self.database.rows(
            sql.query("webhooks"), Webhook, tenant=self.tenant, webhook=webhook_id
        )

    async def _deliveries(self, webhook_id: WebhookId, **wanted: object) -> builtins.list[DeliveryView]:
        values = dict.fromkeys(("state", "before", "delivery")) | {"limit": 1} | wanted
        return await self.database.rows(
            sql.query("webhook_deliveries"), DeliveryView, tenant=self.tenant, webhook=webhook_id, **values
        )

    async def _run(self, query: str, **values: object) -> Any:
        """Return the only value of a query that changes webhooks."""
        return await self.database.value(sql.query(query), tenant=self.tenant, **values)
