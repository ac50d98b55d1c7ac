"""The dashboard for Grafana, in the classic JSON that every version imports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from foja.pure.models.alerts.alert import Alert, Unit
from foja.pure.models.alerts.table import ALERTS, GROUPS

UID = "foja-overview"
SOURCE = {"type": "prometheus", "uid": "${DS_PROMETHEUS}"}
UNITS = {Unit.SECONDS: "s", Unit.SHARE: "percentunit", Unit.COUNT: "short", Unit.FLAG: "short"}
WIDTH, HEIGHT = 8, 7
LATENCY = "histogram_quantile(0.95, sum by (le, route) (rate(foja_http_request_seconds_bucket[5m])))"
FAILURES = "max by (route) (increase(foja_http_failures_total[1h]))"
SETTLED = "sum by (verdict) (rate(foja_jobs_settled_total[5m]))"
RECENT = "max by (state) (sum by (instance, state) (foja_jobs_recent))"
# What is worth seeing beside the values of the alerts: title, unit, query, legend.
# fmt: off
CHARTS: dict[str, Sequence[tuple[str, str, str, str]]] = {
    "traffic": (
        ("Events recorded per second", "ops", "max(rate(foja_events_total[5m]))", "events"),
        ("Requests per second", "reqps", "sum by (code) (rate(foja_http_requests_total[5m]))", "{{code}}"),
        ("Time to the first byte, 95th percentile", "s", LATENCY, "{{route}}"),
        ("Failures per hour", "short", FAILURES, "{{route}}"),
        ("Jobs settled per second", "ops", SETTLED, "{{verdict}}"),
        ("Open event streams", "short", "sum(foja_streams_open)", "streams"),
    ),
    "parts": (
        ("Jobs of the last day", "short", RECENT, "{{state}}"),
        ("Size of the database", "bytes", "max(foja_database_bytes)", "bytes"),
        ("Objects by outcome", "short", "max by (outcome) (foja_orphans_total)", "{{outcome}}"),
    ),
}
# fmt: on


def dashboard() -> str:
    """Return the dashboard as JSON."""
    panels: list[dict[str, Any]] = []
    for name, charts in CHARTS.items():
        _add_row(panels, name, [_chart(*chart) for chart in charts])
    for name, alerts in GROUPS.items():
        _add_row(panels, name, [_alert_chart(alert) for alert in alerts if alert.built_in])
    body = {
        "__inputs": [
            {"name": "DS_PROMETHEUS", "label": "Prometheus", "type": "datasource", "pluginId": "prometheus"}
        ],
        "uid": UID,
        "title": "Foja",
        "tags": ["foja"],
        "schemaVersion": 39,
        "timezone": "",
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [
                {"name": "DS_PROMETHEUS", "label": "data source", "type": "datasource", "query": "prometheus"}
            ]
        },
        "panels": panels,
    }
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def queries() -> list[str]:
    """Return every query of the dashboard."""
    charts = [query for group in CHARTS.values() for _, _, query, _ in group]
    return charts + [alert.query for alert in ALERTS.values() if alert.built_in]


def _add_row(panels: list[dict[str, Any]], name: str, charts: Sequence[dict[str, Any]]) -> None:
    """Add a title and its charts, three side by side."""
    top = max((panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels), default=0)
    place = {"x": 0, "y": top, "w": 24, "h": 1}
    panels.append(
        {"id": len(panels) + 1, "type": "row", "title": name.capitalize(), "gridPos": place, "panels": []}
    )
    for number, chart in enumerate(charts):
        place = {"x": number % 3 * WIDTH, "y": top + 1 + number // 3 * HEIGHT, "w": WIDTH, "h": HEIGHT}
        panels.append({"id": len(panels) + 1, **chart, "gridPos": place})


def _chart(title: str, unit: str, query: str, legend: str) -> dict[str, Any]:
    return {
        "type": "timeseries",
        "title": title,
        "datasource": SOURCE,
        "targets": [{"refId": "A", "datasource": SOURCE, "expr": query, "legendFormat": legend}],
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
    }


def _alert_chart(alert: Alert) -> dict[str, Any]:
    """Return a chart of what an alert compares, with its limit as a line."""
    by = alert.expression.by
    title = alert.sentence.rstrip(".").partition(":")[0]
    legend = f"{{{{{by}}}}}" if by else alert.name
    chart = _chart(title, UNITS[alert.unit], alert.query, legend)
    calm, wrong = ("red", "green") if alert.below else ("green", "red")
    steps = [{"color": calm, "value": None}, {"color": wrong, "value": alert.limit}]
    defaults = chart["fieldConfig"]["defaults"]
    defaults["thresholds"] = {"mode": "absolute", "steps": steps}
    defaults["custom"] = {"thresholdsStyle": {"mode": "line"}}
    chart["description"] = f"{alert.sentence} Runbook: docs/runbooks/{alert.runbook}"
    return chart
