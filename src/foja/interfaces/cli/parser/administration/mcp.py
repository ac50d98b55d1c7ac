"""The command `foja mcp`."""

from __future__ import annotations

from foja.interfaces.cli.parser.commands import Argument, command
from foja.interfaces.cli.parser.values import path
from foja.pure.models.access.principal import Scope

COMMANDS = (
    command(
        "mcp",
        "mcp.serve:serve",
        "serve an AI agent over the Model Context Protocol, on standard input and output",
        "foja mcp --root ~/contracts\n"
        "foja mcp --scope read                       read and verify only\n"
        "Over HTTP, `foja web` and `foja up` serve the same tools at /mcp.",
        Argument("--root DIR", "the folder whose files tools may use (none)", path),
        Argument(
            "--scope SCOPE...",
            "what the agent may do: read, write, …; repeat for more (read and write)",
            choices=tuple(map(str, Scope)),
        ),
        Argument("--as NAME", "who is recorded as the author (mcp)", parameter="actor", default="mcp"),
        Argument(
            "--[no-]worker",
            "seal, timestamp and publish in this process; --no-worker if `foja worker` runs elsewhere",
            default=True,
        ),
        extra="mcp",
    ),
)
