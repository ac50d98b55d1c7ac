"""Stamp a digest: ask the authorities in order until one returns a token that passes every check."""

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
SKIP_SECONDS = 30.0
_seconds, _count = cache(TIMESTAMP_SECONDS.labels), cache(TIMESTAMPS.labels)  # looked up once for each


class TimestampAuthority(Protocol):
    """A timestamp authority: over HTTP, or in this process."""

    @property
    def name(self) -> str:
        """Its name in messages and metrics."""

    async def ask(self, query: bytes) -> bytes | NoReply:
        """Return its reply, or why there is none."""


@dataclass(frozen=True, slots=True)
class AuthorityFailure:
    """Why one authority gave no valid token; `code` is a `Trouble` or a `Reason`."""

    authority: str
    code: str
    detail: str

    def __str__(self) -> str:
        return f"{self.authority}: {self.detail} ({self.code})"


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A reply with a valid token, and the failures before it."""

    reply: bytes
    stamp: Timestamp
    authority: str
    failures: tuple[AuthorityFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """No authority gave a valid token; a later attempt may succeed."""

    failures: tuple[AuthorityFailure, ...]

    @property
    def code(self) -> str:
        """The reason of the authority that was asked first."""
        return self.failures[0].code

    @property
    def detail(self) -> str:
        """The failure of every authority, in a sentence."""
        return "; ".join(map(str, self.failures))


class Stamper:
    """Asks its authorities in order, each with a new nonce, and checks every reply."""

    def __init__(self, authorities: Sequence[TimestampAuthority], terms: Terms) -> None:
        self._authorities, self._terms = list(authorities), terms
        self._skipped = dict[str, float]()

    async def stamp(self, digest: bytes, *, algorithm: str = "sha256") -> Confirmed | Unconfirmed:
        """Return a token over a digest, or the failure of every authority."""
        failures = list[AuthorityFailure]()
        for authority in self._in_order():
            found = await self._try(authority, digest, algorithm)
            if isinstance(found, AuthorityFailure):
                failures.append(found)
            else:
                return replace(found, failures=tuple(failures)) if failures else found
        return Unconfirmed(tuple(failures))

    def _in_order(self) -> list[TimestampAuthority]:
        """Return the authorities as configured, but last those that did not answer recently."""
        if not self._skipped:
            return self._authorities
        now = time.monotonic()
        return sorted(self._authorities, key=lambda each: self._skipped.get(each.name, 0.0) > now)

    async def _try(
        self, authority: TimestampAuthority, digest: bytes, algorithm: str
    ) -> Confirmed | AuthorityFailure:
        began = time.monotonic()
        found = await self._ask(authority, digest, algorithm)
        if isinstance(found, AuthorityFailure) and found.code == Trouble.UNREACHABLE:
            # The server may have closed an idle connection: the next one is new.
            found = await self._ask(authority, digest, algorithm)
        _seconds(authority.name).observe(time.monotonic() - began)
        _count(authority.name, "confirmed" if isinstance(found, Confirmed) else found.code).inc()
        return found

    async def _ask(
        self, authority: TimestampAuthority, digest: bytes, algorithm: str
    ) -> Confirmed | AuthorityFailure:
        nonce, since = secrets.randbits(NONCE_BITS), datetime.now(UTC)
        reply = await authority.ask(request(digest, nonce=nonce, algorithm=algorithm))
        if isinstance(reply, NoReply):
            self._skipped[authority.name] = time.monotonic() + SKIP_SECONDS
            return AuthorityFailure(authority.name, reply.trouble, reply.detail)
        terms = self._terms.for_request(nonce, algorithm, since=since, at=datetime.now(UTC))
        return _outcome(authority.name, reply, judge(reply, digest, terms))


def _outcome(name: str, reply: bytes, checked: Checked) -> Confirmed | AuthorityFailure:
    if checked.verified and checked.stamp is not None:
        return Confirmed(reply, checked.stamp, name)
    finding = checked.finding
    return AuthorityFailure(name, finding.reason or finding.status, finding.detail)
