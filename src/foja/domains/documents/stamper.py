"""Stamp a digest: ask the authorities in order until one returns a token that passes every check."""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from typing import Protocol, TypeAlias

from foja.engine.faults import Reports, unreported
from foja.engine.metrics import TIMESTAMP_SECONDS, TIMESTAMPS
from foja.engine.remote.tsa import NoReply, Trouble
from foja.errors import Unavailable
from foja.pure.core.bundle.record import RecordedEvent
from foja.pure.models.documents.tokens import read_token
from foja.pure.proofs.ers.record import MAX_BYTES
from foja.pure.proofs.finding import Finding, Status
from foja.pure.proofs.tsa import Terms, Timestamp, judge, request
from foja.pure.proofs.tsa.oids import SIZES

NONCE_BITS = 64
REMEMBERED = 10_000  # tokens: an executor may be that far behind
SKIP_SECONDS = 30.0
MAX_BATCH_TOKEN = MAX_BYTES - 4096  # bytes; the rest is for the hashes of an evidence record
_seconds, _count = cache(TIMESTAMP_SECONDS.labels), cache(TIMESTAMPS.labels)  # looked up once for each


Clock: TypeAlias = Callable[[], Awaitable[datetime]]


async def _system_time() -> datetime:
    return datetime.now(UTC)


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
    """A valid token, and the failures before it."""

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


def without_large(found: Confirmed | Unconfirmed) -> Confirmed | Unconfirmed:
    """Return the same, but a token that no evidence record has room for is a failure."""
    if isinstance(found, Unconfirmed) or len(found.stamp.token) <= MAX_BATCH_TOKEN:
        return found
    detail = f"its token has {len(found.stamp.token):,} bytes, too many for an evidence record"
    return Unconfirmed((AuthorityFailure(found.authority, "TOO_LARGE", detail),))


class Stamper:
    """Asks its authorities in order, each with a new nonce, and checks every reply."""

    def __init__(
        self,
        authorities: Sequence[TimestampAuthority],
        terms: Terms,
        clock: Clock | None = None,
        report: Reports = unreported,
    ) -> None:
        """Take the clock that tokens are compared with; without one it is that of this machine."""
        self._report = report
        self.authorities, self.terms = list(authorities), terms
        self._now = clock or _system_time
        self._skipped = dict[str, float]()
        self._verified = dict[bytes, Timestamp]()  # by the digest of the token, the newest last

    def check(self, event: RecordedEvent, at: datetime) -> Finding:
        """Return what the token that any program recorded proves now; one that was verified here is known."""
        token = read_token(event)
        if isinstance(token, Finding):
            return token
        known = self._verified.get(sha256(token.data).digest())
        if known is not None and token.is_about(known):
            return Finding("tsa", Status.VERIFIED)
        checked = token.judge(replace(self.terms, at=at))
        if checked.verified and checked.stamp is not None:
            self._remember(token.data, checked.stamp)
        return checked.finding

    def _remember(self, token: bytes, stamp: Timestamp) -> None:
        if len(self._verified) >= REMEMBERED:
            del self._verified[next(iter(self._verified))]
        self._verified[sha256(token).digest()] = stamp._replace(token=b"")

    async def stamp(self, digest: bytes) -> Confirmed | Unconfirmed:
        """Return a token over a digest, or the failure of every authority."""
        failures = list[AuthorityFailure]()
        for authority in self._in_order():
            found = await self._try(authority, digest)
            if isinstance(found, AuthorityFailure):
                failures.append(found)
            else:
                return replace(found, failures=tuple(failures)) if failures else found
        return Unconfirmed(tuple(failures))

    async def token(self, digest: bytes) -> bytes:
        """Return a token over a digest, or raise `Unavailable`."""
        found = await self.stamp(digest)
        if isinstance(found, Confirmed):
            return found.stamp.token
        raise Unavailable(f"no authority gave a timestamp: {found.detail}; it is tried again")

    async def probe(self, authority: TimestampAuthority) -> None:
        """Ask one authority for a token over random bytes, which nobody keeps."""
        await self._try(authority, secrets.token_bytes(SIZES[self.terms.algorithm]))

    def _in_order(self) -> list[TimestampAuthority]:
        """Return the authorities as configured, but last those that did not answer recently."""
        if not self._skipped:
            return self.authorities
        now = time.monotonic()
        return sorted(self.authorities, key=lambda each: self._skipped.get(each.name, 0.0) > now)

    async def _try(self, authority: TimestampAuthority, digest: bytes) -> Confirmed | AuthorityFailure:
        began = time.monotonic()
        found = await self._ask(authority, digest)
        if isinstance(found, AuthorityFailure) and found.code == Trouble.UNREACHABLE:
            # The server may have closed an idle connection: the next one is new.
            found = await self._ask(authority, digest)
        _seconds(authority.name).observe(time.monotonic() - began)
        _count(authority.name, "confirmed" if isinstance(found, Confirmed) else found.code).inc()
        failed = Unavailable(found.detail) if isinstance(found, AuthorityFailure) else None
        if failed and isinstance(found, AuthorityFailure):
            failed.code = found.code
        self._report(f"authority:{authority.name}", failed)
        return found

    async def _ask(self, authority: TimestampAuthority, digest: bytes) -> Confirmed | AuthorityFailure:
        nonce, since = secrets.randbits(NONCE_BITS), await self._now()
        reply = await authority.ask(request(digest, nonce=nonce, algorithm=self.terms.algorithm))
        if isinstance(reply, NoReply):
            self._skipped[authority.name] = time.monotonic() + SKIP_SECONDS
            return AuthorityFailure(authority.name, reply.trouble, reply.detail)
        terms = replace(self.terms, nonce=nonce, since=since, at=await self._now())
        checked = judge(reply, digest, terms)
        if checked.verified and checked.stamp is not None:
            self._remember(checked.stamp.token, checked.stamp)
            return Confirmed(checked.stamp, authority.name)
        finding = checked.finding
        return AuthorityFailure(authority.name, finding.reason or finding.status, finding.detail)
