"""`foja chat show` and `foja chat follow`: a conversation as it stands, and as it grows."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import AsyncIterator

from foja.cli.chat.batches import batches
from foja.cli.chat.transcript import Deadlines, groups, line
from foja.cli.events import tell_if_empty
from foja.cli.installation import opened
from foja.cli.output import document, record, say, table
from foja.conversations.model.order import Envelope
from foja.conversations.model.view import ConversationView
from foja.conversations.service import Conversation
from foja.errors import UnknownEntity

PAGE_EVENTS, DEFAULT_SHOWN, WIDTH = 1000, 20, 60


async def recent(arguments: Namespace) -> int:
    """Print the newest conversations, and the last that was said in each."""
    async with opened(arguments) as app:
        ids = await app.conversations.list(limit=DEFAULT_SHOWN)
        talks = [await app.conversations.open(talk_id) for talk_id in ids]
        rows = [await _summary(talk) for talk in talks]
    if arguments.json:
        document([dict(zip(("id", "events", "last"), row, strict=True)) for row in rows])
    else:
        table(("conversation", "events", "last"), rows)
    return 0


async def show(arguments: Namespace) -> int:
    """Print the whole conversation in reading order."""
    async with opened(arguments) as app:
        talk = await app.conversations.open(arguments.talk)
        forms = await _all(talk)
    if not forms:
        raise UnknownEntity(f"nothing was ever said in {talk.id}; check the id and FOJA_TENANT")
    items = ConversationView(forms).items()
    if arguments.json:
        document({"id": str(talk.id), "items": items})
        return 0
    shown = [each for group in groups(items, Deadlines(forms)) for each in group]
    if sys.stdout.isatty():
        from foja.cli.chat.live import show as show_in_colour

        show_in_colour(shown)
    else:
        for each in shown:
            say(each.plain())
    return 0


async def follow(arguments: Namespace) -> int:
    """Show what is there and what comes, for ever."""
    async with opened(arguments) as app:
        talk = await app.conversations.open(arguments.talk)
        heard = batches(talk.follow(after=arguments.after))
        if sys.stdout.isatty() and not arguments.json:
            from foja.cli.chat.live import watch

            await watch(heard)  # it says itself that there is nothing yet
            return 0
        await tell_if_empty(app, talk.id)
        if arguments.json:
            async for batch in heard:
                for form in batch:
                    record(form)
        else:
            await _copy(heard)
    return 0


async def _summary(talk: Conversation) -> tuple[str, int, str]:
    length = (await talk.state()).next_seq
    forms = [event.envelope() for event in await talk.events(after=length - 2, limit=1)]
    shown = [line(item, Deadlines(forms)) for item in ConversationView(forms).items()]
    last = " ".join(f"{each.who}: {each.text}" for each in shown).replace("\n", " ")
    return str(talk.id), length, last if len(last) <= WIDTH else f"{last[: WIDTH - 1]}…"


async def _all(talk: Conversation) -> list[Envelope]:
    forms: list[Envelope] = []
    after = -1
    while page := await talk.events(after=after, limit=PAGE_EVENTS):
        forms.extend(event.envelope() for event in page)
        after = page[-1].seq
    return forms


async def _copy(heard: AsyncIterator[list[Envelope]]) -> None:
    """Print each event once, as it comes; what is only in passing is left out, but for errors."""
    view, deadlines = ConversationView(), Deadlines()
    async for batch in heard:
        view = view.add(*batch)
        deadlines.take(batch)
        items = {item.get("seq"): item for item in view.items()}
        for form in batch:
            if form.get("kind") == "reset":
                say(f"reset: {form.get('reason')}; everything comes again")
            elif form.get("seq") is not None:
                say(line(items[form["seq"]], deadlines).plain())
            elif form.get("kind") == "error":
                say(line({**form, "state": "error"}, deadlines).plain())
