"""The commands services and jobs: `foja up`, `web`, `worker`, `demo`, `bench`, `migrate`, `jobs`, `tsa`."""

from __future__ import annotations

from argparse import SUPPRESS

from foja.interfaces.cli.parser.commands import EXPOSE, FORCE, LISTEN, SAVE, Argument, command
from foja.interfaces.cli.parser.values import RUNNING, port, seconds

HOST = Argument("--host WEB_HOST", "the address to listen on (127.0.0.1)", str, "web_host", default=SUPPRESS)
PORT = Argument("--port WEB_PORT", "the port (8000); 0 for any free one", port, "web_port", default=SUPPRESS)
DOMAINS = Argument(
    "--domains MODULE:NAME",
    "register domains of your own at start; several with spaces between",
    default=SUPPRESS,
)
COMMANDS = (
    command(
        "up",
        "services:up",
        "run database, worker and web until stopped",
        "foja up\n"
        "foja up --port 0                             on any free port\n"
        "foja up --demo --home /tmp/try               with something to look at",
        Argument("--demo", "add what `foja demo --seed` adds; it stays in the installation"),
        HOST,
        PORT,
        DOMAINS,
    ),
    command(
        "web",
        "services:web",
        "serve HTTP until stopped",
        "foja web\n"
        "foja web --port 8080\n"
        "foja web --host 0.0.0.0                      for other machines, once there is a key",
        HOST,
        PORT,
        DOMAINS,
    ),
    command(
        "worker",
        "services:worker",
        "run jobs, seal, number, sign and publish until stopped",
        "foja worker\n"
        "foja worker --only protect_document_v2       other workers do the rest\n"
        "foja worker --domains billing:INVOICE        with a domain of your own",
        Argument("--only TYPE...", "run only jobs of this type; may be repeated"),
        Argument(
            "--metrics-port METRICS_PORT",
            "serve /metrics and /healthz on this port; 0 for any free one",
            port,
            default=SUPPRESS,
        ),
        DOMAINS,
    ),
    command(
        "demo",
        "demo.demo:demo",
        "show the ledger at work in a temporary folder; or fill an installation to look at",
        "foja demo\nfoja demo --seed --home /tmp/try             then: foja up --home /tmp/try",
        Argument("--next COMMAND", "the command that the last line names (`foja up`)"),
        Argument(
            "--seed",
            "add documents, conversations and galleries to the installation; a second run adds nothing",
        ),
        extra="demo",
    ),
    command(
        "bench",
        "bench:bench",
        "measure appends on this server, in a temporary database",
        "foja bench --seconds 5\nfoja bench --json > bench.json",
        Argument("--seconds SECONDS", "the duration of each case (2)", seconds, default=2.0),
    ),
    command(
        "migrate",
        "server.migrate:migrate",
        "migrate the schema to the newest or a given step, and register domains",
        "foja migrate\n"
        "foja migrate --status\n"
        "foja migrate --to 2 --yes\n"
        "foja migrate --domains billing:INVOICE       register a domain of your own",
        DOMAINS,
        Argument("--to N", "migrate forward or back to this number", int),
        Argument(
            f"--yes [{RUNNING}]",
            "confirm that steps may be reverted; with `running`, also while processes use the database",
            choices=(RUNNING,),
        ),
        Argument("--status", "only list the migrations"),
    ),
    command(
        "jobs",
        "jobs.list",
        "list jobs, and retry, cancel, pause and resume them",
        "foja jobs\nfoja jobs --state dead",
    ),
    command(
        "tsa",
        "server.tsa:status",
        "show and test the timestamp authorities; serve the local one",
        "foja tsa\nfoja tsa ask",
    ),
    command(
        "tsa status",
        "server.tsa:status",
        "show the timestamp authorities in use and the root of the local one",
        "foja tsa status --json",
    ),
    command(
        "tsa ask",
        "server.tsa:ask",
        "request a token from every authority and check it; exit code 1 if any check fails",
        "FOJA_TSA_URLS=https://tsa.example/tsr FOJA_TSA_ROOTS=roots.pem foja tsa ask",
    ),
    command(
        "tsa root",
        "server.tsa:root",
        "print the root certificate of the local authority, which is created on first use",
        "foja tsa root -o root.pem\nopenssl ts -verify -in token.tsr -queryfile request.tsq -CAfile root.pem",
        SAVE,
        FORCE,
    ),
    command(
        "tsa serve",
        "server.tsa:serve",
        "answer RFC 3161 requests over HTTP until stopped",
        "foja tsa serve --port 3161\n"
        "FOJA_TSA_URLS=http://127.0.0.1:3161 FOJA_TSA_ROOTS=root.pem foja up      in another installation",
        LISTEN,
        Argument("--port PORT", "the port (3161); 0 for any free one", port, default=3161),
        EXPOSE,
    ),
)
