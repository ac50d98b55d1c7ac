"""Variants: their identity, their sizes, and the ThumbHash."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
import rfc8785

from foja.errors import SetupFailed
from foja.pure.models.images.thumbhash import thumbhash
from foja.pure.models.images.variants import SETS, VariantSpec, set_digest, specs_of

DESKTOP = VariantSpec("desktop", 320, 260, "jpeg", 90, 0, "pad")


def test_the_identity_is_the_digest_of_the_canonical_specification() -> None:
    assert rfc8785.dumps(DESKTOP.content) == (
        b'{"effort":0,"fit":"pad","form":"foja/variant/v1","format":"jpeg","height":260,"quality":90,"width":320}'
    )
    assert DESKTOP.digest == "e79861da67be4f3fec285dee98ba658fc197716ad6e7a58f5ae784e39ca28a4e"


def test_the_name_is_not_part_of_the_identity_and_everything_else_is() -> None:
    assert replace(DESKTOP, name="large").digest == DESKTOP.digest
    others = [
        replace(DESKTOP, width=321),
        replace(DESKTOP, height=261),
        replace(DESKTOP, quality=91),
        replace(DESKTOP, fit="inside"),
        replace(DESKTOP, format="webp"),
        replace(DESKTOP, format="webp", effort=1),
    ]
    assert len({DESKTOP.digest, *(each.digest for each in others)}) == 7


def test_the_catalog_is_the_set_of_the_seed() -> None:
    found = {(each.name, each.width, each.height) for each in specs_of("catalog", "jpeg")}
    assert found == {
        ("minithumb", 40, 40),
        ("mobile", 190, 153),
        ("tablet", 300, 230),
        ("desktop", 320, 260),
    }
    assert {(each.quality, each.fit) for each in specs_of("catalog", "jpeg")} == {(90, "pad")}


def test_sets_and_formats_multiply() -> None:
    assert len(specs_of("catalog, responsive", "jpeg webp avif")) == 3 * sum(len(s) for s, _ in SETS.values())
    assert {each.format for each in specs_of("responsive", "webp")} == {"webp"}
    every = specs_of("catalog responsive", "jpeg webp avif")
    assert len({each.digest for each in every}) == len({each.name for each in every}) == len(every)
    assert [each.name for each in specs_of("catalog", "webp jpeg")[:2]] == ["minithumb", "minithumb.webp"]
    assert all(each.effort <= 2 for each in specs_of("catalog responsive", "avif"))


@pytest.mark.parametrize(("sets", "formats"), [("catalogue", "jpeg"), ("catalog", "gif")])
def test_an_unknown_word_is_refused_with_the_choices(sets: str, formats: str) -> None:
    with pytest.raises(SetupFailed, match=r"FOJA_THUMBNAIL_.*choose from"):
        specs_of(sets, formats)


def test_a_set_is_known_by_its_variants_whatever_their_order() -> None:
    specs = list(specs_of("catalog", "jpeg webp"))
    assert set_digest(specs) == set_digest(specs[::-1])
    assert set_digest(specs) != set_digest(specs[1:])


@pytest.mark.parametrize(
    ("original", "inner", "whole"),
    [
        ((4000, 3000), (320, 240), (320, 260)),
        ((3000, 4000), (195, 260), (320, 260)),
        ((100, 50), (100, 50), (320, 260)),
        ((16_000, 1), (320, 1), (320, 260)),
    ],
)
def test_nothing_is_enlarged_and_the_shape_is_kept(
    original: tuple[int, int], inner: tuple[int, int], whole: tuple[int, int]
) -> None:
    assert DESKTOP.inner_size(*original) == inner
    assert DESKTOP.size(*original) == whole
    assert replace(DESKTOP, fit="inside").size(*original) == inner


@pytest.mark.parametrize("wrong", [{"width": 0}, {"height": 5000}, {"format": "avif", "effort": 3}])
def test_a_specification_has_limits(wrong: dict[str, Any]) -> None:
    with pytest.raises(SetupFailed):
        replace(DESKTOP, **wrong)


def pixels(width: int, height: int, opacity: int | None = 255) -> bytes:
    chosen = random.Random(width * height)
    return bytes(
        value
        for y in range(height)
        for x in range(width)
        for value in (
            255 * x // width,
            255 * y // height,
            128,
            chosen.randrange(256) if opacity is None else opacity,
        )
    )


def test_the_hash_of_one_colour_is_its_mean() -> None:
    found = thumbhash(8, 8, bytes([255, 255, 255, 255]) * 64)
    assert found[0] & 63 == 63  # the mean luminance
    assert found[2] >> 7 == 0  # opaque


@pytest.mark.parametrize(("width", "height"), [(1, 1), (32, 24), (24, 32), (100, 1), (3, 100)])
def test_a_hash_is_short_and_knows_shape_and_opacity(width: int, height: int) -> None:
    opaque, clear = (
        thumbhash(width, height, pixels(width, height)),
        thumbhash(width, height, pixels(width, height, 7)),
    )
    assert 5 < len(opaque) < 30
    assert len(clear) < 35
    assert (opaque[4] >> 7, opaque[2] >> 7, clear[2] >> 7) == (int(width > height), 0, 1)


@pytest.mark.parametrize(("width", "height", "size"), [(0, 1, 0), (101, 1, 404), (2, 2, 15)])
def test_what_is_not_a_small_image_has_no_hash(width: int, height: int, size: int) -> None:
    with pytest.raises(ValueError, match="not a small image"):
        thumbhash(width, height, bytes(size))
