"""What is answered about access: who calls, and what was made or revoked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated


@dataclass(frozen=True, slots=True)
class Me:
    """Who sends this request."""

    actor: str
    name: Annotated[str | None, "for people who read; events have the actor"]
    tenant: str
    scopes: list[str]
    installation: bool
    credential: Annotated[str, "`key`, `token`, `session` or `local`"]


@dataclass(frozen=True, slots=True)
class NameList:
    """The names of actors, by actor. Those without a name are left out."""

    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key with its text, which is shown this once."""

    id: str
    key: str


@dataclass(frozen=True, slots=True)
class RotatedKey(NewKey):
    """A key with its new text."""

    overlap_until: Annotated[datetime, "until when the text before is valid"]


@dataclass(frozen=True, slots=True)
class Revoked:
    """What was revoked."""

    id: str
    revoked: Annotated[bool, "false if it was revoked before"]
