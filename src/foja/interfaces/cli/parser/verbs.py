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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn
from uuid import UUID

from foja.domains.access.local import local_actor
from foja.interfaces.cli.output import escape
from foja.interfaces.cli.parser.values import any_text, number, path, positive, seconds

ACT = "acts:act"  # what runs a command that does one act


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


@dataclass(frozen=True, slots=True)
class Argument:
    """What a command takes for an act; an option begins with `--`."""

    parameter: str
    name: str
    kind: str
    several: bool = False
    choices: tuple[str, ...] | None = None
    help: str | None = None
    default: object = None


@dataclass(frozen=True, slots=True)
class Act:
    """A command that does one act."""

    verb: str
    operation: str
    sentence: str
    examples: str
    arguments: tuple[Argument, ...]
    actor: bool  # whether it is recorded who does it

    def add_to(self, parser: ArgumentParser) -> None:
        """Add its arguments; a default of an inner verb would override what was given to its parent."""
        parser.set_defaults(operation=self.operation)
        for each in self.arguments:
            more: dict[str, Any] = {"nargs": "*"} if each.several else {}
            if named := each.name.startswith("--"):
                more["dest"] = each.parameter
            words = each.help or ""
            if each.default is not None:
                words = f"{words} ({each.default})".strip()
            parser.add_argument(
                each.name if named else each.parameter,
                metavar=_metavar(each),
                type=KINDS[each.kind],
                choices=each.choices,
                default=SUPPRESS,
                help=words or None,
                **more,
            )
        if self.actor:
            add_actor(parser)


KINDS: dict[str, Callable[[str], Any]] = {
    "text": str,
    "number": number,
    "positive": positive,
    "seconds": seconds,
    "id": UUID,
}


def _metavar(argument: Argument) -> str | None:
    named = argument.name.startswith("--")
    return None if named and argument.choices else argument.name.removeprefix("--").upper().replace("-", "_")


def add_acts(
    verbs: Verbs, name: str, sentence: str, examples: str, *, without: str, acts: Sequence[Act]
) -> Verbs:
    """Add a verb with the verbs of its acts; `without` a verb it does this one."""
    group = verbs.add(ACT, sentence, examples, name=name)
    inner = Verbs(group)
    for act in acts:
        words = act.verb.split()
        if words[0] == name:
            lines = "\n".join(f"  {line}" for line in act.examples.splitlines())
            if words[1:]:
                act.add_to(inner.add(ACT, act.sentence, lines, name=words[1]))
            if act.verb == without:
                act.add_to(group)
    return inner


class Verbs:
    """The verbs under a parser, which may run a function itself."""

    def __init__(self, parser: ArgumentParser, *, required: bool = False) -> None:
        self._parsers: Any = parser.add_subparsers(title="verbs", metavar="VERB", required=required)

    def add(
        self, run: str, sentence: str, examples: str, *, name: str | None = None, extra: str = "server"
    ) -> ArgumentParser:
        """Add the verb that runs `module:function` of this package; without a name it is `function`.

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
