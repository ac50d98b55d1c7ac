"""Variants: what is derived from an original, in which sizes and formats, and under which identity.

The identity of a variant is the digest of its canonical specification. Its name is not part of it: two
names of the same specification are one variant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, Literal, TypeAlias, get_args

from foja.errors import SetupFailed
from foja.pure.core.canonical import canonical

FORM: Final = "foja/variant/v1"
VariantFormat: TypeAlias = Literal["jpeg", "webp", "avif"]
Fit: TypeAlias = Literal["inside", "pad"]
FORMATS: Final[tuple[VariantFormat, ...]] = get_args(VariantFormat)
MAX_SIDE: Final = 4096
MAX_EFFORT: Final[Mapping[VariantFormat, int]] = {"jpeg": 0, "webp": 4, "avif": 2}


@dataclass(frozen=True)
class VariantSpec:
    """One variant: never larger than its original, without metadata, in sRGB, upright.

    `inside` keeps the shape of the original within the box; `pad` fills the rest of the box with white.
    """

    name: str
    width: int
    height: int
    format: VariantFormat
    quality: int
    effort: int = 0
    fit: Fit = "inside"

    def __post_init__(self) -> None:
        if not 1 <= self.width <= MAX_SIDE or not 1 <= self.height <= MAX_SIDE:
            raise SetupFailed(f"the variant {self.name} has a side outside 1 to {MAX_SIDE:,} pixels")
        if not 0 <= self.effort <= MAX_EFFORT[self.format]:
            most = MAX_EFFORT[self.format]
            raise SetupFailed(f"the variant {self.name} has the effort {self.effort}; use 0 to {most}")

    @cached_property
    def content(self) -> dict[str, Any]:
        """What the identity covers, and what the decoder is told."""
        return {
            "form": FORM,
            "width": self.width,
            "height": self.height,
            "format": self.format,
            "quality": self.quality,
            "effort": self.effort,
            "fit": self.fit,
        }

    @cached_property
    def digest(self) -> str:
        """The identity of the variant."""
        return sha256(canonical(self.content)).hexdigest()

    def scale(self, width: int, height: int) -> float:
        """Return how much an original of this size is reduced; 1 if it fits as it is."""
        return min(self.width / width, self.height / height, 1.0)

    def size(self, width: int, height: int) -> tuple[int, int]:
        """Return the size of the variant of an original of this size."""
        return (self.width, self.height) if self.fit == "pad" else self.inner_size(width, height)

    def inner_size(self, width: int, height: int) -> tuple[int, int]:
        """Return the size of the reduced original, without what `pad` adds."""
        scale = self.scale(width, height)
        return max(1, round(width * scale)), max(1, round(height * scale))


Sizes: TypeAlias = Mapping[str, tuple[int, int]]
# Those of seed 003.
CATALOG: Final[Sizes] = {
    "minithumb": (40, 40),
    "mobile": (190, 153),
    "tablet": (300, 230),
    "desktop": (320, 260),
}
RESPONSIVE: Final[Sizes] = {f"w{width}": (width, 2 * width) for width in (320, 640, 960, 1280, 1920)}
SETS: Final[Mapping[str, tuple[Sizes, Fit]]] = {
    "catalog": (CATALOG, "pad"),
    "responsive": (RESPONSIVE, "inside"),
}
_QUALITY: Final[Mapping[tuple[Fit, VariantFormat], tuple[int, int]]] = {
    ("pad", "jpeg"): (90, 0),
    ("pad", "webp"): (82, 2),
    ("pad", "avif"): (60, 2),
    ("inside", "jpeg"): (82, 0),
    ("inside", "webp"): (80, 2),
    ("inside", "avif"): (55, 2),
}


def specs_of(sets: str, formats: str) -> tuple[VariantSpec, ...]:
    """Return the variants of these sets in these formats, both separated by spaces or commas.

    A JPEG has the plain name of its size, `mobile`; another format is added to it: `mobile.webp`.
    """
    chosen = _words(sets, SETS, "FOJA_THUMBNAIL_SETS")
    kinds = _words(formats, FORMATS, "FOJA_THUMBNAIL_FORMATS")
    return tuple(
        VariantSpec(_name(size, kind), width, height, kind, *_QUALITY[fit, kind], fit)
        for sizes, fit in (SETS[each] for each in chosen)
        for size, (width, height) in sizes.items()
        for kind in FORMATS
        if kind in kinds
    )


def _name(size: str, kind: VariantFormat) -> str:
    return size if kind == "jpeg" else f"{size}.{kind}"


def set_digest(specs: Iterable[VariantSpec]) -> str:
    """Return the identity of some variants together, whatever their order."""
    return sha256(canonical(sorted(spec.digest for spec in specs))).hexdigest()


def _words(text: str, known: Iterable[str], setting: str) -> Sequence[str]:
    words = text.replace(",", " ").split()
    if unknown := [word for word in words if word not in known]:
        raise SetupFailed(f"{setting} has {unknown[0]!r}; choose from {', '.join(known)}")
    return words
