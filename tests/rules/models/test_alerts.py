"""Alerts: what an expression says, when an alert fires and clears, which limits are valid."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foja.engine import metrics
from foja.errors import Refused
from foja.pure.models.alerts.alert import Alert, read_limits
from foja.pure.models.alerts.evaluation import AlertState, Series, breaches, evaluate
from foja.pure.models.alerts.expression import Sample, Sum
from foja.pure.models.alerts.notice import Notice
from foja.pure.models.alerts.table import ALERTS

BEGIN = datetime(2026, 11, 17, tzinfo=UTC)
LAG: Series = ("log_lag", "")
HALTED: Series = ("log_halted", "")
SAMPLES: list[Sample] = [
    ("foja_jobs_recent", {"type": "run_tsa", "state": "dead"}, 3.0),
    ("foja_jobs_recent", {"type": "run_tsa", "state": "retry_scheduled"}, 2.0),
    ("foja_jobs_recent", {"type": "run_tsa", "state": "succeeded"}, 35.0),
    ("foja_jobs_recent", {"type": "render", "state": "dead"}, 9.0),
    ("foja_log_lag_seconds", {}, 61.0),
]


def after(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def test_a_sum_adds_the_series_with_these_labels() -> None:
    both = Sum("foja_jobs_recent", "type", {"state": ("dead", "retry_scheduled")})
    assert both.values(SAMPLES) == {"run_tsa": 5.0, "render": 9.0}
    assert Sum("foja_jobs_recent").values(SAMPLES) == {"": 49.0}
    assert Sum("foja_absent").values(SAMPLES) == {}


def test_a_ratio_of_little_says_nothing() -> None:
    failed = ALERTS["job_errors"]
    assert failed.expression.values(SAMPLES) == {"run_tsa": 0.125}  # `render` has fewer than 20 jobs
    assert breaches([failed], {"job_errors": 0.05}, SAMPLES) == {("job_errors", "run_tsa"): 0.125}
    assert breaches([failed], {"job_errors": None}, SAMPLES) == {}


def test_a_limit_is_passed_above_or_below() -> None:
    lag, disk = ALERTS["log_lag"], ALERTS["disk_space"]
    assert [lag.breached(value, 60) for value in (59, 60, 61)] == [False, False, True]
    assert [disk.breached(value, 0.1) for value in (0.09, 0.1, 0.11)] == [True, False, False]
    assert disk.query.startswith("min(")
    assert disk.condition(0.1).endswith(" < 0.1")


def test_an_alert_fires_once_after_its_time_and_clears_once() -> None:
    states: list[AlertState] = []
    said = []
    for seconds, value in ((0, 61.0), (30, 70.0), (60, 80.0), (90, 90.0), (120, None), (150, None)):
        found = {} if value is None else {LAG: value}
        states, changes = evaluate(states, found, ALERTS, (), after(seconds))
        said += [(seconds, change.event, change.value) for change in changes]
    assert said == [(60, "fired", 80.0), (120, "cleared", None)]
    assert states == []


def test_an_alert_fires_in_time_after_the_clock_was_set_back() -> None:
    """It waited for as long as the clock had been ahead, and longer."""
    states, _ = evaluate([], {LAG: 61.0}, ALERTS, set(), after(7_200))
    states, changes = evaluate(states, {LAG: 61.0}, ALERTS, set(), after(0))
    assert changes == []
    _, [fired] = evaluate(states, {LAG: 61.0}, ALERTS, set(), after(60))
    assert (fired.alert, fired.event) == ("log_lag", "fired")


def test_a_condition_that_ends_early_says_nothing() -> None:
    states, changes = evaluate([], {LAG: 61.0}, ALERTS, (), after(0))
    assert (changes, states[0].fired_at) == ([], None)
    assert evaluate(states, {}, ALERTS, (), after(30)) == ([], [])
    states, _ = evaluate([], {LAG: 61.0}, ALERTS, (), after(40))
    assert evaluate(states, {LAG: 61.0}, ALERTS, (), after(70))[1] == []


def test_an_alert_without_a_wait_fires_at_once() -> None:
    _, changes = evaluate([], {HALTED: 1.0}, ALERTS, (), after(0))
    assert [(change.alert, change.event) for change in changes] == [("log_halted", "fired")]


def test_a_blind_alert_keeps_its_state() -> None:
    states, _ = evaluate([], {HALTED: 1.0}, ALERTS, (), after(0))
    kept, changes = evaluate(states, {}, ALERTS, {"log_halted"}, after(30))
    assert (kept, changes) == (states, [])
    assert [change.event for change in evaluate(kept, {}, ALERTS, (), after(60))[1]] == ["cleared"]


def test_a_firing_alert_that_exists_no_more_is_cleared() -> None:
    old = AlertState("gone", "x", 1.0, BEGIN, BEGIN)
    states, changes = evaluate([old], {}, ALERTS, {"gone"}, after(1))
    assert (states, [change.event for change in changes]) == ([], ["cleared"])


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(1, 90))))
def test_what_is_said_alternates(steps: list[tuple[bool, bool, int]]) -> None:
    """Whatever happens, `fired` and `cleared` follow each other, and `fired` comes first."""
    states, said, now = list[AlertState](), list[str](), BEGIN
    for true, blind, seconds in steps:
        now += timedelta(seconds=seconds)
        found = {LAG: 99.0} if true else {}
        states, changes = evaluate(states, found, ALERTS, {"log_lag"} if blind else (), now)
        said += [change.event for change in changes]
    assert said == (["fired", "cleared"] * len(said))[: len(said)]


def test_limits_are_read_or_refused() -> None:
    limits = read_limits("log_lag=120, disk_space=off", ALERTS)
    assert (limits["log_lag"], limits["disk_space"]) == (120.0, None)
    assert limits["job_errors"] == ALERTS["job_errors"].limit
    for text in ("log_lag", "no_such=1", "log_lag=many", "log_lag=-1", "log_lag=inf", "log_lag=nan"):
        with pytest.raises(Refused):
            read_limits(text, ALERTS)


@pytest.mark.parametrize("alert", ALERTS.values(), ids=lambda alert: alert.name)
def test_every_metric_of_an_alert_exists(alert: Alert) -> None:
    assert metrics.METRIC_NAMES.issuperset(name.removesuffix("_total") for name in alert.expression.metrics)


def test_a_notice_says_what_is_wrong_and_where_help_is() -> None:
    notice = Notice(
        UUID(int=7), "fired", ALERTS["job_errors"], "run_tsa", 0.125, 0.05, BEGIN, "abc", "docs/runbooks/"
    )
    assert notice.subject == "[foja] warning fired: job_errors (run_tsa)"
    assert "Too many jobs of the type run_tsa fail." in notice.text
    assert "12.5%" in notice.text
    assert "5.0%" in notice.text
    assert notice.document()["runbook"] == "docs/runbooks/job_errors.md"
