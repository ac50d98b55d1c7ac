"""The page of alerts: the state of each, its values for people, and runbooks as markup."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from foja.domains.alerts.runbook_files import read_runbook
from foja.domains.alerts.service import AlertView, Evaluation
from foja.interfaces.web.pages.frame.language import LANGUAGES
from foja.interfaces.web.pages.system.alert_rows import TONES, alert_groups, alert_row, amount
from foja.interfaces.web.pages.system.runbook import runbook_markup
from foja.pure.models.alerts.evaluation import AlertState
from foja.pure.models.alerts.table import ALERTS

NOW = datetime(2026, 11, 17, tzinfo=UTC)
BEFORE = NOW - timedelta(minutes=10)
LIMITS: dict[str, float | None] = {name: alert.limit for name, alert in ALERTS.items()}
FIRED = AlertState("jobs_dead", "run_tsa", 3, BEFORE, NOW)
PENDING = AlertState("log_lag", "", 70, BEFORE, None)
EVALUATED = Evaluation(NOW - timedelta(seconds=20), NOW, [FIRED, PENDING])


def view(name: str, values: dict[str, float], *, blind: bool = False) -> AlertView:
    return AlertView(ALERTS[name], LIMITS[name], values, [], blind)


def state(name: str, evaluation: Evaluation = EVALUATED, *, blind: bool = False, interval: float = 30) -> str:
    views = {name: view(name, {}, blind=blind)}
    return alert_row(ALERTS[name], LIMITS[name], evaluation, views, interval).state


def test_every_alert_has_a_row_with_a_known_state() -> None:
    rows = [row for group in alert_groups(LIMITS, EVALUATED, None, 30).values() for row in group]
    assert [row.alert.name for row in rows] == list(ALERTS)
    assert {row.state for row in rows} <= TONES.keys()


def test_the_state_is_that_of_the_last_evaluation() -> None:
    assert state("jobs_dead") == "firing"
    assert state("log_lag") == "pending"
    assert state("log_halted") == "quiet"
    assert state("log_halted", blind=True) == "unread"
    assert state("scrape_absent") == "elsewhere"
    assert alert_row(ALERTS["jobs_dead"], None, EVALUATED, None, 30).state == "off"


def test_what_nobody_evaluates_is_neither_quiet_nor_firing() -> None:
    old = Evaluation(NOW - timedelta(minutes=3), NOW, [FIRED])
    never = Evaluation(None, NOW, [])
    for evaluation in (old, never):
        assert state("jobs_dead", evaluation) == state("log_lag", evaluation) == "unevaluated"
    assert state("jobs_dead", interval=0) == "unevaluated"


def test_the_value_is_the_worst_one_and_that_of_the_evaluation_until_metrics_were_read() -> None:
    fired = alert_row(ALERTS["jobs_dead"], 0, EVALUATED, None, 30)
    assert (fired.value, fired.since) == (3, NOW)
    read = {"jobs_dead": view("jobs_dead", {"a": 4, "b": 5}), "disk_space": view("disk_space", {"": 0.4})}
    assert alert_row(ALERTS["jobs_dead"], 0, EVALUATED, read, 30).value == 5
    assert alert_row(ALERTS["disk_space"], 0.1, EVALUATED, read, 30).value == 0.4
    assert alert_row(ALERTS["log_halted"], 0, EVALUATED, read, 30).value is None


@pytest.mark.parametrize(
    ("name", "value", "english", "spanish"),
    [
        ("job_errors", 0.125, "12.5 %", "12,5 %"),
        ("jobs_waiting", 5_000, "5,000", "5.000"),
        ("log_lag", 61.04, "61 s", "61 s"),
        ("log_lag", 0.25, "0.2 s", "0,2 s"),
        ("log_lag", 5_400, "90 min", "90 min"),
        ("orphan_scan_age", 172_800, "2 d", "2 d"),
        ("orphan_scan_age", 27_000, "7.5 h", "7,5 h"),
    ],
)
def test_values_are_written_for_people(name: str, value: float, english: str, spanish: str) -> None:
    assert amount(ALERTS[name], value, "en") == english
    assert amount(ALERTS[name], value, "es") == spanish


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ALERTS)
def test_every_runbook_becomes_headings_commands_and_steps(name: str, language: str) -> None:
    text = read_runbook(ALERTS[name], language)
    assert text
    markup = runbook_markup(text)
    assert [markup.count(tag) for tag in ("<h2>", "</h2>", "<h1>")] == [3, 3, 0]
    assert "<pre><code>foja" in markup
    assert "<ol><li>" in markup
    assert not any(mark in markup for mark in ("`", "](", "## "))


def test_a_runbook_is_escaped_and_links_only_to_runbooks() -> None:
    markup = runbook_markup(
        "# x\n\nIts summary.\n\n## Why\n\n"
        "See [<b>lag</b>](log_lag.md), [there](../operations.md#a) and `a < b`.\n\n```sh\na\n\nb\n```"
    )
    assert markup == (
        "<h2>Why</h2>\n"
        '<p>See <a href="/alerts/log_lag">&lt;b&gt;lag&lt;/b&gt;</a>, there and <code>a &lt; b</code>.</p>\n'
        "<pre><code>a</code></pre>\n<pre><code>b</code></pre>"
    )
