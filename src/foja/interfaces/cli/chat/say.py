"""`foja chat new`, `say` and `decide`: make the id of a conversation, append to it, say what was decided."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from foja.engine.ledger.event import new_id
from foja.errors import BadPayload
from foja.interfaces.answers.streams import DecidedApproval
from foja.interfaces.cli.installation import open_to_write
from foja.interfaces.cli.output import print_result
from foja.pure.models.conversations.events import CONVERSATION
from foja.pure.quotation import quoted


def new(arguments: Namespace) -> None:
    """Print a new id."""
    new_conversation_id = str(new_id())
    print_result(arguments, {"id": new_conversation_id}, new_conversation_id)


async def say(arguments: Namespace) -> None:
    """Append one event and print its number."""
    text = sys.stdin.read().removesuffix("\n") if arguments.text == "-" else arguments.text
    if not text.strip():
        raise BadPayload("the text is empty: nothing was appended; give a text, or `-` to read stdin")
    payload = parse_payload(arguments.kind, text)
    async with open_to_write(arguments) as app:
        conversation = await app.conversations.open(arguments.conversation)
        event = await conversation.append(
            arguments.kind, payload, actor=arguments.actor, idempotency_key=arguments.key
        )
    print_result(arguments, event.envelope(), f"event {event.seq} of {conversation.id}")


def decided(found: DecidedApproval, _: Namespace) -> Iterator[str]:
    """Yield how an approval was decided."""
    by = f" by {quoted(found.decided_by)}" if found.decided_by else ""
    yield f"approval {quoted(found.id)} is {found.state}{by}"


def parse_payload(kind: str, text: str) -> dict[str, Any]:
    """Return the payload of a text: the only field of the kind, or a whole JSON object."""
    fields = list(CONVERSATION.kind(kind, 1, "api").required)
    if len(fields) == 1:
        return {fields[0]: text}
    try:
        payload = json.loads(text)
    except ValueError:
        payload = None
    if not isinstance(payload, dict):
        raise BadPayload(f"{kind} has several fields: expected a JSON object with {', '.join(fields)}")
    return payload
