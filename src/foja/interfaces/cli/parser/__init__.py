"""The command line: verbs, options, help and examples. Each verb names the function that it runs."""

from __future__ import annotations

from argparse import RawDescriptionHelpFormatter

from foja import __version__
from foja.interfaces.cli.parser.administration.access import add_access
from foja.interfaces.cli.parser.administration.cosigner import add_cosigner
from foja.interfaces.cli.parser.administration.mcp import add_mcp
from foja.interfaces.cli.parser.administration.monitor import add_monitor
from foja.interfaces.cli.parser.administration.operations import add_alerts, add_doctor
from foja.interfaces.cli.parser.administration.orphans import add_orphans
from foja.interfaces.cli.parser.administration.server import add_backup, add_keys, add_psql, add_restore
from foja.interfaces.cli.parser.administration.services import (
    add_bench,
    add_demo,
    add_jobs,
    add_migrate,
    add_services,
    add_tsa,
)
from foja.interfaces.cli.parser.administration.webhooks import add_webhooks
from foja.interfaces.cli.parser.records.anchors import add_anchors
from foja.interfaces.cli.parser.records.documents import (
    add_bundle,
    add_documents,
    add_sign,
    add_trust,
    add_verify,
)
from foja.interfaces.cli.parser.records.images import add_images, add_stress
from foja.interfaces.cli.parser.records.ledger import add_chat, add_events, add_integrity, add_log
from foja.interfaces.cli.parser.verbs import Parser, Verbs, shared_options

EXAMPLES = """examples:
  foja demo                                   show every feature, in a temporary folder
  foja up                                     run database, worker and web until Ctrl-C
  foja protect contract.pdf --wait            timestamp a file
  foja events 0190…-… --follow                print a stream and its new events
  foja chat follow 0190…-…                    watch a conversation
  foja log checkpoint -o today.checkpoint     save a checkpoint outside the installation …
  foja fsck --checkpoint today.checkpoint     … and later check everything against it
  foja verify contract.pdf --proof x.tsr --trust roots.pem
                                              check evidence offline

Settings come from FOJA_* environment variables; options override them."""

_VERBS = (  # in the order of the help
    add_services,
    add_backup,
    add_restore,
    add_psql,
    add_demo,
    add_bench,
    add_migrate,
    add_documents,
    add_sign,
    add_bundle,
    add_trust,
    add_verify,
    add_doctor,
    add_alerts,
    add_events,
    add_chat,
    add_images,
    add_integrity,
    add_stress,
    add_jobs,
    add_webhooks,
    add_mcp,
    add_orphans,
    add_anchors,
    add_log,
    add_cosigner,
    add_monitor,
    add_keys,
    add_access,
    add_tsa,
)


def build_parser() -> Parser:
    """Return the parser of the whole command line."""
    parser = Parser(
        prog="foja",
        description="An ordered, append-only, tamper-evident ledger.",
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
        parents=[shared_options()],
    )
    parser.set_defaults(json=False)
    parser.add_argument("--version", action="version", version=f"foja {__version__}")
    verbs = Verbs(parser, required=True)
    for add in _VERBS:
        add(verbs)
    return parser
