"""What a checked key, token or session gives: a principal, and until when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias
from uuid import UUID

from foja.pure.models.access.principal import Principal

Credential: TypeAlias = Literal["key", "session", "token", "local"]


@dataclass(frozen=True, slots=True)
class Signature:
    """Which key signed a token, and when the token expires by the clock of this process."""

    key: bytes
    expires: float


@dataclass(frozen=True, slots=True)
class Grant:
    """A principal with the credential that proved it. It is asked for again after `ends`."""

    principal: Principal
    credential: Credential
    digest: bytes = b""  # of the key, the cookie or the token
    id: str | UUID | None = None  # of the key or the session
    ends: float | None = None  # by the clock of this process; None: it does not expire by itself
    idle: float | None = None  # how many seconds without use end it
    version: int = -1  # of the changes that were known when it was checked
    signature: Signature | None = None  # of a token
