"""What callers can do about webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from foja.domains.webhooks.service import PURPOSE, TARGET, WITH_PAYLOAD, Webhooks
from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.operation import Operation, Option
from foja.interfaces.operations.requests import make_secret
from foja.pure.models.access.principal import Scope
from foja.pure.models.webhooks.view import CreatedWebhook

KINDS = "a kind, or its beginning and a star; repeat for more (*)"
OVERLAP = "how long the old secret signs as well (24)"


async def create(
    caller: Caller,
    url: Annotated[str, TARGET],
    *,
    kinds: str | Sequence[str] = ("*",),
    include_payload: Annotated[bool, WITH_PAYLOAD] = False,
    description: Annotated[str, PURPOSE] = "",
    secret: str | None = None,
    from_start: Annotated[bool, "tell it of all events of the log, too"] = False,
) -> CreatedWebhook:
    """Create a webhook and show its secret, once.

    The secret is not shown again, so a repeated request is refused (409).
    """
    hooks, actor = caller.app.webhooks, caller.principal.actor
    asked: dict[str, Any] = {"url": url, "kinds": kinds, "include_payload": include_payload}
    asked |= {"description": description, "secret": secret, "from_start": from_start}
    make, undo = partial(hooks.create, **asked, actor=actor), partial(hooks.remove, actor=actor)
    return await make_secret(caller, "webhook", asked, make, undo)


def _hooks(caller: Caller) -> Webhooks:
    return caller.app.webhooks


ALL, OPERATE, ADMIN = "/v1/webhooks", Scope.OPERATE, Scope.ADMIN
ONE = f"{ALL}/{{webhook_id}}"
HOOK = "https://example.org/hook"
DELIVERIES = f"{ONE}/deliveries"
CHOICES = (
    Option("kinds", "--kind KIND...", "kinds", KINDS),
    Option("include_payload", "--[no-]payload"),
)
OPERATIONS = (
    Operation(
        *("webhooks.create", f"POST {ALL}", create, ADMIN),
        takes_key=True,
        status=201,
        location=f"{ALL}/{{0.id}}",
        verb="webhooks create",
        options=(*CHOICES, Option("url", "URL", "web_address"), Option("secret", None)),
        examples=f"foja webhooks create {HOOK} --kind 'document.*' --kind user_message_sent\n"
        f"foja webhooks create {HOOK} --payload --from-start",
    ),
    Operation("webhooks.list", f"GET {ALL}", Webhooks.list, OPERATE, _hooks, verb="webhooks list"),
    Operation(
        *("webhooks.show", f"GET {ONE}", Webhooks.show, OPERATE, _hooks),
        verb="webhooks show",
        examples="foja webhooks show ID",
    ),
    Operation(
        *("webhooks.change", f"PATCH {ONE}", Webhooks.change, ADMIN, _hooks),
        verb="webhooks change",
        options=(*CHOICES, Option("url", "--url URL", "web_address")),
        examples="foja webhooks change ID --kind 'document.*' --no-payload",
    ),
    Operation(
        *("webhooks.remove", f"DELETE {ONE}", Webhooks.remove, ADMIN, _hooks),
        verb="webhooks remove",
        examples="foja webhooks remove ID",
    ),
    Operation(
        *("webhooks.rotate", f"POST {ONE}/rotate", Webhooks.rotate, ADMIN, _hooks),
        repeatable=False,
        verb="webhooks rotate",
        options=(
            Option("overlap_seconds", "--overlap HOURS", "hours", OVERLAP),
            Option("secret", None),
        ),
        examples="foja webhooks rotate ID\nfoja webhooks rotate ID --overlap 0",
    ),
    Operation("webhooks.deliveries", f"GET {DELIVERIES}", Webhooks.deliveries, OPERATE, _hooks),
    Operation("webhooks.delivery", f"GET {DELIVERIES}/{{number}}", Webhooks.delivery, OPERATE, _hooks),
    Operation(
        *("webhooks.replay", f"POST {ONE}/replay", Webhooks.replay, OPERATE, _hooks),
        repeatable=False,
        status=202,
    ),
)
