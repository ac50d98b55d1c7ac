"""The object store, on a real disk and through obstore's memory store."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import io
import os
import stat
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from foja.engine import private
from foja.engine.blobs import disk as disk_module
from foja.engine.blobs import filesystem
from foja.engine.blobs.bucket import SMALL_BYTES
from foja.engine.blobs.store import Store, object_key, open_store
from foja.engine.blobs.transfer import CHUNK_BYTES
from foja.errors import ObjectChanged, ObjectMissing, Refused, SetupFailed, Tampered, Unavailable

ABSENT = hashlib.sha256(b"absent").hexdigest()
RACER = """
import asyncio, sys
from foja.engine.blobs.store import open_store
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


async def put(store: Store, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    await store.write(object_key(digest, 0), data)
    return digest


async def keep(store: Store, data: bytes) -> tuple[str, int]:
    async with store.spool(io.BytesIO(data)) as spool:
        await store.save(spool, object_key(spool.sha256, 0))
        return spool.sha256, spool.size


@pytest.fixture(params=["disk", "obstore"])
def store(request: pytest.FixtureRequest, tmp_path: Path, bucket: str | None, store_url: str) -> Store:
    """A store on disk, and one behind obstore: in memory, or on S3 where the tests run on it."""
    network = store_url if bucket else "memory:///"
    return open_store(f"file://{tmp_path}/store" if request.param == "disk" else network)


@pytest.fixture
def disk(tmp_path: Path) -> Store:
    return open_store(f"file://{tmp_path}/store")


async def test_get_returns_what_put_stored(store: Store) -> None:
    for data in (b"", b"sheet one", b"\x00" * 6_000_000):
        digest = await put(store, data)
        assert digest == hashlib.sha256(data).hexdigest()
        assert await store.get(digest) == data


@pytest.mark.parametrize("size", [0, CHUNK_BYTES, CHUNK_BYTES + 1, SMALL_BYTES, 2 * SMALL_BYTES + 1])
async def test_an_object_of_any_size_is_returned_whole_or_not_at_all(store: Store, size: int) -> None:
    """A large one arrives in chunks."""
    data = os.urandom(size)
    found = await store.get(await put(store, data))
    assert type(found) is bytes
    assert found == data
    await store.write(object_key(ABSENT, 0), data)
    with pytest.raises(Tampered):
        await store.get(ABSENT)


async def test_a_second_put_gives_the_same(disk: Store, tmp_path: Path) -> None:
    digest = await put(disk, b"once")
    assert await put(disk, b"once") == digest
    assert [each.name for each in (tmp_path / "store" / "objects" / digest).iterdir()] == ["0"]
    assert not list((tmp_path / "store" / ".partial").iterdir())


async def test_concurrent_puts_of_the_same_bytes_succeed(store: Store) -> None:
    assert len(set(await asyncio.gather(*(put(store, b"same") for _ in range(20))))) == 1


async def test_an_object_that_was_never_stored_is_missing(store: Store) -> None:
    with pytest.raises(ObjectMissing, match=ABSENT):
        await store.get(ABSENT)
    with pytest.raises(ObjectMissing):
        await store.read("log/checkpoint")


async def test_a_changed_object_is_not_returned_and_mended_by_the_next_put(
    disk: Store, tmp_path: Path
) -> None:
    digest = await put(disk, b"original")
    path = tmp_path / "store" / "objects" / digest / "0"
    path.write_bytes(b"forged!!")
    with pytest.raises(Tampered, match=digest):
        await disk.get(digest)
    assert await put(disk, b"original") == digest
    assert await disk.get(digest) == b"original"


async def test_write_replaces_an_earlier_object(store: Store) -> None:
    await store.write("log/tile/0/x001/067.p/12", b"part")
    await store.write("log/tile/0/x001/067.p/12", b"whole")
    assert (await store.read("log/tile/0/x001/067.p/12")).data == b"whole"


async def test_many_are_written_at_once_and_leave_nothing_beside(store: Store, tmp_path: Path) -> None:
    objects = {f"objects/{number:064x}/0": b"%d" % number for number in range(11)}
    await store.write_many({**objects, f"objects/{3:064x}/0": b"earlier"})
    await store.write_many(objects)
    assert {key: (await store.read(key)).data for key in objects} == objects
    assert not list(tmp_path.glob("store/.partial/*"))


async def test_many_are_synced_before_and_after_they_get_their_keys(
    disk: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut must find the whole object under a key, or none."""
    keys = [f"objects/{number:064x}/0" for number in range(8)]
    named: list[int] = []
    monkeypatch.setattr(filesystem, "is_quick", lambda: True)
    monkeypatch.setattr(
        filesystem, "sync_all", lambda _: named.append(len(list(tmp_path.glob("store/objects/*/0"))))
    )
    await disk.write_many(dict.fromkeys(keys, b"kept"))
    assert named == [0, len(keys)]


async def test_many_are_synced_one_by_one_where_the_disk_is_busy(
    disk: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file before it gets its key, then its folder; the folder above them when all are there."""
    keys = [f"objects/{number:064x}/0" for number in range(9)]
    files, folders = list[int](), list[tuple[Path, int]]()
    root, original, fsync = tmp_path / "store", private.sync, os.fsync

    def named() -> int:
        return len(list(root.glob("objects/*/0")))

    def sync(folder: Path) -> None:
        assert folder == root / "objects" or (folder / "0").exists()
        folders.append((folder, named()))
        original(folder)

    def sync_file(descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            files.append(os.fstat(descriptor).st_size)
        fsync(descriptor)

    monkeypatch.setattr(filesystem, "is_quick", lambda: False)
    monkeypatch.setattr(disk_module, "sync", sync)
    monkeypatch.setattr(os, "fsync", sync_file)
    await disk.write_many(dict.fromkeys(keys, b"kept"))
    assert files == [len(b"kept")] * len(keys)
    assert {folder for folder, _ in folders[:-1]} == {(root / key).parent for key in keys}
    assert folders[-1] == (root / "objects", len(keys))


async def test_many_are_refused_if_the_disk_cannot_sync_them(
    disk: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    keys = [f"objects/{number:064x}/0" for number in range(8)]
    monkeypatch.setattr(filesystem, "is_quick", lambda: True)
    monkeypatch.setattr(filesystem, "sync_all", fail)
    with pytest.raises(Unavailable, match="Input/output error"):
        await disk.write_many(dict.fromkeys(keys, b"lost"))
    assert await disk.present(keys) == set()
    assert not list(tmp_path.glob("store/.partial/*"))


@pytest.mark.parametrize("quick", [True, False])
async def test_many_are_written_while_their_folders_are_removed(
    disk: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    monkeypatch.setattr(filesystem, "is_quick", lambda: quick)
    keys = [f"objects/{number:064x}/0" for number in range(8)]
    gone = asyncio.create_task(_remove(tmp_path / "store" / "objects"))
    for _ in range(20):
        await disk.write_many(dict.fromkeys(keys, b"kept"))
        assert await disk.present(keys) == set(keys)
        await disk.delete(keys)
    gone.cancel()


async def _remove(folder: Path) -> None:
    """Remove empty folders, as deletions of other processes do."""
    while True:
        for each in folder.iterdir() if folder.exists() else ():
            with suppress(OSError):
                await asyncio.to_thread(each.rmdir)
        await asyncio.sleep(0)


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
    digest = await put(open_store(f"file://{tmp_path}/a%20b/c"), b"kept")
    assert await open_store(f"file://{tmp_path}/a%20b/c").get(digest) == b"kept"
    assert (tmp_path / "a b" / "c" / "objects" / digest / "0").read_bytes() == b"kept"


@pytest.mark.parametrize("url", ["", "nowhere", "foo://x", "file://relative/x", "file:x"])
def test_an_invalid_store_url_is_refused(url: str) -> None:
    with pytest.raises(SetupFailed, match="FOJA_STORAGE_URL"):
        open_store(url)


PUTTER = """
import asyncio, hashlib, os, sys
from foja.engine.blobs.store import open_store

async def put_for_ever(url):
    store = open_store(url)
    while True:
        data = os.urandom(3_000_000)
        digest = hashlib.sha256(data).hexdigest()
        await store.write(f"objects/{digest}/0", data)
        print(digest, flush=True)

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
        kept = await keep(store, data)
        assert kept == (hashlib.sha256(data).hexdigest(), len(data))
        assert await keep(store, data) == kept
        assert await store.get(kept[0]) == data


async def test_a_stream_leaves_no_temporary_file(disk: Store, tmp_path: Path) -> None:
    await keep(disk, b"whole")
    assert not list((tmp_path / "store" / ".partial").iterdir())


async def test_an_object_is_fetched_in_chunks(store: Store) -> None:
    data = bytes(range(256)) * 20_000
    digest, _ = await keep(store, data)
    target = io.BytesIO()
    await store.fetch(digest, target)
    assert target.getvalue() == data
    with pytest.raises(ObjectMissing):
        await store.fetch("0" * 64, io.BytesIO())


async def test_fetch_raises_if_an_object_was_changed(disk: Store, tmp_path: Path) -> None:
    digest, _ = await keep(disk, b"as it was")
    path = tmp_path / "store" / "objects" / digest / "0"
    path.chmod(0o600)
    path.write_bytes(b"as it is")
    with pytest.raises(Tampered):
        await disk.fetch(digest, io.BytesIO())


async def test_pages_of_objects_are_listed_and_nothing_else(store: Store) -> None:
    digests = [hashlib.sha256(bytes([number])).hexdigest() for number in range(5)]
    keys = {object_key(digest, number) for number, digest in enumerate(digests)}
    for key in (*keys, "log/checkpoint", "installation"):
        await store.write(key, b"12345")
    listed = [each async for page in store.objects() for each in page]
    assert {each.key for each in listed} == keys
    assert {each.size for each in listed} == {5}
    assert all(abs((datetime.now(UTC) - each.modified_at).total_seconds()) < 60 for each in listed)


async def test_objects_are_deleted_twice_without_harm(store: Store) -> None:
    keys = [object_key(hashlib.sha256(bytes([number])).hexdigest(), 0) for number in range(40)]
    for key in keys:
        await store.write(key, b"x")
    assert await store.present([*keys, object_key("f" * 64, 0)]) == {*keys}
    for _ in range(2):
        await store.delete(keys[:30])
        assert await store.present(keys) == {*keys[30:]}
        assert not await store.exists(keys[0])
    assert await store.exists(keys[30])
    await store.write(keys[0], b"again")
    assert await store.exists(keys[0])


@pytest.mark.parametrize("key", ["log/checkpoint", "installation", "objectsx/a", "objects"])
async def test_nothing_but_an_object_is_deleted(store: Store, key: str) -> None:
    await store.write(key, b"kept")
    for attempt in (store.delete([key]), store.present([key]), store.exists(key)):
        with pytest.raises(Refused, match="is not the key of an object"):
            await attempt
    assert (await store.read(key)).data == b"kept"


async def test_what_a_killed_writer_left_is_removed_after_its_time(disk: Store, tmp_path: Path) -> None:
    await put(disk, b"kept")
    old, new = (tmp_path / "store" / ".partial" / name for name in ("old", "new"))
    for path in (old, new):
        path.write_bytes(b"half of it")
    os.utime(old, (1, 1))
    await disk.forget_partial(datetime.now(UTC) - timedelta(hours=1))
    assert (old.exists(), new.exists()) == (False, True)


async def test_writes_and_deletions_of_one_key_do_not_disturb_each_other(store: Store) -> None:
    """A deletion removes the folder of an object; a write that comes between makes it again."""
    key = object_key("a" * 64, 0)

    async def write() -> None:
        for _ in range(100):
            await store.write(key, b"whole")

    async def delete() -> None:
        for _ in range(200):
            await store.delete([key])

    await asyncio.gather(write(), write(), delete(), delete())
    await store.write(key, b"whole")
    assert await store.exists(key)


async def test_a_folder_that_comes_and_goes_while_it_is_created_does_not_stop_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`mkdir` finds the folder of another writer; a deletion removes it before `mkdir` looks again."""
    store, key = open_store(tmp_path.as_uri()), object_key("a" * 64, 0)
    await store.write(key, b"whole")
    is_dir = Path.is_dir
    monkeypatch.setattr(Path, "is_dir", lambda self: self != (tmp_path / key).parent and is_dir(self))
    await store.write(key, b"again")
    await store.write_many({key: b"many"})
    assert (await store.read(key)).data == b"many"


OWNER = "3f0d3a52-0d0f-4c57-9e0a-1b8f4c2d7e11"
WRITES: dict[str, Callable[[Store], Awaitable[object]]] = {
    "write": lambda store: put(store, b"new"),
    "a few": lambda store: store.write_many({f"objects/{n:064x}/0": b"new" for n in range(2)}),
    "many": lambda store: store.write_many({f"objects/{n:064x}/0": b"new" for n in range(9)}),
    "stream": lambda store: keep(store, b"new"),
    "create": lambda store: store.replace("log/1/checkpoint", b"new", None),
    "replace": lambda store: store.replace("log/checkpoint", b"new", hashlib.sha256(b"old").hexdigest()),
}


@pytest.fixture
async def owned(disk: Store, tmp_path: Path) -> Store:
    """The store of an installation, with a checkpoint."""
    await disk.write("installation", f"{OWNER}\n".encode())
    await disk.write("log/checkpoint", b"old")
    return open_store(f"file://{tmp_path}/store", identity=OWNER)


@pytest.mark.parametrize("moment", ["before", "meanwhile"])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_a_disk_that_is_unmounted_takes_nothing(
    owned: Store,
    tmp_path: Path,
    write: Callable[[Store], Awaitable[object]],
    moment: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A new folder was made at its place, and took what was lost with it."""
    root, elsewhere = tmp_path / "store", tmp_path / "elsewhere"
    written = private._create

    def unmount(path: Path) -> int:
        descriptor = written(path)
        if root.exists():
            root.rename(elsewhere)
        return descriptor

    if moment == "before":
        root.rename(elsewhere)
    else:
        monkeypatch.setattr(private, "_create", unmount)
    with pytest.raises(Unavailable, match="Mount its disk") as away:
        await write(owned)
    assert away.value.code == "store_away"
    assert not root.exists()
    monkeypatch.setattr(private, "_create", written)
    elsewhere.rename(root)
    await write(owned)


@pytest.mark.parametrize("found", ["nothing", "another installation"])
async def test_what_is_missing_in_another_store_is_not_missing(
    owned: Store, disk: Store, tmp_path: Path, found: str
) -> None:
    """An object was said to be removed while the disk of the store was away."""
    with pytest.raises(ObjectMissing):
        await owned.get(ABSENT)
    root = tmp_path / "store"
    root.rename(tmp_path / "elsewhere")
    root.mkdir()
    if found == "another installation":
        await disk.write("installation", b"another")
    for ask in (owned.get(ABSENT), owned.exists(object_key(ABSENT, 0)), owned.space(), owned.check()):
        with pytest.raises(Unavailable, match=r"(lacks its|has another) file `installation`"):
            await ask
    with pytest.raises(Unavailable, match="is not that of this installation"):
        _ = [page async for page in owned.objects()]
