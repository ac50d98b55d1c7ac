"""Images of many sorts, good and bad: the right outcome each, and clean variants."""

from __future__ import annotations

import io
import zlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Literal

import pytest
import pytest_asyncio
from PIL import Image, ImageCms

from foja.domains.images.decoder import heic
from foja.domains.images.decoder.pool import Decoders, Rendering, Variant
from foja.domains.images.decoder.process import Bounds
from foja.errors import ImageRefused
from foja.pure.models.images.limits import Limits
from foja.pure.models.images.variants import VariantSpec, specs_of
from tests import pictures

EVERY = specs_of("catalog responsive", "jpeg webp avif")
INSIDE = VariantSpec("inside", 120, 120, "webp", 90, 2)
PADDED = VariantSpec("padded", 120, 120, "jpeg", 90, 0, "pad")
NEAR = 40  # levels


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def decoders() -> AsyncIterator[Decoders]:
    pool = Decoders(most=1)
    yield pool
    await pool.close()


pytestmark = pytest.mark.asyncio(loop_scope="module")


def opened(variant: Variant) -> Image.Image:
    return Image.open(io.BytesIO(variant.data))


def near(found: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    return all(abs(a - b) <= NEAR for a, b in zip(found, wanted, strict=False))


def quarters(image: Image.Image) -> list[str]:
    """Return the colour of each quarter, in reading order."""
    plain = image.convert("RGB")
    found = []
    for y in (1, 3):
        for x in (1, 3):
            seen = plain.getpixel((plain.width * x // 4, plain.height * y // 4))
            assert isinstance(seen, tuple)
            found += [name for name, colour in pictures.CORNERS.items() if near(seen, colour)]
    return found


async def refusal(decoders: Decoders, data: bytes) -> ImageRefused:
    with pytest.raises(ImageRefused) as refused:
        await decoders.check(data)
    assert (await decoders.check(pictures.encoded(pictures.corners()))).width == 240
    return refused.value


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "AVIF"])
async def test_every_variant_of_every_format(decoders: Decoders, kind: str) -> None:
    data = pictures.encoded(pictures.corners(480, 320), kind)
    assert (await decoders.check(data)).format == kind.lower()
    found = await decoders.render(data, EVERY)
    assert (found.width, found.height) == (480, 320)
    assert 5 < len(found.thumbhash) < 30
    for variant in found.variants:
        image = opened(variant)
        assert image.format == variant.spec.format.upper()
        assert image.size == (variant.width, variant.height) == variant.spec.size(480, 320)
        if variant.spec.fit == "inside":
            assert quarters(image) == list(pictures.CORNERS)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
async def test_orientation_is_applied_once(decoders: Decoders, orientation: int, kind: str) -> None:
    upright = pictures.corners(240, 160)
    undo = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    stored = upright.transpose(undo[orientation]) if orientation in undo else upright
    found = await decoders.render(pictures.with_gps(stored, orientation, kind), [INSIDE, PADDED])
    assert (found.width, found.height) == (240, 160)
    image = opened(found.variants[0])
    assert image.size == (120, 80)
    assert quarters(image) == list(pictures.CORNERS)
    assert not image.getexif()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF"])
async def test_metadata_is_gone(decoders: Decoders, kind: str) -> None:
    data = pictures.with_gps(pictures.photo(600, 400), 1, kind)
    assert pictures.SECRET in data or kind == "PNG"
    for variant in (await decoders.render(data, EVERY)).variants:
        image = opened(variant)
        assert not image.getexif()
        assert "icc_profile" not in image.info
        assert pictures.SECRET not in variant.data
        assert b"Exif" not in variant.data


async def test_cmyk_becomes_srgb(decoders: Decoders) -> None:
    cyan = Image.new("CMYK", (200, 100), (255, 0, 0, 0))
    data = pictures.encoded(cyan)
    await decoders.check(data)
    image = opened((await decoders.render(data, [INSIDE])).variants[0]).convert("RGB")
    red, green, blue = image.getpixel((60, 30))  # type: ignore[misc]
    assert red < 90
    assert green > 100
    assert blue > 150


async def test_sixteen_bits_and_one_bit_become_eight(decoders: Decoders) -> None:
    deep = Image.new("I;16", (200, 100), 40_000)
    flat = Image.new("1", (200, 100), 1)
    for image, level in ((deep, 40_000 / 257), (flat, 255)):
        data = pictures.encoded(image, "PNG")
        await decoders.check(data)
        seen = opened((await decoders.render(data, [INSIDE])).variants[0]).convert("RGB").getpixel((60, 30))
        assert near(seen, (round(level),) * 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("space", ["LAB", "XYZ"])
async def test_a_profile_of_other_colours_is_ignored(
    decoders: Decoders, space: Literal["LAB", "XYZ"]
) -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile(space)).tobytes()
    data = pictures.encoded(pictures.corners(), icc_profile=profile)
    found = await decoders.render(data, [INSIDE])
    assert quarters(opened(found.variants[0])) == list(pictures.CORNERS)


async def test_a_profile_is_applied(decoders: Decoders) -> None:
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    tags = {bytes(profile[at : at + 4]): at for at in range(132, 132 + 12 * profile[131], 12)}
    red, blue = tags[b"rXYZ"], tags[b"bXYZ"]
    profile[red : red + 4], profile[blue : blue + 4] = b"bXYZ", b"rXYZ"  # red and blue are exchanged
    found = await decoders.render(pictures.encoded(pictures.corners(), icc_profile=bytes(profile)), [INSIDE])
    assert quarters(opened(found.variants[0])) == ["blue", "green", "red", "white"]


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "AVIF"])
async def test_what_is_transparent_stays_so_or_becomes_white(decoders: Decoders, kind: str) -> None:
    clear = Image.new("RGBA", (240, 160), (250, 0, 0, 0))
    clear.paste((0, 0, 250, 255), (0, 0, 120, 160))
    found = await decoders.render(pictures.encoded(clear, kind), [INSIDE, PADDED])
    webp, jpeg = map(opened, found.variants)
    assert webp.mode == "RGBA"
    assert webp.getpixel((90, 40))[3] == 0  # type: ignore[index]
    assert near(webp.getpixel((30, 40)), (0, 0, 250, 255))  # type: ignore[arg-type]
    assert near(jpeg.getpixel((90, 60)), (255, 255, 255))  # type: ignore[arg-type]
    assert near(jpeg.getpixel((60, 5)), (255, 255, 255))  # type: ignore[arg-type]


async def test_a_small_image_is_not_enlarged(decoders: Decoders) -> None:
    found = await decoders.render(pictures.encoded(pictures.corners(20, 10)), [INSIDE, PADDED])
    assert [(each.width, each.height) for each in found.variants] == [(20, 10), (120, 120)]


async def test_an_animation_has_still_variants(decoders: Decoders) -> None:
    data = pictures.frames(30, 64, 48)
    assert (await decoders.check(data)).frames == 30
    [variant] = (await decoders.render(data, [INSIDE])).variants
    assert getattr(opened(variant), "n_frames", 1) == 1


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "AVIF"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
async def test_a_file_that_is_cut_short_is_refused(decoders: Decoders, kind: str, share: float) -> None:
    data = pictures.encoded(pictures.photo(600, 400), kind)
    assert (await refusal(decoders, data[: int(len(data) * share)])).code == "image_cut_short"


@pytest.mark.parametrize("size", [(1, 1), (5, 300), (64, 64), (333, 111)])
@pytest.mark.parametrize("lossless", [False, True])
@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
async def test_a_webp_is_decoded_to_its_last_byte(
    decoders: Decoders, mode: str, size: tuple[int, int], *, lossless: bool
) -> None:
    """A large one is decoded at an eighth of its size, and nothing of it is left out."""
    image = Image.effect_noise(size, 60).convert(mode)
    if mode == "RGBA":
        image.putalpha(Image.effect_noise(size, 90))
    data = pictures.encoded(image, "WEBP", lossless=lossless)
    assert (await decoders.check(data)).width == size[0]
    for cut in (1, 2, 9, len(data) // 4):
        if len(data) - cut > 40:  # less is not even a header
            assert (await refusal(decoders, data[:-cut])).code == "image_cut_short"


async def test_damage_inside_is_refused(decoders: Decoders) -> None:
    data = bytearray(pictures.encoded(pictures.photo(600, 400), "PNG"))
    data[len(data) // 2] ^= 0x55
    assert (await refusal(decoders, bytes(data))).code in {"image_damaged", "image_cut_short"}


async def test_a_bomb_is_refused_before_it_is_decoded(decoders: Decoders) -> None:
    bomb = pictures.bomb(10_000, 10_000)
    assert len(bomb) < 50_000
    assert (await refusal(decoders, bomb)).code == "image_too_many_pixels"
    header = bytearray(bomb)
    header[16:24] = (40_000).to_bytes(4, "big") * 2
    header[29:33] = zlib.crc32(header[12:29]).to_bytes(4, "big")
    assert (await refusal(decoders, bytes(header))).code == "image_side_too_long"
    assert (await refusal(decoders, pictures.frames(10_000, 2, 2))).code == "image_too_many_frames"


async def test_a_header_that_lies_about_the_size_is_refused(decoders: Decoders) -> None:
    data = bytearray(pictures.encoded(pictures.photo(600, 400), "PNG"))
    data[16:20] = (60).to_bytes(4, "big")
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    assert (await refusal(decoders, bytes(data))).code in {"image_damaged", "image_cut_short"}


async def test_a_polyglot_leaves_nothing_in_its_variants(decoders: Decoders) -> None:
    script = b"<script>fetch('//evil.example')</script>PK\x03\x04"
    for data in (
        pictures.encoded(pictures.corners()) + script,
        pictures.encoded(pictures.corners(), comment=script),
        pictures.encoded(pictures.corners(), "PNG") + script,
    ):
        await decoders.check(data)
        found = await decoders.render(data, EVERY)
        assert all(b"script" not in each.data for each in found.variants)


async def test_the_name_of_a_file_means_nothing(decoders: Decoders) -> None:
    assert (await decoders.check(pictures.encoded(pictures.corners(), "PNG"))).media_type == "image/png"


@pytest.mark.skipif(not heic.INSTALLED, reason="pillow-heif is not installed")
async def test_heic_is_decoded_where_the_extra_is_installed(decoders: Decoders) -> None:
    import pillow_heif

    pillow_heif.register_heif_opener()
    data = pictures.encoded(pictures.corners(480, 320), "HEIF")
    assert (await decoders.check(data)).format == "heic"
    found = await decoders.render(data, [INSIDE])
    assert quarters(opened(found.variants[0])) == list(pictures.CORNERS)
    assert (await refusal(decoders, data[: len(data) // 2])).code == "image_cut_short"


async def test_heic_without_the_extra_is_refused_with_what_to_send(
    decoders: Decoders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heic, "INSTALLED", False)
    data = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + b"\0\0\0\x20meta" + bytes(4) + b"\0\0\0\x14ispe" + bytes(4)
    refused = await refusal(decoders, data + (64).to_bytes(4, "big") * 2)
    assert refused.code == "image_unsupported"
    assert "foja[heic]" in str(refused)
    assert "JPEG" in str(refused)


@pytest.mark.parametrize("most", [25_000])
async def test_the_byte_cap_comes_first(decoders: Decoders, most: int) -> None:
    pool = Decoders(replace(Limits(), size=most))
    with pytest.raises(ImageRefused, match="25,000 "):
        await pool.check(bytes(most + 1))
    assert pool._idle == []


async def test_the_memory_of_a_decoder_is_bounded_by_what_it_is_given() -> None:
    pool = Decoders(bounds=Bounds(memory=700 << 20), most=1)
    data = pictures.encoded(pictures.photo(8000, 6000), quality=60, progressive=True)
    rendering: Rendering = await pool.render(data, EVERY[:4])
    assert (rendering.width, rendering.height) == (8000, 6000)
    await pool.close()
