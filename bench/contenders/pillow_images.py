"""Pillow as a contender, in a process of its own: `python pillow_images.py DO VARIANTS FILE...`.

It decodes once, at a reduced scale where the format can, and makes each variant from the larger one before.
"""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path

from PIL import Image, ImageCms, ImageOps

SRGB = ImageCms.createProfile("sRGB")


def render(data: bytes, variants: list[list[int]]) -> list[int]:
    """Return the bytes of each variant: a side, a quality and an effort."""
    with Image.open(io.BytesIO(data)) as image:
        largest = variants[0][0]
        image.draft("RGB", (largest, largest))
        profile = image.info.get("icc_profile")
        turned = ImageOps.exif_transpose(image)
        turned.thumbnail((largest, largest), Image.Resampling.LANCZOS)
        if profile:
            ImageCms.profileToProfile(
                turned, ImageCms.ImageCmsProfile(io.BytesIO(profile)), SRGB, inPlace=True
            )
        sizes = []
        for side, quality, effort in variants:
            turned.thumbnail((side, side), Image.Resampling.LANCZOS)
            target = io.BytesIO()
            turned.save(target, "WEBP", quality=quality, method=effort, exif=b"", icc_profile=b"")
            sizes.append(target.tell())
    return sizes


def check(data: bytes) -> None:
    """Decode the whole image."""
    with Image.open(io.BytesIO(data)) as image:
        image.load()


def main(do: str, variants: str, *files: str) -> None:
    """Print the processor time, the peak of memory and the bytes of each variant."""
    wanted, sizes = json.loads(variants), []
    warm = Path(files[0]).read_bytes()
    (render(warm, wanted) if do == "render" else check(warm)) if len(files) > 1 else None
    began = time.process_time()
    for file in files:
        data = Path(file).read_bytes()
        if do == "render":
            sizes.append(render(data, wanted))
        else:
            check(data)
    seconds = time.process_time() - began
    print(json.dumps({"seconds": seconds, "peak": _peak(), "sizes": sizes}))


def _peak() -> int:
    """Return the largest resident memory in kilobytes; `getrusage` would count that of the parent, too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


if __name__ == "__main__":
    main(*sys.argv[1:])
