"""What the processes of the installation saw of every part last, as the overview and `/readyz` say it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial
from typing import Final

from foja.domains.alerts.channels import ALERT_WEBHOOK, MAIL
from foja.engine.anchors.networks import names_of
from foja.engine.driver.database import Database
from foja.engine.health.service import Health
from foja.engine.jobs.announcement import find_unhandled
from foja.engine.settings import Settings
from foja.errors import redact
from foja.interfaces.cli.doctor.finding import Finding, Status, note, ok
from foja.pure.models.health.part import UNTRIED_ADVICE, Part, State, advice

ROLES: Final = ("foja_api", "foja_reader", "foja_operator")
REDIS: Final = "redis"
BEARABLE: Final = {REDIS}  # PostgreSQL does its work meanwhile


async def check_parts(url: str, settings: Settings) -> list[Finding]:
    """Return every part that fails, and how many work or were not tried. Asking is a write: it may fail."""
    async with AsyncExitStack() as closing:
        writer, reader, operator = (Database(url, role, 1) for role in ROLES)
        for each in (writer, reader, operator):
            closing.push_async_callback(each.close)
        seconds, remote = settings.health_seconds, settings.health_remote_seconds
        health = Health(
            writer, reader, partial(find_unhandled, operator), seconds=seconds, remote_seconds=remote
        )
        parts = await health.read()
    return [*_findings([part for part in parts if _is_set(part, settings)])]


def _findings(parts: Sequence[Part]) -> Iterator[Finding]:
    works = [part for part in parts if part.state is State.WORKS]
    untried = [part for part in parts if part.state is State.UNTRIED]
    oldest = min((part.checked_at for part in works if part.checked_at), default=None)
    if oldest:
        count = "1 works" if len(works) == 1 else f"{len(works)} work"
        yield ok("parts", f"{count}; the oldest check was {_ago(works[0].now, oldest)} ago")
    for part in parts:
        if not part.ok:
            bearable = part.state is State.PAUSED or part.kind in BEARABLE
            status = Status.WARN if bearable else Status.FAIL
            yield Finding(part.name, status, f"{part.state} {_since(part)}: {part.error}", advice(part))
    if untried:
        names = ", ".join(part.name for part in untried[:3]) + (", …" if len(untried) > 3 else "")
        count = "1 part" if len(untried) == 1 else f"{len(untried)} parts"
        yield note("not tried", f"{count} lately: {names}", UNTRIED_ADVICE)


def _is_set(part: Part, settings: Settings) -> bool:
    """Return whether a part is still one of the settings; its row outlives them."""
    names = {
        "authority": [redact(url) for url in settings.tsa_urls.split()] or ["local"],
        "network": names_of(settings),
        REDIS: [""] if settings.redis_url else [],
        MAIL: [""] if settings.alert_mail_to else [],
        ALERT_WEBHOOK: [""] if settings.alert_webhook_url else [],
    }
    return part.label in names.get(part.kind, [part.label])


def _since(part: Part) -> str:
    return f"since {part.since:%Y-%m-%d %H:%M:%S} UTC" if part.since else "for an unknown time"


def _ago(now: datetime, at: datetime) -> str:
    return f"{max((now - at).total_seconds(), 0):,.0f} s"
