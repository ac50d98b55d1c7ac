"""The format of an image by its first bytes, never by its name; then its size and frames."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from foja.errors import ImageRefused
from foja.pure.models.images.headers import gif, heif, jpeg, png, webp
from foja.pure.models.images.headers.fields import damaged

ACCEPTED: Final = "JPEG, PNG, WebP, GIF or AVIF"
HEIC_ADVICE: Final = f"install foja[heic], or send {ACCEPTED}"


class Format(StrEnum):
    """The formats that can be read. HEIC needs an extra."""

    JPEG = "jpeg"
    PNG = "png"
    WEBP = "webp"
    GIF = "gif"
    AVIF = "avif"
    HEIC = "heic"


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says about itself, not yet confirmed by a decoder."""

    format: Format
    width: int
    height: int
    frames: int = 1

    @property
    def media_type(self) -> str:
        """The media type of the format."""
        return f"image/{self.format}"

    @property
    def pixels(self) -> int:
        """The pixels of all frames together."""
        return self.width * self.height * self.frames


_READERS: Final[Mapping[Format, Callable[[bytes], tuple[int, int, int]]]] = {
    Format.JPEG: jpeg.read_size,
    Format.PNG: png.read_size,
    Format.WEBP: webp.read_size,
    Format.GIF: gif.read_size,
    Format.AVIF: heif.read_size,
    Format.HEIC: heif.read_size,
}
_AVIF_BRANDS: Final = {b"avif", b"avis"}
_HEIC_BRANDS: Final = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs"}
_OTHER_RASTERS: Final[Mapping[bytes, str]] = {
    b"II*\0": "a TIFF",
    b"MM\0*": "a TIFF",
    b"BM": "a BMP",
    b"\0\0\x01\0": "an icon",
    b"8BPS": "a PSD",
    b"\xff\x0a": "a JPEG XL",
    b"\0\0\0\x0cJXL ": "a JPEG XL",
    b"\0\0\0\x0cjP  ": "a JPEG 2000",
    b"\xffO\xffQ": "a JPEG 2000",
}
_DOCUMENTS: Final[Mapping[bytes, str]] = {
    b"%!PS": "PostScript (EPS)",
    b"\xc5\xd0\xd3\xc6": "PostScript (EPS)",
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b": "compressed with gzip",
}
_SVG: Final = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?svg[\s>/]|<!DOCTYPE\s+svg", re.IGNORECASE)


def parse_header(data: bytes) -> Header:
    """Return format, size and frames of an image, or raise `ImageRefused`. Nothing is decoded."""
    if not data:
        raise ImageRefused("image_empty", "the image has 0 bytes; send the content of the file")
    found = detect(data)
    width, height, frames = _READERS[found](data)
    if not (width and height):
        raise damaged(f"its size is {width} × {height} pixels")
    return Header(found, width, height, frames)


def detect(data: bytes) -> Format:
    """Return the format that the first bytes show, or raise `ImageRefused` with what else they show."""
    if data.startswith(b"\xff\xd8\xff"):
        return Format.JPEG
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return Format.PNG
    if data.startswith((b"GIF87a", b"GIF89a")):
        return Format.GIF
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return Format.WEBP
    if data[4:8] == b"ftyp":
        return _detect_heif(data)
    raise _other(data)


def _detect_heif(data: bytes) -> Format:
    found = heif.brands(data)
    if found & _AVIF_BRANDS:
        return Format.AVIF
    if found & _HEIC_BRANDS:
        return Format.HEIC
    raise ImageRefused(
        "image_not_raster", f"the file is a film or another container of media, not an image; send {ACCEPTED}"
    )


def _other(data: bytes) -> ImageRefused:
    """Return the refusal of a file that is none of the formats."""
    for magic, name in _OTHER_RASTERS.items():
        if data.startswith(magic):
            return ImageRefused(
                "image_unsupported", f"the image is {name}, which is not accepted; send {ACCEPTED}"
            )
    if _SVG.search(data, 0, 4096):
        return ImageRefused(
            "image_svg", f"the file is an SVG: it can contain scripts and links; send {ACCEPTED}"
        )
    begins = f"not a raster image: it begins with {data[:8]!r}"
    what = next((name for magic, name in _DOCUMENTS.items() if data.startswith(magic)), begins)
    return ImageRefused("image_not_raster", f"the file is {what}; send {ACCEPTED}")
