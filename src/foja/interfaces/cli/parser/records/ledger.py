"""The commands `foja events`, `chat`, `audit`, `fsck` and `log`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import UUID

from foja.interfaces.cli.parser.commands import ACTOR, FORCE, OUTPUT, REASON, SAVE, Argument, OneOf, command
from foja.interfaces.cli.parser.values import cursor, id_or, natural, positive

AFTER = "only events after this number or cursor"
KEY = Argument("--key VKEY|FILE", "the public key of the log (default: this installation's key)")
CONVERSATION = Argument("ID", "the id of the conversation", UUID, "conversation")
ENTITY = Argument("ENTITY", type=UUID)
COMMANDS = (
    command(
        "events",
        "events:events",
        "print the events of a stream, or of all streams in log order",
        "foja events ENTITY --after 41\nfoja events ENTITY --follow --json\nfoja events log --after 99",
        Argument("ENTITY", "the id of a stream, or `log` for all", id_or("log")),
        Argument("--after AFTER", f"{AFTER}; for `log` its place, from 0", cursor),
        Argument("--follow", "print new events too, until Ctrl-C"),
        Argument("--limit LIMIT", "at most this many; ignored with --follow (1000)", positive, default=1000),
    ),
    command(
        "audit",
        "integrity:audit",
        "check the health of the ledger quickly; exit code 1 if anything is found",
        "foja audit\nfoja audit --json",
    ),
    command(
        "rebuild",
        "integrity:rebuild",
        "write again what follows from events, and queue jobs that are gone, of all tenants",
        "foja rebuild\nfoja rebuild --json",
    ),
    command(
        "fsck",
        "integrity:fsck",
        "derive everything again from the rows and name the first changed event",
        "foja fsck\nfoja fsck --tiles --json\nfoja fsck --checkpoint kept.checkpoint --key kept.vkey",
        Argument("--checkpoint FILE", "a signed checkpoint saved elsewhere", Path),
        KEY,
        Argument("--tiles", "also compare every published file of the log"),
    ),
    command(
        "chat",
        "chat.show:recent",
        "list, write, read, follow and check conversations",
        "foja chat\nfoja chat follow ID",
    ),
    command(
        "chat new",
        "chat.say:new",
        "print an id for a new conversation, which its first event creates",
        "ID=$(foja chat new)",
    ),
    command(
        "chat say",
        "chat.say:say",
        "append one event to a conversation",
        'foja chat say ID "where is my parcel?" --as ana\n'
        "foja chat say ID --kind agent_message_sent - < answer.txt\n"
        'foja chat say ID --kind approval_completed "$(cat decision.json)"',
        CONVERSATION,
        Argument("TEXT", "the text; `-` reads stdin; a JSON object for kinds with several fields"),
        ACTOR,
        Argument("--kind KIND", "the kind of the event (user_message_sent)", default="user_message_sent"),
        Argument("--key KEY", "the idempotency key: a repeated call appends nothing"),
    ),
    command(
        "chat decide",
        "conversation.decide",
        "approve or deny a tool use that waits; the first decision counts",
        'foja chat decide ID refund-1 denied --reason "the order is older than a year"',
        replace(CONVERSATION, parameter="conversation_id"),
        Argument(
            "APPROVAL", "the id of the approval, as `foja chat show` prints it", parameter="approval_id"
        ),
        Argument("", "the decision", parameter="decision", choices=("approved", "denied")),
        REASON,
        ACTOR,
    ),
    command(
        "chat show",
        "chat.show:show",
        "print a conversation in reading order",
        "foja chat show ID\nfoja chat show ID --json > conversation.json",
        CONVERSATION,
    ),
    command(
        "chat follow",
        "chat.show:follow",
        "print a conversation and its new events until Ctrl-C",
        "foja chat follow ID\nfoja chat follow ID --after 41 --json",
        CONVERSATION,
        Argument("--after AFTER", AFTER, cursor),
    ),
    command(
        "chat verify",
        "chat.verify:verify",
        "derive a conversation again from its rows and print what is proven",
        "foja chat verify ID\nfoja chat verify ID --key foja.vkey --json",
        CONVERSATION,
        KEY,
    ),
    command(
        "log",
        "log.log:status",
        "show the log, prove and verify its entries, restart it",
        "foja log\nfoja log checkpoint -o today.checkpoint",
    ),
    command("log status", "log.log:status", "list the logs of this installation", "foja log status --json"),
    command(
        "log key",
        "log.log:key",
        "print the public key of the log",
        "foja log key > foja.vkey",
        Argument("--pem", "as PEM, which tools other than Foja read"),
    ),
    command(
        "log checkpoint",
        "log.log:checkpoint",
        "print the published checkpoint, to be saved elsewhere",
        "foja log checkpoint -o today.checkpoint",
        SAVE,
        FORCE,
    ),
    command(
        "log prove",
        "log.log:prove",
        "write an event and the proof that it is in the log",
        "foja log prove ENTITY 3 -o decision.foja-proof    one file, for `foja verify`\n"
        "foja log prove ENTITY 3 -o message.tlog-proof     also writes message.event.json",
        ENTITY,
        Argument("SEQ", type=natural),
        Argument(
            "-o --output FILE", "the file of the proof; X.foja-proof holds everything (default: stdout)", Path
        ),
        Argument("--event FILE", "the file of the event (default: beside the proof)", Path),
        FORCE,
    ),
    command(
        "log receipt",
        "log.receipt:receipt",
        "write a COSE receipt that an event is in the log, or that the log continues a checkpoint",
        "foja log receipt ENTITY 3 -o message.cose          also writes message.event.json\n"
        "foja verify message.event.json --proof message.cose --trust foja.vkey\n"
        "foja log receipt --checkpoint old.checkpoint -o growth.cose\n"
        "foja verify old.checkpoint --proof growth.cose --trust foja.vkey",
        Argument("[ENTITY]", type=UUID),
        Argument("[SEQ]", type=natural),
        Argument(
            "--checkpoint FILE",
            "an older checkpoint of the log: the receipt shows that the log of today continues it",
            Path,
        ),
        OUTPUT,
        Argument("--event FILE", "the file of the event (default: beside the receipt)", Path),
        FORCE,
    ),
    command(
        "log verify",
        "log.verify:verify",
        "check a proof offline, with a public key and without database or network",
        "foja log verify message.tlog-proof --key foja.vkey  also reads message.event.json\n"
        "foja log verify message.tlog-proof --entry HEX --key 'name+id+key'",
        Argument("PROOF", "a .tlog-proof file", Path),
        Argument("--key VKEY|FILE", "the public key of the log", required=True),
        OneOf(
            (
                Argument("--event FILE", "the event, as `prove` wrote it", Path),
                Argument("--entry HEX", "the log entry itself", bytes.fromhex),
            )
        ),
    ),
    command(
        "log export",
        "log.export:export",
        "write all events of a stream and the proof of them, to be verified elsewhere",
        "foja log export ENTITY -o history.jsonl             also writes history.tlog-proof\n"
        "foja verify history.jsonl --proof history.tlog-proof --trust foja.vkey",
        ENTITY,
        OUTPUT,
        Argument("--proof FILE", "the file of the proof (default: beside the events)", Path),
        FORCE,
    ),
    command(
        "log anchors",
        "log.anchors:anchors",
        "list the checkpoints that networks confirmed, or write them and their proofs as files",
        "foja log anchors\n"
        "foja log anchors -o anchored\n"
        "foja verify anchored/1-42.checkpoint --proof anchored/1-42.ots --trust anchored/trust.txt",
        Argument(
            "-o --output FOLDER",
            "write each note, its proofs in their own formats, the trust and the commands that check them",
            Path,
        ),
        FORCE,
    ),
    command(
        "log restart",
        "log.log:restart",
        "close a halted log and open a new one that names its head; every cursor is reset",
        "foja log restart --yes",
        Argument("--yes", "confirm that every reader starts again"),
    ),
)
