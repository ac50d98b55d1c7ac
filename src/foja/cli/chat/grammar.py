"""The words of `foja chat`."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from uuid import UUID

Verbs = Callable[..., ArgumentParser]


def add_verbs(add: Verbs, cursor: Callable[[str], str | int]) -> None:
    """Add what can be done with a conversation."""
    add(
        "new",
        "chat.writing:new",
        "print the id of a new conversation; it exists from the first thing said",
        "  TALK=$(foja chat new)",
    )
    _say(add)
    show = _about_one(add, "show", "chat.reading:show", "print a conversation as a person reads it")
    show.epilog = "examples:\n  foja chat show TALK\n  foja chat show TALK --json > talk.json"
    follow = _about_one(add, "follow", "chat.reading:follow", "watch a conversation live, until Ctrl-C")
    follow.epilog = "examples:\n  foja chat follow TALK\n  foja chat follow TALK --after 41 --json"
    follow.add_argument("--after", type=cursor, help="only what comes after this number or cursor")
    verify = _about_one(
        add,
        "verify",
        "chat.verifying:verify",
        "derive a conversation again and say what is proven and what not",
    )
    verify.epilog = "examples:\n  foja chat verify TALK\n  foja chat verify TALK --key foja.vkey --json"
    verify.add_argument(
        "--key", metavar="VKEY|FILE", help="the log's public key, if not this installation's own"
    )


def _say(add: Verbs) -> None:
    say = _about_one(add, "say", "chat.writing:speak", "write one event of a conversation")
    say.epilog = (
        "examples:\n"
        '  foja chat say TALK "where is my parcel?" --as ana\n'
        "  foja chat say TALK --kind agent_message_sent - < answer.txt\n"
        '  foja chat say TALK --kind approval_completed "$(cat decision.json)"'
    )
    say.add_argument(
        "text",
        metavar="TEXT",
        help="what is said; `-` reads it from stdin; JSON where one text is not enough",
    )
    say.add_argument("--as", dest="actor", metavar="ACTOR", help="who says it")
    say.add_argument(
        "--kind", default="user_message_sent", help="what kind of event it is (user_message_sent)"
    )
    say.add_argument("--key", metavar="KEY", help="say it once, however often this is repeated")


def _about_one(add: Verbs, name: str, run: str, sentence: str) -> ArgumentParser:
    parser = add(name, run, sentence)
    parser.add_argument("talk", type=UUID, metavar="TALK", help="the id of a conversation")
    return parser
