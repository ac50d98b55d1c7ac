"""The table of alerts as the page shows it: the recorded state of each, its value now, its limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from foja.domains.alerts.service import AlertView, Evaluation
from foja.interfaces.web.pages.frame.times import number
from foja.pure.models.alerts.alert import Alert, Unit
from foja.pure.models.alerts.evaluation import AlertState
from foja.pure.models.alerts.table import GROUPS

# A state of an alert, and how it looks. `unread`: its metrics cannot be read; `elsewhere`: Prometheus has it.
TONES: Final = {
    "firing": "bad",
    "pending": "warn",
    "quiet": "good",
    "unread": "warn",
    "unevaluated": "warn",
    "off": "",
    "elsewhere": "",
}
MISSED: Final = 4  # intervals without an evaluation
_UNITS: Final = ((172_800, 86_400, "d"), (7_200, 3_600, "h"), (600, 60, "min"))
Views = Mapping[str, AlertView] | None  # None: not read yet


@dataclass(frozen=True, slots=True)
class AlertRow:
    """One alert: its limit, its state, its worst value if that is known, and the series over the limit."""

    alert: Alert
    limit: float | None
    state: str
    value: float | None
    series: Sequence[AlertState]

    @property
    def since(self) -> datetime | None:
        """When it fired, or went over its limit."""
        return min((each.fired_at or each.since for each in self.series), default=None)


def alert_groups(
    limits: Mapping[str, float | None], evaluation: Evaluation, views: Views, interval: float
) -> dict[str, list[AlertRow]]:
    """Return every alert, by group."""
    return {
        name: [alert_row(each, limits[each.name], evaluation, views, interval) for each in alerts]
        for name, alerts in GROUPS.items()
    }


def alert_row(
    alert: Alert, limit: float | None, evaluation: Evaluation, views: Views, interval: float
) -> AlertRow:
    """Return one alert as the last evaluation left it, with its value now."""
    series = [each for each in evaluation.states if each.alert == alert.name]
    view = (views or {}).get(alert.name)
    worst = min if alert.below else max
    value = worst(view.values.values()) if view and view.values else None
    if value is None and series:
        value = worst(each.value for each in series)
    state = _state(
        alert, limit, series, unread=bool(view and view.blind), current=is_current(evaluation, interval)
    )
    return AlertRow(alert, limit, state, value, series)


def _state(
    alert: Alert, limit: float | None, series: Sequence[AlertState], *, unread: bool, current: bool
) -> str:
    if limit is None:
        return "off"
    if not alert.built_in:
        return "elsewhere"
    if not current:
        return "unevaluated"
    if any(each.fired_at for each in series):
        return "firing"
    return "unread" if unread else "pending" if series else "quiet"


def is_current(evaluation: Evaluation, interval: float) -> bool:
    """Return whether some process evaluates the alerts: not off, and not stopped a while ago."""
    if evaluation.at is None or not interval:
        return False
    return evaluation.now - evaluation.at < timedelta(seconds=max(MISSED * interval, 60))


def amount(alert: Alert, value: float, language: str) -> str:
    """Return a value of an alert for people: a share in percent, a time in its unit, a count."""
    if alert.unit is Unit.SHARE:
        return f"{number(round(value * 100, 1), language)} %"
    if alert.unit is not Unit.SECONDS:
        return number(round(value, 1), language)
    for least, unit, name in _UNITS:
        if value >= least:
            return f"{number(round(value / unit, 1), language)} {name}"
    return f"{number(round(value, 1), language)} s"
