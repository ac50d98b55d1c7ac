"""The alerts, put together for an installation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from uuid import UUID

from foja.domains.alerts.balances import Balances
from foja.domains.alerts.channels import open_channels
from foja.domains.alerts.service import Alerting
from foja.engine.anchors.network import Network
from foja.engine.driver.database import Database
from foja.engine.health.service import Health, Probe
from foja.engine.observe.metrics.scrape import Scrape
from foja.engine.settings import Settings
from foja.errors import Refused, SetupFailed
from foja.pure.models.alerts.alert import read_limits
from foja.pure.models.alerts.table import ALERTS

RUNBOOKS = "docs/runbooks/"


def open_alerts(
    settings: Settings,
    operator: Database,
    scrape: Scrape,
    networks: Mapping[str, Network],
    installation: UUID,
    health: Health,
) -> Alerting:
    """Return the alerts of an installation, with the limits and channels of the settings."""
    channels = open_channels(settings, health.report)
    alerting = Alerting(
        operator,
        scrape,
        limits_of(settings),
        channels,
        installation=installation,
        runbooks=runbooks_of(settings),
        seconds=settings.alert_seconds,
        before=Balances(operator, networks).note,
        is_up=health.writes,
    )
    health.add(
        {each.part: Probe(partial(alerting.probe, each), foreign=True, reports=True) for each in channels}
    )
    return alerting


def limits_of(settings: Settings) -> dict[str, float | None]:
    """Return the limit of every alert, or raise `SetupFailed`."""
    try:
        return read_limits(settings.alert_limits, ALERTS)
    except Refused as error:
        raise SetupFailed(f"FOJA_ALERT_LIMITS is not valid: {error}") from None


def runbooks_of(settings: Settings) -> str:
    """Return where the runbooks are, with a slash at the end."""
    return f"{settings.runbook_url.rstrip('/')}/" if settings.runbook_url else RUNBOOKS
