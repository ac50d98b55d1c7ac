"""Add a verb with its help, its examples and the options that every verb has."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter
from typing import Any, Protocol

from foja.cli.parser.values import path


class AddVerb(Protocol):
    """Add a verb and the function that it runs, as `module:function` under `foja.cli`."""

    def __call__(self, name: str, run: str, sentence: str, examples: str) -> ArgumentParser: ...


def shared_options() -> ArgumentParser:
    """Return the options that are allowed before and after the verb."""
    options = ArgumentParser(add_help=False, argument_default=SUPPRESS)
    options.add_argument("--home", type=path, help="folder of the embedded database, objects and keys")
    options.add_argument(
        "--database-url", metavar="URL", help="your own PostgreSQL 15+, connected as administrator"
    )
    return options


def add_verbs(parser: ArgumentParser, *, required: bool = False) -> AddVerb:
    """Return a function that adds verbs under a parser; the parser may run a function itself."""
    below: Any = parser.add_subparsers(title="verbs", metavar="VERB", required=required)
    parents = [shared_options()]

    def add(name: str, run: str, sentence: str, examples: str) -> ArgumentParser:
        verb: ArgumentParser = below.add_parser(
            name,
            help=sentence,
            description=sentence[:1].upper() + sentence[1:] + ".",
            epilog=f"examples:\n{examples}",
            formatter_class=RawDescriptionHelpFormatter,
            parents=parents,
        )
        verb.set_defaults(run=run)
        # No default: the default of a verb would override the value given to its parent.
        verb.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON, not text")
        return verb

    return add
