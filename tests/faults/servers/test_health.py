"""Every part of an installation breaks in turn: overview, doctor, readyz, alert and metric say the same.

Seen before: an unreachable authority, a full store and a missing worker, all with a green overview, a calm
`/readyz` and "everything works".
"""

from __future__ import annotations

import asyncio
import contextlib
import html
import re
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import psycopg
import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Sink

from foja.app import App
from foja.domains.images.decoder.pool import Decoders
from foja.domains.images.decoder.process import Bounds
from foja.engine.observe import readiness
from foja.engine.observe.logs import read_logs
from foja.engine.observe.snapshot import snapshot
from foja.errors import Unavailable
from foja.interfaces.cli.doctor.database import check_database
from foja.interfaces.cli.doctor.finding import Status
from foja.interfaces.cli.doctor.servers import check_servers
from foja.interfaces.web.pages.frame.language import read_texts
from tests.counterparties.ports import free_port
from tests.counterparties.receiver import Receiver, running_receiver
from tests.counterparties.s3 import BUCKET, running_s3
from tests.flow.client.client import SAY, served
from tests.flow.http.cut_relay import cut_relay
from tests.flow.images.small_disk import small_disk
from tests.flow.networks.anchored_world import running_world
from tests.redis_server import RedisServer
from tests.tsa_server import TsaServer, running_tsa

Admin = psycopg.Connection[Any]
Break = Callable[["Scene"], contextlib.AbstractAsyncContextManager[str]]
PATIENCE = 120.0
QUICK = {
    "health_seconds": 1.0,
    "health_remote_seconds": 1.0,
    "alert_seconds": 1.0,
    "metrics_cache_seconds": 0.0,
}
BY_LABEL = {"worker_missing": "job:"}  # alerts whose labels are not yet parts
BY_ALERT = {"log_halted": "log"}  # alerts without a label
KINDS = "database|schema|log|job|authority|network|store|redis|decoder|webhooks|mail|alert_webhook"


class AlertHook:
    """What takes the notices of the alerts; it may be closed, and opened again at the same address."""

    def __init__(self) -> None:
        self.receiver, self.port = Receiver(), free_port()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self.receiver._serve, "127.0.0.1", self.port)

    def close(self) -> None:
        self._server.close()


@dataclass
class Scene:
    """An installation that runs, and what a test may break."""

    app: App
    client: httpx.AsyncClient
    admin: Admin
    working: asyncio.Task[None]
    tsa: TsaServer | None = None
    redis: RedisServer | None = None
    mail: Controller | None = None
    hook: AlertHook | None = None
    receivers: tuple[Receiver, ...] = ()
    disk: Path | None = None

    async def overview(self) -> set[str]:
        """Return the parts that the overview shows as failing, each with since when and what to do."""
        page = (await self.client.get("/?lang=en")).text
        cards = re.findall(r'<li class="figure">(.*?)</li>', page, re.DOTALL)
        red = [html.unescape(card) for card in cards if re.search(r'class="badge (bad|warn)"', card)]
        for card in red:
            assert "ince " in card, card
            assert "→" in card, card
        return set(map(part_of_card, red))

    async def upload(self, data: bytes) -> httpx.Response:
        """Send a document."""
        files = {"file": ("contract.txt", data)}
        return await self.client.post("/v1/documents", files=files)

    async def published(self) -> bool:
        """Return whether all events are in a published checkpoint."""
        async with snapshot(self.app.settings.database_url) as moment:
            logs = await read_logs(moment)
        return bool(logs) and logs[-1].waiting == 0 and logs[-1].published == logs[-1].size > 0

    async def readyz(self) -> set[str]:
        """Return the parts that `/readyz` says do not work; it says since when, and no words of errors."""
        answer = await self.client.get("/readyz")
        parts = answer.json()["parts"]
        failing = {name for name, part in parts.items() if not part["ok"]}
        assert all(part["since"] for name, part in parts.items() if name in failing), parts
        assert not any("error" in part for part in parts.values())
        needed = {name for name, part in parts.items() if part.get("detail")}
        assert needed <= failing & set(readiness.NEEDED)
        assert answer.status_code == (503 if needed else 200)
        assert answer.json()["status"] == ("failed" if needed else "degraded" if failing else "ok")
        return failing

    async def metric(self) -> set[str]:
        """Return the parts whose gauge says that they fail."""
        text = (await self.client.get("/metrics")).text
        found = re.findall(
            r'^foja_health_failing_seconds\{kind="\w+",part="([^"]+)"\} (\S+)$', text, re.MULTILINE
        )
        return {part for part, seconds in found if float(seconds) > 0}

    async def doctor(self) -> set[str]:
        """Return the parts that the doctor names, each with its next step."""
        settings = self.app.settings
        findings = [*await check_database(settings), *await check_servers(settings, offline=True)]
        wrong = [each for each in findings if each.status in {Status.WARN, Status.FAIL}]
        assert all(each.advice for each in findings if each.status is not Status.OK), findings
        return {each.name for each in wrong if re.fullmatch(rf"({KINDS})(:.*)?", each.name)}

    async def alerts(self) -> set[str]:
        """Return the parts whose alerts fire."""
        fired = [state for state in (await self.app.alerts.last()).states if state.fired_at]
        labels = {BY_LABEL.get(state.alert, "") + state.label for state in fired if state.label}
        return labels | {BY_ALERT[state.alert] for state in fired if state.alert in BY_ALERT}

    async def fired(self) -> set[str]:
        """Return the names of the alerts that fire."""
        return {state.alert for state in (await self.app.alerts.last()).states if state.fired_at}

    def evaluations(self) -> int:
        """Return how often the alerts were evaluated."""
        row = self.admin.execute("select version from foja.alert_round").fetchone()
        assert row
        return int(row[0])

    async def until(self, ask: Callable[[], Awaitable[Any]], wanted: object) -> None:
        """Wait until an answer is as wanted."""
        found: object = None
        try:
            async with asyncio.timeout(PATIENCE):
                while (found := await ask()) != wanted:
                    await asyncio.sleep(0.2)
        except TimeoutError:
            raise AssertionError(f"{ask}: {found}, not {wanted}") from None

    async def agree(self, *parts: str) -> None:
        """Wait until `/readyz` names exactly these parts; two evaluations later the others do."""
        wanted = set(parts)
        await self.until(self.readyz, wanted)
        before = self.evaluations()
        await self.until(self._evaluated(before + 2), True)
        assert await self.alerts() == wanted
        assert await self.metric() == wanted
        assert await self.overview() == wanted
        assert await self.doctor() == wanted
        assert await self.readyz() == wanted

    def _evaluated(self, version: int) -> Callable[[], Awaitable[bool]]:
        async def evaluated() -> bool:
            return self.evaluations() >= version

        return evaluated


def part_of_card(card: str) -> str:
    """Return the part that a card of the overview is about."""
    [(name, label)] = re.findall(r'<h3>(.*?)</h3>.*?</div>(?:<p class="small">(.*?)</p>)?', card)
    texts = read_texts("overview").items()
    kinds = {text["en"]: key.removeprefix("part_") for key, text in texts if key.startswith("part_")}
    return ":".join(filter(None, (kinds[name], {"writing": "write"}.get(label, label))))


@contextlib.asynccontextmanager
async def running(app: App, admin: Admin) -> AsyncIterator[Scene]:
    """Serve an app, with its worker beside."""
    async with served(app) as client:
        working = asyncio.create_task(app.work())
        scene = Scene(app, client, admin, working)
        try:
            yield scene
        finally:
            scene.working.cancel()
            await asyncio.gather(scene.working, return_exceptions=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder, "8m") as mounted:
        yield mounted


@pytest.fixture
def mail() -> Iterator[Controller]:
    server = Controller(Sink(), hostname="127.0.0.1", port=free_port())
    server.start()
    yield server
    with contextlib.suppress(AssertionError):
        server.stop()


@contextlib.asynccontextmanager
async def authority_unreachable(scene: Scene) -> AsyncIterator[str]:
    assert scene.tsa
    scene.tsa.behave("hang up")
    yield f"authority:{scene.tsa.url}"
    scene.tsa.behave("honest")


@contextlib.asynccontextmanager
async def authority_slow(scene: Scene) -> AsyncIterator[str]:
    assert scene.tsa
    scene.tsa.behave("hang")
    yield f"authority:{scene.tsa.url}"
    scene.tsa.behave("honest")


@contextlib.asynccontextmanager
async def store_full(scene: Scene) -> AsyncIterator[str]:
    assert scene.disk
    filler = scene.disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    yield "store:write"
    assert "store_full" in await scene.fired()
    filler.unlink()


@contextlib.asynccontextmanager
async def store_read_only(scene: Scene) -> AsyncIterator[str]:
    subprocess.run(["mount", "-o", "remount,ro", str(scene.disk)], check=True)
    yield "store:write"
    subprocess.run(["mount", "-o", "remount,rw", str(scene.disk)], check=True)


@contextlib.asynccontextmanager
async def redis_gone(scene: Scene) -> AsyncIterator[str]:
    assert scene.redis
    scene.redis.kill()
    yield "redis"
    scene.redis.start()


@contextlib.asynccontextmanager
async def decoder_dying(scene: Scene) -> AsyncIterator[str]:
    """Decoders that get too little time are killed before they answer."""
    decoders = scene.app.health._probes["decoder"].ask.func.__self__  # type: ignore[union-attr]
    assert isinstance(decoders, Decoders)
    bounds, decoders._bounds = decoders._bounds, Bounds(seconds=0.001)
    while decoders._idle:
        await decoders._idle.pop().kill()
    yield "decoder"
    decoders._bounds = bounds


@contextlib.asynccontextmanager
async def no_worker(scene: Scene) -> AsyncIterator[str]:
    scene.working.cancel()
    await asyncio.gather(scene.working, return_exceptions=True)
    document = await scene.app.documents.add(b"a contract")
    await scene.app.documents.protect(document.id, required_evidence=["tsa"])
    scene.working = asyncio.create_task(scene.app.work(only=["run_tsa"]))  # another worker runs
    await scene.until(scene.alerts, {"job:protect_document_v2"})
    assert await scene.fired() == {"worker_missing"}  # `part_failing` said it again
    yield "job:protect_document_v2"
    scene.working.cancel()
    await asyncio.gather(scene.working, return_exceptions=True)
    scene.working = asyncio.create_task(scene.app.work())


@contextlib.asynccontextmanager
async def paused_type(scene: Scene) -> AsyncIterator[str]:
    await scene.app.jobs.pause("run_tsa")
    yield "job:run_tsa"
    await scene.app.jobs.resume("run_tsa")


@contextlib.asynccontextmanager
async def mail_server_gone(scene: Scene) -> AsyncIterator[str]:
    assert scene.mail
    port = scene.mail.port
    scene.mail.stop()
    yield "mail"
    scene.mail = Controller(Sink(), hostname="127.0.0.1", port=port)
    scene.mail.start()


@contextlib.asynccontextmanager
async def alert_webhook_gone(scene: Scene) -> AsyncIterator[str]:
    """Doctor said "told by webhook, mail" while both refused connections."""
    assert scene.hook
    scene.hook.close()
    yield "alert_webhook"
    await scene.hook.open()


@contextlib.asynccontextmanager
async def receivers_refusing(scene: Scene) -> AsyncIterator[str]:
    """Every receiver answers 500; after their repair the next event gets through."""
    for each in scene.receivers:
        each.always(500)
    await (await scene.app.conversations.open()).append(SAY, {"content": "hi"})
    yield "webhooks"
    for each in scene.receivers:
        each.always(204)
    await (await scene.app.conversations.open()).append(SAY, {"content": "again"})


@contextlib.asynccontextmanager
async def another_schema(scene: Scene) -> AsyncIterator[str]:
    [(digest,)] = scene.admin.execute("select digest from foja.migration where number = 2").fetchall()
    scene.admin.execute("update foja.migration set digest = 'another' where number = 2")
    yield "schema"
    scene.admin.execute("update foja.migration set digest = %s where number = 2", [digest])


@contextlib.asynccontextmanager
async def authority_answers_rubbish(scene: Scene) -> AsyncIterator[str]:
    assert scene.tsa
    scene.tsa.behave("garbage")
    yield f"authority:{scene.tsa.url}"
    page = html.unescape((await scene.client.get("/?lang=es")).text)
    assert "→ Su respuesta no vale: corrija" in page  # it was said to be unreachable
    scene.tsa.behave("honest")


# Each round breaks parts that do not need each other: exactly those turn red, and nothing else.
ROUNDS: list[list[Break]] = [
    [decoder_dying, authority_unreachable, redis_gone, paused_type, mail_server_gone],
    [authority_slow, store_full],
    [no_worker, store_read_only, alert_webhook_gone],
    [another_schema, receivers_refusing, authority_answers_rubbish],
]


@pytest.mark.timeout(900)
async def test_all_five_name_the_part_that_breaks_and_are_calm_after_its_repair(
    open_app: Callable[..., App],
    admin: Admin,
    disk: Path,
    redis: RedisServer,
    mail: Controller,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 0)
    hook = AlertHook()
    await hook.open()
    with running_tsa() as tsa:
        roots = tmp_path / "roots.pem"
        roots.write_bytes(tsa.root)
        settings = QUICK | {
            "storage_url": disk.as_uri() + "/store",
            "redis_url": redis.url,
            "tsa_urls": tsa.url,
            "tsa_roots": str(roots),
            "tsa_timeout_seconds": 1.0,
            "smtp_url": f"smtp://127.0.0.1:{mail.port}",
            "alert_mail_to": "oncall@example.org",
            "alert_webhook_url": f"http://127.0.0.1:{hook.port}/hook",
            "webhook_networks": "127.0.0.0/8",
        }
        async with (
            running_receiver() as receiver,
            running_receiver() as other,
            open_app(**settings) as app,
            running(app, admin) as scene,
        ):
            scene.tsa, scene.redis, scene.mail, scene.disk = tsa, redis, mail, disk
            scene.hook, scene.receivers = hook, (receiver, other)
            for each in scene.receivers:
                await app.webhooks.create(each.url(), [SAY])
            await scene.agree()
            for faults in ROUNDS:
                async with contextlib.AsyncExitStack() as broken:
                    await scene.agree(*[await broken.enter_async_context(each(scene)) for each in faults])
                await scene.agree()
            assert scene.mail
            scene.mail.stop()
            hook.close()
            assert {"fired", "cleared"} == {each.message["event"] for each in hook.receiver.received}


@pytest.mark.timeout(300)
async def test_a_receiver_that_fails_alone_turns_no_part_red(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The webhook of one tenant that could not be reached made an installation of many degraded."""
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 0)
    settings = QUICK | {"webhook_networks": "127.0.0.0/8", "alert_limits": "webhook_failing=0"}
    async with (
        running_receiver() as well,
        running_receiver() as away,
        open_app(**settings) as app,
        running(app, admin) as scene,
    ):
        hook, _ = [await app.webhooks.create(each.url(), [SAY]) for each in (away, well)]
        away.always(500)
        await (await app.conversations.open()).append(SAY, {"content": "hi"})
        await scene.until(scene.alerts, {str(hook.id)})
        assert await scene.fired() == {"webhook_failing"}
        assert (await app.webhooks.show(hook.id)).failing_since
        assert (await scene.readyz(), await scene.metric(), await scene.doctor()) == (set(), set(), set())
        assert await scene.overview() == set()
        assert not await app.jobs.list(state="retry_scheduled")
        away.always(204)
        await (await app.conversations.open()).append(SAY, {"content": "again"})
        await scene.agree()


@pytest.mark.timeout(300)
async def test_a_bucket_that_is_gone_is_named(
    open_app: Callable[..., App], admin: Admin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 0)
    with running_s3(tmp_path / "s3") as server:
        async with cut_relay(server.endpoint) as (url, relay):
            for name, value in replace(server, endpoint=url).environment.items():
                monkeypatch.setenv(name, value)
            storage = {"storage_url": f"s3://{BUCKET}/health"}
            async with open_app(**QUICK, **storage) as app, running(app, admin) as scene:
                await scene.agree()
                relay.away = True
                relay.cut()
                await scene.agree("store", "store:write")
                relay.away = False
                await scene.agree()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("left", ["nothing", "an empty folder"])
async def test_a_store_that_was_moved_away_is_named_and_never_written(
    open_app: Callable[..., App],
    admin: Admin,
    tmp_path: Path,
    left: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A new store was made in its place: it took an upload that was lost later, and the log was halted."""
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 0)
    store, elsewhere = tmp_path / "store", tmp_path / "elsewhere"
    async with open_app(**QUICK, storage_url=store.as_uri()) as app, running(app, admin) as scene:
        kept = await scene.upload(b"kept")
        assert kept.status_code == 201
        await scene.until(scene.published, True)
        await scene.agree()
        store.rename(elsewhere)
        if left == "an empty folder":
            store.mkdir()
        refused = await scene.upload(b"a contract")
        assert (refused.status_code, refused.json()["code"]) == (503, "store_away")
        assert "Mount its disk" in refused.json()["detail"]
        await (await app.conversations.open()).append(SAY, {"content": "meanwhile"})
        await scene.agree("store", "store:write")
        with pytest.raises(Unavailable, match="is not that of this installation"):
            await app.objects.get(app.settings.own_tenant, sha256(b"kept").hexdigest())
        assert not await scene.published()
        assert store.exists() == (left == "an empty folder")
        if left == "an empty folder":
            assert not list(store.iterdir())
            store.rmdir()
        elsewhere.rename(store)
        await scene.agree()
        await scene.until(scene.published, True)
        assert (await scene.upload(b"a contract")).status_code == 201
        digest = sha256(b"a contract").hexdigest()
        assert await app.objects.get(app.settings.own_tenant, digest) == b"a contract"


@pytest.mark.timeout(300)
async def test_a_log_goes_on_when_its_checkpoint_is_back(
    open_app: Callable[..., App], admin: Admin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stayed halted, also after a restart of the process; `foja log restart` was the only way on."""
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 0)
    store, elsewhere = tmp_path / "store", tmp_path / "checkpoint"
    async with open_app(**QUICK, storage_url=store.as_uri()) as app, running(app, admin) as scene:
        await (await app.conversations.open()).append(SAY, {"content": "first"})
        await scene.until(scene.published, True)
        [checkpoint] = store.glob("log/*/checkpoint")
        checkpoint.rename(elsewhere)
        await (await app.conversations.open()).append(SAY, {"content": "second"})
        await scene.agree("log")
        elsewhere.rename(checkpoint)
        await scene.agree()
        await scene.until(scene.published, True)


@pytest.mark.timeout(300)
async def test_a_database_that_is_gone_is_named_from_memory(
    open_app: Callable[..., App],
    admin: Admin,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its address leads nowhere for a while: no table can hold that, and the alert is told from memory.

    Pages, `/healthz` and the API showed everyone where the server is.
    """
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 0)
    parts = urlsplit(database_url)
    query = parse_qs(parts.query)
    way, place = tmp_path / "way", Path(query["host"][0])
    way.symlink_to(place)
    url = parts._replace(query=urlencode({**{k: v[0] for k, v in query.items()}, "host": str(way)})).geturl()
    async with (
        running_receiver() as told,
        open_app(**QUICK, database_url=url, alert_webhook_url=told.url()) as app,
        running(app, admin) as scene,
    ):
        app.alerts._outage._seconds = 2 * app.alerts.seconds
        await scene.agree()
        way.unlink()
        admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
        await scene.until(scene.readyz, {"database", "schema", "log"})
        await scene.until(scene.metric, {"database"})
        assert "database" in await scene.doctor()
        page = await scene.client.get("/?lang=en")
        assert page.status_code == 503
        for path in ("/", "/healthz", "/readyz", "/v1/documents"):
            answer = await scene.client.get(path, headers={"Accept": "text/html"})
            assert (answer.status_code, str(way) in answer.text) == (503, False), answer.text
        assert re.search(r"Database.*Since .*→", html.unescape(page.text), re.DOTALL)
        down = ("fired", "database_down"), ("cleared", "database_down")
        await scene.until(partial(notices, told), [*down[:1]])
        way.symlink_to(place)
        await scene.agree()
        await scene.until(partial(notices, told), [*down])


async def notices(receiver: Receiver) -> list[tuple[str, str]]:
    """Return what the alerts told a receiver."""
    return [(each.message["event"], each.message["alert"]) for each in receiver.received]


@pytest.mark.timeout(600)
async def test_networks_that_are_gone_are_named(
    open_app: Callable[..., App], admin: Admin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real counterparties behind relays: each is red alone, and the parts of other networks stay calm."""
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 0)
    with running_world(tmp_path) as world:
        ways = {
            "network:polygon": ("polygon_rpc_url", world.chain.url),
            "network:bitcoin": ("bitcoin_rpc_url", world.bitcoin.url),
            "network:rekor": ("rekor_url", world.log.url),
        }
        async with contextlib.AsyncExitStack() as stack:
            relays, settings = {}, world.settings
            for part, (name, url) in ways.items():
                address, relays[part] = await stack.enter_async_context(cut_relay(url))
                user, at, _ = urlsplit(url).netloc.rpartition("@")
                settings[name] = address.replace("//", f"//{user}{at}")
            app = await stack.enter_async_context(open_app(**QUICK, **settings))
            scene = await stack.enter_async_context(running(app, admin))
            await scene.agree()
            for part, relay in relays.items():
                relay.away = True
                relay.cut()
                await scene.agree(part)
                relay.away = False
                await scene.agree()
