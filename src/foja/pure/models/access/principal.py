"""Who asks, for which tenant, and what they may do."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from foja.errors import NotAllowed


class Scope(StrEnum):
    """A right of a key, a token or a session. `admin` includes the others."""

    READ = "read"  # events, documents, galleries, jobs of the tenant
    WRITE = "write"  # append, add, protect, upload
    APPROVE = "approve"  # decide approvals
    OPERATE = "operate"  # jobs, anchors, metrics
    CLEANUP = "cleanup"  # look for orphans and stage them
    PURGE = "purge"  # delete orphans
    RETRY = "retry"  # start failed work again
    ADMIN = "admin"


ALL = frozenset(Scope)
OTHERS = ("key:", "local:")  # actors that were checked, and that no program acts for


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller whose key, token or session was checked."""

    tenant: str
    actor: str  # recorded with what it does, such as `key:8f3a2c` or `user:ana@example.org`
    scopes: frozenset[Scope]
    installation: bool = False  # whether `admin` covers what all tenants share: the log, job types, the store
    person: bool = False  # acts only under its own name; a program may act for the people that use it
    name: str | None = None  # for people who read, of the key or the person; it is not in the events

    def may(self, scope: Scope) -> bool:
        """Return whether this principal has a scope."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def check(self, scope: Scope, *, installation: bool = False) -> None:
        """Raise `NotAllowed` unless this principal has a scope, if asked for the whole installation."""
        if not self.may(scope):
            raise NotAllowed(f"this needs the scope `{scope}`; ask for a key that has it")
        if installation and not self.installation:
            raise NotAllowed(
                "this concerns all tenants; use a key made with `foja access create --installation`"
            )

    def author(self, named: str | None) -> str:
        """Return the actor to record: never none. A program may name another, a person may not."""
        if named not in (None, self.actor) and (self.person or str(named).startswith(OTHERS)):
            raise NotAllowed(f"you are {self.actor} and cannot write as {named!r}; leave `actor` out")
        return named or self.actor


def parse_scopes(names: Collection[str]) -> frozenset[Scope]:
    """Return these scopes, or raise `NotAllowed` for a name that is not one."""
    unknown = sorted(set(names) - set(Scope))
    if unknown:
        raise NotAllowed(f"unknown scope {unknown[0]!r}: expected {', '.join(Scope)}")
    return frozenset(map(Scope, names))
