"""Our ThumbHash is the one that browsers know: the same as that of the npm package, but for rounding."""

from __future__ import annotations

import json
import random
import subprocess

from foja.pure.models.images.thumbhash import thumbhash
from tests.counterparties.npm import installed

PROGRAM = """
const { rgbaToThumbHash } = await import("thumbhash");
const images = JSON.parse(await new Promise((done) => {
  let text = "";
  process.stdin.on("data", (part) => (text += part));
  process.stdin.on("end", () => done(text));
}));
console.log(JSON.stringify(images.map(([w, h, rgba]) => Array.from(rgbaToThumbHash(w, h, rgba)))));
"""
HEAD = 5  # bytes of means and scales


def pixels(width: int, height: int, *, clear: bool) -> list[int]:
    """A gradient with noise, opaque or not."""
    chosen = random.Random(width * 1000 + height)
    colour = [chosen.random() for _ in range(3)]
    return [
        value
        for y in range(height)
        for x in range(width)
        for value in (
            int(200 * colour[0] * x / width) + chosen.randrange(40),
            int(200 * colour[1] * y / height) + chosen.randrange(40),
            int(200 * colour[2]) + chosen.randrange(40),
            chosen.randrange(256) if clear else 255,
        )
    ]


def nibbles(data: bytes) -> list[int]:
    return [half for byte in data for half in (byte & 15, byte >> 4)]


def test_our_hash_is_that_of_the_npm_package() -> None:
    folder = installed("thumbhash")
    sizes = [(1, 1), (32, 24), (24, 32), (100, 7), (9, 100), (64, 64)]
    images = [(w, h, pixels(w, h, clear=clear)) for w, h in sizes for clear in (False, True)]
    done = subprocess.run(
        ["node", "--input-type=module", "-e", PROGRAM],
        cwd=folder,
        input=json.dumps(images),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    for (width, height, rgba), theirs in zip(images, json.loads(done.stdout), strict=True):
        ours = thumbhash(width, height, bytes(rgba))
        assert (len(ours), ours[:2]) == (len(theirs), bytes(theirs[:2]))
        # Sums of floats in another order may be rounded to the neighbour.
        far = [abs(a - b) for a, b in zip(nibbles(ours[HEAD:]), nibbles(bytes(theirs[HEAD:])), strict=True)]
        assert max(far, default=0) <= 1, (width, height)
        assert sum(far) <= len(far) // 4
