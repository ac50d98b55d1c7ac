"""What is answered about who calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
