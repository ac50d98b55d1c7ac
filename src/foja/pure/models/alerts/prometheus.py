"""The table of alerts as a rule file of Prometheus."""

from __future__ import annotations

import json
from collections.abc import Mapping

from foja.pure.models.alerts.alert import Alert
from foja.pure.models.alerts.table import GROUPS

HEAD = "# Written by `foja alerts rules`; a test compares it with foja/pure/models/alerts/table.py.\n"


def rule_file(limits: Mapping[str, float | None], runbooks: str) -> str:
    """Return the rules with these limits, without alerts that are off; `runbooks` is where the pages are."""
    lines = [HEAD + "groups:"]
    for name, alerts in GROUPS.items():
        lines += [f"  - name: foja-{name}", "    rules:"]
        for alert in alerts:
            if (limit := limits[alert.name]) is not None:
                lines += _rule(alert, limit, runbooks)
    return "\n".join(lines) + "\n"


def _rule(alert: Alert, limit: float, runbooks: str) -> list[str]:
    label = f"{{{{ $labels.{alert.expression.by} }}}}" if alert.expression.by else ""
    return [
        f"      - alert: {alert.title}",
        f"        expr: {json.dumps(alert.condition(limit))}",
        f"        for: {alert.seconds:.0f}s",
        "        labels:",
        f"          severity: {alert.severity}",
        "        annotations:",
        f"          summary: {json.dumps(alert.words(label))}",
        "          value: '{{ $value | printf \"%.4g\" }}'",
        f"          runbook_url: {json.dumps(runbooks + alert.runbook)}",
    ]
