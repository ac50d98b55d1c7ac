"""Receivers that fail, names that lie, workers that die: nothing is lost, and nothing private is reached."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Any, NoReturn, get_args

import pytest

import foja
from foja.app import App
from foja.domains.webhooks.assembly import check_address, terms_of
from foja.domains.webhooks.delivery import Deliverer, DeliveryTerms
from foja.engine import sql
from foja.engine.jobs.outcome import Job
from foja.engine.remote.webhook import Answer, NoAnswer, WebhookSender
from foja.engine.tasks import end
from foja.errors import LedgerUnavailable
from foja.pure.models.system.events import DELIVER, WEBHOOKS
from tests.counterparties.receiver import Receiver, running_receiver, server_certificate
from tests.database.schema.rows import Admin
from tests.faults.steps import Moment, SteppedDatabase, Steps
from tests.flow.client.client import served
from tests.processes import begin
from tests.tenant_acts import tenant_acts

LOOPBACK = "127.0.0.0/8"


@pytest.fixture
async def app(open_app: Callable[..., App]) -> AsyncIterator[App]:
    async with open_app(webhook_networks=LOOPBACK, webhook_attempts=3, webhook_off_seconds=0) as app:
        yield app


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with running_receiver() as receiver:
        yield receiver


async def say(app: App, *texts: str) -> None:
    talk = await app.conversations.open()
    for text in texts:
        await talk.append("user_message_sent", {"content": text})


def due_now(admin: Admin) -> None:
    """Let every job that waits run now."""
    admin.execute(
        "update foja.job set run_at = clock_timestamp() where state in ('queued', 'retry_scheduled')"
    )


async def reasons(app: App) -> list[str]:
    events = await tenant_acts(app, "webhook.changed")
    return [event.payload["reason"] for event in events if event.payload["change"] == "switched_off"]


# Where a message may go


class Names:
    """A resolver whose answers are a list; the last one is repeated."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers, self.asked = list(answers), 0

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def sender(names: Names, networks: str = "", context: ssl.SSLContext | None = None) -> WebhookSender:
    listed = [ip_network(each) for each in networks.split()]
    return WebhookSender(partial(check_address, listed), timeout_seconds=5, ssl_context=context, lookup=names)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "169.254.169.254",
        "10.0.0.1",
        "100.64.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "fe80::1",
        "fd00::1",
        "0.0.0.0",
    ],
)
async def test_a_name_that_leads_to_a_private_address_is_not_connected_to(
    receiver: Receiver, address: str
) -> None:
    sending = sender(Names([address]))
    reply = await sending.post(f"https://innocent.example:{receiver.port}/", {}, b"{}")
    await sending.aclose()
    assert isinstance(reply, NoAnswer)
    assert "is refused" in reply.detail
    assert receiver.received == []


async def test_one_private_address_among_public_ones_refuses_them_all(receiver: Receiver) -> None:
    sending = sender(Names(["1.1.1.1", "::ffff:7f00:1"]))
    reply = await sending.post(f"https://innocent.example:{receiver.port}/", {}, b"{}")
    await sending.aclose()
    assert isinstance(reply, NoAnswer)
    assert "loopback" in reply.detail


async def test_a_name_is_looked_up_once_and_a_changed_answer_is_not_used(receiver: Receiver) -> None:
    """The second answer would be private: nothing asks for it between the check and the connection."""
    names = Names(["127.0.0.1"], ["169.254.169.254"])
    sending = sender(names, "127.0.0.0/8")
    reply = await sending.post(receiver.url(host="rebinding.example"), {"x": "y"}, b"{}")
    assert reply == Answer(204)
    assert names.asked == 1
    assert receiver.received[0].headers["host"] == f"rebinding.example:{receiver.port}"
    await sending.aclose()
    fresh = sender(Names(["169.254.169.254"]), "127.0.0.0/8")
    reply = await fresh.post(receiver.url(host="rebinding.example"), {}, b"{}")
    await fresh.aclose()
    assert isinstance(reply, NoAnswer)
    assert len(receiver.received) == 1


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f000001", "localhost", "[::ffff:127.0.0.1]"])
async def test_odd_spellings_of_loopback_are_refused_by_the_real_resolver(
    receiver: Receiver, host: str
) -> None:
    sending = WebhookSender(partial(check_address, []), timeout_seconds=5)
    reply = await sending.post(f"https://{host}:{receiver.port}/", {}, b"{}")
    await sending.aclose()
    assert isinstance(reply, NoAnswer)
    assert receiver.received == []


async def test_plain_http_goes_only_to_listed_networks(receiver: Receiver) -> None:
    sending = sender(Names(["1.1.1.1"]), "127.0.0.0/8")
    reply = await sending.post("http://public.example/", {}, b"{}")
    await sending.aclose()
    assert isinstance(reply, NoAnswer)
    assert "plain HTTP" in reply.detail


async def test_the_certificate_is_checked_against_the_name(tmp_path: Path) -> None:
    server, client = server_certificate(tmp_path, "right.example")
    async with running_receiver(server) as receiver:
        sending = sender(Names(["127.0.0.1"]), "127.0.0.0/8", client)
        assert await sending.post(receiver.url(host="right.example"), {}, b"{}") == Answer(204)
        reply = await sending.post(receiver.url(host="wrong.example"), {}, b"{}")
        await sending.aclose()
    assert isinstance(reply, NoAnswer)
    assert "certificate" in reply.detail.lower()
    assert len(receiver.received) == 1


async def test_a_redirect_is_not_followed(app: App, receiver: Receiver, admin: Admin) -> None:
    async with running_receiver() as inside:
        receiver.always(307, f"location: {inside.url()}\r\n")
        hook = await app.webhooks.create(receiver.url())
        await say(app, "one")
        await app.work(until_idle=True)
        assert inside.received == []
    assert len(receiver.received) == 1
    [delivery] = await app.webhooks.deliveries(hook.id)
    assert (delivery.state, delivery.status, delivery.error) == ("waiting", 307, "HTTP status 307")


async def test_no_proxy_of_the_environment_is_used(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_receiver() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url(""))
        sending = sender(Names(["127.0.0.1"]), "127.0.0.0/8")
        assert await sending.post(receiver.url(), {}, b"{}") == Answer(204)
        await sending.aclose()
        assert proxy.received == []


async def test_an_endless_or_silent_answer_ends(receiver: Receiver) -> None:
    allowed = partial(check_address, [ip_network(LOOPBACK)])
    sending = WebhookSender(allowed, timeout_seconds=60, lookup=Names(["127.0.0.1"]))
    receiver.answer = lambda _: b"HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n" + b"x" * 100_000
    reply = await sending.post(receiver.url(), {}, b"{}")
    assert isinstance(reply, NoAnswer)
    assert "more than" in reply.detail
    receiver.answer = lambda _: b"SSH-2.0-OpenSSH\r\n\r\n"
    assert isinstance(await sending.post(receiver.url(), {}, b"{}"), NoAnswer)
    await sending.aclose()
    receiver.answer = lambda _: b""
    hasty = WebhookSender(allowed, timeout_seconds=0.2, lookup=Names(["127.0.0.1"]))
    reply = await hasty.post(receiver.url(), {}, b"{}")
    await hasty.aclose()
    assert isinstance(reply, NoAnswer)
    assert "within" in reply.detail


async def test_names_without_an_answer_hold_up_no_reads_of_the_store(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checkpoints, tiles and `/readyz` stalled together for as long as a resolver was silent."""
    known, asked, answered = socket.getaddrinfo, list[str](), threading.Event()

    def look_up(host: str, *rest: Any, **more: Any) -> Any:
        if not host.endswith(".example"):
            return known(host, *rest, **more)
        asked.append(host)
        answered.wait(60)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    for number in range(40):
        await app.webhooks.create(f"https://away{number}.example/hook")
    async with served(app) as client:
        await say(app, "hi")
        working = asyncio.create_task(app.work())
        try:
            async with asyncio.timeout(60):
                while len(asked) < 6:
                    await asyncio.sleep(0.1)
            await asyncio.sleep(1)
            for path in ("/v1/log/1/checkpoint", "/readyz"):
                began = time.monotonic()
                assert (await client.get(path)).status_code == 200
                assert time.monotonic() - began < 3, path
        finally:
            answered.set()
            await end([working])


# Failures and their end


async def test_a_failing_delivery_is_retried_and_then_failed(
    app: App, receiver: Receiver, admin: Admin
) -> None:
    hook = await app.webhooks.create(receiver.url())
    receiver.answer = lambda each: (
        b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n"
        if each.message["seq"] == 1
        else b"HTTP/1.1 204 Ok\r\n\r\n"
    )
    await say(app, "a", "poison", "c")
    await app.work(until_idle=True)
    [job] = await app.jobs.list(job_type=DELIVER)
    assert (job.state, job.last_error) == ("queued", "HTTP status 500")
    for _ in range(3):
        due_now(admin)
        await app.work(until_idle=True)
    assert sorted(receiver.seqs) == [0, 1, 1, 1, 2], "three attempts of the poison, one of the others"
    [failed] = await app.webhooks.deliveries(hook.id, state="failed")
    attempts = (await app.webhooks.delivery(hook.id, failed.id)).log
    assert [each.status for each in attempts] == [500] * 3
    assert (await app.webhooks.show(hook.id)).state == "on", (
        "others were delivered in between or it failed too rarely"
    )
    receiver.always(200)
    assert (await app.webhooks.replay(hook.id, failed=True)).replayed == 1
    await app.work(until_idle=True)
    assert not await app.webhooks.deliveries(hook.id, state="failed")


async def test_a_receiver_that_is_away_is_not_asked_for_each_event(
    app: App, receiver: Receiver, admin: Admin
) -> None:
    hook = await app.webhooks.create(receiver.url())
    receiver.always(503, "retry-after: 77\r\n")
    await say(app, *map(str, range(50)))
    await app.work(until_idle=True)
    assert len(receiver.received) == 8
    [job] = await app.jobs.list(job_type=DELIVER)
    waits = admin.execute(
        "select extract(epoch from run_at - clock_timestamp()) from foja.job where job_id = %s", [job.id]
    )
    [(seconds,)] = waits.fetchall()
    assert 5 < seconds <= 77
    receiver.always(200)
    due_now(admin)
    await app.work(until_idle=True)
    assert len(await app.webhooks.deliveries(hook.id, state="delivered")) == 50


async def test_it_is_switched_off_after_failures_and_recorded(
    app: App, receiver: Receiver, admin: Admin
) -> None:
    hook = await app.webhooks.create(receiver.url())
    receiver.always(500)
    for number in range(4):
        await say(app, *(f"{number}.{each}" for each in range(4)))
        due_now(admin)
        await app.work(until_idle=True)
    off = await app.webhooks.show(hook.id)
    assert off.state == "off"
    assert off.failures >= 10
    assert len(receiver.received) == off.failures
    [reason] = await reasons(app)
    assert reason == off.off_reason == f"{off.failures} attempts failed in a row"
    receiver.always(200)
    await app.webhooks.switch(hook.id, on=True)
    await app.work(until_idle=True)
    states = {each.state for each in await app.webhooks.deliveries(hook.id)}
    assert states <= {"delivered", "failed"}
    assert len(await app.webhooks.deliveries(hook.id)) == 16


async def test_a_receiver_that_is_gone_is_switched_off_at_once(app: App, receiver: Receiver) -> None:
    hook = await app.webhooks.create(receiver.url())
    receiver.always(410)
    await say(app, "one")
    await app.work(until_idle=True)
    assert (await app.webhooks.show(hook.id)).state == "off"
    assert await reasons(app) == ["its server answered 410: it is gone"]


# Every outside step, twice


async def planned(app: App, *texts: str) -> None:
    await say(app, *texts)
    await app.publish()
    await app.sweeper.row(sql.query("plan_deliveries"), limit=100, open=100)


async def test_planning_fails_at_every_moment_and_plans_once(
    app: App, receiver: Receiver, admin: Admin
) -> None:
    await app.webhooks.create(receiver.url())
    for moment in get_args(Moment):
        await say(app, f"{moment}")
        await app.publish()
        stepped = SteppedDatabase(app.sweeper, Steps(0, moment))
        with pytest.raises(LedgerUnavailable):
            await stepped.row(sql.query("plan_deliveries"), limit=100, open=100)
        await app.work(until_idle=True)
    assert len(receiver.received) == 2


@pytest.mark.parametrize("moment", get_args(Moment))
async def test_a_lost_record_of_attempts_sends_again_and_counts_once(
    app: App, receiver: Receiver, admin: Admin, moment: Moment
) -> None:
    hook = await app.webhooks.create(receiver.url())
    await planned(app, "one", "two")
    queue = app.workers.queue(WEBHOOKS)
    await queue.database.open()
    jobs = await queue.claim(DELIVER, 10, "test")
    sending = WebhookSender(partial(check_address, [ip_network(LOOPBACK)]), timeout_seconds=5)
    broken = Deliverer(SteppedDatabase(queue.database, Steps(1, moment)), sending, terms_of(app.settings))
    with pytest.raises(LedgerUnavailable):
        await broken.deliver_jobs(jobs)
    await deliver_again(app, sending, jobs)
    await sending.aclose()
    assert len(receiver.received) == (2 if moment == "but saved" else 4)
    assert len({each.headers["webhook-id"] for each in receiver.received}) == 2
    found = await app.webhooks.deliveries(hook.id)
    assert [(each.state, each.attempts) for each in found] == [("delivered", 1)] * 2


async def deliver_again(app: App, sending: WebhookSender, jobs: list[Job]) -> None:
    deliverer = Deliverer(app.workers.queue(WEBHOOKS).database, sending, DeliveryTerms(3, 10, 60))
    await deliverer.deliver_jobs(jobs)


def deliver_until_killed(url: str, home: Path) -> None:
    """Run a worker; the test kills it."""

    async def run() -> None:
        async with foja.connect(database_url=url, home=home, webhook_networks=LOOPBACK) as app:
            await app.work(only=[DELIVER])

    asyncio.run(run())


async def test_a_worker_killed_between_send_and_settle(
    app: App, receiver: Receiver, admin: Admin, database_url: str, tmp_path: Path
) -> None:
    hook = await app.webhooks.create(receiver.url())
    await planned(app, "one")
    arrived = asyncio.Event()

    def hang(_: object) -> bytes:
        arrived.set()
        return b""  # received, and never answered

    receiver.answer = hang
    process = begin(deliver_until_killed, database_url, tmp_path / "home")
    async with asyncio.timeout(120):
        await arrived.wait()
    process.kill()
    process.join()
    receiver.always(200)
    admin.execute(
        "update foja.job set lease_until = clock_timestamp() - interval '1 second' where state = 'running'"
    )
    await app.work(until_idle=True)
    ids = [each.headers["webhook-id"] for each in receiver.received]
    assert len(ids) == 2
    assert len({*ids}) == 1, "sent again under the same id"
    assert [each.state for each in await app.webhooks.deliveries(hook.id)] == ["delivered"]


async def test_work_that_sends_nothing_reads_no_certificates(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took a third of the time of `work(until_idle=True)`, which opens its workers each time."""

    def read(*_: object, **__: object) -> NoReturn:
        raise AssertionError("certificates were read")

    monkeypatch.setattr(ssl, "create_default_context", read)
    await app.work(until_idle=True)
