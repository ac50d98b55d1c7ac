"""Alerts over a real database: fired once, cleared once, by one of many processes; sent until it arrives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
import pytest

from foja.app import App
from foja.domains.alerts.outage import Outage
from foja.domains.alerts.service import Alerting
from foja.engine.driver.database import Database
from foja.errors import LedgerUnavailable, SetupFailed, Unavailable
from foja.pure.models.alerts.notice import Message, Notice
from tests.cases import all_cases

Admin = psycopg.Connection[Any]


@dataclass
class Recorded:
    """A channel that keeps what it gets, and refuses as often as it is told to."""

    name: str = "recorded"
    part: str = "alert_webhook"
    refuse: int = 0
    away: bool = False
    got: list[Notice] = field(default_factory=list)
    reports: list[Exception | None] = field(default_factory=list)

    def report(self, error: Exception | None) -> None:
        self.reports.append(error)

    async def send(self, notice: Message) -> None:
        assert isinstance(notice, Notice)
        if self.refuse or self.away:
            self.refuse -= not self.away
            error = Unavailable("the channel is away")
            self.report(error)
            raise error
        self.got.append(notice)
        self.report(None)

    async def reach(self) -> None:
        if self.away:
            raise Unavailable("the channel is away")

    @property
    def said(self) -> list[tuple[str, str, str]]:
        return [(each.event, each.alert.name, each.label) for each in self.got]


@pytest.fixture
async def app(open_app: Callable[..., App], admin: Admin) -> AsyncIterator[App]:
    async with open_app(metrics_cache_seconds=0) as app:
        admin.execute("insert into foja.log (origin, name) values (1, 'a log')")
        yield app


@pytest.fixture
def channel() -> Recorded:
    return Recorded()


@pytest.fixture
def alerts(app: App, channel: Recorded) -> Alerting:
    return alerting(app, [channel])


def alerting(app: App, channels: Sequence[Recorded], database: Database | None = None) -> Alerting:
    async def nothing() -> None: ...

    return Alerting(
        database or app.operator,
        app.metrics,
        app.alerts.limits,
        channels,
        installation=UUID(int=1),
        runbooks="docs/runbooks/",
        seconds=1,
        before=nothing,
        is_up=app.health.writes,
    )


def halt(admin: Admin, reason: str | None = "a test") -> None:
    admin.execute("update foja.log set halted = %s", [reason])


async def test_an_alert_is_told_once_when_it_fires_and_once_when_it_clears(
    alerts: Alerting, channel: Recorded, admin: Admin
) -> None:
    await alerts.evaluate()
    assert await alerts.deliver() == 0
    halt(admin)
    for _ in range(3):
        await alerts.evaluate()
        await alerts.deliver()
    assert channel.said == [("fired", "log_halted", "")]
    assert [view.alert.name for view in await alerts.views() if view.firing] == ["log_halted"]
    halt(admin, None)
    for _ in range(3):
        await alerts.evaluate()
        await alerts.deliver()
    assert channel.said == [("fired", "log_halted", ""), ("cleared", "log_halted", "")]
    assert [each.event for each in await alerts.history()] == ["cleared", "fired"]


async def test_of_many_evaluations_at_once_one_is_recorded(app: App, channel: Recorded, admin: Admin) -> None:
    many = [alerting(app, [channel]) for _ in range(4)]
    halt(admin)
    changes = await asyncio.gather(*(each.evaluate() for each in many))
    assert sum(map(len, changes)) == 1
    assert admin.execute("select count(*) from foja.alert_notice").fetchone() == (1,)


async def test_an_evaluation_of_another_process_is_not_repeated(app: App, channel: Recorded) -> None:
    first, second = alerting(app, [channel]), alerting(app, [channel])
    assert await first._is_due()
    await first.evaluate()
    second.seconds = 3_600
    assert not await second._is_due()


async def test_a_notice_that_is_refused_is_sent_later_and_once(
    alerts: Alerting, channel: Recorded, admin: Admin
) -> None:
    """And not saved: the channel refuses twice, then takes it."""
    channel.refuse = 2
    halt(admin)
    await alerts.evaluate()
    assert await alerts.deliver() == 0
    assert await alerts.deliver() == 0  # not before its pause is over
    assert channel.refuse == 1
    row = admin.execute("select tries, last_error, next_try > now() from foja.alert_notice").fetchone()
    assert row == (1, "the channel is away", True)
    for _ in range(3):
        admin.execute("update foja.alert_notice set next_try = now()")
        await alerts.deliver()
    assert channel.said == [("fired", "log_halted", "")]


async def test_a_notice_whose_answer_is_lost_is_sent_again_with_its_id(
    alerts: Alerting, channel: Recorded, admin: Admin
) -> None:
    """But saved: the channel has it, and the database does not know."""
    halt(admin)
    await alerts.evaluate()
    admin.execute("alter function foja.settle_notice_v1 rename to hidden")
    with pytest.raises(Exception, match="settle_notice_v1"):
        await alerts.deliver()
    admin.execute("alter function foja.hidden rename to settle_notice_v1")
    await alerts.deliver()
    first, second = channel.got
    assert first.id == second.id


async def test_a_notice_is_given_up_after_many_tries(
    alerts: Alerting, channel: Recorded, admin: Admin
) -> None:
    channel.refuse = 100
    halt(admin)
    await alerts.evaluate()
    admin.execute("update foja.alert_notice set tries = 30")
    await alerts.deliver()
    assert admin.execute("select channels, last_error from foja.alert_notice").fetchone() == (
        [],
        "the channel is away",
    )


async def test_a_probe_sends_what_waits_once_the_channel_can_be_reached_again(
    alerts: Alerting, channel: Recorded, admin: Admin
) -> None:
    """An hour could pass until the next try, and until then nobody knew whether it worked."""
    await alerts.probe(channel)
    assert channel.reports == [None]
    channel.away = True
    halt(admin)
    await alerts.evaluate()
    await alerts.deliver()
    with pytest.raises(Unavailable):
        await alerts.probe(channel)
    channel.away = False
    await alerts.probe(channel)
    assert channel.said == [("fired", "log_halted", "")]
    assert channel.reports[-1] is None
    await alerts.probe(channel)
    assert len(channel.got) == 1


async def test_a_channel_that_refuses_is_not_calm_because_it_can_be_reached(
    alerts: Alerting, channel: Recorded, admin: Admin
) -> None:
    """And a receiver that is slow does not get the same notice with each probe."""
    channel.refuse = 1
    halt(admin)
    await alerts.evaluate()
    await alerts.deliver()
    for _ in range(3):
        await alerts.probe(channel)
    assert [str(each) for each in channel.reports] == ["the channel is away"]
    assert channel.got == []
    admin.execute("update foja.alert_notice set next_try = clock_timestamp()")
    await alerts.deliver()
    assert channel.reports[-1] is None


async def test_an_alert_whose_metrics_cannot_be_read_keeps_its_state(
    app: App, alerts: Alerting, channel: Recorded, admin: Admin
) -> None:
    halt(admin)
    await alerts.evaluate()
    halt(admin, None)
    admin.execute("alter table foja.pending rename to hidden")
    await alerts.evaluate()
    await alerts.deliver()
    assert "log" in app.metrics.failed
    assert channel.said == [("fired", "log_halted", "")]
    admin.execute("alter table foja.hidden rename to pending")
    await alerts.evaluate()
    await alerts.deliver()
    assert channel.said[-1] == ("cleared", "log_halted", "")


async def test_the_end_of_a_fault_is_logged_also_if_another_process_evaluates(
    app: App, alerts: Alerting, admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    """The metrics were not read here again, so that their fault stayed open in the log for ever."""
    admin.execute("alter table foja.pending rename to hidden")
    await alerts.evaluate()
    admin.execute("alter table foja.hidden rename to pending")
    alerts.seconds = 3_600
    assert not await alerts._is_due()
    task = asyncio.create_task(alerts.run())
    try:
        await _until(lambda: "metrics, log: works again" in caplog.text)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_channel_that_is_set_no_more_is_left_out(app: App, alerts: Alerting, admin: Admin) -> None:
    halt(admin)
    await alerts.evaluate()
    without = alerting(app, [])
    assert await without.deliver() == 0
    assert admin.execute("select channels from foja.alert_notice").fetchone() == ([],)


async def test_an_outage_of_the_database_is_told_from_memory(app: App, channel: Recorded) -> None:
    channel.refuse = 1
    outage = Outage([channel], 0, app.alerts._down)
    await outage.over()
    for _ in range(3):
        await outage.seen()
    assert channel.said == [("fired", "database_down", "")]
    await outage.over()
    await outage.over()
    assert channel.said == [("fired", "database_down", ""), ("cleared", "database_down", "")]
    short = Outage([channel], 3_600, app.alerts._down)
    await short.seen()
    await short.over()
    assert len(channel.got) == 2


async def test_the_loop_tells_of_an_outage_and_goes_on(
    app: App, channel: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    alerts = alerting(app, [channel])
    alerts.seconds, alerts._outage._seconds = 0.01, 0
    due, answers = alerts._is_due, [True]

    async def is_due() -> bool:
        if not answers[0]:
            raise LedgerUnavailable("the database does not answer; try again")
        return await due()

    monkeypatch.setattr(alerts, "_is_due", is_due)
    task = asyncio.create_task(alerts.run())
    try:
        answers[0] = False
        await _until(lambda: channel.said == [("fired", "database_down", "")])
        answers[0] = True
        await _until(lambda: len(channel.got) == 2)
        assert channel.said[1] == ("cleared", "database_down", "")
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _until(true: Callable[[], bool]) -> None:
    while not true():
        await asyncio.sleep(0.01)


@all_cases(
    "settings",
    [
        {"alert_limits": "nothing=1"},
        {"alert_mail_to": "ops@example.org"},
        {"alert_mail_to": "ops@example.org", "smtp_url": "http://mail"},
        {"alert_webhook_url": "ftp://host"},
    ],
)
async def test_settings_that_are_not_valid_are_refused_at_the_start(
    open_app: Callable[..., App], settings: dict[str, str]
) -> None:
    with pytest.raises(SetupFailed, match="FOJA_"):
        async with open_app(**settings):
            pass


async def test_only_the_sweeper_records_alerts(app: App) -> None:
    for query in (
        "select foja.record_alerts_v1(0, '[]', '[]')",
        "select foja.settle_notice_v1(gen_random_uuid(), 'x', null, null)",
        "select foja.note_balance_v1('polygon', 1, 1)",
        "insert into foja.alert_state values ('a', '', 1, now(), null)",
        "delete from foja.http_failure",
    ):
        with pytest.raises(Exception, match="may not do that"):
            await app.database.rows(query)
