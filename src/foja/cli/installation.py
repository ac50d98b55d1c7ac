"""The installation that a command is about."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from foja.app import App
from foja.blobs.store import Store, open_store
from foja.cli.log.verify import read_key
from foja.core.note import Signer, Verifier
from foja.embedded.keys import signing_seed
from foja.embedded.servers import database
from foja.errors import SetupFailed
from foja.observe.snapshot import snapshot
from foja.settings import Settings, load

OPTIONS = ("home", "database_url", "web_host", "web_port", "web_expose")


def settings_of(arguments: Namespace) -> Settings:
    """Return the settings of the environment, the options of the command over them."""
    return load(**{name: getattr(arguments, name) for name in OPTIONS if hasattr(arguments, name)})


@asynccontextmanager
async def opened(arguments: Namespace) -> AsyncIterator[App]:
    """Lend the running installation; it must exist."""
    settings = settings_of(arguments)
    _check_exists(settings)
    async with started(settings) as app:
        yield app


@asynccontextmanager
async def started(settings: Settings) -> AsyncIterator[App]:
    """Lend the running installation, made if there is none."""
    async with App(settings) as app:
        yield app


@asynccontextmanager
async def recorded(arguments: Namespace) -> AsyncIterator[str]:
    """Lend the database as it is: nobody migrates it or makes one for the occasion."""
    settings = settings_of(arguments)
    _check_exists(settings)
    async with database(settings) as url:
        yield url


def published(arguments: Namespace) -> Store:
    """Return the store of the installation."""
    settings = settings_of(arguments)
    return open_store(settings.store_url)


async def verifiers(arguments: Namespace, url: str) -> list[Verifier]:
    """Return the key given with the command, or else the installation's own."""
    key = getattr(arguments, "key", None)
    return [read_key(key) if key else await _own_key(settings_of(arguments), url)]


async def _own_key(settings: Settings, url: str) -> Verifier:
    path = settings.home / "keys" / "log.key"
    if not path.exists():
        raise SetupFailed(f"the log's key is not in {path}; give its public half with --key")
    async with snapshot(url) as moment:
        installation_id, *_ = await moment.row("installation")
    name = settings.log_name or f"foja.local/{installation_id.hex[:12]}"
    return Signer(name, signing_seed(path)).verifier()


def _check_exists(settings: Settings) -> None:
    if not settings.database_url and not (settings.home / "postgres").exists():
        raise SetupFailed(
            f"nothing is installed in {settings.home}; run `foja up`, or say --home or --database-url"
        )
