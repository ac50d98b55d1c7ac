"""One ordered, append-only, tamper-evident ledger per entity, and evidence anyone can check offline."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from foja import errors
from foja.extras import needs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Unpack

    from foja.app import App
    from foja.domains.conversations.service import Conversation
    from foja.domains.documents.document import Document
    from foja.domains.images.gallery import Gallery
    from foja.engine.jobs.outcome import Done, GiveUp, Job, NewEvent, NewJob, Retry, Snooze
    from foja.engine.ledger.event import Event
    from foja.engine.settings.fields import SettingsFields
    from foja.pure.core.registry import Domain, JobType, Kind
    from foja.pure.judge.report import Report, Verdict
    from foja.pure.models.documents.events import Evidence
    from foja.pure.models.images.gallery import Image
    from foja.verification import verify

__version__ = "0.1.0"
__all__ = ["App", "Conversation", "Document", "Domain", "Event", "Evidence", "Gallery", "Image", "Kind"]
__all__ += ["Done", "GiveUp", "Job", "JobType", "NewEvent", "NewJob", "Retry", "Snooze"]
__all__ += ["Report", "Verdict", "connect", "errors", "verify"]

# Each public name is imported from its module on first use: `foja verify` needs no server package.
_MODULES = {
    "foja.app": {"App"},
    "foja.domains.conversations.service": {"Conversation"},
    "foja.pure.core.registry": {"Domain", "JobType", "Kind"},
    "foja.domains.documents.document": {"Document"},
    "foja.pure.models.documents.events": {"Evidence"},
    "foja.domains.images.gallery": {"Gallery"},
    "foja.pure.models.images.gallery": {"Image"},
    "foja.engine.jobs.outcome": {"Done", "GiveUp", "Job", "NewEvent", "NewJob", "Retry", "Snooze"},
    "foja.pure.judge.report": {"Report", "Verdict"},
    "foja.engine.ledger.event": {"Event"},
    "foja.verification": {"verify"},
}


def connect(*, domains: Sequence[Domain] | None = None, **settings: Unpack[SettingsFields]) -> App:
    """Return an installation, to be used as `async with foja.connect() as app`.

    `domains` are domains of your own, registered at start; besides those of `FOJA_DOMAINS`. All other
    arguments are settings, which `foja.engine.settings.fields` and docs/settings.md explain. One that is
    None comes from its environment variable (`database_url`: `FOJA_DATABASE_URL`) or else has its default.
    Raise `SetupFailed` if a name or a value is not valid.
    """
    with needs("foja.connect"):
        from foja.app import App
        from foja.engine.settings import Settings, close_name, load, warn_about_unknown_names
    for name in settings:
        if name not in Settings.model_fields:
            advice = close_name(name, Settings.model_fields)
            raise errors.SetupFailed(f"connect() has no argument {name!r}; {advice}")
    given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    app = App(load(**given), () if domains is None else domains)
    warn_about_unknown_names()
    return app


if not TYPE_CHECKING:  # type checkers read the imports above, and report any other name

    def __getattr__(name: str) -> object:
        """Import a public name on first use (PEP 562)."""
        module = next((module for module, names in _MODULES.items() if name in names), None)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        with needs(f"foja.{name}"):
            found: object = getattr(import_module(module), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
