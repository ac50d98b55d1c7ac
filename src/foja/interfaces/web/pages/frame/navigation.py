"""The pages that the navigation lists, in its groups, and who may open each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from foja.pure.models.access.principal import Principal, Scope


@dataclass(frozen=True, slots=True)
class Entry:
    """One page: its name in the table of texts, its address, and what its reader needs."""

    name: str
    path: str
    scope: Scope | None = Scope.READ  # None: anyone
    installation: bool = False  # it shows what all tenants share

    def is_open_to(self, principal: Principal | None) -> bool:
        """Return whether the navigation shows this page to a principal."""
        if self.scope is None or principal is None:
            return self.scope is None
        return principal.may(self.scope) and (principal.installation or not self.installation)


GROUPS: Final[Sequence[tuple[str, Sequence[Entry]]]] = (
    (
        "nav_work",
        (
            Entry("nav_overview", "/"),
            Entry("nav_documents", "/documents"),
            Entry("nav_conversations", "/conversations"),
            Entry("nav_galleries", "/galleries"),
            Entry("nav_verify", "/verify", None),
        ),
    ),
    (
        "nav_operations",
        (
            Entry("nav_jobs", "/jobs"),
            Entry("nav_anchors", "/anchors", Scope.OPERATE, installation=True),
            Entry("nav_hygiene", "/hygiene", Scope.CLEANUP, installation=True),
            Entry("nav_ledger", "/ledger"),
            Entry("nav_alerts", "/alerts", Scope.OPERATE),
            Entry("nav_access", "/access", Scope.ADMIN),
        ),
    ),
)


def is_current(entry: Entry, path: str) -> bool:
    """Return whether an address is that of a page, or below it."""
    return path == entry.path or (entry.path != "/" and path.startswith(f"{entry.path}/"))
