"""Keys and sessions as an administrator sees them, in Python, over HTTP and in a terminal."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated
from uuid import UUID

from foja.pure.pages import Rows


@dataclass(frozen=True, slots=True)
class KeyView:
    """A key as an administrator sees it; its secret was shown once."""

    id: str
    tenant: str
    name: str
    scopes: list[str]
    installation: Annotated[bool, "whether it covers what all tenants share"]
    created_at: datetime
    created_by: str | None
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: Annotated[datetime | None, "noted at most once a minute"]


@dataclass(frozen=True, slots=True)
class KeyList(Rows[KeyView]):
    """The newest keys, newest first."""

    keys: list[KeyView]


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session that is not over."""

    id: UUID
    tenant: str
    actor: str
    scopes: list[str]
    installation: bool
    key_id: Annotated[str | None, "the key that it was opened with"]
    created_at: datetime
    seen_at: datetime
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class SessionList(Rows[SessionView]):
    """The newest sessions, newest first."""

    sessions: list[SessionView]


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key with its text, which is shown this once."""

    id: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class CreatedKey(NewKey):
    """A new key with its text, and what it may do."""

    tenant: str
    scopes: list[str]
    installation: bool
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class RotatedKey(NewKey):
    """A key with its new text."""

    overlap_until: Annotated[datetime, "until when the text before is valid"]


@dataclass(frozen=True, slots=True)
class Revoked:
    """What was revoked."""

    id: str
    revoked: Annotated[bool, "false if it was revoked before"]

    def __bool__(self) -> bool:
        return self.revoked
