"""Decode HEIC with the optional `pillow-heif`: libvips has no decoder for it."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

from foja.pure.models.images.headers.fields import damaged

INSTALLED = importlib.util.find_spec("pillow_heif") is not None


@dataclass(frozen=True, slots=True)
class Pixels:
    """A decoded image, already upright, as rows of bytes without padding."""

    width: int
    height: int
    bands: int
    data: bytes
    profile: bytes | None


def decode(data: bytearray) -> Pixels:
    """Return the primary image, or raise `ImageRefused`."""
    import pillow_heif

    try:
        found: Any = pillow_heif.open_heif(bytes(data), convert_hdr_to_8bit=True)
        image = found.to_pillow().convert("RGBA" if found.has_alpha else "RGB")
    except (ValueError, RuntimeError, OSError, SyntaxError, EOFError) as error:
        raise damaged(" ".join(str(error).split())[-160:]) from error
    return Pixels(
        image.width, image.height, len(image.getbands()), image.tobytes(), found.info.get("icc_profile")
    )


def prepare() -> None:
    """Load the library and everything that it loads on first use; decode in one thread."""
    if INSTALLED:
        import pillow_heif
        from PIL import Image

        pillow_heif.options.DECODE_THREADS = 1
        Image.preinit()
