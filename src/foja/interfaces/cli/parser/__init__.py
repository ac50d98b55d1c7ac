"""The command line: verbs, options, help and examples. Each verb names the function that it runs."""

from __future__ import annotations

from argparse import RawDescriptionHelpFormatter
from dataclasses import replace

from foja import __version__
from foja.interfaces.cli.parser.acts import ACTS
from foja.interfaces.cli.parser.administration import (
    access,
    cosigner,
    mcp,
    monitor,
    operations,
    orphans,
    server,
    services,
    webhooks,
)
from foja.interfaces.cli.parser.builder import Parser, add_commands, shared_options
from foja.interfaces.cli.parser.commands import Command
from foja.interfaces.cli.parser.records import anchors, documents, images, ledger

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

ORDER = """
up web worker backup restore psql demo bench migrate
protect status explain retry sign bundle trust proofs verify
doctor alerts events chat images audit rebuild fsck stress
jobs webhooks mcp orphans anchors log cosigner monitor keys access tsa"""  # of the help
_BY_HAND = (
    *services.COMMANDS,
    *server.COMMANDS,
    *documents.COMMANDS,
    *operations.COMMANDS,
    *ledger.COMMANDS,
    *images.COMMANDS,
    *webhooks.COMMANDS,
    *mcp.COMMANDS,
    *orphans.COMMANDS,
    *anchors.COMMANDS,
    *cosigner.COMMANDS,
    *monitor.COMMANDS,
    *access.COMMANDS,
)


def commands() -> list[Command]:
    """Return all commands in the order of the help, each before its verbs."""
    order = {name: at for at, name in enumerate(ORDER.split())}
    acts = {each.words: each for each in ACTS}
    taken = {each.run: each.arguments for each in ACTS}
    by_hand = {
        each.words: replace(each, arguments=each.arguments or taken.get(each.run, ())) for each in _BY_HAND
    }
    found = (acts | by_hand).values()
    return sorted(found, key=lambda each: (order[each.words.partition(" ")[0]], " " in each.words))


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
    add_commands(parser, commands())
    return parser
