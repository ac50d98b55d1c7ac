"""The built-in evaluation: read the metrics, compare them with the table, tell what changed.

Every worker does this; an evaluation that another one made within the interval is not repeated. The one that
evaluated also sends, so a notice is sent once. After a lost answer it is sent again, with the same id.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, cast
from uuid import UUID, uuid4

from foja.domains.alerts.channels import Channel
from foja.domains.alerts.outage import Outage
from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.faults import Watch
from foja.engine.metrics import samples
from foja.engine.observe.metrics.scrape import Scrape
from foja.errors import FojaError, LedgerUnavailable, Unavailable
from foja.pure.models.alerts.alert import Alert
from foja.pure.models.alerts.evaluation import AlertState, Change, breaches, evaluate
from foja.pure.models.alerts.notice import Notice, ToldNotice
from foja.pure.models.alerts.table import ALERTS

DOWN = "database_down"
ERROR_PAUSE_SECONDS = 10.0
MAX_SENT = 20  # notices of one evaluation
FIRST_PAUSE, LAST_PAUSE, MAX_TRIES = 30.0, 3_600.0, 30  # of a notice that cannot be sent
log = logging.getLogger("foja.alerts")


@dataclass(frozen=True, slots=True)
class AlertView:
    """An alert as it stands: its limit, its largest value now, and whether it fires."""

    alert: Alert
    limit: float | None
    values: Mapping[str, float]
    states: Sequence[AlertState]
    blind: bool

    @property
    def firing(self) -> bool:
        """Whether it fires."""
        return any(state.fired_at for state in self.states)

    @property
    def state(self) -> str:
        """One word about it."""
        if self.limit is None:
            return "off"
        if self.firing:
            return "firing"
        return "blind" if self.blind else "pending" if self.states else "ok"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The last evaluation that any process recorded: when it was, the time now, what is over its limit."""

    at: datetime | None
    now: datetime
    states: Sequence[AlertState]


class Round(NamedTuple):
    """The last evaluation, and the time now."""

    version: int
    evaluated_at: datetime | None
    now: datetime


class Waiting(NamedTuple):
    """A notice, and the channels that it did not reach."""

    id: UUID
    alert: str
    label: str
    event: str
    value: float | None
    at: datetime
    channels: Sequence[str]
    tries: int


class Alerting:
    """The alerts of an installation."""

    def __init__(
        self,
        database: Database,
        scrape: Scrape,
        limits: Mapping[str, float | None],
        channels: Sequence[Channel],
        *,
        installation: UUID,
        runbooks: str,
        seconds: float,
        before: Callable[[], Awaitable[None]],
        is_up: Callable[[], Awaitable[bool]],
    ) -> None:
        """`database` acts as the role of operators; `before` is called before each evaluation.

        `is_up` returns whether all that uses the database in this process succeeds again.
        """
        self._database, self._scrape, self.limits, self.channels = database, scrape, limits, channels
        self._installation, self.runbooks, self.seconds = str(installation), runbooks, seconds
        self._before, self._is_up = before, is_up
        self._watch = Watch("alerts", rare=True)
        self._lost = set[str]()  # channels that could not be reached when they were probed last
        self._outage = Outage(channels, ALERTS[DOWN].seconds, self._down)

    async def run(self) -> None:
        """Evaluate for ever, at the interval that is set; look sooner after an error."""
        while self.seconds:
            well = await self._try_round()
            await asyncio.sleep(self.seconds if well else min(self.seconds, ERROR_PAUSE_SECONDS))

    async def _try_round(self) -> bool:
        """Evaluate if no other process did. Return whether everything could be read."""
        try:
            if await self._is_due():
                await self._before()
                await self.evaluate()
                await self.deliver()
            elif self._scrape.failed:
                await self._scrape.read()  # only this process can tell when its own fault has ended
            if await self._is_up():
                await self._outage.over()
            self._watch.worked()
        except FojaError as error:
            self._watch.failed(error)
            if isinstance(error, LedgerUnavailable):
                await self._outage.seen()
            return False
        return not self._scrape.failed

    async def evaluate(self) -> Sequence[Change]:
        """Compare now; record and return what changed. Nothing if another process was faster."""
        await self._scrape.read()
        last = await self._round()
        found = breaches(self._active(), self.limits, list(samples()))
        states, changes = evaluate(await self._states(), found, ALERTS, self._blind(), last.now)
        channels = [channel.name for channel in self.channels]
        notices = [
            {"notice_id": str(uuid4()), "at": last.now.isoformat(), "channels": channels, **_fields(change)}
            for change in changes
        ]
        recorded = await self._database.value(
            sql.query("record_alerts"),
            version=last.version,
            states=json.dumps([_fields(state) for state in states], default=str),
            notices=json.dumps(notices),
        )
        if not recorded:
            return []
        for change in changes:
            level = logging.ERROR if change.event == "fired" else logging.WARNING
            log.log(level, "%s: %s", change.event, ALERTS[change.alert].words(change.label))
        return changes

    async def deliver(self) -> int:
        """Send the notices that are due; return how many reached a channel."""
        return await self._send_all(
            await self._database.rows(sql.query("due_notices"), Waiting, limit=MAX_SENT)
        )

    async def probe(self, channel: Channel) -> None:
        """Reach a channel and report how it does. If a notice waits for it, only sending that can tell.

        What waits is sent at once if the channel could not be reached before, else when it is due: a channel
        that is slow would get it again and again.
        """
        try:
            await channel.reach()
        except Unavailable:
            self._lost.add(channel.name)
            raise
        values = {"channel": channel.name, "limit": MAX_SENT}
        rows = await self._database.rows(sql.query("waiting_notices"), Waiting, **values)
        if not rows:
            channel.report(None)
        elif channel.name in self._lost:
            await self._send_all(rows)
        self._lost.discard(channel.name)

    async def views(self) -> Sequence[AlertView]:
        """Return every alert with its value now. Nothing is recorded."""
        await self._scrape.read()
        found, states, blind = list(samples()), await self._states(), self._blind()
        return [
            AlertView(
                alert,
                self.limits[alert.name],
                alert.expression.values(found),
                [state for state in states if state.alert == alert.name],
                alert.name in blind,
            )
            for alert in ALERTS.values()
            if alert.built_in
        ]

    async def last(self) -> Evaluation:
        """Return the last evaluation. No metric is read, so it costs little."""
        last = await self._round()
        return Evaluation(last.evaluated_at, last.now, await self._states())

    async def history(self, limit: int = 100) -> list[ToldNotice]:
        """Return the newest notices, newest first."""
        return await self._database.rows(sql.query("recent_notices"), ToldNotice, limit=limit)

    def notice(
        self, notice_id: UUID, event: str, name: str, label: str, value: float | None, at: datetime
    ) -> Notice:
        """Return what is told about an alert."""
        told = cast(Literal["fired", "cleared", "test"], event)
        limit = self.limits[name]
        alert = ALERTS[name]
        return Notice(notice_id, told, alert, label, value, limit, at, self._installation, self.runbooks)

    async def _send_all(self, rows: Sequence[Waiting]) -> int:
        sent = 0
        for row in rows:
            if row.alert in ALERTS:
                notice = self.notice(row.id, row.event, row.alert, row.label, row.value, row.at)
                sent += await self._send(notice, row.channels, row.tries)
        return sent

    async def _send(self, notice: Notice, names: Sequence[str], tries: int) -> int:
        """Send a notice to the channels that it did not reach and that are still set."""
        channels, sent = {channel.name: channel for channel in self.channels}, 0
        for name in names:
            error = None
            try:
                if name in channels:
                    await channels[name].send(notice)
                    sent += 1
            except FojaError as failed:
                error = str(failed)
                log.warning("a notice was not sent: %s", error)
            pause = min(FIRST_PAUSE * 2**tries, LAST_PAUSE) if tries < MAX_TRIES else None
            told = {"notice": notice.id, "channel": name, "error": error, "pause": pause}
            await self._database.rows(sql.query("settle_notice"), **told)
        return sent

    async def _is_due(self) -> bool:
        """Return whether no process evaluated within the interval."""
        last = await self._round()
        since = last.now - last.evaluated_at if last.evaluated_at else None
        return since is None or not 0 <= since.total_seconds() < 0.9 * self.seconds

    async def _round(self) -> Round:
        return await self._database.one(sql.query("alert_round"), Round)

    async def _states(self) -> list[AlertState]:
        return await self._database.rows(sql.query("alert_states"), AlertState)

    def _active(self) -> list[Alert]:
        return [alert for alert in ALERTS.values() if alert.built_in]

    def _blind(self) -> set[str]:
        """Return the alerts whose metrics could not be read."""
        return {alert.name for alert in self._active() if self._scrape.failed.intersection(alert.parts)}

    def _down(self, event: str) -> Notice:
        return self.notice(uuid4(), event, DOWN, "", None, datetime.now(UTC))


def _fields(value: AlertState | Change) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}
