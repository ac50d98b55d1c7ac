"""The parser of `foja chat`."""

from __future__ import annotations

from argparse import ArgumentParser
from uuid import UUID

from foja.cli.parser.values import cursor
from foja.cli.parser.verbs import AddVerb, add_verbs


def add_chat(add: AddVerb) -> None:
    """Add the verb `chat` and its verbs; without a verb the conversations are listed."""
    parent = add(
        "chat",
        "chat.show:recent",
        "list, write, read, follow and check conversations",
        "  foja chat\n  foja chat follow ID",
    )
    _add_inner(add_verbs(parent))


def _add_inner(add: AddVerb) -> None:
    add(
        "new",
        "chat.say:new",
        "print an id for a new conversation, which its first event creates",
        "  ID=$(foja chat new)",
    )
    _add_say(add)
    _add_for_one(
        add,
        "show",
        "chat.show:show",
        "print a conversation in reading order",
        "  foja chat show ID\n  foja chat show ID --json > conversation.json",
    )
    follow = _add_for_one(
        add,
        "follow",
        "chat.show:follow",
        "print a conversation and its new events until Ctrl-C",
        "  foja chat follow ID\n  foja chat follow ID --after 41 --json",
    )
    follow.add_argument("--after", type=cursor, help="only events after this number or cursor")
    verify = _add_for_one(
        add,
        "verify",
        "chat.verify:verify",
        "derive a conversation again from its rows and print what is proven",
        "  foja chat verify ID\n  foja chat verify ID --key foja.vkey --json",
    )
    verify.add_argument(
        "--key", metavar="VKEY|FILE", help="the public key of the log (default: this installation's key)"
    )


def _add_say(add: AddVerb) -> None:
    say = _add_for_one(
        add,
        "say",
        "chat.say:say",
        "append one event to a conversation",
        '  foja chat say ID "where is my parcel?" --as ana\n'
        "  foja chat say ID --kind agent_message_sent - < answer.txt\n"
        '  foja chat say ID --kind approval_completed "$(cat decision.json)"',
    )
    say.add_argument(
        "text",
        metavar="TEXT",
        help="the text; `-` reads stdin; a JSON object for kinds with several fields",
    )
    say.add_argument("--as", dest="actor", metavar="ACTOR", help="the author of the event")
    say.add_argument("--kind", default="user_message_sent", help="the kind of the event (user_message_sent)")
    say.add_argument("--key", metavar="KEY", help="the idempotency key: a repeated call appends nothing")


def _add_for_one(add: AddVerb, name: str, run: str, sentence: str, examples: str) -> ArgumentParser:
    parser = add(name, run, sentence, examples)
    parser.add_argument("conversation", type=UUID, metavar="ID", help="the id of the conversation")
    return parser
