"""The words of the command line: verbs, options, examples. Each verb names the function it runs."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter

from foja import __version__
from foja.cli.bundle.parser import add_bundle
from foja.cli.chat.parser import add_chat
from foja.cli.documents.parser import add_papers
from foja.cli.jobs.parser import add_jobs
from foja.cli.parser.ledger import add_checking, add_log, add_reading
from foja.cli.parser.services import add_running, add_serving, add_tsa
from foja.cli.parser.verbs import shared, verbs_of
from foja.cli.verify.parser import add_verify

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
    parser = ArgumentParser(
        prog="foja",
        description="An ordered, append-only, tamper-evident ledger.",
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
        parents=[shared()],
    )
    parser.set_defaults(json=False)
    parser.add_argument("--version", action="version", version=f"foja {__version__}")
    add = verbs_of(parser, required=True)
    running = (add_serving, add_running, add_papers, add_bundle, add_verify)
    for group in (*running, add_reading, add_chat, add_checking, add_jobs, add_log, add_tsa):
        group(add)
    return parser
