"""Which alerts begin, fire and clear, given what was true before and what is true now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from foja.pure.models.alerts.alert import Alert
from foja.pure.models.alerts.expression import Sample

Series: TypeAlias = tuple[str, str]  # alert and label


@dataclass(frozen=True, slots=True)
class AlertState:
    """An alert whose condition is true."""

    alert: str
    label: str
    value: float
    since: datetime
    fired_at: datetime | None

    @property
    def series(self) -> Series:
        """What it is about."""
        return self.alert, self.label


@dataclass(frozen=True, slots=True)
class Change:
    """An alert that begins or stops firing."""

    alert: str
    label: str
    event: Literal["fired", "cleared"]
    value: float | None


def breaches(
    alerts: Iterable[Alert], limits: Mapping[str, float | None], samples: Sequence[Sample]
) -> dict[Series, float]:
    """Return every series that is over its limit, with its value."""
    found: dict[Series, float] = {}
    for alert in alerts:
        if (limit := limits[alert.name]) is not None:
            for label, value in alert.expression.values(samples).items():
                if alert.breached(value, limit):
                    found[alert.name, label] = value
    return found


def evaluate(
    before: Iterable[AlertState],
    found: Mapping[Series, float],
    alerts: Mapping[str, Alert],
    blind: Collection[str],
    now: datetime,
) -> tuple[list[AlertState], list[Change]]:
    """Return what is true now, and what changed. An alert that is blind keeps its state.

    `blind` names alerts whose metrics could not be read. The state of a removed alert is cleared.
    """
    known = {state.series: state for state in before}
    kept = [state for state in known.values() if state.alert in blind and state.alert in alerts]
    seen = {series: value for series, value in found.items() if series[0] not in blind}
    states = [
        _state(series, value, known.get(series), alerts[series[0]], now) for series, value in seen.items()
    ]
    fired = [
        Change(state.alert, state.label, "fired", state.value)
        for state in states
        if state.fired_at == now and not (known.get(state.series) and known[state.series].fired_at)
    ]
    over = {state.series for state in (*states, *kept)}
    cleared = [
        Change(state.alert, state.label, "cleared", None)
        for series, state in known.items()
        if state.fired_at and series not in over
    ]
    return [*states, *kept], [*fired, *cleared]


def _state(
    series: Series, value: float, before: AlertState | None, alert: Alert, now: datetime
) -> AlertState:
    state = AlertState(*series, value, now, None)
    if before:  # its time may be of a clock that was ahead
        state = replace(before, value=value, since=min(before.since, now))
    if state.fired_at is None and now - state.since >= timedelta(seconds=alert.seconds):
        return replace(state, fired_at=now)
    return state
