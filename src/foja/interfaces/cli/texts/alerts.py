"""What `foja alerts list` and `history` print."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator
from datetime import datetime

from foja.interfaces.answers.alerts import AlertList, NoticeList, ShownAlert
from foja.interfaces.cli.output import table
from foja.pure.models.alerts.notice import ToldNotice
from foja.pure.models.alerts.table import ALERTS
from foja.pure.quotation import quoted

HEAD = ("alert", "severity", "state", "series", "value", "limit", "since")
HISTORY_HEAD = ("time", "event", "alert", "series", "value", "not delivered to")


def listed(found: AlertList, _: Namespace) -> Iterable[str]:
    """Return a table of alerts, with a row for each series that is over its limit."""
    return table(HEAD, [row for each in found for row in _rows(each)], "no alert fires")


def history(found: NoticeList, _: Namespace) -> Iterable[str]:
    """Return a table of notices."""
    return table(HISTORY_HEAD, [_notice_row(each) for each in found], "no alert has fired")


def _rows(found: ShownAlert) -> Iterator[tuple[object, ...]]:
    alert = ALERTS[found.alert]
    limit = "off" if found.limit is None else f"{'<' if alert.below else '>'} {alert.shown(found.limit)}"
    for each in found.series:
        word, value = "firing" if each.fired_at else "pending", alert.shown(each.value)
        yield alert.name, alert.severity, word, _label(each.label), value, limit, _time(each.since)
    if not found.series:
        worst = (min if alert.below else max)(found.values.values(), default=None)
        shown = None if worst is None else alert.shown(worst)
        yield alert.name, alert.severity, found.state, None, shown, limit, None


def _notice_row(each: ToldNotice) -> tuple[object, ...]:
    undelivered = ", ".join(each.undelivered)
    return _time(each.at), each.event, each.alert, _label(each.label), each.value, undelivered


def _label(label: str | None) -> str | None:
    """Return what the series of an alert differ in, such as a tenant or a job type, as a quotation."""
    return quoted(label) if label else None


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
