"""The archive of a backup: one encoding, read by other tools, and closed to every change."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from foja.domains.backup import archive
from foja.domains.backup.archive import ArchiveReader, ArchiveWriter
from foja.domains.backup.description import Description, Table, parts_of
from foja.domains.backup.log_files import is_covered
from foja.errors import Malformed, Tampered

DESCRIBED = Description(
    foja="0.1.0",
    at="2026-11-17T12:00:00Z",  # type: ignore[arg-type]
    installation="00000000-0000-4000-8000-000000000001",  # type: ignore[arg-type]
    log_name="",
    epoch="0123456789ab",
    store=True,
    schema_steps=(),
    tables=(Table(name="foja.event", columns=("seq", "kind")),),
    sequences=(),
).to_bytes()
OBJECT = f"objects/{hashlib.sha256(b'x' * 700).hexdigest()}/0"
PARTS = {
    "backup.json": DESCRIBED,
    "keys/log.key": b"k" * 32,
    "database/foja.event/00000000.copy": b"0\tthinking\n",
    "log/1/tile/0/000.p/2": b"",
    OBJECT: b"x" * 700,
}


def write(parts: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with ArchiveWriter(target) as writer:
        for name, data in parts.items():
            writer.add(name, data)
        writer.finish()
    return target.getvalue()


def read(data: bytes) -> dict[str, bytes]:
    _, parts = parts_of(ArchiveReader(io.BytesIO(data)))
    return {part.name: part.read() for part in parts}


def test_what_is_written_is_read_again_from_memory_and_as_a_stream() -> None:
    target = io.BytesIO()
    with ArchiveWriter(target) as writer:
        for name, data in PARTS.items():
            writer.copy(name, len(data), io.BytesIO(data))
        digest = writer.finish()
    assert target.getvalue() == write(PARTS)
    assert writer.size == len(target.getvalue())
    reader = ArchiveReader(io.BytesIO(target.getvalue()))
    assert {part.name: part.read() for part in reader.parts()} == PARTS
    assert reader.digest == digest


def test_other_tools_read_and_check_it(tmp_path: Path) -> None:
    (tmp_path / "backup.tar").write_bytes(write(PARTS))
    subprocess.run(["tar", "--extract", "--file=backup.tar"], cwd=tmp_path, check=True)
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=tmp_path, check=True)
    assert (tmp_path / OBJECT).read_bytes() == PARTS[OBJECT]
    assert (tmp_path / "keys" / "log.key").stat().st_mode & 0o777 == 0o600


def test_every_changed_byte_is_found() -> None:
    whole = write(PARTS)
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 1
        with pytest.raises((Malformed, Tampered)):
            read(bytes(changed))


def test_every_shorter_and_any_longer_archive_is_refused() -> None:
    whole = write(PARTS)
    for size in [*range(0, len(whole), 97), len(whole) - 1]:
        with pytest.raises(Malformed):
            read(whole[:size])
    with pytest.raises(Malformed, match="bytes follow"):
        read(whole + b"\0")


def test_a_changed_part_is_named() -> None:
    whole = write(PARTS)
    at = whole.index(b"0\tthinking")
    with pytest.raises(Tampered, match=r"database/foja\.event/00000000\.copy does not have its digest"):
        read(whole[:at] + b"1" + whole[at + 1 :])


@pytest.mark.parametrize(
    "names",
    [
        ("backup.json", "objects/nothing"),
        ("backup.json", "keys/log.key", "backup.json"),
        ("backup.json", "log/1/checkpoint", "keys/log.key"),
        ("backup.json", "log/1/tile/0/000", "log/1/checkpoint"),
        ("backup.json", "keys/log.key", "keys/log.key"),
        ("backup.json", "store/installation"),
        ("backup.json", "database/pg_catalog.pg_authid/00000000.copy"),
        ("keys/log.key",),
        (),
    ],
)
def test_parts_that_are_unknown_twice_or_out_of_order_are_refused(names: tuple[str, ...]) -> None:
    target = io.BytesIO()
    with ArchiveWriter(target) as writer:
        for name in names:
            writer.add(name, DESCRIBED if name == "backup.json" else b"")
        writer.finish()
    with pytest.raises(Malformed):
        read(target.getvalue())


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "../x", "keys/../x", "keys//x", "keys/.x", "keys/x\n", "a" * 100, "ñ"]
)
def test_no_name_leads_out_of_its_folder(name: str) -> None:
    with ArchiveWriter(io.BytesIO()) as writer, pytest.raises(ValueError, match="cannot be the name"):
        writer.add(name, b"")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE])
def test_links_folders_and_devices_are_refused(kind: bytes) -> None:
    entry = tarfile.TarInfo("keys/log.key")
    entry.type, entry.linkname = kind, "/etc/passwd"
    with pytest.raises(Malformed):
        read(entry.tobuf(tarfile.GNU_FORMAT) + bytes(1024))


def test_a_part_may_be_larger_than_old_tars_allow() -> None:
    size = 9 << 30
    part = archive._next(io.BytesIO(archive._header(OBJECT, size)))
    assert (part.name, part.size) == (OBJECT, size)


def test_a_source_that_changes_its_size_is_refused() -> None:
    for data in (b"short", b"much too long"):
        with (
            ArchiveWriter(io.BytesIO()) as writer,
            pytest.raises(Tampered, match="changed while it was read"),
        ):
            writer.copy("keys/log.key", 8, io.BytesIO(data))


def test_fields_that_this_version_does_not_know_are_refused() -> None:
    for changed in (DESCRIBED.replace(b"foja/backup/v1", b"foja/backup/v2"), b"{}", b"nothing", b"[1]"):
        with pytest.raises(Malformed, match=r"backup\.json"):
            read(write({"backup.json": changed}))


@pytest.mark.parametrize(
    ("name", "size", "covered"),
    [
        ("tile/0/000.p/7", 7, True),
        ("tile/0/000.p/8", 7, False),
        ("tile/0/000", 256, True),
        ("tile/0/000", 255, False),
        ("tile/entries/x001/234.p/5", 1234 * 256 + 5, True),
        ("tile/entries/x001/234.p/5", 1234 * 256 + 4, False),
        ("tile/1/000.p/1", 256, True),
        ("tile/1/000.p/1", 255, False),
        ("tile/2/000.p/1", 65_536, True),
        ("checkpoint", 9, False),
        ("other", 9, False),
    ],
)
def test_tiles_above_the_published_size_are_left_out(name: str, size: int, covered: bool) -> None:
    assert is_covered(f"log/1/{name}", {1: size}) is covered
    assert not is_covered(f"log/2/{name}", {1: size})
