"""The domains of an installation: Foja's own, those of users, and how a database gets them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path

from foja.conversations.model.events import CONVERSATION
from foja.core.registry import RESERVED_DOMAINS, Domain
from foja.documents.model.events import DOCUMENT
from foja.errors import BadDomain, SetupFailed
from foja.sql.migrate import Moved, migrate
from foja.sql.registration import register
from foja.threads.model.events import THREAD

OWN = (CONVERSATION, DOCUMENT, THREAD)


async def prepare(
    conn_url: str,
    domains: Sequence[Domain] = (),
    *,
    to: int | None = None,
    report: Callable[[str], None] | None = None,
) -> Moved:
    """Bring the schema to step `to`, or the newest, and then register Foja's domains and these."""
    check(domains)
    moved = await migrate(conn_url, to, report)
    if moved.newest:
        await register(conn_url, [domain.definition() for domain in OWN], own=True)
        if domains:
            await register(conn_url, [domain.definition() for domain in domains])
    elif domains:
        raise BadDomain(f"domains need the newest schema; leave out `--to {to}`")
    return moved


def check(domains: Iterable[Domain]) -> None:
    """Raise `BadDomain` if one of these domains is Foja's own, or named twice."""
    names = [domain.name for domain in domains]
    for name in names:
        if name in RESERVED_DOMAINS:
            raise BadDomain(f"the domain name {name!r} is reserved; choose another")
        if names.count(name) > 1:
            raise BadDomain(f"two domains are named {name!r}; rename one")


def load(names: str) -> list[Domain]:
    """Return the domains at these places, written `module:NAME`, separated by spaces or commas."""
    return [_load(name) for name in names.replace(",", " ").split()]


def _load(name: str) -> Domain:
    module, _, attribute = name.partition(":")
    if not (module and attribute):
        raise SetupFailed(f"{name!r} does not name a domain: expected module:NAME, as in billing:INVOICE")
    here = str(Path.cwd())
    if here not in sys.path:  # as `python -m` has it, which the installed command has not
        sys.path.insert(0, here)
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise SetupFailed(f"the domain {name} cannot be loaded: {error}; correct FOJA_DOMAINS") from error
    if not isinstance(found, Domain):
        raise SetupFailed(f"{name} is a {type(found).__name__}, not a foja.Domain; correct FOJA_DOMAINS")
    return found
