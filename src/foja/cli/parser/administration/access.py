"""The parser of `foja access`."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from datetime import UTC, datetime, timedelta

from foja.access.model.principal import Scope
from foja.cli.parser.values import moment, positive
from foja.cli.parser.verbs import Verbs, add_actor

_DURATION = re.compile(r"(\d{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
EXPIRES = "365d"


def add_access(verbs: Verbs) -> None:
    """Add the verb `access` and its verbs; without a verb the keys are listed."""
    access = verbs.add(
        "access.access:listing",
        "make, list, revoke and rotate access keys for HTTP",
        "  foja access create --scopes admin --installation --name ops\n  foja access",
        name="access",
    )
    access.set_defaults(tenant=None, limit=100)
    inner = Verbs(access)
    _add_create(inner)
    listing = inner.add(
        "access.access:listing", "list the keys, newest first", "  foja access list --json", name="list"
    )
    sessions = inner.add(
        "access.access:sessions",
        "list the people who are logged in",
        "  foja access sessions\n  foja access revoke SESSION",
    )
    for parser in (listing, sessions):
        parser.add_argument("--tenant", metavar="NAME", help="only of this tenant")
        parser.add_argument("--limit", type=positive, default=100, help="at most this many (100)")
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
        default=EXPIRES,
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
    found = _DURATION.fullmatch(text)
    if not found:
        raise ArgumentTypeError(f"{text!r} is not a duration: expected 90d, 12h, 30m or 45s")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def expiry(text: str) -> datetime | None:
    """Return when something expires: a time, a duration from now, or None for `never`."""
    if text == "never":
        return None
    if _DURATION.fullmatch(text):
        return datetime.now(UTC) + duration(text)
    if (found := moment(text)) <= datetime.now(UTC):
        raise ArgumentTypeError(f"{text!r} has passed: expected a later time")
    return found
