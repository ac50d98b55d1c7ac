"""The words of the command line: verbs, options, examples. Each verb names the function it runs."""

from __future__ import annotations

from argparse import (
    SUPPRESS,
    ArgumentParser,
    ArgumentTypeError,
    RawDescriptionHelpFormatter,
)
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from foja import __version__
from foja.cli.bundle.grammar import add_bundle
from foja.cli.chat.grammar import add_verbs
from foja.cli.jobs.grammar import add_verbs as add_job_verbs
from foja.cli.judge.grammar import add_verify
from foja.cli.papers.grammar import add_papers

Verbs = Callable[..., ArgumentParser]

EXAMPLES = """examples:
  foja demo                                   see everything work, in a temporary place
  foja up                                     database, worker and web, until Ctrl-C
  foja protect contract.pdf --wait            a timestamp for a file
  foja events 0190…-… --follow                read a stream, and go on as it grows
  foja chat follow 0190…-…                    watch a conversation
  foja log checkpoint -o today.checkpoint     keep one outside …
  foja fsck --checkpoint today.checkpoint     … and later check everything against it
  foja verify contract.pdf --proof x.tsr --trust roots.pem
                                              what evidence proves, offline

Settings are read from FOJA_* in the environment; options win over them."""


def grammar() -> ArgumentParser:
    """Return the parser of every command."""
    shared = _shared()
    parser = ArgumentParser(
        prog="foja",
        description="An ordered, append-only, tamper-evident ledger.",
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
        parents=[shared],
    )
    parser.set_defaults(json=False)  # here only: a verb's own default would undo what its parent was given
    parser.add_argument("--version", action="version", version=f"foja {__version__}")
    add = _adder(parser.add_subparsers(title="verbs", metavar="VERB", required=True), shared)
    running = (_serving, _running, add_papers, add_bundle, add_verify)
    for group in (*running, _reading, _chat, _checking, _jobs, _log, _tsa):
        group(add)
    return parser


def _shared() -> ArgumentParser:
    """Options that may stand before or after the verb."""
    shared = ArgumentParser(add_help=False, argument_default=SUPPRESS)
    shared.add_argument("--home", type=_path, help="folder of the embedded database, objects and keys")
    shared.add_argument(
        "--database-url", metavar="URL", help="a PostgreSQL 15+ of your own, as administrator"
    )
    return shared


def _adder(verbs: Any, shared: ArgumentParser) -> Verbs:
    def add(
        name: str, run: str, sentence: str, examples: str = "", *, as_json: bool = True
    ) -> ArgumentParser:
        parser: ArgumentParser = verbs.add_parser(
            name,
            help=sentence,
            description=sentence[:1].upper() + sentence[1:] + ".",
            epilog=f"examples:\n{examples}" if examples else None,
            formatter_class=RawDescriptionHelpFormatter,
            parents=[shared],
        )
        parser.set_defaults(run=run)
        if as_json:
            parser.add_argument(
                "--json", action="store_true", default=SUPPRESS, help="print JSON instead of text"
            )
        return parser

    return add


def _serving(add: Verbs) -> None:
    up = add(
        "up",
        "running:up",
        "start database, worker and web, and run until stopped",
        "  foja up\n  foja up --port 0                             any port that is free",
        as_json=False,
    )
    web = add(
        "web",
        "running:web",
        "serve conversations over HTTP until stopped",
        "  foja web\n"
        "  foja web --port 8080\n"
        "  foja web --host 0.0.0.0 --expose             behind something that asks who is there",
        as_json=False,
    )
    for parser in (up, web):
        parser.add_argument("--host", default=SUPPRESS, dest="web_host", help="where to listen (127.0.0.1)")
        parser.add_argument(
            "--port", type=_port, default=SUPPRESS, dest="web_port", help="its port (8000); 0: any free one"
        )
        parser.add_argument(
            "--expose",
            action="store_true",
            default=SUPPRESS,
            dest="web_expose",
            help="let other machines reach it: there are no access keys yet",
        )


def _running(add: Verbs) -> None:
    worker = add(
        "worker",
        "running:worker",
        "seal, number, sign, publish and do jobs until stopped",
        "  foja worker\n  foja worker --only protect_document_v2       another service does the rest",
        as_json=False,
    )
    worker.add_argument(
        "--only", metavar="TYPE", action="append", help="do jobs of this type; may be repeated"
    )
    add("demo", "demo:demo", "show the ledger at work in a temporary place", as_json=False)
    bench = add(
        "bench",
        "bench:bench",
        "measure appends on this server, in a database of its own",
        "  foja bench --seconds 5\n  foja bench --json > bench.json",
    )
    bench.add_argument("--seconds", type=_seconds, default=2.0, help="how long each case runs (2)")
    migrate = add(
        "migrate",
        "schema:migrate",
        "bring the database's schema to the newest or a given migration",
        "  foja migrate\n  foja migrate --status\n  foja migrate --to 2",
    )
    migrate.add_argument("--to", type=int, metavar="N", help="go to this migration, forward or back")
    migrate.add_argument("--status", action="store_true", help="only say what was applied")


def _reading(add: Verbs) -> None:
    events = add(
        "events",
        "events:events",
        "read a stream, or all of them in the log's order",
        "  foja events ENTITY --after 41\n  foja events ENTITY --follow --json\n  foja events log --limit 10",
    )
    events.add_argument("entity", type=_entity, metavar="ENTITY", help="a stream's id, or `log` for all")
    events.add_argument("--after", type=_cursor, help="only what comes after this number or cursor")
    events.add_argument("--follow", action="store_true", help="go on as the stream grows, until Ctrl-C")
    events.add_argument(
        "--limit", type=_positive, default=1000, help="at most this many, unless following (1000)"
    )


def _chat(add: Verbs) -> None:
    parent = add("chat", "chat.reading:recent", "list, begin, read, watch and check conversations")
    add_verbs(_adder(parent.add_subparsers(title="verbs", metavar="VERB"), _shared()), _cursor)


def _jobs(add: Verbs) -> None:
    parent = add("jobs", "jobs.verbs:listing", "list jobs, and retry, cancel, pause and resume them")
    inner = _adder(parent.add_subparsers(title="verbs", metavar="VERB"), _shared())
    add_job_verbs(parent, inner, _positive)


def _checking(add: Verbs) -> None:
    add("audit", "checking:audit", "ask quickly whether the ledger is well; 1 if anything is found")
    fsck = add(
        "fsck",
        "checking:fsck",
        "derive everything again from the rows and name the first event touched",
        "  foja fsck\n  foja fsck --tiles --json\n  foja fsck --checkpoint kept.checkpoint --key kept.vkey",
    )
    fsck.add_argument("--checkpoint", type=Path, metavar="FILE", help="a signed checkpoint kept outside")
    fsck.add_argument(
        "--key", metavar="VKEY|FILE", help="the log's public key, if not this installation's own"
    )
    fsck.add_argument("--tiles", action="store_true", help="also compare every published file of the log")


def _log(add: Verbs) -> None:
    parent = add("log", "log:status", "show the log, prove and verify its entries, start it anew")
    verbs = parent.add_subparsers(title="verbs", metavar="VERB")
    inner = _adder(verbs, _shared())
    inner("status", "log:status", "show every log of this installation")
    inner("key", "log:key", "print the public key that the log is signed with")
    checkpoint = inner("checkpoint", "log:checkpoint", "print the published checkpoint, to be kept outside")
    checkpoint.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it to a file")
    _proofs(inner)
    restart = inner(
        "restart",
        "log:restart",
        "close a log that cannot go on and open one that names its head; every cursor is reset",
    )
    restart.add_argument("--yes", action="store_true", help="you know that readers start again")


def _proofs(add: Verbs) -> None:
    prove = add(
        "prove",
        "log:prove",
        "write the proof that an event is in the log, and the event itself",
        "  foja log prove ENTITY 3 -o sheet.tlog-proof       writes sheet.event.json too",
    )
    prove.add_argument("entity", type=UUID, metavar="ENTITY")
    prove.add_argument("seq", type=_natural, metavar="SEQ")
    prove.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="where the proof goes; else to stdout"
    )
    prove.add_argument(
        "--event", type=Path, metavar="FILE", help="where the event goes; else beside the proof"
    )
    verify = add(
        "verify",
        "verifying:verify",
        "check a proof offline: no database, no network, only a public key",
        "  foja log verify sheet.tlog-proof --key foja.vkey  reads sheet.event.json too\n"
        "  foja log verify sheet.tlog-proof --entry HEX --key 'name+id+key'",
    )
    verify.add_argument("proof", type=Path, metavar="PROOF", help="a .tlog-proof file")
    verify.add_argument("--key", required=True, metavar="VKEY|FILE", help="the log's public key")
    what = verify.add_mutually_exclusive_group()
    what.add_argument("--event", type=Path, metavar="FILE", help="the event, as `prove` wrote it")
    what.add_argument("--entry", type=bytes.fromhex, metavar="HEX", help="the log entry itself")


def _tsa(add: Verbs) -> None:
    parent = add("tsa", "tsa:status", "show who stamps; serve the local timestamp authority to others")
    inner = _adder(parent.add_subparsers(title="verbs", metavar="VERB"), _shared())
    inner("status", "tsa:status", "show who is asked for timestamps, and the local authority")
    inner("ask", "tsa:ask", "ask every authority once and say what it proves; 1 if any proves nothing")
    root = inner(
        "root",
        "tsa:root",
        "print the root certificate of the local authority, made on first use",
        "  foja tsa root -o root.pem\n"
        "  openssl ts -verify -in token.tsr -queryfile request.tsq -CAfile root.pem",
    )
    root.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it to a file")
    serve = inner(
        "serve",
        "tsa:serve",
        "answer RFC 3161 requests over HTTP until stopped",
        "  foja tsa serve --port 3161\n"
        "  FOJA_TSA_URLS=http://127.0.0.1:3161 FOJA_TSA_ROOTS=root.pem foja up      elsewhere",
        as_json=False,
    )
    serve.add_argument("--host", default="127.0.0.1", help="where to listen (127.0.0.1)")
    serve.add_argument("--port", type=_port, default=3161, help="its port (3161); 0: any free one")
    serve.add_argument(
        "--expose", action="store_true", help="let other machines reach it: it asks nobody who they are"
    )


def _path(word: str) -> Path:
    return Path(word).expanduser().absolute()


def _entity(word: str) -> UUID | None:
    """Return a stream's id, or None for the whole log."""
    try:
        return None if word == "log" else UUID(word)
    except ValueError:
        raise ArgumentTypeError(f"{word!r} is neither a stream's id nor `log`") from None


def _cursor(word: str) -> str | int:
    return int(word) if word.removeprefix("-").isdecimal() else word


def _natural(word: str) -> int:
    if not word.isdecimal():
        raise ArgumentTypeError(f"{word!r} is not a number from 0 on")
    return int(word)


def _positive(word: str) -> int:
    if not word.isdecimal() or int(word) == 0:
        raise ArgumentTypeError(f"{word!r} is not a number from 1 on")
    return int(word)


def _port(word: str) -> int:
    if not word.isdecimal() or int(word) > 65_535:
        raise ArgumentTypeError(f"{word!r} is not a port, 0 to 65535")
    return int(word)


def _seconds(word: str) -> float:
    try:
        seconds = float(word)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise ArgumentTypeError(f"{word!r} is not a time in seconds, up to 3600")
    return seconds
