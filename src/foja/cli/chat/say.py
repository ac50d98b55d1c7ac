"""`foja chat new` and `foja chat say`: begin a conversation, and say something in it."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from typing import Any

from foja.cli.installation import settings_of, started
from foja.cli.output import document, say
from foja.conversations.model.events import CONVERSATION
from foja.errors import BadPayload
from foja.ledger.event import new_id


def new(arguments: Namespace) -> int:
    """Print an id that nobody has."""
    talk_id = str(new_id())
    if arguments.json:
        document({"id": talk_id})
    else:
        say(talk_id)
    return 0


async def speak(arguments: Namespace) -> int:
    """Append one event and tell its number."""
    text = _text(arguments.text)
    if not text.strip():
        raise BadPayload("there is nothing to say: the text is empty, and what is said stays")
    payload = payload_of(arguments.kind, text)
    async with started(settings_of(arguments)) as app:
        talk = await app.conversations.open(arguments.talk)
        event = await talk.append(
            arguments.kind, payload, actor=arguments.actor, idempotency_key=arguments.key
        )
    if arguments.json:
        document(event.envelope())
    else:
        say(f"event {event.seq} of {talk.id}")
    return 0


def payload_of(kind: str, text: str) -> dict[str, Any]:
    """Return what a text means as a body of this kind: its only field, or a whole JSON object."""
    rule = CONVERSATION.kind(kind, 1, "api")
    fields = list(rule.required)
    if len(fields) == 1:
        return {fields[0]: text}
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise BadPayload(
            f"a {kind} has more than one field; write it as a JSON object with {', '.join(fields)}"
        )
    return body


def _text(word: str) -> str:
    return sys.stdin.read().removesuffix("\n") if word == "-" else word
