"""Build the parsers of argparse from commands."""

from __future__ import annotations

import sys
from argparse import (
    SUPPRESS,
    Action,
    ArgumentError,
    ArgumentParser,
    BooleanOptionalAction,
    RawDescriptionHelpFormatter,
    _ActionsContainer,
    _SubParsersAction,
)
from collections.abc import Iterable
from functools import cache
from textwrap import indent
from typing import Any, NoReturn, TypeAlias

from foja.errors import BadPayload
from foja.interfaces.cli.output import escape
from foja.interfaces.cli.parser.commands import Argument, Command, OneOf
from foja.interfaces.cli.parser.values import any_text, path

ACT = "acts:act"  # what runs an operation


class Parser(ArgumentParser):
    """A parser that refuses empty values, and whose errors do not control the terminal."""

    def _get_values(self, action: Action, arg_strings: list[str]) -> Any:
        """Return what was given; an empty text is a mistake, for instance of a variable that is not set."""
        if "" in arg_strings and not (isinstance(action, _SubParsersAction) or action.type is any_text):
            raise ArgumentError(action, "an empty text is not a value; leave the argument out, or give one")
        return super()._get_values(action, arg_strings)

    def _get_value(self, action: Action, arg_string: str) -> Any:
        """Return a value as its type; what the type refuses is wrong usage."""
        try:
            return super()._get_value(action, arg_string)
        except BadPayload as error:
            raise ArgumentError(action, str(error)) from None

    def error(self, message: str) -> NoReturn:
        super().error(escape(message))

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help, or raise `OSError` if it cannot be written; argparse ignores that."""
        if file is sys.stdout:
            print(message, end="", flush=True)
        else:
            super()._print_message(message, file)


Verbs: TypeAlias = "_SubParsersAction[Parser]"


@cache  # many verbs share them
def shared_options() -> Parser:
    """Return the options that are allowed before and after the verb."""
    options = Parser(add_help=False, argument_default=SUPPRESS)
    options.add_argument("--home", type=path, help="folder of the embedded database, objects and keys")
    options.add_argument(
        "--database-url", metavar="URL", help="your own PostgreSQL 15+, connected as administrator"
    )
    return options


def add_commands(parser: Parser, commands: Iterable[Command]) -> None:
    """Add commands in their order; one of two words comes after the one of its first word."""
    groups = {"": _add_verbs(parser, required=True)}
    for command in commands:
        group, _, name = command.words.rpartition(" ")
        if group not in groups:
            groups[group] = _add_verbs(groups[""].choices[group])
        _add_command(groups[group], name, command)


def _add_verbs(parser: Parser, *, required: bool = False) -> Verbs:
    return parser.add_subparsers(title="verbs", metavar="VERB", required=required)


def _add_command(verbs: Verbs, name: str, command: Command) -> None:
    parser = verbs.add_parser(
        name,
        help=command.sentence,
        description=f"{command.sentence[:1].upper()}{command.sentence[1:]}.",
        epilog=f"examples:\n{indent(command.examples, '  ')}",
        formatter_class=RawDescriptionHelpFormatter,
        parents=[shared_options()],
    )
    run = command.run if ":" in command.run else ACT
    parser.set_defaults(run=run, program=parser.prog, extra=command.extra, **command.defaults)
    # No default: the default of a verb would override the value given to its parent.
    parser.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON, not text")
    if run == ACT:
        parser.set_defaults(operation=command.run)
    for each in command.arguments:
        within: _ActionsContainer = parser
        if isinstance(each, OneOf):
            within = parser.add_mutually_exclusive_group(required=each.required)
        for argument in each.arguments if isinstance(each, OneOf) else (each,):
            _add_argument(within, argument, argument.default if run != ACT else SUPPRESS)


def _add_argument(parser: _ActionsContainer, argument: Argument, default: object) -> None:
    words = argument.usage.split()
    names = [word.replace("[no-]", "") for word in words if word.startswith("-")]
    value = argument.usage if not names else "" if words[-1].startswith("-") else words[-1]
    optional, several = value.startswith("["), value.endswith(("...", "...]"))
    if several and default is None:
        default = []
    more: dict[str, Any] = {"default": default, "help": argument.help}
    if value or argument.choices:
        more |= {"type": argument.type, "choices": argument.choices, "metavar": value.strip("[].") or None}
    elif "[no-]" in argument.usage:
        more["action"] = BooleanOptionalAction
    else:
        more |= {"action": "store_true", "default": default or False}
    if names:
        more |= {"dest": argument.parameter, "required": argument.required}
        if several:
            more["action"] = "append"
        elif optional:
            more |= {"nargs": "?", "const": True}  # a text would have to be one of the choices
    else:
        names = [argument.parameter or more["metavar"].lower()]
        more["nargs"] = ("*" if optional else "+") if several else "?" if optional else None
    parser.add_argument(*names, **more)
