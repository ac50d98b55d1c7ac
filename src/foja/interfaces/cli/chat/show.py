"""`foja chat`, `foja chat show` and `foja chat follow`: print conversations."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from foja.domains.conversations.service import Conversation
from foja.engine.tasks import end
from foja.errors import UnknownEntity
from foja.interfaces.cli.chat.transcript import Deadlines, groups, line
from foja.interfaces.cli.events import warn_if_empty
from foja.interfaces.cli.installation import open_installation
from foja.interfaces.cli.output import (
    print_json,
    print_json_line,
    print_line,
    print_lines,
    print_result,
    table,
)
from foja.pure.models.conversations.order import Envelope, HasEnvelope
from foja.pure.models.conversations.view import ConversationView
from foja.pure.quotation import CLOSE, OPEN

PAGE_EVENTS, DEFAULT_SHOWN, WIDTH = 1000, 20, 60


async def recent(arguments: Namespace) -> None:
    """Print the newest conversations with the last event of each."""
    async with open_installation(arguments) as app:
        ids = await app.conversations.list(limit=DEFAULT_SHOWN)
        conversations = [await app.conversations.open(conversation_id) for conversation_id in ids]
        rows = [await _summary(conversation) for conversation in conversations]
    documents = [dict(zip(("id", "events", "gaps", "last"), row, strict=True)) for row in rows]
    print_result(arguments, documents, *table(("conversation", "events", "gaps", "last"), rows))


async def show(arguments: Namespace) -> None:
    """Print the whole conversation in reading order."""
    async with open_installation(arguments) as app:
        conversation = await app.conversations.open(arguments.conversation)
        envelopes = await _read_all(conversation)
    if not envelopes:
        raise UnknownEntity(f"conversation {conversation.id} has no events; check the id and FOJA_TENANT")
    items = ConversationView(envelopes).items()
    if arguments.json:
        print_json({"id": str(conversation.id), "items": items})
        return
    shown = [each for group in groups(items, Deadlines(envelopes)) for each in group]
    if sys.stdout.isatty():
        from foja.interfaces.cli.chat.live import show as show_in_colour

        show_in_colour(shown)
    else:
        for each in shown:
            print_lines(each.plain().split("\n"))


async def follow(arguments: Namespace) -> None:
    """Print the events of a conversation and new ones as they arrive."""
    async with open_installation(arguments) as app:
        conversation = await app.conversations.open(arguments.conversation)
        received = _batches(conversation.follow(after=arguments.after))
        if sys.stdout.isatty() and not arguments.json:
            from foja.interfaces.cli.chat.live import watch

            await watch(received)  # the screen itself shows that there are no events
            return
        await warn_if_empty(app, conversation.id)
        if arguments.json:
            async for batch in received:
                for envelope in batch:
                    print_json_line(envelope)
        else:
            await _print_batches(received)


async def _summary(conversation: Conversation) -> tuple[str, int, int, str]:
    length = (await conversation.state()).next_seq
    envelopes = [event.envelope() for event in await conversation.events(after=length - 2, limit=1)]
    shown = [line(item, Deadlines(envelopes)) for item in ConversationView(envelopes).items()]
    last = " ".join(f"{each.who}: {each.text}" for each in shown).replace("\n", " ")
    return str(conversation.id), length, await conversation.gaps(), _shorten(last)


def _shorten(text: str) -> str:
    """Return the beginning of a line; a quotation that is cut ends there."""
    if len(text) <= WIDTH:
        return text
    shown = f"{text[: WIDTH - 1]}…"
    return shown + CLOSE if shown.rfind(OPEN) > shown.rfind(CLOSE) else shown


async def _read_all(conversation: Conversation) -> list[Envelope]:
    envelopes: list[Envelope] = []
    after = -1
    while page := await conversation.events(after=after, limit=PAGE_EVENTS):
        envelopes.extend(event.envelope() for event in page)
        after = page[-1].seq
    return envelopes


async def _batches(events: AsyncGenerator[HasEnvelope]) -> AsyncIterator[list[Envelope]]:
    """Yield what arrived since the last batch, so that a long history is drawn in a few steps."""
    waiting: asyncio.Queue[Envelope | Exception] = asyncio.Queue()
    pump = asyncio.create_task(_pump(events, waiting))
    try:
        while True:
            batch = [await waiting.get()]
            while not waiting.empty():
                batch.append(waiting.get_nowait())
            if envelopes := [item for item in batch if not isinstance(item, Exception)]:
                yield envelopes
            for item in batch:
                if isinstance(item, Exception):
                    raise item
    finally:
        await end([pump])


async def _pump(events: AsyncGenerator[HasEnvelope], waiting: asyncio.Queue[Envelope | Exception]) -> None:
    try:
        async with aclosing(events):
            async for item in events:
                waiting.put_nowait(item.envelope())
    except Exception as error:  # raised again where the batches are read
        waiting.put_nowait(error)


async def _print_batches(received: AsyncIterator[list[Envelope]]) -> None:
    """Print each event once, as it arrives; of the transients only errors."""
    view, deadlines = ConversationView(), Deadlines()
    async for batch in received:
        view = view.add(*batch)
        deadlines.add(batch)
        items = {item.get("seq"): item for item in view.items()}
        for envelope in batch:
            if envelope.get("kind") == "reset":
                print_line(f"reset: {envelope.get('reason')}; all events follow again")
            elif envelope.get("seq") is not None:
                print_lines(line(items[envelope["seq"]], deadlines).plain().split("\n"))
            elif envelope.get("kind") == "error":
                print_lines(line({**envelope, "state": "error"}, deadlines).plain().split("\n"))
