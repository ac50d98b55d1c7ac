"""An alert: an expression, a limit, how long it has to be over it, and what that means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from foja.errors import Refused
from foja.pure.models.alerts.expression import Expression

OFF = "off"


class Severity(StrEnum):
    """Who has to know."""

    CRITICAL = "critical"  # a person, now
    WARNING = "warning"  # a person, today


class Unit(StrEnum):
    """What a value counts."""

    COUNT = "count"
    SECONDS = "seconds"
    SHARE = "share"
    FLAG = "flag"


@dataclass(frozen=True, slots=True)
class Alert:
    """A rule. It fires for each series that is over its limit, or under it if `below`, for `seconds`."""

    name: str
    expression: Expression
    limit: float
    seconds: float
    severity: Severity
    unit: Unit
    summary: str  # `{label}` is the series: a job type, a network
    parts: tuple[str, ...] = ()  # of the metrics; without them it cannot be evaluated here
    below: bool = False

    @property
    def title(self) -> str:
        """Its name in Prometheus."""
        return "Foja" + "".join(word.capitalize() for word in self.name.split("_"))

    @property
    def built_in(self) -> bool:
        """Whether it can be evaluated without Prometheus."""
        return bool(self.parts)

    @property
    def runbook(self) -> str:
        """The name of its page."""
        return f"{self.name}.md"

    def breached(self, value: float, limit: float) -> bool:
        """Return whether a value is on the wrong side of a limit."""
        return value < limit if self.below else value > limit

    @property
    def query(self) -> str:
        """What it compares, for Prometheus."""
        return self.expression.promql("min" if self.below else "max")

    def condition(self, limit: float) -> str:
        """Return the condition for Prometheus."""
        return f"{self.query} {'<' if self.below else '>'} {limit:g}"

    @property
    def sentence(self) -> str:
        """What is wrong, about any series."""
        return self.summary.replace(" {label}", "")

    def words(self, label: str) -> str:
        """Return what is wrong, about one series."""
        return self.summary.format(label=label or "foja")

    def shown(self, value: float) -> str:
        """Return a value as text."""
        if self.unit is Unit.SHARE:
            return f"{value:.1%}"
        if self.unit is Unit.SECONDS:
            return f"{value:,.0f} s" if value >= 10 else f"{value:.1f} s"
        return f"{value:,.0f}"


def read_limits(text: str, alerts: Mapping[str, Alert]) -> dict[str, float | None]:
    """Return the limit of every alert; None: it is off. Raise `Refused` if the text is not valid.

    The text names those that differ from the default: `log_lag=120 disk_space=off`.
    """
    limits: dict[str, float | None] = {name: alert.limit for name, alert in alerts.items()}
    for word in text.replace(",", " ").split():
        name, equals, value = word.partition("=")
        if not equals or name not in alerts:
            raise Refused(
                f"{word!r} does not set the limit of an alert; write NAME=NUMBER or NAME=off, "
                "with a NAME of `foja alerts list`"
            )
        limits[name] = None if value == OFF else _number(word, value)
    return limits


def _number(word: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise Refused(f"{word!r} has no valid limit; write a number from 0 on, or off")
    return number
