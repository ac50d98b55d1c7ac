"""Render the variants of an image: decode once, and make each one from the larger one before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyvips

from foja.domains.images.decoder.vips import attribute, load, our_errors
from foja.pure.models.images.thumbhash import thumbhash
from foja.pure.models.images.variants import FORM, VariantSpec

WHITE: Final = [255, 255, 255]
HASH_SIDE: Final = 32
_SPACES: Final = {"cmyk": b"CMYK", "b-w": b"GRAY", "grey16": b"GRAY"}  # in the header of a profile
_TURNED: Final = (5, 6, 7, 8)  # orientations that swap width and height


@dataclass(frozen=True, slots=True)
class Rendered:
    """The variants in the order of their specifications, and what they are."""

    description: dict[str, Any]
    contents: list[bytes]


def render(data: bytearray, kind: str, specs: Sequence[Mapping[str, Any]]) -> Rendered:
    """Return every variant, or raise `ImageRefused`."""
    with our_errors():
        wanted = [_spec(each) for each in specs]
        width, height = upright_size(data, kind)
        order = sorted(range(len(wanted)), key=lambda at: -wanted[at].scale(width, height))
        contents: dict[int, bytes] = {}
        image = _base(data, kind, wanted[order[0]].inner_size(width, height))
        for at in order:
            image = _resize(image, wanted[at].inner_size(width, height))
            contents[at] = _encode(image, wanted[at])
        digest = _hash(image)
    return Rendered(
        {
            "width": width,
            "height": height,
            "thumbhash": digest.hex(),
            "sizes": [len(contents[at]) for at in range(len(wanted))],
        },
        [contents[at] for at in range(len(wanted))],
    )


def upright_size(data: bytearray, kind: str) -> tuple[int, int]:
    """Return width and height as the image is shown."""
    image = load(data, kind)
    size = image.width, image.height
    return size[::-1] if attribute(image, "orientation", 1) in _TURNED else size


def _spec(content: Mapping[str, Any]) -> VariantSpec:
    fields = {key: value for key, value in content.items() if key != "form"}
    assert content["form"] == FORM
    return VariantSpec("", **fields)


def _base(data: bytearray, kind: str, size: tuple[int, int]) -> pyvips.Image:
    """Return the image upright, in sRGB, 8 bits, of this size, opacity multiplied into its colours."""
    whole = load(data, kind)
    turned = attribute(whole, "orientation", 1) in _TURNED
    width, height = size[::-1] if turned else size
    image = load(data, kind, scale=max(width / whole.width, height / whole.height))
    resized = _resize(_multiplied(image), (width, height))
    if not _is_standard(image):
        resized = _multiplied(_standard(_plain(resized)))
    return resized.autorot().copy_memory()


def _is_standard(image: pyvips.Image) -> bool:
    return (image.interpretation, image.format) == ("srgb", "uchar") and not _has_profile(image)


def _standard(image: pyvips.Image) -> pyvips.Image:
    """Return the image in sRGB with 8 bits, by its own colour profile if it has one."""
    if image.interpretation == "cmyk":
        return image.icc_transform("srgb", embedded=_has_profile(image), input_profile="cmyk")
    if _has_profile(image):
        return image.icc_transform("srgb", embedded=True)
    return image.colourspace("srgb").cast("uchar")


def _has_profile(image: pyvips.Image) -> bool:
    """Return whether the image has a colour profile for colours such as its own."""
    profile = bytes(attribute(image, "icc-profile-data", b""))
    return profile[16:20] == _SPACES.get(image.interpretation, b"RGB ")


def _multiplied(image: pyvips.Image) -> pyvips.Image:
    """Return the image with its opacity multiplied into its colours, as it must be to be resized."""
    return image.premultiply().cast(image.format) if image.hasalpha() else image


def _plain(image: pyvips.Image) -> pyvips.Image:
    """Undo `_multiplied`."""
    return image.unpremultiply().cast(image.format) if image.hasalpha() else image


def _resize(image: pyvips.Image, size: tuple[int, int]) -> pyvips.Image:
    if (image.width, image.height) == size:
        return image
    across, down = size[0] / image.width, size[1] / image.height
    return image.resize(across, vscale=down, kernel="lanczos3").copy_memory()


def _encode(image: pyvips.Image, spec: VariantSpec) -> bytes:
    """Return the bytes of a variant, without metadata."""
    if image.hasalpha():
        image = _plain(image)
        if spec.format == "jpeg" or spec.fit == "pad":
            image = image.flatten(background=WHITE)
    if spec.fit == "pad":
        image = image.gravity("centre", spec.width, spec.height, extend="background", background=WHITE)
    if spec.format == "jpeg":
        return bytes(image.jpegsave_buffer(Q=spec.quality, optimize_coding=True, keep="none"))
    if spec.format == "webp":
        return bytes(image.webpsave_buffer(Q=spec.quality, effort=spec.effort, keep="none"))
    return bytes(
        image.heifsave_buffer(Q=spec.quality, effort=spec.effort, compression="av1", bitdepth=8, keep="none")
    )


def _hash(image: pyvips.Image) -> bytes:
    """Return the ThumbHash of an image."""
    scale = min(HASH_SIDE / max(image.width, image.height), 1.0)
    small = _resize(image, (max(1, round(image.width * scale)), max(1, round(image.height * scale))))
    small = _plain(small) if small.hasalpha() else small.bandjoin(255)
    return thumbhash(small.width, small.height, bytes(small.write_to_memory()))
