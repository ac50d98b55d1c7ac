"""The text of each runbook: in the installed package, or in `docs/` of a checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from foja.pure.models.alerts.alert import Alert

_INSTALLED: Final = Path(__file__).parent / "runbooks"  # pyproject.toml puts it there
_CHECKOUT: Final = Path(__file__).parents[4] / "docs" / "runbooks"


def read_runbook(alert: Alert, language: str) -> str | None:
    """Return the runbook of an alert as Markdown, or None if this installation has none."""
    place = alert.runbook if language == "en" else f"{language}/{alert.runbook}"
    for folder in (_INSTALLED, _CHECKOUT):
        if (folder / place).is_file():
            return (folder / place).read_text("utf-8")
    return None
