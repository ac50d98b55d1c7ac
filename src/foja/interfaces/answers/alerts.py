"""What is answered about alerts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from foja.pure.models.alerts.alert import Severity
from foja.pure.models.alerts.evaluation import AlertState
from foja.pure.models.alerts.notice import ToldNotice
from foja.pure.pages import Rows


@dataclass(frozen=True, slots=True)
class ShownAlert:
    """An alert as it stands."""

    alert: str
    severity: Severity
    state: Annotated[str, "ok, pending, firing, off; blind: its metrics cannot be read"]
    summary: str
    limit: Annotated[float | None, "null: it is off"]
    below: Annotated[bool, "whether it is about values under the limit"]
    for_seconds: Annotated[float, "how long a value is over the limit before it fires"]
    values: Annotated[Mapping[str, float], "its values now, by series"]
    series: Annotated[Sequence[AlertState], "what is over the limit"]
    runbook: str


@dataclass(frozen=True, slots=True)
class AlertList(Rows[ShownAlert]):
    """Every alert."""

    alerts: Sequence[ShownAlert]


@dataclass(frozen=True, slots=True)
class NoticeList(Rows[ToldNotice]):
    """What fired and cleared, newest first."""

    notices: Sequence[ToldNotice]
