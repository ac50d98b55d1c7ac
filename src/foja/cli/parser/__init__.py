"""The command line: verbs, options, help and examples. Each verb names the function that it runs.

A verb with its own package has its parser there; the modules here define the others.
"""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter

from foja import __version__
from foja.cli.bundle.parser import add_bundle
from foja.cli.chat.parser import add_chat
from foja.cli.demo.parser import add_demo
from foja.cli.documents.parser import add_documents
from foja.cli.jobs.parser import add_jobs
from foja.cli.log.parser import add_log
from foja.cli.parser.ledger import add_events, add_integrity
from foja.cli.parser.services import add_bench, add_migrate, add_services, add_tsa
from foja.cli.parser.verbs import add_verbs, shared_options
from foja.cli.verify.parser import add_verify

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


def build_parser() -> ArgumentParser:
    """Return the parser of the whole command line."""
    parser = ArgumentParser(
        prog="foja",
        description="An ordered, append-only, tamper-evident ledger.",
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
        parents=[shared_options()],
    )
    parser.set_defaults(json=False)
    parser.add_argument("--version", action="version", version=f"foja {__version__}")
    add = add_verbs(parser, required=True)
    first = (add_services, add_demo, add_bench, add_migrate, add_documents, add_bundle, add_verify)
    for group in (*first, add_events, add_chat, add_integrity, add_jobs, add_log, add_tsa):
        group(add)
    return parser
