"""From a digest to a token that was checked in full: authorities in turn, until one proves it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Protocol

from foja.metrics import TIMESTAMP_SECONDS, TIMESTAMPS
from foja.proofs.tsa import Checked, Terms, Timestamp, judge, request
from foja.remote.tsa import NoReply, Trouble

NONCE_BITS = 64
REST_SECONDS = 30.0
_seconds, _count = cache(TIMESTAMP_SECONDS.labels), cache(TIMESTAMPS.labels)  # looked up once for each


class TimestampAuthority(Protocol):
    """Somebody who can be asked: over HTTP, or in this process."""

    @property
    def name(self) -> str:
        """What to call it when something went wrong."""

    async def ask(self, query: bytes) -> bytes | NoReply:
        """Return its reply, or why none came."""


@dataclass(frozen=True, slots=True)
class AuthorityFailure:
    """What one authority did instead of proving it; `code` is a `Trouble` or a `Reason`."""

    authority: str
    code: str
    detail: str

    def __str__(self) -> str:
        return f"{self.authority}: {self.detail} ({self.code})"


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A reply that proves it, and what others did before."""

    reply: bytes
    stamp: Timestamp
    authority: str
    setbacks: tuple[AuthorityFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """Nobody proved it; asking again later may help."""

    setbacks: tuple[AuthorityFailure, ...]

    @property
    def code(self) -> str:
        """The reason of the authority that was asked first."""
        return self.setbacks[0].code

    @property
    def detail(self) -> str:
        """What every authority did, in a sentence."""
        return "; ".join(map(str, self.setbacks))


class Stamper:
    """Asks its authorities in order, each with a new nonce, and believes only what it checked."""

    def __init__(self, authorities: Sequence[TimestampAuthority], terms: Terms) -> None:
        self._authorities, self._terms = list(authorities), terms
        self._resting = dict[str, float]()

    async def stamp(self, digest: bytes, *, algorithm: str = "sha256") -> Confirmed | Unconfirmed:
        """Return a token over a digest, or what kept every authority from giving one."""
        setbacks = list[AuthorityFailure]()
        for authority in self._in_turn():
            found = await self._try(authority, digest, algorithm)
            if isinstance(found, AuthorityFailure):
                setbacks.append(found)
            else:
                return replace(found, setbacks=tuple(setbacks)) if setbacks else found
        return Unconfirmed(tuple(setbacks))

    def _in_turn(self) -> list[TimestampAuthority]:
        """Return everybody as configured, but last those who did not answer a moment ago."""
        if not self._resting:
            return self._authorities
        now = time.monotonic()
        return sorted(self._authorities, key=lambda each: self._resting.get(each.name, 0.0) > now)

    async def _try(
        self, authority: TimestampAuthority, digest: bytes, algorithm: str
    ) -> Confirmed | AuthorityFailure:
        began = time.monotonic()
        found = await self._asked(authority, digest, algorithm)
        if isinstance(found, AuthorityFailure) and found.code == Trouble.UNREACHABLE:
            # A connection that was kept may have been closed at the other end: the next one is new.
            found = await self._asked(authority, digest, algorithm)
        _seconds(authority.name).observe(time.monotonic() - began)
        _count(authority.name, "confirmed" if isinstance(found, Confirmed) else found.code).inc()
        return found

    async def _asked(
        self, authority: TimestampAuthority, digest: bytes, algorithm: str
    ) -> Confirmed | AuthorityFailure:
        nonce, since = secrets.randbits(NONCE_BITS), datetime.now(UTC)
        reply = await authority.ask(request(digest, nonce=nonce, algorithm=algorithm))
        if isinstance(reply, NoReply):
            self._resting[authority.name] = time.monotonic() + REST_SECONDS
            return AuthorityFailure(authority.name, reply.trouble, reply.detail)
        terms = self._terms.for_request(nonce, algorithm, since=since, at=datetime.now(UTC))
        return _outcome(authority.name, reply, judge(reply, digest, terms))


def _outcome(name: str, reply: bytes, checked: Checked) -> Confirmed | AuthorityFailure:
    if checked.verified and checked.stamp is not None:
        return Confirmed(reply, checked.stamp, name)
    finding = checked.finding
    return AuthorityFailure(name, finding.reason or finding.status, finding.detail)
