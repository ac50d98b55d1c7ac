"""Verification: single proofs compared with their library, whole bundles, and the start of the command.

One core, no network, everything in memory; certificates and roots are read once on both sides. The
processor time is measured, so that other load on the machine does not count.
"""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.contenders.verifiers import CONTAINERS, PAIRS, Pair, Verify, containers
from bench.harness import Bench
from bench.outcome import Outcome, Spread, Table, Target, spread
from tests.rules.stamps import PROOF

START = 1.3
FLAT = 1.1
LARGE, SMALL = 1024**3, 1024**2
_PEAK = (
    "import resource, sys; from foja.interfaces.cli import main; main();"
    " print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
)


async def run(bench: Bench) -> Outcome:
    """Measure single proofs, then bundles, then the start and the memory of the command."""
    pairs = [_race(bench, make()) for make in PAIRS]
    rates = {name: _rate(bench, name, make) for name, (make, _) in CONTAINERS.items()}
    start = await _start(bench)
    memory = await _memory(bench)
    tables = [_pairs_table(pairs), _bundles_table(rates), _command_table(start, memory)]
    targets = [_ratio_target(pair, ratio) for pair, ratio, _ in pairs]
    targets += [_rate_target(name, rates[name]) for name in CONTAINERS]
    targets.append(_at_most("Start time of `foja verify` compared with `ots`", START, start[0]))
    targets.append(_at_most("Memory for a file of 1 GB compared with 1 MB", FLAT, memory))
    figures = {pair.title: ratio.middle for pair, ratio, _ in pairs}
    return Outcome(tables, targets, {"ratios": figures, "rates": {n: r.middle for n, r in rates.items()}})


def _race(bench: Bench, pair: Pair) -> tuple[Pair, Spread, dict[str, float]]:
    """Return the ratio of our time to the time of the peer, and the rates of both."""
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    for turn in range(bench.scale.rounds):
        bench.show_status(f"verifying {pair.title} · round {turn + 1} of {bench.scale.rounds}")
        for name in random.sample(sorted(times), 2):
            times[name].append(_seconds_each(bench, pair.ours if name == "ours" else pair.theirs))
    ratio = spread([a / b for a, b in zip(times["ours"], times["theirs"], strict=True)])
    return pair, ratio, {name: 1 / median(each) for name, each in times.items()}


def _rate(bench: Bench, name: str, make: Callable[[], object]) -> Spread:
    """Return the bundles per second."""
    bench.show_status(f"verifying bundles with {name}")
    verify = containers(make)  # type: ignore[arg-type]
    return spread([1 / _seconds_each(bench, verify) for _ in range(bench.scale.rounds)])


def _seconds_each(bench: Bench, verify: Verify) -> float:
    for call in range(20):
        verify(call)
    gc.collect()
    began, calls = time.process_time(), 0
    while calls < 20 or time.process_time() - began < bench.scale.seconds / 2:
        verify(calls)
        calls += 1
    return (time.process_time() - began) / calls


async def _start(bench: Bench) -> tuple[Spread, float]:
    """Return the ratio of our start time to that of `ots`, and ours in seconds."""
    programs = [Path(sys.executable).with_name(name) for name in ("foja", "ots")]
    commands = [[programs[0], "verify", "--help"], [programs[1], "--help"]]
    ratios, ours = [], []
    for turn in range(1 + bench.scale.rounds):
        bench.show_status(f"start time · round {turn + 1}")
        foja, ots = [await _seconds(*each) for each in commands]
        ratios.append(foja / ots)
        ours.append(foja)
    return spread(ratios[1:]), median(ours)


async def _seconds(*command: object) -> float:
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(*map(str, command), stdout=asyncio.subprocess.DEVNULL)
    if await process.wait():
        raise RuntimeError(f"{command[0]} did not start")
    return time.perf_counter() - began


async def _memory(bench: Bench) -> Spread:
    """Return the ratio of the peak memory for a large file to that for a small one."""
    with tempfile.TemporaryDirectory() as folder:
        proof = Path(folder) / "x.ots"
        proof.write_bytes(PROOF)
        peaks = []
        for size in (LARGE if bench.scale.rounds > 1 else 8 * SMALL, SMALL):
            bench.show_status(f"memory for a file of {size:,} bytes")
            file = Path(folder) / "file"
            with file.open("wb") as empty:
                empty.truncate(size)
            peaks.append(await _peak("verify", file, "--proof", proof))
    return spread([peaks[0] / peaks[1]])


async def _peak(*arguments: object) -> int:
    program = [sys.executable, "-c", _PEAK, *map(str, arguments)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.DEVNULL, stderr=pipe)
    _, stderr = await process.communicate()
    return int(stderr.split()[-1])


def _ratio_target(pair: Pair, ratio: Spread) -> Target:
    return _at_most(f"Verifying {pair.title}, times {pair.peer}", pair.max_ratio, ratio)


def _rate_target(name: str, rate: Spread) -> Target:
    least = CONTAINERS[name][1]
    passed = rate.middle >= least
    return Target(f"Bundles per second with {name}", f"≥ {least}", f"{rate.middle:,.0f}", passed=passed)


def _at_most(name: str, most: float, ratio: Spread) -> Target:
    return Target(name, f"≤ {most:g}", str(ratio), passed=ratio.middle <= most)


def _pairs_table(pairs: list[tuple[Pair, Spread, dict[str, float]]]) -> Table:
    rows = [
        (pair.title, pair.peer, str(ratio), f"{rates['ours']:,.0f}", f"{rates['theirs']:,.0f}")
        for pair, ratio, rates in pairs
    ]
    columns = ("proof", "library", "our time / its time", "this run: ours/s", "this run: library/s")
    return Table("Verifying one proof, compared with its library", columns, rows)


def _bundles_table(rates: dict[str, Spread]) -> Table:
    rows = [(name, f"{rate.middle:,.0f}") for name, rate in rates.items()]
    return Table("Verifying whole bundles on one core", ("bundle", "this run: bundles/s"), rows)


def _command_table(start: tuple[Spread, float], memory: Spread) -> Table:
    rows = [
        ("start time, times `ots --help`", str(start[0])),
        ("memory for 1 GB, times that for 1 MB", f"{memory.middle:.3f}"),
        ("this run: start time, ms", f"{start[1] * 1000:,.0f}"),
    ]
    return Table("The command `foja verify`", ("what", "measured"), rows)
