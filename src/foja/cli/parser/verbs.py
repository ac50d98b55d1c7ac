"""Add a verb with its help, its examples and the options that every verb has."""

from __future__ import annotations

import sys
from argparse import (
    SUPPRESS,
    Action,
    ArgumentError,
    ArgumentParser,
    RawDescriptionHelpFormatter,
    _SubParsersAction,
)
from functools import cache
from typing import Any, NoReturn

from foja.access.local import local_actor
from foja.cli.output import escape
from foja.cli.parser.values import any_text, path


class Parser(ArgumentParser):
    """A parser that refuses empty values, and whose errors do not control the terminal."""

    def _get_values(self, action: Action, arg_strings: list[str]) -> Any:
        """Return what was given; an empty text is a mistake, for instance of a variable that is not set."""
        if "" in arg_strings and not (isinstance(action, _SubParsersAction) or action.type is any_text):
            raise ArgumentError(action, "an empty text is not a value; leave the argument out, or give one")
        return super()._get_values(action, arg_strings)

    def error(self, message: str) -> NoReturn:
        super().error(escape(message))

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help, or raise `OSError` if it cannot be written; argparse ignores that."""
        if file is sys.stdout:
            print(message, end="", flush=True)
        else:
            super()._print_message(message, file)


@cache  # many verbs share them
def shared_options() -> ArgumentParser:
    """Return the options that are allowed before and after the verb."""
    options = Parser(add_help=False, argument_default=SUPPRESS)
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
