"""The command `foja access`."""

from __future__ import annotations

from datetime import timedelta

from foja.interfaces.cli.parser.commands import ACTOR, Argument, command
from foja.interfaces.cli.parser.values import expiry, scopes
from foja.pure.models.access.key import LIFETIME, parse_duration
from foja.pure.models.access.principal import Scope

ID = Argument("ID", "as `foja access list` shows it")
COMMANDS = (
    command(
        "access",
        "access.keys",
        "make, list, revoke and rotate access keys for HTTP",
        "foja access create --scopes admin --installation --name ops\nfoja access",
    ),
    command(
        "access create",
        "access.access:create",
        "make a key and print it, once; from then on, every HTTP request needs a key or a login",
        "foja access create --scopes read,write --name crm\n"
        "foja access create --scopes admin --installation     for all tenants\n"
        "foja access create --scopes operate --installation --name prometheus --expires 30d --json",
        Argument(
            "--scopes LIST",
            f"what it may do (read): {', '.join(Scope)}; `admin` includes the others",
            scopes,
            default=[Scope.READ],
        ),
        Argument("--tenant NAME", "its tenant (FOJA_TENANT, or default)"),
        Argument("--name TEXT", "what it is for", default=""),
        Argument("--installation", "it also covers what all tenants share"),
        Argument(
            "--expires WHEN",
            "a time, a duration such as 12h or 90d, or `never` (365d)",
            expiry,
            default=LIFETIME,
        ),
        ACTOR,
    ),
    command(
        "access revoke",
        "access.access:revoke",
        "revoke a key or a session: it ends everywhere within a second",
        "foja access revoke 3k9x0d2m1q7a",
        ID,
        ACTOR,
    ),
    command(
        "access rotate",
        "access.access:rotate",
        "give a key a new secret; the one before stays valid for a while",
        "foja access rotate 3k9x0d2m1q7a --overlap 1h",
        Argument("--overlap TIME", "how long (1d)", parse_duration, default=timedelta(days=1)),
        ID,
        ACTOR,
    ),
)
