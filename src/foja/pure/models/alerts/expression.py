"""What an alert compares: sums and ratios of metrics, as PromQL and as a value here.

Every process exposes the same values of the database, so values are compared within an instance, and the
worst of all instances counts. An expression says the same to Prometheus and to the built-in evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Sample: TypeAlias = tuple[str, Mapping[str, str], float]
Worst: TypeAlias = Literal["max", "min"]
Values: TypeAlias = Mapping[str, float]  # by the value of the label that the series differ in; '' if in none


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of a metric for each value of the label `by`, of the series with these values of labels."""

    metric: str
    by: str = ""
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that it reads."""
        return (self.metric,)

    def inner(self) -> str:
        """Return the sums of each instance, in PromQL."""
        matchers = ",".join(f'{name}=~"{"|".join(values)}"' for name, values in self.where.items())
        series = f"{self.metric}{{{matchers}}}" if matchers else self.metric
        return f"sum by ({_labels('instance', self.by)}) ({series})"

    def promql(self, worst: Worst) -> str:
        """Return the expression for Prometheus."""
        return _over_instances(worst, self.by, self.inner())

    def values(self, samples: Iterable[Sample]) -> Values:
        """Return the sums of these samples, which are those of one process."""
        found: dict[str, float] = {}
        for name, labels, value in samples:
            if name == self.metric and all(labels.get(key) in some for key, some in self.where.items()):
                label = labels.get(self.by, "")
                found[label] = found.get(label, 0.0) + value
        return found


@dataclass(frozen=True, slots=True)
class Ratio:
    """A share of a whole, unless the whole is smaller than `least`: a share of little says nothing."""

    part: Sum
    whole: Sum
    least: float = 1

    @property
    def by(self) -> str:
        """The label that its series differ in."""
        return self.whole.by

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that it reads."""
        return (*self.part.metrics, *self.whole.metrics)

    def promql(self, worst: Worst) -> str:
        """Return the expression for Prometheus."""
        shares = f"{self.part.inner()} / ({self.whole.inner()} >= {self.least:g})"
        return _over_instances(worst, self.by, shares)

    def values(self, samples: Iterable[Sample]) -> Values:
        """Return the shares, where the whole is large enough."""
        samples = list(samples)
        parts, wholes = self.part.values(samples), self.whole.values(samples)
        return {
            label: parts[label] / whole
            for label, whole in wholes.items()
            if label in parts and whole >= self.least
        }


@dataclass(frozen=True, slots=True)
class Absent:
    """1 if Prometheus has no series of a metric. Only Prometheus can tell."""

    metric: str
    by: str = ""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that it reads."""
        return (self.metric,)

    def promql(self, worst: Worst) -> str:
        """Return the expression for Prometheus."""
        return f"absent({self.metric})"

    def values(self, samples: Iterable[Sample]) -> Values:
        """Return nothing: a process that evaluates is there."""
        return {}


def _over_instances(worst: Worst, by: str, expression: str) -> str:
    return f"{worst} by ({by}) ({expression})" if by else f"{worst}({expression})"


def _labels(*names: str) -> str:
    return ", ".join(filter(None, names))


Expression: TypeAlias = Sum | Ratio | Absent
