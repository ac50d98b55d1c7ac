"""Unit tests of the alert rules for promtool, made from the table: every alert fires, and clears."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

from foja.pure.models.alerts.alert import Alert
from foja.pure.models.alerts.expression import Absent, Ratio, Sum
from foja.pure.models.alerts.table import ALERTS

HEAD = "# Made from the table of alerts, which a test compares. Run: promtool test rules alerts_test.yml\n"
MINUTE, SPARE = 60, 5
WHOLE = 1_000.0


def unit_tests(rules: str) -> str:
    """Return a file of unit tests for this rule file."""
    lines = [HEAD + f"rule_files: [{rules}]", "evaluation_interval: 1m", "tests:"]
    for alert in ALERTS.values():
        lines += _test(alert)
    return "\n".join(lines) + "\n"


def _test(alert: Alert) -> list[str]:
    minutes = math.ceil(alert.seconds / MINUTE) + SPARE
    lines = ["  - interval: 1m", "    input_series:"]
    for series, wrong, right in _series(alert):
        first = minutes + 1 if wrong == "_" else minutes  # of a value, `x1` means two of them
        values = f"{wrong}x{first} {right}x{SPARE * 2}"
        lines += [f"      - series: {json.dumps(series)}", f"        values: {json.dumps(values)}"]
    lines.append("    alert_rule_test:")
    fires, clears = minutes * MINUTE, (minutes + SPARE) * MINUTE
    times = [(0, alert.seconds == 0), (fires, True), (clears, False)]
    for seconds, firing in times:
        lines += [
            f"      - eval_time: {seconds}s",
            f"        alertname: {alert.title}",
            "        exp_alerts:",
        ]
        lines += _expected(alert) if firing else []
        lines[-1] += "" if firing else " []"
    return lines


def _expected(alert: Alert) -> list[str]:
    label = {alert.expression.by: "some"} if alert.expression.by else {}
    labels = ", ".join(f"{name}: {value}" for name, value in {"severity": alert.severity, **label}.items())
    value = f"{_wrong(alert):.4g}"
    annotations = {
        "summary": alert.words("some" if label else ""),
        "value": value,
        "runbook_url": f"docs/runbooks/{alert.runbook}",
    }
    texts = ", ".join(f"{name}: {json.dumps(text)}" for name, text in annotations.items())
    return [f"          - exp_labels: {{{labels}}}", f"            exp_annotations: {{{texts}}}"]


def _wrong(alert: Alert) -> float:
    if isinstance(alert.expression, Ratio):
        return alert.limit / 2 if alert.below else alert.limit * 1.5
    return alert.limit - 1 if alert.below else alert.limit + 1


def _right(alert: Alert) -> float:
    if isinstance(alert.expression, Ratio):
        return alert.limit * 2 if alert.below else alert.limit / 2
    return alert.limit


def _series(alert: Alert) -> Iterable[tuple[str, str, str]]:
    """Yield each series of a test with its value while the alert should fire, and afterwards."""
    expression, wrong, right = alert.expression, _wrong(alert), _right(alert)
    if isinstance(expression, Absent):
        yield f'{expression.metric}{{instance="a"}}', "_", "1"
    elif isinstance(expression, Sum):
        yield _name(expression), _number(wrong), _number(right)
    elif expression.part.metric == expression.whole.metric:
        yield _name(expression.part), _number(wrong * WHOLE), _number(right * WHOLE)
        others = (1 - wrong) * WHOLE, (1 - right) * WHOLE
        yield _name(expression.whole, other=True), _number(others[0]), _number(others[1])
    else:
        yield _name(expression.part), _number(wrong * WHOLE), _number(right * WHOLE)
        yield _name(expression.whole), _number(WHOLE), _number(WHOLE)


def _name(sum_: Sum, *, other: bool = False) -> str:
    labels = {"instance": "a", **({sum_.by: "some"} if sum_.by else {})}
    labels |= {name: values[0] for name, values in sum_.where.items()}
    if other:
        labels |= {"state": "succeeded", "status": "success"}
    pairs = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return f"{sum_.metric}{{{pairs}}}"


def _number(value: float) -> str:
    return f"{value:.10g}"
