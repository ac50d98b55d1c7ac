"""Images made for tests, with a known content, and files that are not what they claim."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

from PIL import ExifTags, Image, ImageCms, ImageDraw

CORNERS = {"red": (230, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 230), "white": (240, 240, 240)}
SECRET = b"Plaza-de-Mayo-GPS"


def corners(width: int = 240, height: int = 160) -> Image.Image:
    """A picture with another colour in each quarter: red, green, then blue, white."""
    image = Image.new("RGB", (width, height))
    draw = ImageDraw.Draw(image)
    for at, colour in enumerate(CORNERS.values()):
        left, top = (at % 2) * width // 2, (at // 2) * height // 2
        draw.rectangle((left, top, left + width // 2, top + height // 2), fill=colour)
    return image


def photo(width: int, height: int, seed: int = 1) -> Image.Image:
    """A picture with the detail of a photograph: a gradient, shapes and grain."""
    base = Image.radial_gradient("L").resize((width, height))
    tint = Image.merge("RGB", (base, base.rotate(90), base.rotate(180)))
    draw = ImageDraw.Draw(tint)
    for n in range(40):
        left, top = (n * 7919 * seed) % width, (n * 104729 * seed) % height
        colour = ((n * 53) % 256, (n * 97) % 256, (n * 151) % 256)
        draw.ellipse((left, top, left + width // 9, top + height // 9), fill=colour)
    grain = Image.effect_noise((max(1, width // 2), max(1, height // 2)), 40).resize((width, height))
    return Image.blend(tint, Image.merge("RGB", (grain, grain, grain)), 0.15)


def encoded(image: Image.Image, kind: str = "JPEG", **options: Any) -> bytes:
    """The bytes of a picture in a format of Pillow."""
    target = io.BytesIO()
    image.save(target, kind, **options)
    return target.getvalue()


def with_gps(image: Image.Image, orientation: int = 1, kind: str = "JPEG") -> bytes:
    """A photograph with an orientation, a place and a colour profile in its metadata."""
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    exif[ExifTags.Base.ImageDescription] = SECRET.decode()
    exif.get_ifd(ExifTags.IFD.GPSInfo).update({1: "S", 2: (34.0, 36.0, 30.0), 3: "W", 4: (58.0, 22.0, 20.0)})
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    return encoded(image, kind, exif=exif, icc_profile=profile)


def frames(count: int, width: int = 8, height: int = 8) -> bytes:
    """An animated GIF."""
    images = [Image.new("P", (width, height), n % 200) for n in range(count)]
    for n, image in enumerate(images):
        image.putpalette([n % 256, (n * 7) % 256, (n * 13) % 256] * 256)
    return encoded(images[0], "GIF", save_all=True, append_images=images[1:], duration=20, disposal=1)


def bomb(width: int, height: int) -> bytes:
    """A PNG of one colour: very few bytes for its pixels."""
    row = b"\0" + bytes((width + 7) // 8)
    packer = zlib.compressobj(9)
    data = b"".join([packer.compress(row) for _ in range(height)]) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def chunk(name: bytes, data: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
