"""Variants of photographs, the check at upload and the memory of a large one, against Pillow and sharp."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bench.contenders.photographs import write_large, write_photographs
from bench.harness import Bench
from bench.outcome import Outcome, Table, Target, at_most, spread

FOJA, PILLOW, SHARP = "foja", "Pillow", "sharp"
SHARP_VERSION = "0.35.5"
PEERS = Path(__file__).parent.parent / ".peers"
CONTENDERS = Path(__file__).parent.parent / "contenders"
ABSENT = "sharp is missing: npm could not install it."
# A side, a quality and an effort: all WebP.
VARIANTS = [[1200, 80, 2], [768, 80, 2], [320, 78, 2], [64, 70, 2]]
MAX_ROUNDS = 3
MAX_SHARP, MAX_PILLOW, MAX_CHECK, MAX_MEMORY, BYTES = 1.2, 1.05, 1.0, 0.6, 0.05


@dataclass
class Figures:
    """Processor seconds of all photographs, by contender and round; bytes of variants; peaks of memory."""

    rendered: dict[str, list[float]] = field(default_factory=dict)
    checked: dict[str, list[float]] = field(default_factory=dict)
    sizes: dict[str, list[int]] = field(default_factory=dict)
    peaks: dict[str, int] = field(default_factory=dict)


async def run(bench: Bench) -> Outcome:
    """Make photographs; render and check them in rounds, one contender at a time; then a large one."""
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="foja-bench-") as name:
        bench.show_status("images · making photographs")
        photos, width = bench.scale.photos
        files = await asyncio.to_thread(write_photographs, Path(name), photos, width)
        for turn in range(min(bench.scale.rounds, MAX_ROUNDS)):
            bench.show_status(f"images · round {turn + 1}")
            await asyncio.to_thread(_round, figures, files)
        bench.show_status("images · a large photograph")
        large = await asyncio.to_thread(write_large, Path(name), round(width * 2.5))
        for each in (FOJA, PILLOW):
            figures.peaks[each] = (await asyncio.to_thread(_ask, each, "render", [large]))["peak"]
    remarks = [] if SHARP in figures.rendered else [ABSENT]
    return Outcome([_table(figures, photos)], _targets(figures, width), {"images": vars(figures)}, remarks)


def _round(figures: Figures, files: Sequence[Path]) -> None:
    """Let every contender render, and all but sharp check, in random order."""
    contenders = [FOJA, PILLOW, *([SHARP] if _sharp() else [])]
    for name in random.sample(contenders, len(contenders)):
        found = _ask(name, "render", files)
        figures.rendered.setdefault(name, []).append(found["seconds"])
        figures.sizes[name] = [sum(each) for each in zip(*found["sizes"], strict=True)]
    for name in random.sample([FOJA, PILLOW], 2):
        figures.checked.setdefault(name, []).append(_ask(name, "check", files)["seconds"])


def _ask(name: str, do: str, files: Sequence[Path]) -> dict[str, Any]:
    """Run a contender in a process of its own and return what it measured."""
    variants, paths = json.dumps(VARIANTS), [str(file) for file in files]
    if name == SHARP:
        command = ["node", str(CONTENDERS / "sharp.cjs"), variants, *paths]
    else:
        program = CONTENDERS / f"{name.lower()}_images.py"  # by its path: it imports nothing else of ours
        command = [sys.executable, str(program), do, variants, *paths]
    environment = {**os.environ, "NODE_PATH": str(PEERS / "node_modules")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} failed: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@cache
def _sharp() -> Path | None:
    """Return the folder of sharp, installed on first use; None if npm fails."""
    package = PEERS / "node_modules" / "sharp"
    if not package.exists() and (npm := shutil.which("npm")):
        wanted = f"sharp@{SHARP_VERSION}"
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(PEERS), wanted]
        PEERS.mkdir(exist_ok=True)
        try:
            subprocess.run(command, capture_output=True, timeout=300, check=True)
        except (subprocess.SubprocessError, OSError):
            return None
    return package if package.exists() else None


def _ratio(values: dict[str, list[float]], to: str) -> float:
    return spread([a / b for a, b in zip(values[FOJA], values[to], strict=True)]).middle


def _targets(figures: Figures, width: int) -> list[Target]:
    title = "Images: processor time of four variants"
    found = [at_most(f"{title}, times Pillow", MAX_PILLOW, _ratio(figures.rendered, PILLOW))]
    if SHARP in figures.rendered:
        found.append(at_most(f"{title}, times sharp", MAX_SHARP, _ratio(figures.rendered, SHARP)))
    found.append(
        at_most(
            "Images: the check at upload, times Pillow's decode", MAX_CHECK, _ratio(figures.checked, PILLOW)
        )
    )
    total = {name: sum(sizes) for name, sizes in figures.sizes.items()}
    far = max(abs(total[FOJA] / other - 1) for name, other in total.items() if name != FOJA)
    found.append(at_most("Images: bytes of the variants, away from the others", BYTES, far))
    megapixels = round(width * 2.5) ** 2 * 3 // 4 / 1e6
    return [
        *found,
        at_most(
            f"Images: peak memory on a JPEG of {megapixels:.0f} MP, times Pillow",
            MAX_MEMORY,
            figures.peaks[FOJA] / figures.peaks[PILLOW],
        ),
    ]


def _table(figures: Figures, photos: int) -> Table:
    rows = [
        (
            name,
            str(spread([a / b for a, b in zip(seconds, figures.rendered[PILLOW], strict=True)])),
            f"{sum(figures.sizes[name]) / sum(figures.sizes[PILLOW]):.3f}",
            f"{spread(seconds).middle / photos * 1000:,.0f}",
            f"{spread(figures.checked[name]).middle / photos * 1000:,.0f}"
            if name in figures.checked
            else "–",
            f"{figures.peaks[name] / 1024:,.0f}" if name in figures.peaks else "–",
        )
        for name, seconds in figures.rendered.items()
    ]
    columns = (
        "contender",
        "processor time, times Pillow",
        "bytes, times Pillow",
        "this run: ms per photograph",
        "this run: ms to check one",
        "this run: MiB for the large one",
    )
    return Table("Photographs: four WebP variants, decoded once", columns, rows)
