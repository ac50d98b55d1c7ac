"""The commands `foja alerts` and `foja doctor`."""

from __future__ import annotations

from foja.interfaces.cli.parser.commands import FORCE, SAVE, Argument, command

COMMANDS = (
    command(
        "doctor",
        "doctor.doctor:doctor",
        "show what is set, what answers and what would fail; exit code 1 if something fails",
        "foja doctor\nfoja doctor --json",
        Argument("--offline", "ask no timestamp authority and no network"),
    ),
    command(
        "alerts",
        "alerts.list",
        "show which alerts fire, test their channels, write rules for Prometheus and Grafana",
        "foja alerts\nfoja alerts test",
    ),
    command(
        "alerts test",
        "alerts:test",
        "send a test notice to the webhook and by e-mail; exit code 1 if one is not taken",
        "FOJA_ALERT_WEBHOOK_URL=https://example.org/hook foja alerts test",
    ),
    command(
        "alerts rules",
        "alerts:rules",
        "print the alerts as a rule file of Prometheus, with the limits of the settings",
        "foja alerts rules -o alerts.yml\nFOJA_ALERT_LIMITS='log_lag=120' foja alerts rules",
        SAVE,
        FORCE,
    ),
    command(
        "alerts dashboard",
        "alerts:dashboard",
        "print the dashboard for Grafana",
        "foja alerts dashboard -o foja.json",
        SAVE,
        FORCE,
    ),
)
