"""Tokens per second of every authority with one client, and the time to check a token."""

from __future__ import annotations

import asyncio
import gc
import random
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from statistics import median

from cryptography import x509
from rfc3161_client import VerifierBuilder, decode_timestamp_response

from bench.contenders.authorities import (
    ABSENT,
    FOJA,
    SIGSTORE,
    RunningAuthority,
    all_authorities,
    connections,
)
from bench.harness import Bench
from bench.outcome import Outcome, Spread, Table, Target, at_least, at_most, spread
from foja.engine.remote.tsa import Connections
from foja.pure.proofs.tsa import Terms, judge, trusted

MAX_CALLERS = 16
CHECKED = 200  # tokens
MAX_RATIO = 3.0  # to the time of rfc3161-client
Reply = tuple[bytes, int, bytes]  # digest, nonce, reply


@dataclass
class Side:
    """One authority, its tokens per second in every turn, and its replies."""

    authority: RunningAuthority
    rates: defaultdict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    replies: list[Reply] = field(default_factory=list)


async def run(bench: Bench) -> Outcome:
    """Measure every authority, check all tokens, then compare two ways of checking."""
    with ExitStack() as stack:
        sides = []
        for start in all_authorities():
            bench.show_status("starting authorities")
            folder = bench.server.folder / f"tsa-{secrets.token_hex(4)}"
            folder.mkdir()
            sides.append(Side(stack.enter_context(start(folder))))
        async with connections() as client:
            await _race(bench, client, sides)
    for side in sides:
        _check(side)
    ours = _ours(sides)
    times, loads = _time_checks(bench, ours), list(ours.rates)
    return Outcome(
        [*(_rate_table(callers, sides) for callers in loads), _check_table(times)],
        [*(_rate_target(callers, sides) for callers in loads), _check_target(times)],
        {"rates": {side.authority.name: dict(side.rates) for side in sides}, "checks": times},
        [] if any(side.authority.name == SIGSTORE for side in sides) else [ABSENT],
    )


async def _race(bench: Bench, client: Connections, sides: Sequence[Side]) -> None:
    for turn in range(bench.scale.rounds):
        for callers in (1, min(MAX_CALLERS, bench.scale.callers[-1])):
            for side in random.sample(sides, len(sides)):
                bench.show_status(
                    f"timestamps, {callers} callers · round {turn + 1} of {bench.scale.rounds} "
                    f"· {side.authority.name}"
                )
                await _request_tokens(client, side.authority, callers, bench.scale.seconds / 5)
                gc.collect()
                began = time.perf_counter()
                replies = await _request_tokens(client, side.authority, callers, bench.scale.seconds)
                side.rates[callers].append(len(replies) / (time.perf_counter() - began))
                side.replies += replies


async def _request_tokens(
    client: Connections, authority: RunningAuthority, callers: int, seconds: float
) -> list[Reply]:
    replies, deadline = list[Reply](), time.perf_counter() + seconds

    async def caller() -> None:
        while True:
            digest, nonce = sha256(secrets.token_bytes(16)).digest(), secrets.randbits(48)
            reply = await client.post(authority.url, authority.query(digest, nonce))
            if not isinstance(reply, bytes):
                raise RuntimeError(f"{authority.name} did not reply: {reply.detail}")
            replies.append((digest, nonce, reply))
            if time.perf_counter() >= deadline:
                return

    await asyncio.gather(*(caller() for _ in range(callers)))
    return replies


def _check(side: Side) -> None:
    """Raise if a token does not verify."""
    roots = trusted(side.authority.root)
    for digest, nonce, reply in side.replies:
        found = judge(reply, digest, Terms(roots, nonce=nonce))
        if not found.verified:
            raise RuntimeError(f"a token of {side.authority.name} does not verify: {found.finding.detail}")


def _time_checks(bench: Bench, side: Side) -> dict[str, list[float]]:
    """Return the seconds per token of foja and of rfc3161-client, for every round."""
    replies = random.sample(side.replies, min(CHECKED, len(side.replies)))
    roots = trusted(side.authority.root)
    theirs = (
        VerifierBuilder().add_root_certificate(x509.load_pem_x509_certificate(side.authority.root)).build()
    )

    def our_check(digest: bytes, nonce: int, reply: bytes) -> None:
        assert judge(reply, digest, Terms(roots, nonce=nonce)).verified

    def their_check(digest: bytes, nonce: int, reply: bytes) -> None:
        assert theirs.verify(decode_timestamp_response(reply), digest)

    times: dict[str, list[float]] = {"foja": [], "rfc3161-client": []}
    for _ in range(bench.scale.rounds):
        times["foja"].append(_seconds_each(our_check, replies))
        times["rfc3161-client"].append(_seconds_each(their_check, replies))
    return times


def _seconds_each(check: Callable[[bytes, int, bytes], None], replies: Sequence[Reply]) -> float:
    began = time.perf_counter()
    for reply in replies:
        check(*reply)
    return (time.perf_counter() - began) / len(replies)


def _ratio(a: Sequence[float], b: Sequence[float]) -> Spread:
    return spread([x / y for x, y in zip(a, b, strict=True)])


def _best_peer(callers: int, sides: Sequence[Side]) -> Side:
    peers = [side for side in sides if side.authority.name != FOJA]
    return max(peers, key=lambda side: median(side.rates[callers]))


def _ours(sides: Sequence[Side]) -> Side:
    return next(side for side in sides if side.authority.name == FOJA)


def _title(callers: int) -> str:
    return f"Timestamps over HTTP, {callers} caller{'s' * (callers > 1)}"


def _rate_target(callers: int, sides: Sequence[Side]) -> Target:
    peer = _best_peer(callers, sides)
    ratio = _ratio(_ours(sides).rates[callers], peer.rates[callers])
    return at_least(_title(callers), 1, ratio, f"the best peer ({peer.authority.name})")


def _check_target(times: dict[str, list[float]]) -> Target:
    ratio = _ratio(times["foja"], times["rfc3161-client"])
    return at_most("Time to check a token compared with rfc3161-client", MAX_RATIO, ratio.middle)


def _rate_table(callers: int, sides: Sequence[Side]) -> Table:
    ours = _ours(sides).rates[callers]
    rows = [
        (
            side.authority.name,
            str(_ratio(side.rates[callers], ours)),
            f"{median(side.rates[callers]):,.0f}",
            side.authority.note,
        )
        for side in sides
    ]
    return Table(_title(callers), ("authority", f"times {FOJA}", "this run: tokens/s", "note"), rows)


def _check_table(times: dict[str, list[float]]) -> Table:
    notes = {
        "foja": "T1 to T9",
        "rfc3161-client": "does not check imprint algorithm, ESSCertID, revocation",
    }
    rows = [
        (
            name,
            str(_ratio(times[name], times["rfc3161-client"])),
            f"{median(times[name]) * 1e6:,.0f}",
            notes[name],
        )
        for name in times
    ]
    columns = ("checked by", "time, times rfc3161-client", "this run: µs per token", "note")
    return Table("Checking a token", columns, rows)
