"""The files of deploy/ follow the table of alerts, and promtool agrees that every alert fires and clears."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from foja.domains.alerts.assembly import RUNBOOKS
from foja.pure.models.alerts.grafana import UID, dashboard, queries
from foja.pure.models.alerts.prometheus import rule_file
from foja.pure.models.alerts.table import ALERTS
from tests.promtool import unit_tests

DEPLOY = Path(__file__).parents[3] / "deploy"
RULES, TESTS = DEPLOY / "prometheus" / "alerts.yml", DEPLOY / "prometheus" / "alerts_test.yml"
LIMITS: dict[str, float | None] = {name: alert.limit for name, alert in ALERTS.items()}
needs_promtool = pytest.mark.skipif(
    not shutil.which("promtool"), reason="no promtool (apt install prometheus)"
)


def promtool(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["promtool", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120
    )


def test_the_rule_file_is_the_table() -> None:
    assert RULES.read_text() == rule_file(LIMITS, RUNBOOKS)
    assert TESTS.read_text() == unit_tests(RULES.name)


def test_the_dashboard_is_the_table_and_imports_anywhere() -> None:
    text = (DEPLOY / "grafana" / "foja.json").read_text()
    assert text == dashboard()
    body = json.loads(text)
    assert (body["uid"], "id" in body) == (UID, False)
    assert not [panel["title"] for panel in body["panels"] if "{label}" in panel.get("description", "")]
    targets = [target for panel in body["panels"] for target in panel.get("targets", ())]
    assert [target["expr"] for target in targets] == queries()
    assert {target["datasource"]["uid"] for target in targets} == {"${DS_PROMETHEUS}"}
    assert len({panel["id"] for panel in body["panels"]}) == len(body["panels"])
    shown = {name for query in queries() for name in re.findall(r"foja_\w+", query)}
    for alert in ALERTS.values():
        assert not alert.built_in or shown.issuperset(alert.expression.metrics), alert.name


@needs_promtool
def test_promtool_says_that_every_alert_fires_and_clears() -> None:
    checked = promtool("check", "rules", RULES)
    assert (checked.returncode, f"{len(ALERTS)} rules found" in checked.stdout) == (0, True), checked.stderr
    tested = promtool("test", "rules", TESTS)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    text = TESTS.read_text()
    for alert in ALERTS.values():
        assert text.count(f"alertname: {alert.title}\n") == 3  # before, over, and under its limit


@needs_promtool
def test_promtool_notices_an_alert_that_does_not_clear(tmp_path: Path) -> None:
    """The unit tests can fail."""
    broken = RULES.read_text().replace("foja_log_halted)) > 0", "foja_log_halted)) >= 0")
    assert broken != RULES.read_text()
    (tmp_path / RULES.name).write_text(broken)
    (tmp_path / TESTS.name).write_text(TESTS.read_text())
    assert promtool("test", "rules", tmp_path / TESTS.name).returncode == 1


def test_limits_of_the_settings_are_in_the_rules() -> None:
    text = rule_file(LIMITS | {"log_lag": 120.0, "disk_space": None}, "https://wiki.example/")
    assert "foja_log_lag_seconds)) > 120" in text
    assert "FojaDiskSpace" not in text
    assert 'runbook_url: "https://wiki.example/log_lag.md"' in text
