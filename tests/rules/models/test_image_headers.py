"""What an upload is, by its bytes: format, size, frames, limits and refusals. Nothing is decoded."""

from __future__ import annotations

import contextlib
import struct
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from foja.errors import ImageRefused
from foja.pure.models.images.headers import gif, heif, jpeg, png, webp
from foja.pure.models.images.headers.parser import Format, Header, parse_header
from foja.pure.models.images.limits import Limits
from tests import pictures

SVG = b"""<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>"""


@cache
def file_of(kind: str) -> bytes:
    """One small file of a format."""
    return pictures.encoded(pictures.corners(240, 160), kind)


def code(data: bytes) -> str:
    with pytest.raises(ImageRefused) as refused:
        parse_header(data)
    return refused.value.code


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "AVIF"])
def test_the_size_is_read_from_the_header(kind: str) -> None:
    header = parse_header(file_of(kind))
    assert header == Header(Format(kind.lower()), 240, 160, 1)
    assert header.media_type == f"image/{kind.lower()}"


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("JPEG", {"progressive": True}),
        ("JPEG", {"comment": b"\xff\xc0" * 20}),
        ("WEBP", {"lossless": True}),
        ("WEBP", {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"}),
        ("PNG", {"dpi": (300, 300)}),
    ],
)
def test_other_forms_of_a_format_have_the_same_size(kind: str, options: dict[str, object]) -> None:
    header = parse_header(pictures.encoded(pictures.corners(240, 160), kind, **options))
    assert (header.width, header.height, header.frames) == (240, 160, 1)


def test_frames_are_counted() -> None:
    assert parse_header(pictures.frames(7)).frames == 7
    moving = [Image.new("RGB", (32, 16), (50 * n, 0, 0)) for n in range(5)]
    for kind in ("WEBP", "PNG", "AVIF"):
        data = pictures.encoded(moving[0], kind, save_all=True, append_images=moving[1:])
        assert (kind, parse_header(data).frames) == (kind, 5)


def test_a_frame_outside_the_canvas_counts_for_the_size() -> None:
    data = bytearray(pictures.encoded(Image.new("P", (20, 10)), "GIF"))
    at = data.index(b"\x2c", 13)
    data[at + 1 : at + 3] = struct.pack("<H", 60_000)
    assert parse_header(bytes(data)).width == 60_020


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "image_empty"),
        (SVG, "image_svg"),
        (b"\xef\xbb\xbf <!-- x --> <svg/>", "image_svg"),
        (b'<!DOCTYPE svg PUBLIC "-//W3C">', "image_svg"),
        (b'<html><svg:svg xmlns:svg="x"></html>', "image_svg"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "image_not_raster"),
        (b"\xc5\xd0\xd3\xc6" + bytes(40), "image_not_raster"),
        (b"%PDF-1.7\n", "image_not_raster"),
        (b"PK\x03\x04", "image_not_raster"),
        (b"\x1f\x8b\x08", "image_not_raster"),
        (b"<html><script>", "image_not_raster"),
        (b"hello", "image_not_raster"),
        (b"\0\0\0\x18ftypisom\0\0\x02\0isomiso2", "image_not_raster"),
        (b"II*\0" + bytes(40), "image_unsupported"),
        (b"BM" + bytes(40), "image_unsupported"),
        (b"\xff\x0a" + bytes(40), "image_unsupported"),
        (b"\xff\xd8\xff", "image_cut_short"),
        (b"\xff\xd8\xff\xd9", "image_damaged"),
        (b"GIF89a", "image_cut_short"),
        (b"RIFF\x08\0\0\0WEBPVP9 \0\0\0\0", "image_damaged"),
    ],
)
def test_what_is_not_an_image_is_refused_with_its_reason(data: bytes, expected: str) -> None:
    assert code(data) == expected


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "GIF", "AVIF"])
def test_a_file_without_its_end_is_cut_short(kind: str) -> None:
    data = file_of(kind)
    for kept in (len(data) // 2, len(data) - 1):
        assert (kept, code(data[:kept])) == (kept, "image_cut_short")


def test_a_size_of_zero_is_damage() -> None:
    data = bytearray(file_of("PNG"))
    data[16:20] = bytes(4)
    assert code(bytes(data)) == "image_damaged"


def test_loops_over_hostile_files_are_bounded() -> None:
    many = jpeg.MAX_SEGMENTS + 10
    assert code(b"\xff\xd8" + b"\xff\xe0\0\x02" * many) == "image_damaged"
    start = file_of("PNG")[:33]
    assert code(start + pictures.chunk(b"tEXt", b"") * (png.MAX_CHUNKS + 10)) == "image_damaged"
    blocks = b"\x21\xfe" + b"\x01x" * (gif.MAX_BLOCKS + 10)
    assert code(b"GIF89a\x01\0\x01\0\0\0\0" + blocks) == "image_damaged"
    chunks = b"VP8X\x0a\0\0\0" + bytes(10) + b"EXIF\0\0\0\0" * (webp.MAX_CHUNKS + 10)
    assert code(b"RIFF" + struct.pack("<I", len(chunks) + 4) + b"WEBP" + chunks) == "image_damaged"
    boxes = b"\0\0\0\x10ftypavif\0\0\0\0" + b"\0\0\0\x08free" * (heif.MAX_BOXES + 10)
    assert code(boxes) == "image_damaged"


@given(st.sampled_from(["JPEG", "PNG", "WEBP", "GIF", "AVIF"]), st.data())
@settings(max_examples=300, deadline=None)
def test_any_bytes_give_a_header_or_a_refusal(kind: str, data: st.DataObject) -> None:
    changed = bytearray(file_of(kind))
    for _ in range(data.draw(st.integers(1, 8))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    kept = bytes(changed[: data.draw(st.integers(0, len(changed)))])
    with contextlib.suppress(ImageRefused):
        header = parse_header(kept)
        assert min(header.width, header.height, header.frames) > 0


@pytest.mark.parametrize(
    ("header", "expected", "words"),
    [
        (Header(Format.PNG, 40_000, 40_000), "image_side_too_long", ["40,000 × 40,000", "16,384"]),
        (Header(Format.PNG, 10_000, 5_001), "image_too_many_pixels", ["50,010,000", "50,000,000"]),
        (Header(Format.GIF, 8, 8, 10_000), "image_too_many_frames", ["10,000", "60"]),
        (Header(Format.GIF, 2_000, 1_000, 50), "image_too_many_pixels", ["100,000,000", "50 frames"]),
    ],
)
def test_a_refusal_names_limit_and_value(header: Header, expected: str, words: list[str]) -> None:
    with pytest.raises(ImageRefused) as refused:
        Limits().check(header)
    assert refused.value.code == expected
    assert all(word in str(refused.value) for word in [*words, "FOJA_IMAGE_MAX_"])


def test_the_limits_themselves_are_allowed() -> None:
    Limits().check(Header(Format.JPEG, 10_000, 5_000))
    Limits().check(Header(Format.PNG, 16_384, 3_000))
    Limits().check(Header(Format.GIF, 100, 100, 60))
    Limits().check_size(25_000_000)
    with pytest.raises(ImageRefused, match=r"25,000,001 bytes.*25,000,000") as refused:
        Limits().check_size(25_000_001)
    assert refused.value.code == "image_too_large"
