"""Add a verb with its help, its examples and the options that every verb has."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter
from functools import cache
from typing import Any

from foja.access.local import local_actor
from foja.cli.parser.values import path


@cache  # many verbs share them
def shared_options() -> ArgumentParser:
    """Return the options that are allowed before and after the verb."""
    options = ArgumentParser(add_help=False, argument_default=SUPPRESS)
    options.add_argument("--home", type=path, help="folder of the embedded database, objects and keys")
    options.add_argument(
        "--database-url", metavar="URL", help="your own PostgreSQL 15+, connected as administrator"
    )
    return options


def add_force(verb: ArgumentParser) -> None:
    """Add the option that lets a verb replace the files that it writes."""
    verb.add_argument("--force", action="store_true", help="replace a file that exists")


def add_actor(verb: ArgumentParser) -> None:
    """Add the option that names who does it: the user of this machine, unless it is given."""
    text = "who does it; recorded (the local user)"
    verb.add_argument("--as", dest="actor", default=local_actor(), metavar="NAME", help=text)


class Verbs:
    """The verbs under a parser, which may run a function itself."""

    def __init__(self, parser: ArgumentParser, *, required: bool = False) -> None:
        self._parsers: Any = parser.add_subparsers(title="verbs", metavar="VERB", required=required)

    def add(
        self, run: str, sentence: str, examples: str, *, name: str | None = None, extra: str = "server"
    ) -> ArgumentParser:
        """Add the verb that runs `module:function` of `foja.cli`; without a name it is named `function`.

        `extra` is what is named if a package is missing.
        """
        verb: ArgumentParser = self._parsers.add_parser(
            name or run.partition(":")[2],
            help=sentence,
            description=sentence[:1].upper() + sentence[1:] + ".",
            epilog=f"examples:\n{examples}",
            formatter_class=RawDescriptionHelpFormatter,
            parents=[shared_options()],
        )
        verb.set_defaults(run=run, program=verb.prog, extra=extra)
        # No default: the default of a verb would override the value given to its parent.
        verb.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON, not text")
        return verb
