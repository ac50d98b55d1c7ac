"""The object store, on a real disk and through obstore's memory store."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from foja.blobs.store import Store, open_store
from foja.errors import ObjectChanged, ObjectMissing, Refused, SetupFailed, Tampered

ABSENT = hashlib.sha256(b"absent").hexdigest()
RACER = """
import asyncio, sys
from foja.blobs.store import open_store
from foja.errors import ObjectChanged

async def race(url, expected, mark):
    store = open_store(url)
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        await store.replace("log/checkpoint", mark.encode() * 100_000, expected or None)
        print("won")
    except ObjectChanged:
        print("lost")

asyncio.run(race(*sys.argv[1:]))
"""


@pytest.fixture(params=["disk", "obstore"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return open_store(f"file://{tmp_path}/store" if request.param == "disk" else "memory:///")


@pytest.fixture
def disk(tmp_path: Path) -> Store:
    return open_store(f"file://{tmp_path}/store")


async def test_get_returns_what_put_stored(store: Store) -> None:
    for data in (b"", b"sheet one", b"\x00" * 6_000_000):
        digest = await store.put(data)
        assert digest == hashlib.sha256(data).hexdigest()
        assert await store.get(digest) == data


async def test_a_second_put_changes_nothing(disk: Store, tmp_path: Path) -> None:
    digest = await disk.put(b"once")
    path = tmp_path / "store" / "objects" / digest / "0"
    before = path.stat().st_ino
    assert await disk.put(b"once") == digest
    assert path.stat().st_ino == before
    assert not list((tmp_path / "store" / ".partial").iterdir())


async def test_concurrent_puts_of_the_same_bytes_succeed(store: Store) -> None:
    assert len(set(await asyncio.gather(*(store.put(b"same") for _ in range(20))))) == 1


async def test_an_object_that_was_never_stored_is_missing(store: Store) -> None:
    with pytest.raises(ObjectMissing, match=ABSENT):
        await store.get(ABSENT)
    with pytest.raises(ObjectMissing):
        await store.read("log/checkpoint")


async def test_a_changed_object_is_not_returned_and_not_overwritten(disk: Store, tmp_path: Path) -> None:
    digest = await disk.put(b"original")
    path = tmp_path / "store" / "objects" / digest / "0"
    path.write_bytes(b"forged!!")
    with pytest.raises(Tampered, match=digest):
        await disk.get(digest)
    with pytest.raises(Tampered, match=digest):
        await disk.put(b"original")
    assert path.read_bytes() == b"forged!!"


async def test_write_replaces_an_earlier_object(store: Store) -> None:
    await store.write("log/tile/0/x001/067.p/12", b"part")
    await store.write("log/tile/0/x001/067.p/12", b"whole")
    assert (await store.read("log/tile/0/x001/067.p/12")).data == b"whole"


async def test_replace_needs_the_version_that_was_read(store: Store) -> None:
    first = await store.replace("log/checkpoint", b"1", None)
    read = await store.read("log/checkpoint")
    assert (read.data, read.version) == (b"1", first)
    second = await store.replace("log/checkpoint", b"2", read.version)
    with pytest.raises(ObjectChanged):
        await store.replace("log/checkpoint", b"3", first)
    await store.replace("log/checkpoint", b"4", second)
    assert (await store.read("log/checkpoint")).data == b"4"


async def test_replace_without_a_version_needs_an_absent_key(store: Store) -> None:
    with pytest.raises(ObjectChanged):
        await store.replace("log/checkpoint", b"1", (await store.read(await _some_key(store))).version)
    await store.replace("log/checkpoint", b"1", None)
    with pytest.raises(ObjectChanged):
        await store.replace("log/checkpoint", b"2", None)
    assert (await store.read("log/checkpoint")).data == b"1"


async def _some_key(store: Store) -> str:
    await store.write("log/other", b"other")
    return "log/other"


async def test_a_local_version_is_its_content(disk: Store, tmp_path: Path) -> None:
    version = await disk.replace("log/checkpoint", b"same", None)
    (tmp_path / "store" / "log" / "checkpoint").touch()
    assert (await disk.read("log/checkpoint")).version == version


@pytest.mark.parametrize("start", [None, b"old"])
def test_one_of_many_processes_replaces_a_version(start: bytes | None, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/store"
    store = open_store(url)
    expected = asyncio.run(store.replace("log/checkpoint", start, None)) if start else ""
    racers = [_racer(url, expected, mark) for mark in "abcdef"]
    results = _run_together(racers)
    assert sorted(results) == ["lost"] * 5 + ["won"]
    winner = "abcdef"[results.index("won")]
    assert asyncio.run(store.read("log/checkpoint")).data == winner.encode() * 100_000


def _racer(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RACER, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _run_together(racers: list[subprocess.Popen[str]]) -> list[str]:
    """Start all processes once all are ready. Return the output of each."""
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    return [racer.communicate(timeout=60)[0].strip() for racer in racers]


BAD_KEYS = [
    "",
    "..",
    "../out",
    "a/../../out",
    "/etc/passwd",
    "a//b",
    "a/",
    "./a",
    ".lock",
    "a\\b",
    "%2e%2e/a",
    "a\n",
]


@pytest.mark.parametrize("key", BAD_KEYS)
async def test_a_key_that_could_lead_out_is_refused(key: str, store: Store, tmp_path: Path) -> None:
    for attempt in (
        store.write(key, b"x"),
        store.replace(key, b"x", None),
        store.read(key),
        store.get(f"a/{key}"),
    ):
        with pytest.raises(Refused, match="is not a valid key"):
            await attempt
    assert not (tmp_path / "out").exists()


async def test_objects_are_there_after_reopening(tmp_path: Path) -> None:
    digest = await open_store(f"file://{tmp_path}/a%20b/c").put(b"kept")
    assert await open_store(f"file://{tmp_path}/a%20b/c").get(digest) == b"kept"
    assert (tmp_path / "a b" / "c" / "objects" / digest / "0").read_bytes() == b"kept"


@pytest.mark.parametrize("url", ["", "nowhere", "foo://x", "file://relative/x", "file:x"])
def test_an_invalid_store_url_is_refused(url: str) -> None:
    with pytest.raises(SetupFailed, match="FOJA_STORAGE_URL"):
        open_store(url)


PUTTER = """
import asyncio, os, sys
from foja.blobs.store import open_store

async def put_for_ever(url):
    store = open_store(url)
    while True:
        print(await store.put(os.urandom(3_000_000)), flush=True)

asyncio.run(put_for_ever(sys.argv[1]))
"""


def test_a_killed_process_leaves_whole_objects_only(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PUTTER, f"file://{tmp_path}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as putter:
        assert putter.stdout is not None
        promised = [putter.stdout.readline().strip() for _ in range(3)]
        putter.kill()
    stored = {path.parent.name: path.read_bytes() for path in tmp_path.glob("objects/*/*")}
    assert set(promised) <= set(stored)
    assert all(hashlib.sha256(data).hexdigest() == name for name, data in stored.items())


async def test_a_stream_is_stored_under_its_digest(store: Store) -> None:
    for data in (b"", os.urandom(6_000_001)):
        kept = await store.keep(io.BytesIO(data))
        assert kept == (hashlib.sha256(data).hexdigest(), len(data))
        assert await store.keep(io.BytesIO(data)) == kept
        assert await store.get(kept[0]) == data


async def test_a_stream_leaves_no_temporary_file(disk: Store, tmp_path: Path) -> None:
    await disk.keep(io.BytesIO(b"whole"))
    assert not list((tmp_path / "store" / ".partial").iterdir())


async def test_an_object_is_fetched_in_chunks(store: Store) -> None:
    data = bytes(range(256)) * 20_000
    digest, _ = await store.keep(io.BytesIO(data))
    target = io.BytesIO()
    await store.fetch(digest, target)
    assert target.getvalue() == data
    with pytest.raises(ObjectMissing):
        await store.fetch("0" * 64, io.BytesIO())


async def test_fetch_raises_if_an_object_was_changed(disk: Store, tmp_path: Path) -> None:
    digest, _ = await disk.keep(io.BytesIO(b"as it was"))
    path = tmp_path / "store" / "objects" / digest / "0"
    path.chmod(0o600)
    path.write_bytes(b"as it is")
    with pytest.raises(Tampered):
        await disk.fetch(digest, io.BytesIO())
