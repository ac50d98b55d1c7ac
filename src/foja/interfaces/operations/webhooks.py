"""What callers can do about webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from foja.domains.webhooks.service import Webhooks
from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.operation import Operation
from foja.interfaces.operations.requests import make_secret
from foja.pure.models.access.principal import Scope
from foja.pure.models.webhooks.view import CreatedWebhook


async def create(
    caller: Caller,
    url: str,
    *,
    kinds: str | Sequence[str] = ("*",),
    include_payload: bool = False,
    description: str = "",
    secret: str | None = None,
    from_start: bool = False,
) -> CreatedWebhook:
    """Create a webhook. Its secret is not shown again, so a repeated request is refused (409)."""
    hooks, actor = caller.app.webhooks, caller.principal.actor
    asked: dict[str, Any] = {"url": url, "kinds": kinds, "include_payload": include_payload}
    asked |= {"description": description, "secret": secret, "from_start": from_start}
    make, undo = partial(hooks.create, **asked, actor=actor), partial(hooks.remove, actor=actor)
    return await make_secret(caller, "webhook", asked, make, undo)


def _hooks(caller: Caller) -> Webhooks:
    return caller.app.webhooks


ALL, OPERATE, ADMIN = "/v1/webhooks", Scope.OPERATE, Scope.ADMIN
ONE = f"{ALL}/{{webhook_id}}"
DELIVERIES = f"{ONE}/deliveries"
OPERATIONS = (
    Operation(
        *("webhooks.create", f"POST {ALL}", create, ADMIN),
        takes_key=True,
        status=201,
        location=f"{ALL}/{{0.id}}",
    ),
    Operation(
        *("webhooks.list", f"GET {ALL}", Webhooks.list, OPERATE, _hooks),
        verb="webhooks list",
        examples="foja webhooks list --json",
    ),
    Operation("webhooks.show", f"GET {ONE}", Webhooks.show, OPERATE, _hooks),
    Operation("webhooks.change", f"PATCH {ONE}", Webhooks.change, ADMIN, _hooks),
    Operation("webhooks.remove", f"DELETE {ONE}", Webhooks.remove, ADMIN, _hooks),
    Operation("webhooks.rotate", f"POST {ONE}/rotate", Webhooks.rotate, ADMIN, _hooks, repeatable=False),
    Operation("webhooks.deliveries", f"GET {DELIVERIES}", Webhooks.deliveries, OPERATE, _hooks),
    Operation("webhooks.delivery", f"GET {DELIVERIES}/{{number}}", Webhooks.delivery, OPERATE, _hooks),
    Operation(
        *("webhooks.replay", f"POST {ONE}/replay", Webhooks.replay, OPERATE, _hooks),
        repeatable=False,
        status=202,
    ),
)
