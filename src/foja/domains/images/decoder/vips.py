"""Load images with libvips and check them to the end. Importing this loads the library.

Each format has one loader, chosen by our own reading of the header; all other loaders are blocked. The
library keeps metadata, ignores damage and has no limit unless it is told: see each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pyvips

from foja.domains.images.decoder import heic
from foja.errors import ImageRefused
from foja.pure.models.images.headers.fields import damaged

# `unlimited` stays off: the library's own limits of dimensions hold beside ours.
STRICT: Final = {"access": "sequential", "fail_on": "truncated"}
JPEG_SHRINKS: Final = (8, 4, 2)
MIN_SHRUNK: Final = 64  # pixels of a side; an eighth of a few would be none
LOADERS: Final = ("Jpeg", "Png", "Webp", "Nsgif", "Heif")
_CUT_SHORT: Final = (
    "premature end",
    "truncated",
    "unexpected end",
    "end of stream",
    "incomplete",
    "not enough",
)
_HEAVY: Final = ("out of memory", "failed to allocate", "insufficient memory")


def block_loaders() -> None:
    """Let the library open only the formats that are accepted, and keep no operation of one image."""
    pyvips.cache_set_max(0)
    pyvips.operation_block_set("VipsForeignLoad", True)
    for name in LOADERS:
        pyvips.operation_block_set(f"VipsForeignLoad{name}", False)


def check(data: bytearray, kind: str, width: int, height: int, frames: int) -> None:
    """Decode to the end, as small as the format allows, or raise `ImageRefused`."""
    with our_errors():
        image = load(data, kind, scale=0.0, every=frames > 1)
        if kind == "jpeg":
            image.avg()
            return
        if image.width * image.height > width * height * frames:
            raise damaged(
                f"it has {image.width} × {image.height} pixels, and its header says {width} × {height}"
            )
        if kind == "webp" and frames == 1 and min(image.width, image.height) >= MIN_SHRUNK:
            _small_webp(data).avg()
            return
        # Rows are decoded in order: the last one needs all, and none is kept.
        image.crop(0, image.height - 1, image.width, 1).write_to_memory()


def load(data: bytearray, kind: str, *, scale: float = 1.0, every: bool = False) -> pyvips.Image:
    """Return an image that is decoded as it is used, not smaller than `scale` if the format can shrink."""
    return _LOADS[kind](data, scale, every)


def _source(data: bytearray) -> pyvips.Source:
    """Return these bytes as a source: `load_buffer` would copy them each time."""
    return pyvips.Source.new_from_memory(data)


def _load_jpeg(data: bytearray, scale: float, every: bool) -> pyvips.Image:
    shrink = next((each for each in JPEG_SHRINKS if each * scale <= 1), 1)
    return pyvips.Image.jpegload_source(_source(data), shrink=shrink, **STRICT)


def _load_png(data: bytearray, scale: float, every: bool) -> pyvips.Image:
    return pyvips.Image.pngload_source(_source(data), **STRICT)


def _load_webp(data: bytearray, scale: float, every: bool) -> pyvips.Image:
    return pyvips.Image.webpload_source(_source(data), n=-1 if every else 1, **STRICT)


def _small_webp(data: bytearray) -> pyvips.Image:
    """Return a still image at an eighth of its size. All of it is decoded; half of the time is saved."""
    return pyvips.Image.webpload_source(_source(data), scale=1 / 8, **STRICT)


def _load_gif(data: bytearray, scale: float, every: bool) -> pyvips.Image:
    return pyvips.Image.gifload_source(_source(data), n=-1 if every else 1, **STRICT)


def _load_avif(data: bytearray, scale: float, every: bool) -> pyvips.Image:
    return pyvips.Image.heifload_source(_source(data), **STRICT)


def _load_heic(data: bytearray, scale: float, every: bool) -> pyvips.Image:
    pixels = heic.decode(data)
    image = pyvips.Image.new_from_memory(pixels.data, pixels.width, pixels.height, pixels.bands, "uchar")
    image = image.copy(interpretation="srgb")
    if pixels.profile:
        image.set_type(pyvips.GValue.blob_type, "icc-profile-data", pixels.profile)
    return image


_LOADS: Final[Mapping[str, Callable[[bytearray, float, bool], pyvips.Image]]] = {
    "jpeg": _load_jpeg,
    "png": _load_png,
    "webp": _load_webp,
    "gif": _load_gif,
    "avif": _load_avif,
    "heic": _load_heic,
}


@contextmanager
def our_errors() -> Iterator[None]:
    """Translate what the library says about an image to a refusal."""
    try:
        yield
    except pyvips.Error as error:
        text = " ".join(str(error).split())
        if any(each in text.lower() for each in _HEAVY):
            raise MemoryError from error
        if any(each in text.lower() for each in _CUT_SHORT):
            raise ImageRefused(
                "image_cut_short", f"the image is cut short ({text[-120:]}); send the whole file"
            ) from error
        raise damaged(text[-160:]) from error


def attribute(image: pyvips.Image, name: str, default: Any) -> Any:
    """Return a field of an image's metadata, or the default."""
    return image.get(name) if image.get_typeof(name) else default
