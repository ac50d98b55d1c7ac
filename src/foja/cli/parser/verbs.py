"""How a verb is added: its sentence, its examples, the options that every verb has."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter
from typing import Any, Protocol

from foja.cli.parser.values import path


class Verbs(Protocol):
    """Adds a verb, named with the function it runs."""

    def __call__(self, name: str, run: str, sentence: str, examples: str) -> ArgumentParser: ...


def shared() -> ArgumentParser:
    """Return the options that may stand before or after the verb."""
    options = ArgumentParser(add_help=False, argument_default=SUPPRESS)
    options.add_argument("--home", type=path, help="folder of the embedded database, objects and keys")
    options.add_argument(
        "--database-url", metavar="URL", help="a PostgreSQL 15+ of your own, as administrator"
    )
    return options


def verbs_of(parser: ArgumentParser, *, required: bool = False) -> Verbs:
    """Return what adds verbs under a parser, which may have a meaning of its own."""
    below: Any = parser.add_subparsers(title="verbs", metavar="VERB", required=required)
    parents = [shared()]

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
        # No default: a verb's own would undo what its parent was given.
        verb.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON, not text")
        return verb

    return add
