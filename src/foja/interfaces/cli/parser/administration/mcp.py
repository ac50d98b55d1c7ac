"""The parser of `foja mcp`."""

from __future__ import annotations

from argparse import BooleanOptionalAction

from foja.interfaces.cli.parser.values import path
from foja.interfaces.cli.parser.verbs import Verbs
from foja.pure.models.access.principal import Scope


def add_mcp(verbs: Verbs) -> None:
    """Add the verb `mcp`."""
    mcp = verbs.add(
        "mcp.serve:serve",
        "serve an AI agent over the Model Context Protocol, on standard input and output",
        "  foja mcp --root ~/contracts\n"
        "  foja mcp --scope read                       read and verify only\n"
        "Over HTTP, `foja web` and `foja up` serve the same tools at /mcp.",
        name="mcp",
        extra="mcp",
    )
    mcp.add_argument("--root", type=path, metavar="DIR", help="the folder whose files tools may use (none)")
    mcp.add_argument(
        "--scope",
        action="append",
        choices=list(map(str, Scope)),
        metavar="SCOPE",
        help="what the agent may do: read, write, …; repeat for more (read and write)",
    )
    mcp.add_argument(
        "--as", dest="actor", default="mcp", metavar="NAME", help="who is recorded as the author (mcp)"
    )
    mcp.add_argument(
        "--worker",
        action=BooleanOptionalAction,
        default=True,
        help="seal, timestamp and publish in this process; --no-worker if `foja worker` runs elsewhere",
    )
