"""Open the installation that a command works on."""

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

OPTIONS = ("home", "database_url", "domains", "web_host", "web_port", "web_expose")


def read_settings(arguments: Namespace) -> Settings:
    """Return the settings; options of the command override the environment."""
    return load(**{name: getattr(arguments, name) for name in OPTIONS if hasattr(arguments, name)})


@asynccontextmanager
async def open_installation(arguments: Namespace) -> AsyncIterator[App]:
    """Yield the App of an installation that must already exist."""
    settings = read_settings(arguments)
    _check_exists(settings)
    async with App(settings) as app:
        yield app


@asynccontextmanager
async def open_database(arguments: Namespace) -> AsyncIterator[str]:
    """Yield the URL of the existing database; it is neither created nor migrated."""
    settings = read_settings(arguments)
    _check_exists(settings)
    async with database(settings) as url:
        yield url


def open_object_store(arguments: Namespace) -> Store:
    """Return the object store of the installation."""
    return open_store(read_settings(arguments).store_url)


async def read_verifiers(arguments: Namespace, url: str) -> list[Verifier]:
    """Return the log key given with the command, or the key of the installation."""
    key = getattr(arguments, "key", None)
    return [read_key(key) if key else await _read_own_key(read_settings(arguments), url)]


async def _read_own_key(settings: Settings, url: str) -> Verifier:
    path = settings.home / "keys" / "log.key"
    if not path.exists():
        raise SetupFailed(f"the key of the log is not in {path}; give its public key with --key")
    async with snapshot(url) as moment:
        installation_id, *_ = await moment.row("installation")
    name = settings.log_name or f"foja.local/{installation_id.hex[:12]}"
    return Signer(name, signing_seed(path)).verifier()


def _check_exists(settings: Settings) -> None:
    if not settings.database_url and not (settings.home / "postgres").exists():
        raise SetupFailed(
            f"nothing is installed in {settings.home}; run `foja up`, or give --home or --database-url"
        )
