"""Check images to the end with Pillow, where libvips is not installed. It renders nothing."""

from __future__ import annotations

from io import BytesIO

from PIL import Image

from foja.domains.images.decoder import heic
from foja.pure.models.images.headers.fields import damaged

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "AVIF")


def prepare() -> None:
    """Load the plugins; our own limits were checked before."""
    Image.init()
    Image.MAX_IMAGE_PIXELS = None


def check(data: bytearray, kind: str, width: int, height: int, frames: int) -> None:
    """Decode to the end, or raise `ImageRefused`."""
    if kind == "heic":
        heic.decode(data)
        return
    try:
        with Image.open(BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > width * height:
                raise damaged(f"it has {image.width} × {image.height} pixels, over those of its header")
            for frame in range(getattr(image, "n_frames", 1)):
                image.seek(frame)
                image.load()
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, Image.DecompressionBombError) as error:
        raise damaged(" ".join(str(error).split())[-160:]) from error
