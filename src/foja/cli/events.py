"""`foja events`: a stream as lines, for people or as JSON."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import AsyncIterator
from uuid import UUID

from foja.app import App
from foja.cli.installation import opened
from foja.cli.output import complain, record, say
from foja.errors import UnknownEntity
from foja.ledger.event import Event, Reset, StreamItem, Transient

WIDTH = 160


async def events(arguments: Namespace) -> int:
    """Print what is there and, if asked to, what comes."""
    show = _show_json if arguments.json else _show
    async with opened(arguments) as app:
        if arguments.follow:
            await tell_if_empty(app, arguments.entity)
            async for event in _follow(app, arguments):
                show(event)
        else:
            for event in await _read(app, arguments):
                show(event)
    return 0


async def _read(app: App, arguments: Namespace) -> list[Event]:
    if arguments.entity is None:
        return await app.ledger.log.events(_log_cursor(arguments.after), arguments.limit)
    if not (await app.ledger.state(arguments.entity)).next_seq:
        raise UnknownEntity(f"nothing was ever written to {arguments.entity}; check the id and FOJA_TENANT")
    return await app.ledger.events(arguments.entity, arguments.after, arguments.limit)


async def tell_if_empty(app: App, entity_id: UUID | None) -> None:
    """Say that there is nothing to follow yet: the id may be wrong, and the wait for ever."""
    if entity_id and not (await app.ledger.state(entity_id)).next_seq:
        complain(f"nothing was written to {entity_id} yet; waiting. Check the id and FOJA_TENANT")


def _follow(app: App, arguments: Namespace) -> AsyncIterator[StreamItem]:
    if arguments.entity is None:
        return app.ledger.log.follow(_log_cursor(arguments.after))
    return app.ledger.follow(arguments.entity, arguments.after)


def _log_cursor(after: str | int | None) -> str | None:
    return None if after is None else str(after)


def _show(event: StreamItem) -> None:
    if isinstance(event, Reset):
        say(f"reset: {event.reason}; everything comes again")
        return
    at = event.at.isoformat(timespec="milliseconds") if event.at else "-"
    if isinstance(event, Transient):
        body = json.dumps(event.payload, ensure_ascii=False)
        say(f"{'·':>6}  {at:<29}  {event.kind:<22}  {'-':<10}  {_short(body)}")
        return
    body = "(erased)" if event.payload is None else json.dumps(event.payload, ensure_ascii=False)
    who = event.actor or event.source or "-"
    say(f"{event.seq:>6}  {at:<29}  {event.kind:<22}  {who:<10}  {_short(body)}")


def _short(body: str) -> str:
    return body if len(body) <= WIDTH else f"{body[: WIDTH - 1]}…"


def _show_json(event: StreamItem) -> None:
    if isinstance(event, Reset):
        record({"kind": event.kind, "reason": event.reason})
    else:
        record(event.envelope())
