"""Which files of a log belong to a published checkpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping

from foja.pure.core.tiles import HEIGHT, WIDTH

_TILE = re.compile(r"log/(\d+)/tile/(entries|\d+)/((?:x\d{3}/)*\d{3})(?:\.p/(\d+))?")


def is_covered(name: str, sizes: Mapping[int, int]) -> bool:
    """Return whether this is a tile that a log of its published size has or had; `sizes` are by origin."""
    found = _TILE.fullmatch(name)
    if not found:
        return False
    origin, level, path, width = found.groups()
    index = int(path.replace("x", "").replace("/", ""))
    height = 0 if level == "entries" else int(level) * HEIGHT
    return (index * WIDTH + int(width or WIDTH)) << height <= sizes.get(int(origin), 0)
