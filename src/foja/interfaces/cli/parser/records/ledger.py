"""The parsers of `foja events`, `chat`, `audit`, `fsck` and `log`."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from uuid import UUID

from foja.interfaces.cli.parser.values import cursor, natural, positive, stream
from foja.interfaces.cli.parser.verbs import Verbs, add_actor, add_force

AFTER = "only events after this number or cursor"
KEY = "the public key of the log (default: this installation's key)"


def add_events(verbs: Verbs) -> None:
    """Add the verb `events`."""
    events = verbs.add(
        "events:events",
        "print the events of a stream, or of all streams in log order",
        "  foja events ENTITY --after 41\n  foja events ENTITY --follow --json\n  foja events log --after 99",
    )
    events.add_argument("entity", type=stream, metavar="ENTITY", help="the id of a stream, or `log` for all")
    events.add_argument("--after", type=cursor, help=f"{AFTER}; for `log` its place, from 0")
    events.add_argument("--follow", action="store_true", help="print new events too, until Ctrl-C")
    events.add_argument(
        "--limit", type=positive, default=1000, help="at most this many; ignored with --follow (1000)"
    )


def add_integrity(verbs: Verbs) -> None:
    """Add the verbs `audit`, `rebuild` and `fsck`."""
    verbs.add(
        "integrity:audit",
        "check the health of the ledger quickly; exit code 1 if anything is found",
        "  foja audit\n  foja audit --json",
    )
    verbs.add(
        "integrity:rebuild",
        "write again what follows from events, and queue jobs that are gone, of all tenants",
        "  foja rebuild\n  foja rebuild --json",
    )
    fsck = verbs.add(
        "integrity:fsck",
        "derive everything again from the rows and name the first changed event",
        "  foja fsck\n  foja fsck --tiles --json\n  foja fsck --checkpoint kept.checkpoint --key kept.vkey",
    )
    fsck.add_argument("--checkpoint", type=Path, metavar="FILE", help="a signed checkpoint saved elsewhere")
    fsck.add_argument("--key", metavar="VKEY|FILE", help=KEY)
    fsck.add_argument("--tiles", action="store_true", help="also compare every published file of the log")


def add_chat(verbs: Verbs) -> None:
    """Add the verb `chat` and its verbs; without a verb the conversations are listed."""
    chat = verbs.add(
        "chat.show:recent",
        "list, write, read, follow and check conversations",
        "  foja chat\n  foja chat follow ID",
        name="chat",
    )
    inner = Verbs(chat)
    inner.add(
        "chat.say:new",
        "print an id for a new conversation, which its first event creates",
        "  ID=$(foja chat new)",
    )
    _add_say(inner)
    _add_decide(inner)
    show = inner.add(
        "chat.show:show",
        "print a conversation in reading order",
        "  foja chat show ID\n  foja chat show ID --json > conversation.json",
    )
    follow = inner.add(
        "chat.show:follow",
        "print a conversation and its new events until Ctrl-C",
        "  foja chat follow ID\n  foja chat follow ID --after 41 --json",
    )
    verify = inner.add(
        "chat.verify:verify",
        "derive a conversation again from its rows and print what is proven",
        "  foja chat verify ID\n  foja chat verify ID --key foja.vkey --json",
    )
    for verb in (show, follow, verify):
        _add_conversation(verb)
    follow.add_argument("--after", type=cursor, help=AFTER)
    verify.add_argument("--key", metavar="VKEY|FILE", help=KEY)


def _add_conversation(verb: ArgumentParser) -> None:
    verb.add_argument("conversation", type=UUID, metavar="ID", help="the id of the conversation")


def _add_say(verbs: Verbs) -> None:
    say = verbs.add(
        "chat.say:say",
        "append one event to a conversation",
        '  foja chat say ID "where is my parcel?" --as ana\n'
        "  foja chat say ID --kind agent_message_sent - < answer.txt\n"
        '  foja chat say ID --kind approval_completed "$(cat decision.json)"',
    )
    _add_conversation(say)
    say.add_argument(
        "text",
        metavar="TEXT",
        help="the text; `-` reads stdin; a JSON object for kinds with several fields",
    )
    add_actor(say)
    say.add_argument("--kind", default="user_message_sent", help="the kind of the event (user_message_sent)")
    say.add_argument("--key", metavar="KEY", help="the idempotency key: a repeated call appends nothing")


def _add_decide(verbs: Verbs) -> None:
    decide = verbs.add(
        "chat.say:decide",
        "approve or deny a tool use that waits; the first decision counts",
        '  foja chat decide ID refund-1 denied --reason "the order is older than a year"',
    )
    _add_conversation(decide)
    decide.add_argument(
        "approval", metavar="APPROVAL", help="the id of the approval, as `foja chat show` prints it"
    )
    decide.add_argument("decision", choices=("approved", "denied"), help="the decision")
    decide.add_argument("--reason", help="the reason, which is recorded")
    add_actor(decide)


def add_log(verbs: Verbs) -> None:
    """Add the verb `log` and its verbs; without a verb the logs are listed."""
    log = verbs.add(
        "log.log:status",
        "show the log, prove and verify its entries, restart it",
        "  foja log\n  foja log checkpoint -o today.checkpoint",
        name="log",
    )
    inner = Verbs(log)
    inner.add("log.log:status", "list the logs of this installation", "  foja log status --json")
    key = inner.add("log.log:key", "print the public key of the log", "  foja log key > foja.vkey")
    key.add_argument("--pem", action="store_true", help="as PEM, which tools other than Foja read")
    checkpoint = inner.add(
        "log.log:checkpoint",
        "print the published checkpoint, to be saved elsewhere",
        "  foja log checkpoint -o today.checkpoint",
    )
    checkpoint.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it to a file")
    add_force(checkpoint)
    _add_prove(inner)
    _add_receipt(inner)
    _add_verify(inner)
    _add_export(inner)
    _add_anchored(inner)
    restart = inner.add(
        "log.log:restart",
        "close a halted log and open a new one that names its head; every cursor is reset",
        "  foja log restart --yes",
    )
    restart.add_argument("--yes", action="store_true", help="confirm that every reader starts again")


def _add_prove(verbs: Verbs) -> None:
    prove = verbs.add(
        "log.log:prove",
        "write an event and the proof that it is in the log",
        "  foja log prove ENTITY 3 -o decision.foja-proof    one file, for `foja verify`\n"
        "  foja log prove ENTITY 3 -o message.tlog-proof     also writes message.event.json",
    )
    prove.add_argument("entity", type=UUID, metavar="ENTITY")
    prove.add_argument("seq", type=natural, metavar="SEQ")
    prove.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the file of the proof; X.foja-proof holds everything (default: stdout)",
    )
    prove.add_argument(
        "--event", type=Path, metavar="FILE", help="the file of the event (default: beside the proof)"
    )
    add_force(prove)


def _add_receipt(verbs: Verbs) -> None:
    receipt = verbs.add(
        "log.receipt:receipt",
        "write a COSE receipt that an event is in the log, or that the log continues a checkpoint",
        "  foja log receipt ENTITY 3 -o message.cose          also writes message.event.json\n"
        "  foja verify message.event.json --proof message.cose --trust foja.vkey\n"
        "  foja log receipt --checkpoint old.checkpoint -o growth.cose\n"
        "  foja verify old.checkpoint --proof growth.cose --trust foja.vkey",
    )
    receipt.add_argument("entity", type=UUID, nargs="?", metavar="ENTITY")
    receipt.add_argument("seq", type=natural, nargs="?", metavar="SEQ")
    receipt.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FILE",
        help="an older checkpoint of the log: the receipt shows that the log of today continues it",
    )
    receipt.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the file to write")
    receipt.add_argument(
        "--event", type=Path, metavar="FILE", help="the file of the event (default: beside the receipt)"
    )
    add_force(receipt)


def _add_verify(verbs: Verbs) -> None:
    verify = verbs.add(
        "log.verify:verify",
        "check a proof offline, with a public key and without database or network",
        "  foja log verify message.tlog-proof --key foja.vkey  also reads message.event.json\n"
        "  foja log verify message.tlog-proof --entry HEX --key 'name+id+key'",
    )
    verify.add_argument("proof", type=Path, metavar="PROOF", help="a .tlog-proof file")
    verify.add_argument("--key", required=True, metavar="VKEY|FILE", help="the public key of the log")
    what = verify.add_mutually_exclusive_group()
    what.add_argument("--event", type=Path, metavar="FILE", help="the event, as `prove` wrote it")
    what.add_argument("--entry", type=bytes.fromhex, metavar="HEX", help="the log entry itself")


def _add_export(verbs: Verbs) -> None:
    export = verbs.add(
        "log.export:export",
        "write all events of a stream and the proof of them, to be verified elsewhere",
        "  foja log export ENTITY -o history.jsonl             also writes history.tlog-proof\n"
        "  foja verify history.jsonl --proof history.tlog-proof --trust foja.vkey",
    )
    export.add_argument("entity", type=UUID, metavar="ENTITY")
    export.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the file to write")
    export.add_argument(
        "--proof", type=Path, metavar="FILE", help="the file of the proof (default: beside the events)"
    )
    add_force(export)


def _add_anchored(verbs: Verbs) -> None:
    anchors = verbs.add(
        "log.anchors:anchors",
        "list the checkpoints that networks confirmed, or write them and their proofs as files",
        "  foja log anchors\n"
        "  foja log anchors -o anchored\n"
        "  foja verify anchored/1-42.checkpoint --proof anchored/1-42.ots --trust anchored/trust.txt",
    )
    anchors.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="write each note, its proofs in their own formats, the trust and the commands that check them",
    )
    add_force(anchors)
