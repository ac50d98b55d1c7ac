"""`foja alerts list`, `history`, `test`, `rules`, `dashboard`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from foja.domains.alerts.assembly import limits_of, runbooks_of
from foja.domains.alerts.channels import open_channels
from foja.domains.alerts.service import DOWN, AlertView
from foja.errors import FojaError, SetupFailed
from foja.interfaces.cli.installation import open_installation, read_settings
from foja.interfaces.cli.output import print_or_write, print_result, table
from foja.pure.models.alerts.grafana import dashboard as dashboard_file
from foja.pure.models.alerts.prometheus import rule_file
from foja.pure.quotation import LONGEST_LINE, quoted

HEAD = ("alert", "severity", "state", "series", "value", "limit", "since")
HISTORY_HEAD = ("time", "event", "alert", "series", "value", "not delivered to")


async def listing(arguments: Namespace) -> int:
    """Print every alert with its value now; return 1 if one fires."""
    async with open_installation(arguments) as app:
        views = await app.alerts.views()
    shown = [view for view in views if view.firing or not arguments.firing]
    lines = table(HEAD, [row for view in shown for row in _rows(view)]) if shown else ["no alert fires"]
    print_result(arguments, [_document(view) for view in shown], *lines)
    return 1 if any(view.firing for view in views) else 0


async def history(arguments: Namespace) -> int:
    """Print the newest notices."""
    async with open_installation(arguments) as app:
        found = await app.alerts.history(arguments.limit)
    rows = [
        (
            _time(each["at"]),
            each["event"],
            each["alert"],
            _label(each["label"]),
            each["value"],
            ", ".join(each["undelivered"]),
        )
        for each in found
    ]
    lines = table(HISTORY_HEAD, rows) if rows else ["no alert has fired"]
    print_result(arguments, found, *lines)
    return 0


async def test(arguments: Namespace) -> int:
    """Send a notice to every channel; return 1 if one does not take it."""
    if not open_channels(read_settings(arguments)):
        raise SetupFailed(
            "no channel is set; set FOJA_ALERT_WEBHOOK_URL, or FOJA_ALERT_MAIL_TO and FOJA_SMTP_URL"
        )
    outcomes: dict[str, str | None] = {}
    async with open_installation(arguments) as app:
        notice = app.alerts.notice(uuid4(), "test", DOWN, "", None, datetime.now(UTC))
        for channel in app.alerts.channels:
            try:
                await channel.send(notice)
                outcomes[channel.name] = None
            except FojaError as error:
                outcomes[channel.name] = str(error)
    found = [{"channel": name, "sent": not error, "error": error} for name, error in outcomes.items()]
    print_result(
        arguments,
        found,
        *(f"{name}: {quoted(error, LONGEST_LINE) if error else 'sent'}" for name, error in outcomes.items()),
    )
    return 1 if any(outcomes.values()) else 0


def rules(arguments: Namespace) -> int:
    """Print or write the rule file of Prometheus, with the limits of the settings."""
    settings = read_settings(arguments)
    text = rule_file(limits_of(settings), runbooks_of(settings))
    print_or_write(arguments, "rules", text, "name it in rule_files of Prometheus")
    return 0


def dashboard(arguments: Namespace) -> int:
    """Print or write the dashboard of Grafana."""
    print_or_write(arguments, "dashboard", dashboard_file(), "import it in Grafana")
    return 0


def _rows(view: AlertView) -> Sequence[tuple[object, ...]]:
    """Return a row for each series that is over the limit, or one for the alert."""
    alert = view.alert
    limit = "off" if view.limit is None else f"{'<' if alert.below else '>'} {alert.shown(view.limit)}"
    rows: list[tuple[object, ...]] = []
    for state in view.states:
        word, shown = "firing" if state.fired_at else "pending", alert.shown(state.value)
        rows.append((alert.name, alert.severity, word, _label(state.label), shown, limit, _time(state.since)))
    if rows:
        return rows
    value = alert.shown(_worst(view)) if view.values else None
    return [(alert.name, alert.severity, view.state, None, value, limit, None)]


def _label(label: str | None) -> str | None:
    """Return what the series of an alert differ in, such as a tenant or a job type, as a quotation."""
    return quoted(label) if label else None


def _worst(view: AlertView) -> float:
    return min(view.values.values()) if view.alert.below else max(view.values.values())


def _document(view: AlertView) -> dict[str, Any]:
    alert = view.alert
    return {
        "alert": alert.name,
        "severity": alert.severity,
        "state": view.state,
        "summary": alert.words(""),
        "limit": view.limit,
        "below": alert.below,
        "for_seconds": alert.seconds,
        "values": dict(view.values),
        "series": [
            {"label": state.label, "value": state.value, "since": state.since, "fired_at": state.fired_at}
            for state in view.states
        ],
        "runbook": f"docs/runbooks/{alert.runbook}",
    }


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
