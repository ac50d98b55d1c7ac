"""The limits of an upload, checked against its header before anything is decoded."""

from __future__ import annotations

from dataclasses import dataclass

from foja.errors import ImageRefused
from foja.pure.models.images.headers.parser import Header


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest image that is accepted. Pixels are those of all frames together."""

    size: int = 25_000_000  # bytes
    pixels: int = 50_000_000
    side: int = 16_384
    frames: int = 60

    def check_size(self, size: int) -> None:
        """Raise `ImageRefused` if there are too many bytes."""
        if size > self.size:
            _refuse("image_too_large", f"{size:,} bytes", f"{self.size:,} (FOJA_IMAGE_MAX_MB)")

    def check(self, header: Header) -> None:
        """Raise `ImageRefused` with the limit and the value, if the header is over a limit."""
        shape = f"{header.width:,} × {header.height:,}"
        if max(header.width, header.height) > self.side:
            _refuse("image_side_too_long", f"{shape} pixels", f"{self.side:,} a side (FOJA_IMAGE_MAX_SIDE)")
        if header.frames > self.frames:
            _refuse(
                "image_too_many_frames",
                f"{header.frames:,} frames",
                f"{self.frames:,} (FOJA_IMAGE_MAX_FRAMES)",
            )
        if header.pixels > self.pixels:
            frames = f" in {header.frames:,} frames" if header.frames > 1 else ""
            _refuse(
                "image_too_many_pixels",
                f"{header.pixels:,} pixels ({shape}{frames})",
                f"{self.pixels:,} (FOJA_IMAGE_MAX_MEGAPIXELS)",
            )


def _refuse(code: str, value: str, limit: str) -> None:
    raise ImageRefused(code, f"the image has {value}, over the limit of {limit}; send a smaller one")
