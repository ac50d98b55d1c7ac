"""The domains of an installation: Foja's own, those of users, and how a database gets them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path

from foja.engine.sql.access import repair
from foja.engine.sql.migrate import Moved, check_target, move, session
from foja.engine.sql.registration import register
from foja.engine.sql.steps import read_steps
from foja.errors import BadDomain, SetupFailed
from foja.pure.core.registry import RESERVED_DOMAINS, TRANSIENT_KINDS, Domain
from foja.pure.models.conversations.events import CONVERSATION
from foja.pure.models.documents.events import DOCUMENT
from foja.pure.models.images.events import IMAGE
from foja.pure.models.requests.events import REQUEST
from foja.pure.models.system.events import SYSTEM
from foja.pure.models.threads.events import THREAD

OWN = (CONVERSATION, DOCUMENT, IMAGE, REQUEST, SYSTEM, THREAD)


async def prepare(
    conn_url: str,
    domains: Sequence[Domain] = (),
    *,
    to: int | None = None,
    report: Callable[[str], None] | None = None,
) -> Moved:
    """Bring the schema to step `to`, or the newest, and then register Foja's domains and these."""
    domains = unique(domains)
    if domains and to is not None and to < len(read_steps()):
        raise BadDomain(f"domains need the newest schema; leave out `--to {to}`. Nothing was changed.")
    check_target(to)
    async with session(conn_url) as conn:  # one for everything: most starts find nothing to do
        moved = await move(conn, to, report)
        if moved.newest:
            restored = await repair(conn)
            if restored and report and moved.before:
                report(f"restored the roles and grants of {', '.join(restored)}")
            changed = await register(conn, [domain.definition() for domain in OWN], own=True)
            if domains:
                changed |= await register(conn, [domain.definition() for domain in domains])
            if changed:  # new sources have new roles
                await repair(conn)
    return moved


def unique(domains: Iterable[Domain]) -> list[Domain]:
    """Return these domains, the same one once; raise `BadDomain` if one is Foja's, or two have one name."""
    if not isinstance(domains, Iterable):
        raise BadDomain(f"{domains!r:.100} is not a list of domains; write domains=[…]")
    found: list[Domain] = []
    for domain in domains:
        if not isinstance(domain, Domain):
            raise BadDomain(f"{domain!r:.100} is not a foja.Domain; write domains=[INVOICE]")
        found += [] if domain in found else [domain]
        if shown := sorted({kind.name for kind in domain.kinds} & TRANSIENT_KINDS):
            raise BadDomain(f"the kind {shown[0]!r} is reserved for what is shown live; choose another")
    names = [domain.name for domain in found]
    for name in names:
        if name in RESERVED_DOMAINS:
            raise BadDomain(f"the domain name {name!r} is reserved; choose another")
        if names.count(name) > 1:
            raise BadDomain(f"two domains are named {name!r}; rename one")
    return found


def load(names: str) -> list[Domain]:
    """Return the domains at these places, written `module:NAME`, separated by spaces or commas."""
    return [_load(name) for name in names.replace(",", " ").split()]


def _load(name: str) -> Domain:
    module, _, attribute = name.partition(":")
    if not attribute.isidentifier() or not all(map(str.isidentifier, module.removesuffix(".py").split("."))):
        raise SetupFailed(f"{name!r} does not name a domain: expected module:NAME, as in billing:INVOICE")
    if module.endswith(".py"):
        advice = f"{module.removesuffix('.py')}:{attribute}"
        raise SetupFailed(f"{name!r} names a file; name its module, as in {advice}, and run in its folder")
    here = str(Path.cwd())
    if here not in sys.path:  # as `python -m` has it, which the installed command has not
        sys.path.insert(0, here)
    try:
        found = getattr(import_module(module), attribute)
    except (Exception, SystemExit) as error:  # it is the user's module: anything may happen there
        problem = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise SetupFailed(
            f"the domain {name} cannot be loaded: {problem}; correct FOJA_DOMAINS or --domains"
        ) from error
    if not isinstance(found, Domain):
        raise SetupFailed(
            f"{name} is of type {type(found).__name__}, not a foja.Domain; correct FOJA_DOMAINS or --domains"
        )
    return found
