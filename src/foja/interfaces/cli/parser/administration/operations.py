"""The parsers of `foja alerts` and `foja doctor`."""

from __future__ import annotations

from pathlib import Path

from foja.interfaces.cli.parser.values import positive
from foja.interfaces.cli.parser.verbs import Verbs, add_force


def add_alerts(verbs: Verbs) -> None:
    """Add the verb `alerts` and its verbs; without a verb the alerts are listed."""
    alerts = verbs.add(
        "alerts.alerts:listing",
        "show which alerts fire, test their channels, write rules for Prometheus and Grafana",
        "  foja alerts\n  foja alerts test",
        name="alerts",
    )
    alerts.set_defaults(firing=False)
    inner = Verbs(alerts)
    listing = inner.add(
        "alerts.alerts:listing",
        "list every alert with its value, its limit and its state; exit code 1 if one fires",
        "  foja alerts list\n  foja alerts list --firing --json",
        name="list",
    )
    listing.add_argument("--firing", action="store_true", help="only those that fire")
    history = inner.add(
        "alerts.alerts:history",
        "list what fired and cleared, newest first",
        "  foja alerts history --limit 20",
    )
    history.add_argument("--limit", type=positive, default=100, help="at most this many (100)")
    inner.add(
        "alerts.alerts:test",
        "send a test notice to the webhook and by e-mail; exit code 1 if one is not taken",
        "  FOJA_ALERT_WEBHOOK_URL=https://example.org/hook foja alerts test",
    )
    _add_files(inner)


def _add_files(inner: Verbs) -> None:
    rules = inner.add(
        "alerts.alerts:rules",
        "print the alerts as a rule file of Prometheus, with the limits of the settings",
        "  foja alerts rules -o alerts.yml\n  FOJA_ALERT_LIMITS='log_lag=120' foja alerts rules",
    )
    dashboard = inner.add(
        "alerts.alerts:dashboard",
        "print the dashboard for Grafana",
        "  foja alerts dashboard -o foja.json",
    )
    for parser in (rules, dashboard):
        parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it to a file")
        add_force(parser)


def add_doctor(verbs: Verbs) -> None:
    """Add the verb `doctor`."""
    doctor = verbs.add(
        "doctor.doctor:doctor",
        "show what is set, what answers and what would fail; exit code 1 if something fails",
        "  foja doctor\n  foja doctor --json",
    )
    doctor.add_argument("--offline", action="store_true", help="ask no timestamp authority and no network")
