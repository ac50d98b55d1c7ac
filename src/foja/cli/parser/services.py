"""The words of what runs, and of what it runs on: up, web, worker, demo, bench, migrate, tsa."""

from __future__ import annotations

from argparse import SUPPRESS
from pathlib import Path

from foja.cli.parser.values import port, seconds
from foja.cli.parser.verbs import Verbs, verbs_of


def add_serving(add: Verbs) -> None:
    """Add what listens until it is stopped."""
    up = add(
        "up",
        "services:up",
        "start database, worker and web, and run until stopped",
        "  foja up\n  foja up --port 0                             any port that is free",
    )
    web = add(
        "web",
        "services:web",
        "serve conversations over HTTP until stopped",
        "  foja web\n"
        "  foja web --port 8080\n"
        "  foja web --host 0.0.0.0 --expose             behind something that asks who is there",
    )
    for parser in (up, web):
        parser.add_argument("--host", default=SUPPRESS, dest="web_host", help="where to listen (127.0.0.1)")
        parser.add_argument(
            "--port", type=port, default=SUPPRESS, dest="web_port", help="its port (8000); 0: any free one"
        )
        parser.add_argument(
            "--expose",
            action="store_true",
            default=SUPPRESS,
            dest="web_expose",
            help="let other machines reach it: there are no access keys yet",
        )


def add_running(add: Verbs) -> None:
    """Add what works, shows, measures and migrates."""
    worker = add(
        "worker",
        "services:worker",
        "seal, number, sign, publish and do jobs until stopped",
        "  foja worker\n  foja worker --only protect_document_v2       another service does the rest",
    )
    worker.add_argument(
        "--only", metavar="TYPE", action="append", help="do jobs of this type; may be repeated"
    )
    add("demo", "demo:demo", "show the ledger at work in a temporary place", "  foja demo")
    bench = add(
        "bench",
        "bench:bench",
        "measure appends on this server, in a database of its own",
        "  foja bench --seconds 5\n  foja bench --json > bench.json",
    )
    bench.add_argument("--seconds", type=seconds, default=2.0, help="how long each case runs (2)")
    migrate = add(
        "migrate",
        "migrate:migrate",
        "bring the database's schema to the newest or a given migration",
        "  foja migrate\n  foja migrate --status\n  foja migrate --to 2",
    )
    migrate.add_argument("--to", type=int, metavar="N", help="go to this migration, forward or back")
    migrate.add_argument("--status", action="store_true", help="only say what was applied")


def add_tsa(add: Verbs) -> None:
    """Add what is about timestamp authorities."""
    parent = add(
        "tsa",
        "tsa:status",
        "show who stamps; serve the local timestamp authority to others",
        "  foja tsa\n  foja tsa ask",
    )
    inner = verbs_of(parent)
    inner(
        "status",
        "tsa:status",
        "show who is asked for timestamps, and the local authority",
        "  foja tsa status --json",
    )
    inner(
        "ask",
        "tsa:ask",
        "ask every authority once and say what it proves; 1 if any proves nothing",
        "  FOJA_TSA_URLS=https://tsa.example/tsr FOJA_TSA_ROOTS=roots.pem foja tsa ask",
    )
    root = inner(
        "root",
        "tsa:root",
        "print the root certificate of the local authority, made on first use",
        "  foja tsa root -o root.pem\n"
        "  openssl ts -verify -in token.tsr -queryfile request.tsq -CAfile root.pem",
    )
    root.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it to a file")
    _serving(inner)


def _serving(add: Verbs) -> None:
    serve = add(
        "serve",
        "tsa:serve",
        "answer RFC 3161 requests over HTTP until stopped",
        "  foja tsa serve --port 3161\n"
        "  FOJA_TSA_URLS=http://127.0.0.1:3161 FOJA_TSA_ROOTS=root.pem foja up      elsewhere",
    )
    serve.add_argument("--host", default="127.0.0.1", help="where to listen (127.0.0.1)")
    serve.add_argument("--port", type=port, default=3161, help="its port (3161); 0: any free one")
    serve.add_argument(
        "--expose", action="store_true", help="let other machines reach it: it asks nobody who they are"
    )
