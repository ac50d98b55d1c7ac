"""Open the installation that a command works on. What only some commands need is imported by them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from foja.engine.embedded.servers import database
from foja.engine.private import check_finished
from foja.engine.settings import Settings, load, warn_about_unknown_names
from foja.errors import FojaError, SetupFailed
from foja.interfaces.cli.log_format import start_logging
from foja.interfaces.cli.output import print_error

if TYPE_CHECKING:
    from foja.app import App
    from foja.engine.blobs.store import Store
    from foja.pure.core.note import Verifier

OPTIONS = ("home", "database_url", "domains", "web_host", "web_port", "metrics_port")


def read_settings(arguments: Namespace) -> Settings:
    """Return the settings; options of the command override the environment. Log as they say."""
    settings = load(**{name: getattr(arguments, name) for name in OPTIONS if hasattr(arguments, name)})
    start_logging(settings)
    warn_about_unknown_names()
    return settings


def open_installation(arguments: Namespace, *, any_log_key: bool = False) -> App:
    """Return the App of an installation that must already exist, to be used with `async with`."""
    return create_app(read_existing(arguments), any_log_key=any_log_key)


def create_app(settings: Settings, *, any_log_key: bool = False, restoring: bool = False) -> App:
    """Return the App of these settings."""
    from foja.app import App

    return App(settings, any_log_key=any_log_key, restoring=restoring)


@asynccontextmanager
async def open_to_write(arguments: Namespace, *, existing: bool = False) -> AsyncIterator[App]:
    """Yield an App, and publish what the block recorded: perhaps no worker runs."""
    async with create_app(read_existing(arguments) if existing else read_settings(arguments)) as app:
        yield app
        try:
            await app.publish()
        except FojaError as error:
            print_error(f"everything is recorded, but not published yet: {error}; `foja worker` publishes it")


def open_database(arguments: Namespace) -> AbstractAsyncContextManager[str]:
    """Return the URL of the existing database; it is neither created nor migrated."""
    return database(read_existing(arguments))


def open_object_store(arguments: Namespace) -> Store:
    """Return the object store of the installation."""
    from foja.engine.identity import open_own_store

    return open_own_store(read_settings(arguments))


async def read_verifiers(arguments: Namespace, url: str) -> list[Verifier]:
    """Return the log key given with the command, or the key of the installation."""
    from foja.interfaces.cli.log.verify import read_key

    key = getattr(arguments, "key", None)
    return [read_key(key, "--key") if key else await _read_own_key(read_settings(arguments), url)]


async def _read_own_key(settings: Settings, url: str) -> Verifier:
    from foja.engine.identity import LOG_KEY, make_signer
    from foja.engine.observe.snapshot import snapshot

    if not (settings.home / LOG_KEY).exists():
        raise SetupFailed(
            f"the key of the log is not in {settings.home / LOG_KEY}; give its public key with --key"
        )
    async with snapshot(url) as moment:
        installation_id, *_ = await moment.row("installation")
    return make_signer(settings, installation_id).verifier()


def read_existing(arguments: Namespace) -> Settings:
    """Return the settings of an installation that exists."""
    settings = read_settings(arguments)
    check_finished(settings.home)
    if not is_installed(settings):
        raise SetupFailed(
            f"nothing is installed in {settings.home}; run `foja up`, or give --home or --database-url"
        )
    return settings


def is_installed(settings: Settings) -> bool:
    """Return whether these settings name a database, or the home has one."""
    return bool(settings.database_url) or (settings.home / "postgres").exists()
