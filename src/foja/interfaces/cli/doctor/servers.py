"""What other servers say: Redis, the store, timestamp authorities, networks, the channels of the alerts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import unquote, urlsplit

from foja.domains.documents.authorities import local_notice, open_stamper
from foja.engine.anchors.network import Network
from foja.engine.anchors.networks import open_networks
from foja.engine.identity import NAME, open_own_store
from foja.engine.remote.mail import greet, parse_server
from foja.engine.remote.notice import knock, shown_address
from foja.engine.remote.redis import redis_version
from foja.engine.settings import Settings
from foja.errors import FojaError, ObjectMissing, redact
from foja.interfaces.cli.doctor.finding import Finding, fail, note, ok, shown_space, warn
from foja.interfaces.cli.server.tsa import request_token
from foja.pure.models.alerts.table import ALERTS
from foja.pure.models.health.part import ADVICE as PART_ADVICE
from foja.pure.models.health.part import REACH_AUTHORITY, advice_on

ASK_SECONDS = 10.0
LEAST_FREE = 0.1
ADVICE = {
    "redis": "start Redis, or correct FOJA_REDIS_URL",
    "store": "look whether FOJA_STORAGE_URL can be reached from here; docs/runbooks/part_failing.md",
    "authorities": REACH_AUTHORITY,
    "networks": "correct its settings, or look whether its servers can be reached from here",
    "mail": PART_ADVICE["mail"],
    "alert_webhook": PART_ADVICE["alert_webhook"],
}
Check = Callable[[Settings], Awaitable[Sequence[Finding]]]


async def check_servers(settings: Settings, *, offline: bool) -> list[Finding]:
    """Ask every server that is set, all at once."""
    checks: list[Check] = [_redis, _store]
    if not offline:
        checks += [_authorities, _networks, _mail, _alert_webhook]
    results = await asyncio.gather(*(_run_check(check, settings) for check in checks))
    return [finding for findings in results for finding in findings]


async def _run_check(check: Check, settings: Settings) -> Sequence[Finding]:
    name = check.__name__.strip("_")
    try:
        async with asyncio.timeout(2 * ASK_SECONDS):
            return await check(settings)
    except TimeoutError:
        return [fail(name, f"no answer within {2 * ASK_SECONDS:g} seconds", ADVICE[name])]
    except (FojaError, OSError) as error:
        return [fail(name, redact(str(error)), ADVICE[name])]


async def _redis(settings: Settings) -> Sequence[Finding]:
    if not settings.redis_url:
        nothing = "nothing to do; FOJA_REDIS_URL sets one"
        return [note("redis", "not set: PostgreSQL numbers conversations", nothing)]
    if settings.redis_url == "embedded":
        nothing = "`foja up`, `foja web` and `foja worker` start it; nothing to do now"
        return [note("redis", "embedded", nothing)]
    try:
        version = await redis_version(settings.redis_url, seconds=ASK_SECONDS)
    except FojaError as error:
        return [warn("redis", str(error), "PostgreSQL numbers conversations meanwhile; nothing is lost")]
    return [ok("redis", f"Redis {version}")]


async def _store(settings: Settings) -> Sequence[Finding]:
    url = settings.store_url
    shown = redact(url)
    if not _may_exist(url) and not (settings.home / NAME).exists():
        return [note("store", f"{shown} does not exist", "it is made at the first start")]
    try:
        store = open_own_store(settings)
        await store.check()
        identity = (await store.read(NAME)).data.decode(errors="replace").strip()
    except ObjectMissing:
        found = f"{shown} answers, and has no installation yet"
        return [note("store", found, "it gets one at the first start")]
    return [ok("store", f"{shown} answers, of installation {identity[:36]}"), *_space(await store.space())]


def _space(space: tuple[int, int] | None) -> Sequence[Finding]:
    """Return how much room the disk of the store has; a bucket tells none."""
    if space is None:
        return []
    free, total = space
    found = f"{shown_space(free, total)} are free"
    if free < ALERTS["store_full"].limit * total:
        return [fail("store space", found, "documents are refused: docs/runbooks/store_full.md")]
    if free < LEAST_FREE * total:
        return [warn("store space", found, "free space there, or move the store to a larger disk or to S3")]
    return [ok("store space", found)]


def _may_exist(url: str) -> bool:
    """Return whether a store can be asked; that of a folder would be made by asking."""
    return urlsplit(url).scheme != "file" or Path(unquote(urlsplit(url).path)).is_dir()


async def _authorities(settings: Settings) -> Sequence[Finding]:
    if not settings.tsa_urls:
        return [note("timestamps", "by the local authority", local_notice(settings) or "nothing to do")]
    async with AsyncExitStack() as closing:
        stamper = await open_stamper(settings, closing)
        results = await asyncio.gather(*(request_token(each, stamper.terms) for each in stamper.authorities))
    return [_authority(each.name, *result) for each, result in zip(stamper.authorities, results, strict=True)]


def _authority(name: str, code: str, detail: str) -> Finding:
    found = f"{name}: {detail}"
    return fail("timestamps", found, advice_on("authority", code)) if code else ok("timestamps", found)


async def _networks(settings: Settings) -> Sequence[Finding]:
    if not (settings.polygon_rpc_url or settings.ots_calendars or settings.rekor_url):
        return [note("networks", "none is set: no anchors", "docs/polygon.md and docs/bitcoin.md set one up")]
    async with AsyncExitStack() as closing:
        stamper = await open_stamper(settings, closing)
        networks = open_networks(settings, _no_token, stamper.terms)
        return await asyncio.gather(*map(_network, networks.values()))


async def _network(network: Network) -> Finding:
    try:
        found = await network.check()
    except FojaError as error:
        return fail(network.name, str(error), ADVICE["networks"])
    if found.missing:
        return fail(network.name, "; ".join(found.missing), ADVICE["networks"])
    facts = [f"{name} {value}" for name, value in found.found.items() if isinstance(value, str | int)]
    return ok(network.name, ", ".join(facts) or "answers")


async def _no_token(digest: bytes) -> bytes:
    raise AssertionError("a check needs no token")


async def _mail(settings: Settings) -> Sequence[Finding]:
    if not settings.smtp_url:
        return []
    server = parse_server(settings.smtp_url)
    await greet(server, seconds=ASK_SECONDS)
    return [ok("mail", f"{server.name} accepts us; `foja alerts test` sends a message")]


async def _alert_webhook(settings: Settings) -> Sequence[Finding]:
    if not settings.alert_webhook_url:
        return []
    await knock(settings.alert_webhook_url, seconds=ASK_SECONDS)
    shown = shown_address(settings.alert_webhook_url)
    return [ok("alert_webhook", f"{shown} takes connections; `foja alerts test` sends a message")]
