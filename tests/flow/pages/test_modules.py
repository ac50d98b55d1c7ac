"""The modules of the pages in Node: SHA-256 against vectors and Python, ThumbHash against its own package."""

from __future__ import annotations

import json
import random
import subprocess
from base64 import b64encode
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

from foja.pure.models.images.thumbhash import thumbhash
from tests.counterparties.npm import installed
from tests.flow.javascript.javascript import MODULE, NODE, needs_node

# FIPS 180-4 and NIST's examples: one block, two blocks, and a million times "a".
VECTORS = {
    b"": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    b"abc": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq": (
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    b"a" * 1_000_000: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
}


def run(what: str, name: str, given: Any, packages: Path | None = None) -> Any:
    assert NODE is not None
    module, script = MODULE.with_name(name).as_uri(), Path(__file__).with_name("modules.mjs")
    command = [NODE, str(script), what, module, str(packages)]
    ran = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def pieces(data: bytes, chance: random.Random) -> list[str]:
    """Cut data into pieces of any length, empty ones included."""
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(6)))
    ends = [0, *cuts, len(data)]
    return [b64encode(data[start:end]).decode() for start, end in pairwise(ends)]


@needs_node
def test_the_digest_of_pieces_is_that_of_the_whole() -> None:
    chance = random.Random(16)
    data = [*VECTORS, *(chance.randbytes(size) for size in range(260))]
    found = run("sha256", "sha256.js", [pieces(each, chance) for each in data])
    assert found[: len(VECTORS)] == [*VECTORS.values()]
    assert found == [sha256(each).hexdigest() for each in data]


@needs_node
def test_a_thumbhash_is_drawn_as_its_own_package_draws_it() -> None:
    packages = installed("thumbhash") / "package.json"
    chance = random.Random(16)
    hashes = []
    for width, height, clear in ((32, 24, False), (24, 32, False), (20, 20, True), (100, 3, False)):
        rgba = b"".join(
            chance.randbytes(3) + (chance.randbytes(1) if clear else b"\xff") for _ in range(width * height)
        )
        hashes.append(b64encode(thumbhash(width, height, rgba)).decode())
    for same_size, far in run("thumbhash", "thumbhash.js", hashes, packages):
        assert same_size
        assert far <= 2  # of 255: rounding
