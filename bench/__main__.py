"""Run the benchmarks: `python -m bench [--seconds S] [--rounds N] [--only GROUP] [--quick] [--write]`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console

from bench.database import BenchServer, open_server
from bench.harness import FULL, QUICK, Bench, Scale
from bench.outcome import Outcome
from bench.report import show, write
from bench.workloads import GROUPS

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def main(argv: Sequence[str]) -> int:
    """Run the benchmarks; return 1 if a target is missed in a run that is not quick."""
    arguments = _parse(argv)
    with open_server() as server:
        outcomes = asyncio.run(_run(server, _scale(arguments), arguments.only or list(GROUPS)))
    if arguments.write:
        command = " ".join(["python -m bench", *argv])
        write(
            arguments.write,
            list(outcomes.values()),
            command=command,
            server=server.version,
            quick=arguments.quick,
        )
    if arguments.json:
        print(json.dumps({name: asdict(outcome) for name, outcome in outcomes.items()}))
    else:
        show(list(outcomes.values()))
    missed = any(not target.passed for outcome in outcomes.values() for target in outcome.targets)
    return int(missed and not arguments.quick)


async def _run(server: BenchServer, scale: Scale, groups: Sequence[str]) -> dict[str, Outcome]:
    with Console(stderr=True).status("starting") as status:
        bench = Bench(server, scale, status.update)
        return {name: await GROUPS[name](bench) for name in groups}


def _scale(arguments: argparse.Namespace) -> Scale:
    scale = QUICK if arguments.quick else FULL
    return replace(scale, seconds=arguments.seconds or scale.seconds, rounds=arguments.rounds or scale.rounds)


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--seconds", type=float, help=f"the duration of one turn (default {FULL.seconds:g})")
    parser.add_argument("--rounds", type=int, help=f"turns of each contender (default {FULL.rounds})")
    parser.add_argument(
        "--only", action="append", choices=GROUPS, help="run only this group; may be repeated"
    )
    parser.add_argument(
        "--quick", action="store_true", help="only test that it works; missed targets do not fail the run"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, not tables")
    parser.add_argument(
        "--write",
        type=Path,
        nargs="?",
        const=PAGE,
        metavar="FILE",
        help=f"write the results to a file ({PAGE.name})",
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
