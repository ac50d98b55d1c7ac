"""The timestamp authorities of the settings: over HTTP or the local one, and the terms for their tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from foja.domains.documents.stamper import Clock, Stamper, TimestampAuthority
from foja.engine.embedded import tsa
from foja.engine.faults import Reports, unreported
from foja.engine.remote.tsa import Connections, RemoteAuthority
from foja.engine.settings import Settings
from foja.errors import Refused, SetupFailed
from foja.pure.proofs.tsa import LOCAL_NOTICE, Certificate, Terms, revocation_lists, trusted

T = TypeVar("T")


def local_notice(settings: Settings) -> str | None:
    """Return the remark for reports if every token is of a local authority, else None."""
    if not settings.tsa_urls.split():
        return LOCAL_NOTICE
    roots = [each for each in _given_roots(settings) if each.is_self_issued]
    return LOCAL_NOTICE if roots and all(map(tsa.is_local, roots)) else None


async def open_stamper(
    settings: Settings,
    closing: AsyncExitStack,
    clock: Clock | None = None,
    report: Reports = unreported,
) -> Stamper:
    """Return the stamper of an installation; the local authority is created if it is needed."""
    if settings.tsa_urls and not settings.tsa_roots:
        raise SetupFailed("FOJA_TSA_URLS is set and no root is trusted; set FOJA_TSA_ROOTS")
    if settings.tsa_require_revocation and not settings.tsa_urls and not settings.tsa_crls:
        raise SetupFailed(
            "FOJA_TSA_REQUIRE_REVOCATION is set, and the local authority publishes no revocation list; "
            "set FOJA_TSA_URLS"
        )
    authorities = _remote(settings, closing) or [await asyncio.to_thread(tsa.LocalAuthority, settings.home)]
    given = _given_roots(settings)
    if given and not any(each.is_self_issued for each in given):
        raise SetupFailed("FOJA_TSA_ROOTS contains no self-signed certificate; add the roots")
    local = tsa.stored_root(settings.home)  # its old tokens stay verifiable if others are used now
    roots = [each.pem for each in given if each.is_self_issued] + ([local] if local else [])
    terms = Terms(
        trusted(*roots),
        [each for each in given if not each.is_self_issued],
        policies=settings.tsa_policies.split() or None,
        worst_accuracy=timedelta(seconds=settings.tsa_worst_accuracy_seconds),
        require_accuracy=False,
        crls=_read(revocation_lists, settings.tsa_crls, "FOJA_TSA_CRLS"),
        require_revocation=settings.tsa_require_revocation,
        tolerance=timedelta(seconds=settings.clock_tolerance_seconds),
    )
    return Stamper(authorities, terms, clock, report)


def _given_roots(settings: Settings) -> Sequence[Certificate]:
    return _read(trusted, settings.tsa_roots, "FOJA_TSA_ROOTS")


def _remote(settings: Settings, closing: AsyncExitStack) -> list[TimestampAuthority]:
    urls = settings.tsa_urls.split()
    if not urls:
        return []
    connections = Connections(timeout_seconds=settings.tsa_timeout_seconds)
    closing.push_async_callback(connections.aclose)
    return [RemoteAuthority(url, connections) for url in urls]


def _read(reader: Callable[..., T], place: str, setting: str) -> T:
    """Parse the file, or every file of the folder, that a setting names."""
    path = Path(place).expanduser()
    try:
        paths = sorted(path.iterdir()) if place and path.is_dir() else [path] if place else []
        return reader(*(each.read_bytes() for each in paths))
    except OSError as error:
        raise SetupFailed(f"{setting} cannot be read: {error.strerror}: {path}; correct it") from None
    except Refused as error:
        raise SetupFailed(f"{setting} cannot be used: {error}") from None
