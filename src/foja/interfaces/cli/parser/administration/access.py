"""The command `foja access`."""

from __future__ import annotations

from foja.interfaces.cli.parser.commands import ACTOR, Argument, command

COMMANDS = (
    command(
        "access",
        "access.keys",
        "make, list, revoke and rotate access keys for HTTP",
        "foja access create --scopes admin --installation --name ops\nfoja access",
    ),
    command(
        "access revoke",
        "choices:revoke",
        "revoke a key or a session: it ends everywhere within a second",
        "foja access revoke 3k9x0d2m1q7a",
        Argument("ID", "as `foja access list` shows it"),
        ACTOR,
    ),
)
