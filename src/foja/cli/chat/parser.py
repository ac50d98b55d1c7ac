"""The words of `foja chat`."""

from __future__ import annotations

from argparse import ArgumentParser
from uuid import UUID

from foja.cli.parser.values import cursor
from foja.cli.parser.verbs import Verbs, verbs_of


def add_chat(add: Verbs) -> None:
    """Add what can be done with conversations; without a verb they are listed."""
    parent = add(
        "chat",
        "chat.show:recent",
        "list, begin, read, watch and check conversations",
        "  foja chat\n  foja chat follow TALK",
    )
    _inside(verbs_of(parent))


def _inside(add: Verbs) -> None:
    add(
        "new",
        "chat.say:new",
        "print the id of a new conversation; it exists from the first thing said",
        "  TALK=$(foja chat new)",
    )
    _say(add)
    _about_one(
        add,
        "show",
        "chat.show:show",
        "print a conversation as a person reads it",
        "  foja chat show TALK\n  foja chat show TALK --json > talk.json",
    )
    follow = _about_one(
        add,
        "follow",
        "chat.show:follow",
        "watch a conversation live, until Ctrl-C",
        "  foja chat follow TALK\n  foja chat follow TALK --after 41 --json",
    )
    follow.add_argument("--after", type=cursor, help="only what comes after this number or cursor")
    verify = _about_one(
        add,
        "verify",
        "chat.verify:verify",
        "derive a conversation again and say what is proven and what not",
        "  foja chat verify TALK\n  foja chat verify TALK --key foja.vkey --json",
    )
    verify.add_argument(
        "--key", metavar="VKEY|FILE", help="the log's public key, if not this installation's own"
    )


def _say(add: Verbs) -> None:
    say = _about_one(
        add,
        "say",
        "chat.say:speak",
        "write one event of a conversation",
        '  foja chat say TALK "where is my parcel?" --as ana\n'
        "  foja chat say TALK --kind agent_message_sent - < answer.txt\n"
        '  foja chat say TALK --kind approval_completed "$(cat decision.json)"',
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


def _about_one(add: Verbs, name: str, run: str, sentence: str, examples: str) -> ArgumentParser:
    parser = add(name, run, sentence, examples)
    parser.add_argument("talk", type=UUID, metavar="TALK", help="the id of a conversation")
    return parser
