"""Run the bench: `python -m bench [--seconds S] [--rounds N] [--only GROUP] [--quick] [--write]`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console

from bench.harness import FULL, QUICK, Bench, Scale
from bench.outcome import Outcome
from bench.place import Place, open_place
from bench.report import show, write
from bench.works import GROUPS

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def main(words: Sequence[str]) -> int:
    """Return 1 if a target was missed in a run that counts."""
    asked = _parse(words)
    with open_place() as place:
        outcomes = asyncio.run(_run(place, _scale(asked), asked.only or list(GROUPS)))
    if asked.write:
        command = " ".join(["python -m bench", *words])
        write(asked.write, list(outcomes.values()), command=command, server=place.version, quick=asked.quick)
    if asked.json:
        print(json.dumps({name: asdict(outcome) for name, outcome in outcomes.items()}))
    else:
        show(list(outcomes.values()))
    missed = any(not target.passed for outcome in outcomes.values() for target in outcome.targets)
    return int(missed and not asked.quick)


async def _run(place: Place, scale: Scale, groups: Sequence[str]) -> dict[str, Outcome]:
    with Console(stderr=True).status("starting") as status:
        bench = Bench(place, scale, status.update)
        return {name: await GROUPS[name](bench) for name in groups}


def _scale(asked: argparse.Namespace) -> Scale:
    scale = QUICK if asked.quick else FULL
    return replace(scale, seconds=asked.seconds or scale.seconds, rounds=asked.rounds or scale.rounds)


def _parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--seconds", type=float, help=f"length of one turn (default {FULL.seconds:g})")
    parser.add_argument("--rounds", type=int, help=f"turns of each contender (default {FULL.rounds})")
    parser.add_argument("--only", action="append", choices=GROUPS, help="only this group; may be repeated")
    parser.add_argument("--quick", action="store_true", help="see that it works; targets are only shown")
    parser.add_argument("--json", action="store_true", help="print figures for programs, not tables")
    parser.add_argument(
        "--write",
        type=Path,
        nargs="?",
        const=PAGE,
        metavar="FILE",
        help=f"write {PAGE.name}, or another page",
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
