"""The parser of `foja access`."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import UTC, datetime, timedelta

from foja.errors import BadPayload
from foja.interfaces.cli.parser.acts import ACTS
from foja.interfaces.cli.parser.verbs import Verbs, add_actor, add_acts
from foja.pure.models.access.key import LIFETIME, parse_duration, parse_end
from foja.pure.models.access.principal import Scope


def add_access(verbs: Verbs) -> None:
    """Add the verb `access` and its verbs; without a verb the keys are listed."""
    inner = add_acts(
        verbs,
        "access",
        "make, list, revoke and rotate access keys for HTTP",
        "  foja access create --scopes admin --installation --name ops\n  foja access",
        without="access list",
        acts=ACTS,
    )
    _add_create(inner)
    revoke = inner.add(
        "access.access:revoke",
        "revoke a key or a session: it ends everywhere within a second",
        "  foja access revoke 3k9x0d2m1q7a",
    )
    rotate = inner.add(
        "access.access:rotate",
        "give a key a new secret; the one before stays valid for a while",
        "  foja access rotate 3k9x0d2m1q7a --overlap 1h",
    )
    rotate.add_argument(
        "--overlap", type=duration, default=timedelta(days=1), metavar="TIME", help="how long (1d)"
    )
    for parser in (revoke, rotate):
        parser.add_argument("id", metavar="ID", help="as `foja access list` shows it")
        add_actor(parser)


def _add_create(inner: Verbs) -> None:
    create = inner.add(
        "access.access:create",
        "make a key and print it, once; from then on, every HTTP request needs a key or a login",
        "  foja access create --scopes read,write --name crm\n"
        "  foja access create --scopes admin --installation     for all tenants\n"
        "  foja access create --scopes operate --installation --name prometheus --expires 30d --json",
    )
    create.add_argument(
        "--scopes",
        type=scopes,
        default=[Scope.READ],
        metavar="LIST",
        help=f"what it may do (read): {', '.join(Scope)}; `admin` includes the others",
    )
    create.add_argument("--tenant", metavar="NAME", help="its tenant (FOJA_TENANT, or default)")
    create.add_argument("--name", default="", metavar="TEXT", help="what it is for")
    create.add_argument("--installation", action="store_true", help="it also covers what all tenants share")
    create.add_argument(
        "--expires",
        type=expiry,
        default=LIFETIME,
        metavar="WHEN",
        help="a time, a duration such as 12h or 90d, or `never` (365d)",
    )
    add_actor(create)


def scopes(text: str) -> list[Scope]:
    """Return scopes that are separated by commas."""
    names = [name for name in text.replace(",", " ").split() if name]
    if unknown := [name for name in names if name not in set(Scope)] or ([] if names else [text]):
        raise ArgumentTypeError(f"{unknown[0]!r} is not a scope: expected {', '.join(Scope)}")
    return [Scope(name) for name in dict.fromkeys(names)]


def duration(text: str) -> timedelta:
    """Return a duration such as `90d`, `12h`, `30m` or `45s`."""
    try:
        return parse_duration(text)
    except BadPayload as error:
        raise ArgumentTypeError(str(error)) from None


def expiry(text: str) -> datetime | None:
    """Return when something expires: a time, a duration from now, or None for `never`."""
    now = datetime.now(UTC)
    try:
        found = parse_end(text, now)
    except BadPayload as error:
        raise ArgumentTypeError(str(error)) from None
    if found and found <= now:
        raise ArgumentTypeError(f"{text!r} has passed: expected a later time")
    return found
