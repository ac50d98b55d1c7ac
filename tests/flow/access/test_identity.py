"""A home, a store, a key and a database that do not belong together are refused at start."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from foja.app import App
from foja.domains.registration import prepare
from foja.engine.embedded import postgres
from foja.engine.embedded.postgres import binaries
from foja.engine.identity import LOG_KEY
from foja.engine.observe.audit import audit
from foja.errors import SetupFailed, Unavailable
from tests.flow.command import Run, check_refused


async def protect(app: App, text: bytes = b"I owe you a cake.\n") -> UUID:
    document = await app.documents.add(text, name="promise.txt")
    await app.documents.protect(document.id)
    await app.work(until_idle=True)
    assert (await app.documents.view(document.id)).state == "final"
    return document.id


def installation(url: str) -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute("select installation_id from foja.installation").fetchone()
    assert row is not None
    return str(row[0])


@pytest.fixture
async def used(open_app: Callable[..., App]) -> App:
    """An installation with a final document, closed again."""
    async with open_app() as app:
        await protect(app)
    return app


async def test_a_home_of_another_database_is_refused(
    used: App, open_app: Callable[..., App], database_url: str, empty_database_url: str
) -> None:
    """Both installations are named, and nothing is written."""
    await prepare(empty_database_url)
    with pytest.raises(SetupFailed) as refused:
        await open_app(database_url=empty_database_url).__aenter__()
    for named in (used.settings.home, installation(database_url), installation(empty_database_url)):
        assert str(named) in str(refused.value)
    async with open_app() as app:
        await protect(app, b"another")


async def test_a_store_of_another_database_is_refused(
    used: App, open_app: Callable[..., App], database_url: str, empty_database_url: str, tmp_path: Path
) -> None:
    """With a new home, the store still belongs to the first database."""
    store = used.settings.store_url
    with pytest.raises(SetupFailed) as refused:
        await open_app(database_url=empty_database_url, home=tmp_path / "new", storage_url=store).__aenter__()
    for named in (store, installation(database_url), installation(empty_database_url)):
        assert str(named) in str(refused.value)


@pytest.mark.parametrize("key", [None, b"k" * 32], ids=["without a key", "with another key"])
async def test_a_key_that_did_not_sign_the_log_is_refused(
    used: App, open_app: Callable[..., App], key: bytes | None
) -> None:
    """No new key is made for a log that has one, and both keys are named."""
    path = used.settings.home / LOG_KEY
    path.unlink()
    if key:
        path.write_bytes(key)
        path.chmod(0o600)
    with pytest.raises(SetupFailed) as refused:
        await open_app().__aenter__()
    key_that_signed = used.signer.verifier()
    assert f"{key_that_signed.name}+{key_that_signed.key_id.hex()}" in str(refused.value)
    assert str(path) in str(refused.value)
    assert path.exists() == bool(key)


async def test_another_name_of_the_log_is_refused(used: App, open_app: Callable[..., App]) -> None:
    """The name is part of the key."""
    with pytest.raises(SetupFailed, match="FOJA_LOG_NAME"):
        await open_app(log_name="example.org/log").__aenter__()


def test_a_lost_key_has_a_way_on(run: Run, home: Path, tmp_path: Path) -> None:
    """`foja log restart` starts with a new key."""
    paper = tmp_path / "promise.txt"
    paper.write_text("I owe you a cake.\n")
    assert run("protect", paper, "--wait").code == 0
    (home / LOG_KEY).unlink()
    check_refused(run("status", paper), 2, "foja log restart --yes")
    assert run("log", "restart", "--yes").code == 0
    paper.write_text("I owe you two cakes.\n")
    assert run("protect", paper, "--wait").code == 0
    assert run("audit").code == 0


async def test_a_store_that_does_not_answer_does_not_stop_the_start(
    used: App, open_app: Callable[..., App], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deadlines do not wait for the store; what could not be compared is logged."""
    monkeypatch.setattr("foja.engine.identity.STORE_SECONDS", 0.2)
    copy = used.settings.home / "store" / "installation"
    copy.unlink()
    os.mkfifo(copy)
    async with open_app():
        assert "not known whether the store belongs" in caplog.text
        os.close(os.open(copy, os.O_RDWR | os.O_NONBLOCK))


async def test_an_installation_moves_with_pg_dump(
    open_app: Callable[..., App], database_url: str, tmp_path: Path
) -> None:
    """The way of docs/operations.md: the same home and store with a restored database."""
    async with open_app() as app:
        await protect(app)
    dump = tmp_path / "foja.dump"
    with postgres.start(tmp_path / "other") as server:
        run_program("pg_dump", "--format=custom", f"--file={dump}", database_url)
        await prepare(server.url)
        restore = ("--clean", "--if-exists", "--single-transaction", f"--dbname={server.url}")
        run_program("pg_restore", *restore, str(dump))
        async with open_app(database_url=server.url) as app:
            await protect(app)
            await protect(app, b"another")
        report = await audit(server.url, max_lag_seconds=60)
        assert report.clean, report.document()
        assert installation(server.url) == installation(database_url)


def run_program(name: str, *arguments: str) -> None:
    done = subprocess.run([binaries() / name, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


async def test_a_start_without_the_store_makes_no_other(used: App, open_app: Callable[..., App]) -> None:
    """While its disk was not mounted, a start made a store there; what it took was lost with the mount."""
    store = used.settings.home / "store"
    elsewhere = store.rename(store.with_name("elsewhere"))
    async with open_app() as app:
        with pytest.raises(Unavailable, match="is not that of this installation"):
            await app.documents.add(b"another promise")
        assert not store.exists()
        elsewhere.rename(store)
        await protect(app, b"another promise")
