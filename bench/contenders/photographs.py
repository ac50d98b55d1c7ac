"""Photographs for the benchmark, made here: JPEG with metadata, PNG with opacity, WebP."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from PIL import ExifTags, Image, ImageCms, ImageDraw, ImageFilter

ORIENTATIONS = (1, 1, 6)


def write_photographs(folder: Path, count: int, width: int) -> list[Path]:
    """Write three of five as JPEG, one as PNG of a third of the pixels, one as WebP; return their paths."""
    found = []
    for n in range(count):
        kind = ("jpg", "jpg", "jpg", "png", "webp")[n % 5]
        path = folder / f"{n:02}.{kind}"
        wide = int(width * 0.58) if kind == "png" else width
        path.write_bytes(_encoded(photograph(wide, wide * 3 // 4, n), kind, n))
        found.append(path)
    return found


def write_large(folder: Path, width: int) -> Path:
    """Write one very large JPEG."""
    path = folder / "large.jpg"
    path.write_bytes(_encoded(photograph(width, width * 3 // 4, 5), "jpg", 0))
    return path


def photograph(width: int, height: int, seed: int) -> Image.Image:
    """A picture with areas, edges and grain, made small and enlarged, as a lens would blur it."""
    small = (max(8, width // 4), max(8, height // 4))
    light = Image.radial_gradient("L").resize(small)
    image = Image.merge("RGB", (light, light.rotate(90), light.rotate(180)))
    draw = ImageDraw.Draw(image)
    for n in range(120):
        at = (n * 7919 + seed * 31) % small[0], (n * 104_729 + seed * 17) % small[1]
        colour = ((n * 53 + seed) % 256, (n * 97) % 256, (n * 151 + seed * 3) % 256)
        draw.ellipse((*at, at[0] + small[0] // (5 + n % 11), at[1] + small[1] // (5 + n % 7)), fill=colour)
    image = image.filter(ImageFilter.GaussianBlur(1)).resize((width, height), Image.Resampling.BICUBIC)
    tile = Image.effect_noise((512, 512), 30)
    grain = Image.new("L", (width, height))
    for top in range(0, height, 512):
        for left in range(0, width, 512):
            grain.paste(tile, (left, top))
    return Image.blend(image, Image.merge("RGB", (grain, grain, grain)), 0.12)


def _encoded(image: Image.Image, kind: str, number: int) -> bytes:
    target, options = io.BytesIO(), _options(kind, number)
    if kind == "png":
        image.putalpha(Image.radial_gradient("L").resize(image.size))
    image.save(target, {"jpg": "JPEG"}.get(kind, kind.upper()), **options)
    return target.getvalue()


def _options(kind: str, number: int) -> dict[str, Any]:
    if kind == "png":
        return {"compress_level": 3}
    if kind == "webp":
        return {"quality": 85, "method": 0}
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = ORIENTATIONS[number % 3]
    exif.get_ifd(ExifTags.IFD.GPSInfo).update({1: "S", 2: (34.0, 36.0, 30.0)})
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    return {"quality": 88, "exif": exif, "icc_profile": profile, "progressive": number % 4 == 3}
