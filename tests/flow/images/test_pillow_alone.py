"""Images are checked to the end with Pillow, where libvips is not installed."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import foja
from tests import pictures

PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from foja.errors import ImageRefused
from foja.domains.images.decoder.pool import Decoders

async def outcome(decoders, path):
    try:
        return (await decoders.check(path.read_bytes())).format.value
    except ImageRefused as refused:
        return refused.code

async def main():
    decoders = Decoders(most=1)
    found = {path.name: await outcome(decoders, path) for path in sorted(Path(sys.argv[1]).iterdir())}
    [process] = decoders._idle
    print(json.dumps({"found": found, "pool renders": decoders.renders, "renders": process.renders,
                      "decoded by one": process.done}))
    await decoders.close()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has everything that is installed here, but not libvips."""
    folder = tmp_path_factory.mktemp("pillow-alone")
    packages = folder / "packages"
    packages.mkdir()
    for each in Path(sysconfig.get_path("purelib")).iterdir():
        if "vips" not in each.name and not each.name.endswith(".pth"):
            (packages / each.name).symlink_to(each)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    [site] = (folder / "venv").glob("lib/python*/site-packages")
    (site / "packages.pth").write_text(f"{packages}\n{Path(foja.__file__).parents[1]}\n")
    return folder / "venv/bin/python"


def check(python: Path, images: Path) -> dict[str, Any]:
    """Return what the pool says about each file of a folder, and by which decoder."""
    done = subprocess.run(
        [python, "-I", "-c", PROGRAM, images], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_good_images_pass_and_bad_ones_are_refused(python: Path, tmp_path: Path) -> None:
    photo = pictures.photo(600, 400)
    wanted: dict[str, set[str]] = {}
    for kind in ("JPEG", "PNG", "WEBP", "GIF", "AVIF"):
        data = pictures.encoded(photo, kind)
        (tmp_path / f"{kind} whole").write_bytes(data)
        (tmp_path / f"{kind} cut").write_bytes(data[: len(data) * 6 // 10])
        wanted |= {f"{kind} whole": {kind.lower()}, f"{kind} cut": {"image_cut_short", "image_damaged"}}
    damaged = bytearray(pictures.encoded(photo, "PNG"))
    damaged[len(damaged) // 2] ^= 0x55
    (tmp_path / "damaged").write_bytes(damaged)
    (tmp_path / "frames").write_bytes(pictures.frames(30, 64, 48))
    wanted |= {"damaged": {"image_damaged", "image_cut_short"}, "frames": {"gif"}}
    seen = check(python, tmp_path)
    assert {name: code for name, code in seen["found"].items() if code not in wanted[name]} == {}
    assert seen["found"].keys() == wanted.keys()
    assert seen["renders"] is seen["pool renders"] is False
    assert seen["decoded by one"] >= 7, "the others were refused by their header"
