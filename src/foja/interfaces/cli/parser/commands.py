"""A command as a value, and what commands take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foja.domains.access.local import local_actor
from foja.interfaces.cli.parser.values import positive

NO_DEFAULTS: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True)
class Argument:
    """What a command takes, as a line of usage names it.

    `FILE` must be given, `[FILE]` may be, `FILE...` stands for several. `--tiles` is a flag, `--[no-]worker`
    is on or off, `-o --output FILE` takes a value, and `--trust FILE...` may be repeated. Nothing stands for
    the choices.
    """

    usage: str
    help: str | None = None
    type: Callable[[str], Any] = str
    parameter: str | None = None  # where the command finds it, if not by its name
    choices: Sequence[str] | None = None
    default: object = None
    required: bool = False  # of an option


@dataclass(frozen=True, slots=True)
class OneOf:
    """Arguments of which only one may be given."""

    arguments: tuple[Argument, ...]
    required: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """What follows `foja` on a command line; a command of one word may have verbs."""

    words: str
    run: str  # `module:function` of this package, or the name of an operation
    sentence: str
    examples: str
    arguments: tuple[Argument | OneOf, ...]  # without any, those of the operation
    defaults: Mapping[str, object]  # of what it does not take
    extra: str  # what is named if a package is missing


def command(
    words: str,
    run: str,
    sentence: str,
    examples: str,
    *arguments: Argument | OneOf,
    defaults: Mapping[str, object] = NO_DEFAULTS,
    extra: str = "server",
) -> Command:
    """Return a command."""
    return Command(words, run, sentence, examples, arguments, defaults, extra)


FORCE = Argument("--force", "replace a file that exists")
ACTOR = Argument("--as NAME", "who does it; recorded (the local user)", str, "actor", default=local_actor())
OUTPUT = Argument("-o --output FILE", "the file to write", Path, required=True)
SAVE = Argument("-o --output FILE", "write it to a file", Path)
LIMIT = Argument("--limit LIMIT", "at most this many (100)", positive, default=100)
REASON = Argument("--reason REASON", "the reason, which is recorded")
LISTEN = Argument("--host HOST", "the address to listen on (127.0.0.1)", default="127.0.0.1")
EXPOSE = Argument("--expose", "accept requests from other machines, without authentication")
