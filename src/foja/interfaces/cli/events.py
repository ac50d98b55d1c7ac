"""`foja events`: print a stream as text or as JSON lines."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import AsyncIterator
from uuid import UUID

from foja.app import App
from foja.engine.ledger.event import Event, Reset, StreamItem, Transient
from foja.errors import UnknownEntity
from foja.interfaces.cli.installation import open_installation
from foja.interfaces.cli.output import print_error, print_json_line, print_line
from foja.pure.quotation import quoted

WIDTH = 160


async def events(arguments: Namespace) -> None:
    """Print the events of a stream and, with --follow, new ones as they arrive."""
    async with open_installation(arguments) as app:
        if arguments.follow:
            await warn_if_empty(app, arguments.entity)
            async for item in _follow(app, arguments):
                _print_item(item, as_json=arguments.json)
        else:
            for event in await _read(app, arguments):
                _print_item(event, as_json=arguments.json)


async def _read(app: App, arguments: Namespace) -> list[Event]:
    if arguments.entity is None:
        return await app.ledger.log.events(arguments.after, arguments.limit)
    if not (await app.ledger.state(arguments.entity)).next_seq:
        raise UnknownEntity(f"{arguments.entity} has no events; check the id and FOJA_TENANT")
    return await app.ledger.events(arguments.entity, arguments.after, arguments.limit)


async def warn_if_empty(app: App, entity_id: UUID | None) -> None:
    """Warn that a stream is empty: if the id is wrong, the command would wait for ever."""
    if entity_id and not (await app.ledger.state(entity_id)).next_seq:
        print_error(f"{entity_id} has no events yet; waiting. Check the id and FOJA_TENANT")


def _follow(app: App, arguments: Namespace) -> AsyncIterator[StreamItem]:
    if arguments.entity is None:
        return app.ledger.log.follow(arguments.after)
    return app.ledger.follow(arguments.entity, arguments.after)


def _print_item(event: StreamItem, *, as_json: bool) -> None:
    if as_json:
        print_json_line(event.envelope())
        return
    if isinstance(event, Reset):
        print_line(f"reset: {event.reason}; all events follow again")
        return
    at = event.at.isoformat(timespec="milliseconds") if event.at else "-"
    body = "(erased)"
    if event.payload is not None:
        body = quoted(json.dumps(event.payload, ensure_ascii=False), WIDTH, straight=True)
    number, who = "·", "-"
    if not isinstance(event, Transient):
        number, who = str(event.seq), quoted(event.actor) if event.actor else event.source or "-"
    print_line(f"{number:>6}  {at:<29}  {quoted(event.kind):<24}  {who:<12}  {body}")
