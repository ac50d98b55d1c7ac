"""The bytes of a bundle: one encoding, and a reader that accepts no other."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foja
from foja.errors import BadBundle
from foja.pure.core.bundle import archive, asic, names
from foja.pure.core.bundle.archive import BIG, Part, ZipEntry, measured, part
from foja.pure.core.bundle.reader import open_container

PARTS = [
    part(names.MIMETYPE, names.MEDIA_TYPE),
    part("document/año.txt", b"hello"),
    part(names.MANIFEST, b"{}"),
    part(names.EVENTS, b"a line\n" * 20),
]


def written(parts: list[Part]) -> bytes:
    return b"".join(archive.write(parts))


def code(data: bytes) -> str:
    try:
        container = open_container(io.BytesIO(data))
        for name in container.names:
            container.read(name)
    except BadBundle as refused:
        return refused.code
    raise AssertionError("it was accepted")


def test_what_is_written_is_read_back() -> None:
    container = open_container(io.BytesIO(written(PARTS)))
    assert container.names == tuple(each.entry.name for each in PARTS)
    for each in PARTS:
        assert container.read(each.entry.name) == b"".join(each.chunks())


def test_another_zip_tool_opens_it() -> None:
    with zipfile.ZipFile(io.BytesIO(written(PARTS))) as other:
        assert other.testzip() is None
        assert other.namelist() == [each.entry.name for each in PARTS]
        assert other.read("document/año.txt") == b"hello"


def test_every_flipped_bit_is_refused() -> None:
    data = written(PARTS)
    for bit in range(8 * len(data)):
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << bit % 8
        assert code(bytes(broken))


@pytest.mark.parametrize("where", ["between", "before", "after", "comment"])
def test_bytes_between_or_around_the_files_are_refused(where: str) -> None:
    data = written(PARTS)
    place = {"between": archive.offsets(each.entry for each in PARTS)[1], "before": 0, "after": len(data)}
    if where == "comment":
        assert code(data[:-2] + struct.pack("<H", 2) + b"hi") == "ZIP_LAYOUT"
    else:
        at = place[where]
        assert code(data[:at] + b"stowaway" + data[at:]) == "ZIP_LAYOUT"


def test_a_duplicate_name_is_refused() -> None:
    assert code(written([*PARTS, part(names.MANIFEST, b"[]")])) == "DUPLICATE_ENTRY"


@pytest.mark.parametrize("name", ["../etc/passwd", "/etc/passwd", "a/../../b", "a\\..\\b", "C:/x", "a\0b"])
def test_a_path_traversal_is_refused(name: str) -> None:
    assert code(written([*PARTS, part(name, b"")])) == "PATH_TRAVERSAL"


@pytest.mark.parametrize("name", ["a//b", "a/", "./a", "x" * 256])
def test_a_malformed_name_is_refused(name: str) -> None:
    assert code(written([*PARTS, part(name, b"")])) == "ZIP_LAYOUT"


def with_zipfile(change: str) -> bytes:
    """Return a container as other tools write them."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as other:
        other.writestr(names.MIMETYPE, names.MEDIA_TYPE)
        info = zipfile.ZipInfo("evidence/link")
        if change == "symlink":
            info.create_system, info.external_attr = 3, 0o120777 << 16
        other.writestr(info, b"0" * 100_000, zipfile.ZIP_DEFLATED if change == "deflated" else None)
    return out.getvalue()


def test_no_entry_is_a_link() -> None:
    assert code(with_zipfile("symlink")) == "SYMLINK"


def test_file_attributes_are_refused() -> None:
    assert code(with_zipfile("attributes")) == "ZIP_LAYOUT"


def test_a_compressed_entry_is_refused() -> None:
    data = bytearray(written(PARTS))
    at = data.rindex(archive.CENTRAL)
    struct.pack_into("<I", data, at + 24, 2**31)
    assert code(bytes(data)) == "ZIP_BOMB"


def test_a_directory_that_claims_too_much_is_not_read() -> None:
    data = bytearray(written(PARTS))
    struct.pack_into("<2H", data, len(data) - 14, 9999, 9999)
    assert code(bytes(data)) == "ZIP_BOMB"


def test_a_local_header_that_differs_from_the_directory_is_refused() -> None:
    data = bytearray(written(PARTS))
    at = data.index(b"document/")
    data[at : at + 9] = b"doCument/"
    assert code(bytes(data)) == "LOCAL_HEADER_MISMATCH"


def test_the_type_comes_first() -> None:
    assert code(written(PARTS[1:])) == "ZIP_LAYOUT"
    assert code(written([part(names.MIMETYPE, b"application/zip"), *PARTS[1:]])) == "ZIP_LAYOUT"


class Sparse(io.RawIOBase):
    """A file of a few bytes and a great many zeros."""

    def __init__(self, pieces: list[tuple[int, bytes]], size: int) -> None:
        self.pieces, self.length, self.place = pieces, size, 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self.place = offset + (0, self.place, self.length)[whence]
        return self.place

    def read(self, size: int = -1) -> bytes:
        rest = max(0, self.length - self.place)
        size = rest if size < 0 else min(size, rest)
        data = bytearray(size)
        for start, piece in self.pieces:
            low, high = max(start, self.place), min(start + len(piece), self.place + size)
            if low < high:
                data[low - self.place : high - self.place] = piece[low - start : high - start]
        self.place += size
        return bytes(data)


def sparse(entries: list[ZipEntry]) -> BinaryIO:
    places = archive.offsets(entries)
    pieces = [(place, archive.local_header(each)) for place, each in zip(places, entries, strict=False)]
    pieces.append((places[0] + len(archive.local_header(entries[0])), names.MEDIA_TYPE))
    end = archive.directory(entries)
    return Sparse([*pieces, (places[-1], end)], places[-1] + len(end))  # type: ignore[return-value]


@pytest.mark.parametrize("size", [BIG - 1, BIG, BIG + 1, 10 * BIG])
def test_sizes_and_offsets_beyond_32_bits_use_zip64_fields(size: int) -> None:
    entries = [PARTS[0].entry, ZipEntry("document/large", size, 7), ZipEntry(names.EVENTS, 9, 8)]
    container = open_container(sparse(entries))
    assert tuple(container.entries.values()) == tuple(entries)
    with zipfile.ZipFile(sparse(entries)) as other:
        assert [each.file_size for each in other.infolist()] == [31, size, 9]


def test_a_large_file_is_never_held_in_memory() -> None:
    yielded: list[int] = []

    def chunks() -> Iterator[bytes]:
        for number in range(64):
            yielded.append(number)
            yield bytes(1000)

    large = measured("document/large", chunks)
    pieces = archive.write([PARTS[0], large])
    assert max(map(len, pieces)) < 2000
    assert yielded == [*range(64)] * 2
    assert large.entry.size == 64_000


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_document_name_gives_a_valid_path(name: str) -> None:
    path = names.document_name(name)
    names.check_name(path)
    assert path.count("/") == 1
    open_container(io.BytesIO(written([PARTS[0], part(path, b"x")])))


@given(st.binary(max_size=300))
def test_garbage_is_refused_with_a_code(data: bytes) -> None:
    assert code(data)


@settings(max_examples=300)
@given(st.data())
def test_a_damaged_container_is_refused_with_a_code(data: st.DataObject) -> None:
    whole = bytearray(written(PARTS))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    if bytes(whole) != written(PARTS):
        assert code(bytes(whole))


MANIFEST = asic.AsicManifest(names.STAMP, {"document/año & co.txt": bytes(32), names.MANIFEST: b"1" * 32})


def test_the_list_of_files_is_read_back() -> None:
    assert asic.decode(MANIFEST.encode()) == MANIFEST


DTD = b'<!DOCTYPE x [<!ENTITY a "b">]>'


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"<asic:ASiCManifest", b"<!DOCTYPE x>\n<asic:ASiCManifest", "XML_DTD"),
        (b"<asic:ASiCManifest", DTD + b"<asic:ASiCManifest", "XML_DTD"),
        (b"document/", b"&xxe;/", "XML_ENTITY"),
        (b"document/", b"document&#47;", "NON_CANONICAL"),
        (b"%20", b" ", "NON_CANONICAL"),
        (b"</asic:ASiCManifest>", b"<!-- hi --></asic:ASiCManifest>", "NON_CANONICAL"),
        (b"</asic:ASiCManifest>", b"<x/></asic:ASiCManifest>", "MALFORMED"),
        (b"</asic:ASiCManifest>", b"", "MALFORMED"),
        (b"xmlenc#sha256", b"xmldsig#sha1", "NON_CANONICAL"),
        (b"AAAA=", b"AAAB=", "NON_CANONICAL"),
        (b"AAAA=", b"!AAA=", "MALFORMED"),
        (b"evidence/manifest.json", b"document/a%C3%B1o%20%26%20co.txt", "MALFORMED"),
    ],
)
def test_a_list_in_another_form_is_refused(old: bytes, new: bytes, reason: str) -> None:
    changed = MANIFEST.encode().replace(old, new, 1)
    assert changed != MANIFEST.encode()
    with pytest.raises(BadBundle) as refused:
        asic.decode(changed)
    assert refused.value.code == reason


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_garbage_is_not_a_list(data: bytes) -> None:
    with pytest.raises(BadBundle):
        asic.decode(data)


def test_every_flipped_bit_of_the_list_is_noticed() -> None:
    data = MANIFEST.encode()
    for bit in range(8 * len(data)):
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << bit % 8
        try:
            assert asic.decode(bytes(broken)) != MANIFEST
        except BadBundle:
            continue


VECTORS = Path(__file__).parents[2] / "vectors" / "bundles"


@pytest.mark.parametrize(
    ("name", "digest", "found"),
    [
        ("plain", "a491ef5c", ["container", "seal", "ledger", "tsa"]),
        ("renewed", "a491ef5c", ["container", "seal", "seal", "ledger", "tsa"]),
        ("conversation", "", ["container", "seal", "ledger", "tsa"]),
    ],
)
def test_frozen_bundles_still_pass(name: str, digest: str, found: list[str]) -> None:
    at = datetime(2027, 1, 1, tzinfo=UTC)
    report = foja.verify(VECTORS / f"{name}.asice", trust=[VECTORS / "trust.txt"], at=at)
    assert report.verdict == "TOTAL_PASSED"
    assert [each.evidence for each in report.evidence] == found
    assert report.subject.sha256 is not None
    assert report.subject.sha256.hex().startswith(digest)


def test_frozen_containers_are_written_the_same() -> None:
    """A folder without containers fails."""
    frozen = sorted(VECTORS.glob("*.asice"))
    assert frozen
    for path in frozen:
        data = path.read_bytes()
        container = open_container(io.BytesIO(data))
        entries = list(container.entries.values())
        files = b"".join(archive.local_header(each) + container.read(each.name) for each in entries)
        assert files + archive.directory(entries, archive.FIRST_HOST) == data
        for name in container.names:
            if name.endswith(".xml"):
                assert asic.decode(container.read(name)).encode() == container.read(name)
