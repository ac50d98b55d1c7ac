"""What every report about documents has to add."""

from __future__ import annotations

from foja.app import App
from foja.proofs.tsa import LOCAL_NOTICE


def note(app: App) -> str | None:
    """Return what the timestamps here are worth, while only the local authority is asked."""
    return None if app.settings.tsa_urls else LOCAL_NOTICE
