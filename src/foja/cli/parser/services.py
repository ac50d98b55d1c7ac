"""The parsers of `foja up`, `web`, `worker`, `bench`, `migrate` and `tsa`."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser
from pathlib import Path

from foja.cli.parser.values import port, seconds
from foja.cli.parser.verbs import AddVerb, add_verbs


def add_services(add: AddVerb) -> None:
    """Add the verbs `up`, `web` and `worker`."""
    up = add(
        "up",
        "services:up",
        "run database, worker and web until stopped",
        "  foja up\n  foja up --port 0                             on any free port",
    )
    web = add(
        "web",
        "services:web",
        "serve HTTP until stopped",
        "  foja web\n"
        "  foja web --port 8080\n"
        "  foja web --host 0.0.0.0 --expose             behind a proxy that authenticates",
    )
    for parser in (up, web):
        parser.add_argument(
            "--host", default=SUPPRESS, dest="web_host", help="the address to listen on (127.0.0.1)"
        )
        parser.add_argument(
            "--port", type=port, default=SUPPRESS, dest="web_port", help="the port (8000); 0 for any free one"
        )
        parser.add_argument(
            "--expose",
            action="store_true",
            default=SUPPRESS,
            dest="web_expose",
            help="accept requests from other machines: there are no access keys yet",
        )
    worker = add(
        "worker",
        "services:worker",
        "run jobs, seal, number, sign and publish until stopped",
        "  foja worker\n"
        "  foja worker --only protect_document_v2       other workers do the rest\n"
        "  foja worker --domains billing:INVOICE        with a domain of your own",
    )
    worker.add_argument(
        "--only", metavar="TYPE", action="append", help="run only jobs of this type; may be repeated"
    )
    for parser in (up, web, worker):
        add_domains(parser)


def add_domains(parser: ArgumentParser) -> None:
    """Add the option `--domains`."""
    parser.add_argument(
        "--domains",
        default=SUPPRESS,
        metavar="MODULE:NAME",
        help="register domains of your own at start; several with spaces between",
    )


def add_bench(add: AddVerb) -> None:
    """Add the verb `bench`."""
    bench = add(
        "bench",
        "bench:bench",
        "measure appends on this server, in a temporary database",
        "  foja bench --seconds 5\n  foja bench --json > bench.json",
    )
    bench.add_argument("--seconds", type=seconds, default=2.0, help="the duration of each case (2)")


def add_migrate(add: AddVerb) -> None:
    """Add the verb `migrate`."""
    migrate = add(
        "migrate",
        "migrate:migrate",
        "migrate the schema to the newest or a given step, and register domains",
        "  foja migrate\n"
        "  foja migrate --status\n"
        "  foja migrate --to 2\n"
        "  foja migrate --domains billing:INVOICE       register a domain of your own",
    )
    add_domains(migrate)
    migrate.add_argument("--to", type=int, metavar="N", help="migrate forward or back to this number")
    migrate.add_argument("--status", action="store_true", help="only list the migrations")


def add_tsa(add: AddVerb) -> None:
    """Add the verb `tsa` and its verbs; without a verb the authorities are listed."""
    parent = add(
        "tsa",
        "tsa:status",
        "show and test the timestamp authorities; serve the local one",
        "  foja tsa\n  foja tsa ask",
    )
    inner = add_verbs(parent)
    inner(
        "status",
        "tsa:status",
        "show the timestamp authorities in use and the root of the local one",
        "  foja tsa status --json",
    )
    inner(
        "ask",
        "tsa:ask",
        "request a token from every authority and check it; exit code 1 if any check fails",
        "  FOJA_TSA_URLS=https://tsa.example/tsr FOJA_TSA_ROOTS=roots.pem foja tsa ask",
    )
    root = inner(
        "root",
        "tsa:root",
        "print the root certificate of the local authority, which is created on first use",
        "  foja tsa root -o root.pem\n"
        "  openssl ts -verify -in token.tsr -queryfile request.tsq -CAfile root.pem",
    )
    root.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it to a file")
    serve = inner(
        "serve",
        "tsa:serve",
        "answer RFC 3161 requests over HTTP until stopped",
        "  foja tsa serve --port 3161\n"
        "  FOJA_TSA_URLS=http://127.0.0.1:3161 FOJA_TSA_ROOTS=root.pem foja up      in another installation",
    )
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
    serve.add_argument("--port", type=port, default=3161, help="the port (3161); 0 for any free one")
    serve.add_argument(
        "--expose", action="store_true", help="accept requests from other machines, without authentication"
    )
