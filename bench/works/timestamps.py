"""Tokens per second of every authority over one client, and how long checking one takes."""

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

from bench.contenders.authorities import ABSENT, FOJA, SIGSTORE, Served, connections, everybody
from bench.harness import Bench
from bench.outcome import Outcome, Spread, Table, Target, at_least, at_most, spread
from foja.proofs.tsa import Terms, judge, trusted
from foja.remote.tsa import Connections

MOST_CALLERS = 16
CHECKED = 200  # tokens
SLOWEST = 3.0  # times rfc3161-client
Answer = tuple[bytes, int, bytes]  # digest, nonce, reply


@dataclass
class Side:
    """One authority, its tokens per second turn by turn, and all it answered."""

    served: Served
    rates: defaultdict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    answers: list[Answer] = field(default_factory=list)


async def run(bench: Bench) -> Outcome:
    """Let everybody stamp, believe nobody, then check the same tokens in two ways."""
    with ExitStack() as stack:
        sides = []
        for serving in everybody():
            bench.say("starting authorities")
            folder = bench.place.folder / f"tsa-{secrets.token_hex(4)}"
            folder.mkdir()
            sides.append(Side(stack.enter_context(serving(folder))))
        async with connections() as client:
            await _race(bench, client, sides)
    for side in sides:
        _check(side)
    ours = _ours(sides)
    times, works = _checking(bench, ours), list(ours.rates)
    return Outcome(
        [*(_stamped(callers, sides) for callers in works), _checked(times)],
        [*(_target(callers, sides) for callers in works), _check_target(times)],
        {"rates": {side.served.name: dict(side.rates) for side in sides}, "checks": times},
        [] if any(side.served.name == SIGSTORE for side in sides) else [ABSENT],
    )


async def _race(bench: Bench, client: Connections, sides: Sequence[Side]) -> None:
    for turn in range(bench.scale.rounds):
        for callers in (1, min(MOST_CALLERS, bench.scale.callers[-1])):
            for side in random.sample(sides, len(sides)):
                bench.say(
                    f"timestamps, {callers} at once · round {turn + 1} of {bench.scale.rounds} "
                    f"· {side.served.name}"
                )
                await _ask(client, side.served, callers, bench.scale.seconds / 5)
                gc.collect()
                began = time.perf_counter()
                answers = await _ask(client, side.served, callers, bench.scale.seconds)
                side.rates[callers].append(len(answers) / (time.perf_counter() - began))
                side.answers += answers


async def _ask(client: Connections, served: Served, callers: int, seconds: float) -> list[Answer]:
    answers, ends = list[Answer](), time.perf_counter() + seconds

    async def caller() -> None:
        while True:
            digest, nonce = sha256(secrets.token_bytes(16)).digest(), secrets.randbits(48)
            reply = await client.post(served.url, served.query(digest, nonce))
            if not isinstance(reply, bytes):
                raise RuntimeError(f"{served.name} did not answer: {reply.detail}")
            answers.append((digest, nonce, reply))
            if time.perf_counter() >= ends:
                return

    await asyncio.gather(*(caller() for _ in range(callers)))
    return answers


def _check(side: Side) -> None:
    """An authority whose token proves nothing has stamped nothing."""
    roots = trusted(side.served.root)
    for digest, nonce, reply in side.answers:
        found = judge(reply, digest, Terms(roots, nonce=nonce))
        if not found.verified:
            raise RuntimeError(f"{side.served.name} gave a token that is not good: {found.finding.detail}")


def _checking(bench: Bench, side: Side) -> dict[str, list[float]]:
    """Return the seconds per token of ours and of rfc3161-client, round by round."""
    answers = random.sample(side.answers, min(CHECKED, len(side.answers)))
    roots = trusted(side.served.root)
    theirs = VerifierBuilder().add_root_certificate(x509.load_pem_x509_certificate(side.served.root)).build()

    def our_check(digest: bytes, nonce: int, reply: bytes) -> None:
        assert judge(reply, digest, Terms(roots, nonce=nonce)).verified

    def their_check(digest: bytes, nonce: int, reply: bytes) -> None:
        assert theirs.verify(decode_timestamp_response(reply), digest)

    times: dict[str, list[float]] = {"foja": [], "rfc3161-client": []}
    for _ in range(bench.scale.rounds):
        times["foja"].append(_timed(our_check, answers))
        times["rfc3161-client"].append(_timed(their_check, answers))
    return times


def _timed(check: Callable[[bytes, int, bytes], None], answers: Sequence[Answer]) -> float:
    began = time.perf_counter()
    for answer in answers:
        check(*answer)
    return (time.perf_counter() - began) / len(answers)


def _ratio(a: Sequence[float], b: Sequence[float]) -> Spread:
    return spread([x / y for x, y in zip(a, b, strict=True)])


def _best_peer(callers: int, sides: Sequence[Side]) -> Side:
    peers = [side for side in sides if side.served.name != FOJA]
    return max(peers, key=lambda side: median(side.rates[callers]))


def _ours(sides: Sequence[Side]) -> Side:
    return next(side for side in sides if side.served.name == FOJA)


def _title(callers: int) -> str:
    return f"Timestamps over HTTP, {callers} at once"


def _target(callers: int, sides: Sequence[Side]) -> Target:
    peer = _best_peer(callers, sides)
    ratio = _ratio(_ours(sides).rates[callers], peer.rates[callers])
    return at_least(_title(callers), 1, ratio, f"the best peer ({peer.served.name})")


def _check_target(times: dict[str, list[float]]) -> Target:
    ratio = _ratio(times["foja"], times["rfc3161-client"])
    return at_most("Time to check a token, times rfc3161-client", SLOWEST, ratio.middle)


def _stamped(callers: int, sides: Sequence[Side]) -> Table:
    ours = _ours(sides).rates[callers]
    rows = [
        (
            side.served.name,
            str(_ratio(side.rates[callers], ours)),
            f"{median(side.rates[callers]):,.0f}",
            side.served.note,
        )
        for side in sides
    ]
    return Table(_title(callers), ("authority", f"times {FOJA}", "this run: tokens/s", "note"), rows)


def _checked(times: dict[str, list[float]]) -> Table:
    notes = {
        "foja": "T1 to T9",
        "rfc3161-client": "no algorithm of the imprint, ESSCertID, revocation",
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
    columns = ("checked by", "time, times rfc3161-client", "this run: µs a token", "note")
    return Table("Checking a token", columns, rows)
