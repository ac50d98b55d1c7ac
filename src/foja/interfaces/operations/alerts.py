"""What callers can read of the alerts of an installation."""

from __future__ import annotations

from typing import Annotated

from foja.domains.alerts.service import Alerting, AlertView
from foja.interfaces.answers.alerts import AlertList, NoticeList, ShownAlert
from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.operation import Operation
from foja.interfaces.operations.records.streams import Limit
from foja.pure.models.access.principal import Scope


async def current(alerts: Alerting, *, firing: Annotated[bool, "only those that fire"] = False) -> AlertList:
    """List every alert with its value, its limit and its state."""
    return AlertList([_shown(view) for view in await alerts.views() if view.firing or not firing])


async def history(alerts: Alerting, *, limit: Limit = 100) -> NoticeList:
    """List what fired and cleared, newest first."""
    return NoticeList(await alerts.history(limit))


def _shown(view: AlertView) -> ShownAlert:
    alert = view.alert
    return ShownAlert(
        alert=alert.name,
        severity=alert.severity,
        state=view.state,
        summary=alert.words(""),
        limit=view.limit,
        below=alert.below,
        for_seconds=alert.seconds,
        values=view.values,
        series=view.states,
        runbook=f"docs/runbooks/{alert.runbook}",
    )


def _alerts(caller: Caller) -> Alerting:
    return caller.installation.alerts


OPERATIONS = (
    Operation(
        *("alerts.list", "GET /v1/alerts", current, Scope.OPERATE, _alerts, True),
        verb="alerts list",
        examples="foja alerts list                     exit code 1 if one fires\n"
        "foja alerts list --firing --json",
    ),
    Operation(
        *("alerts.history", "GET /v1/alerts/history", history, Scope.OPERATE, _alerts, True),
        verb="alerts history",
        examples="foja alerts history --limit 20",
    ),
)
