"""`foja alerts test`, `rules` and `dashboard`."""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime
from uuid import uuid4

from foja.domains.alerts.assembly import limits_of, runbooks_of
from foja.domains.alerts.channels import open_channels
from foja.domains.alerts.service import DOWN
from foja.errors import FojaError, SetupFailed
from foja.interfaces.cli.installation import open_installation, read_settings
from foja.interfaces.cli.output import print_or_write, print_result
from foja.pure.models.alerts.grafana import dashboard as dashboard_file
from foja.pure.models.alerts.prometheus import rule_file
from foja.pure.quotation import LONGEST_LINE, quoted


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
    words = {name: quoted(error, LONGEST_LINE) if error else "sent" for name, error in outcomes.items()}
    print_result(arguments, found, *(f"{name}: {said}" for name, said in words.items()))
    return 1 if any(outcomes.values()) else 0


def rules(arguments: Namespace) -> None:
    """Print or write the rule file of Prometheus, with the limits of the settings."""
    settings = read_settings(arguments)
    text = rule_file(limits_of(settings), runbooks_of(settings))
    print_or_write(arguments, "rules", text, "name it in rule_files of Prometheus")


def dashboard(arguments: Namespace) -> None:
    """Print or write the dashboard of Grafana."""
    print_or_write(arguments, "dashboard", dashboard_file(), "import it in Grafana")
