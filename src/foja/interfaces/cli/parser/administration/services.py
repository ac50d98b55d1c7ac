"""The parsers of services and jobs: `foja up`, `web`, `worker`, `demo`, `bench`, `migrate`, `jobs`, `tsa`."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser
from pathlib import Path

from foja.interfaces.cli.parser.acts import ACTS
from foja.interfaces.cli.parser.values import RUNNING, port, seconds
from foja.interfaces.cli.parser.verbs import Verbs, add_acts, add_force


def add_services(verbs: Verbs) -> None:
    """Add the verbs `up`, `web` and `worker`."""
    up = verbs.add(
        "services:up",
        "run database, worker and web until stopped",
        "  foja up\n"
        "  foja up --port 0                             on any free port\n"
        "  foja up --demo --home /tmp/try               with something to look at",
    )
    up.add_argument(
        "--demo", action="store_true", help="add what `foja demo --seed` adds; it stays in the installation"
    )
    web = verbs.add(
        "services:web",
        "serve HTTP until stopped",
        "  foja web\n"
        "  foja web --port 8080\n"
        "  foja web --host 0.0.0.0                      for other machines, once there is a key",
    )
    for parser in (up, web):
        _add_address(parser)
    worker = verbs.add(
        "services:worker",
        "run jobs, seal, number, sign and publish until stopped",
        "  foja worker\n"
        "  foja worker --only protect_document_v2       other workers do the rest\n"
        "  foja worker --domains billing:INVOICE        with a domain of your own",
    )
    worker.add_argument(
        "--only", metavar="TYPE", action="append", help="run only jobs of this type; may be repeated"
    )
    worker.add_argument(
        "--metrics-port",
        type=port,
        default=SUPPRESS,
        help="serve /metrics and /healthz on this port; 0 for any free one",
    )
    for parser in (up, web, worker):
        add_domains(parser)


def _add_address(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--host", default=SUPPRESS, dest="web_host", help="the address to listen on (127.0.0.1)"
    )
    parser.add_argument(
        "--port", type=port, default=SUPPRESS, dest="web_port", help="the port (8000); 0 for any free one"
    )


def add_domains(parser: ArgumentParser) -> None:
    """Add the option `--domains`."""
    parser.add_argument(
        "--domains",
        default=SUPPRESS,
        metavar="MODULE:NAME",
        help="register domains of your own at start; several with spaces between",
    )


def add_demo(verbs: Verbs) -> None:
    """Add the verb `demo`."""
    demo = verbs.add(
        "demo.demo:demo",
        "show the ledger at work in a temporary folder; or fill an installation to look at",
        "  foja demo\n  foja demo --seed --home /tmp/try             then: foja up --home /tmp/try",
        extra="demo",
    )
    demo.add_argument("--next", metavar="COMMAND", help="the command that the last line names (`foja up`)")
    demo.add_argument(
        "--seed",
        action="store_const",
        const="demo.seed.seed:seed",
        dest="run",
        default=demo.get_default("run"),
        help="add documents, conversations and galleries to the installation; a second run adds nothing",
    )


def add_bench(verbs: Verbs) -> None:
    """Add the verb `bench`."""
    bench = verbs.add(
        "bench:bench",
        "measure appends on this server, in a temporary database",
        "  foja bench --seconds 5\n  foja bench --json > bench.json",
    )
    bench.add_argument("--seconds", type=seconds, default=2.0, help="the duration of each case (2)")


def add_migrate(verbs: Verbs) -> None:
    """Add the verb `migrate`."""
    migrate = verbs.add(
        "server.migrate:migrate",
        "migrate the schema to the newest or a given step, and register domains",
        "  foja migrate\n"
        "  foja migrate --status\n"
        "  foja migrate --to 2 --yes\n"
        "  foja migrate --domains billing:INVOICE       register a domain of your own",
    )
    add_domains(migrate)
    migrate.add_argument("--to", type=int, metavar="N", help="migrate forward or back to this number")
    migrate.add_argument(
        "--yes",
        nargs="?",
        const=True,  # a text would have to be one of the choices
        choices=(RUNNING,),
        metavar=RUNNING,
        help="confirm that steps may be reverted; with `running`, also while processes use the database",
    )
    migrate.add_argument("--status", action="store_true", help="only list the migrations")


def add_jobs(verbs: Verbs) -> None:
    """Add the verb `jobs` and its verbs; without a verb the jobs are listed."""
    sentence = "list jobs, and retry, cancel, pause and resume them"
    add_acts(verbs, "jobs", sentence, "  foja jobs\n  foja jobs --state dead", without="jobs list", acts=ACTS)


def add_tsa(verbs: Verbs) -> None:
    """Add the verb `tsa` and its verbs; without a verb the authorities are listed."""
    tsa = verbs.add(
        "server.tsa:status",
        "show and test the timestamp authorities; serve the local one",
        "  foja tsa\n  foja tsa ask",
        name="tsa",
    )
    inner = Verbs(tsa)
    inner.add(
        "server.tsa:status",
        "show the timestamp authorities in use and the root of the local one",
        "  foja tsa status --json",
    )
    inner.add(
        "server.tsa:ask",
        "request a token from every authority and check it; exit code 1 if any check fails",
        "  FOJA_TSA_URLS=https://tsa.example/tsr FOJA_TSA_ROOTS=roots.pem foja tsa ask",
    )
    root = inner.add(
        "server.tsa:root",
        "print the root certificate of the local authority, which is created on first use",
        "  foja tsa root -o root.pem\n"
        "  openssl ts -verify -in token.tsr -queryfile request.tsq -CAfile root.pem",
    )
    root.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it to a file")
    add_force(root)
    serve = inner.add(
        "server.tsa:serve",
        "answer RFC 3161 requests over HTTP until stopped",
        "  foja tsa serve --port 3161\n"
        "  FOJA_TSA_URLS=http://127.0.0.1:3161 FOJA_TSA_ROOTS=root.pem foja up      in another installation",
    )
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
    serve.add_argument("--port", type=port, default=3161, help="the port (3161); 0 for any free one")
    serve.add_argument(
        "--expose", action="store_true", help="accept requests from other machines, without authentication"
    )
