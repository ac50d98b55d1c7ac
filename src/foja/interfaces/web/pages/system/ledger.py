"""`/ledger`: the log and its checkpoints, the proof of any event, and the audit."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from starlette.responses import Response

from foja.app import App
from foja.engine.ledger.excerpts import EventProof, prove_event
from foja.engine.observe.audit import audit
from foja.engine.observe.findings import CheckReport
from foja.engine.observe.overview import read_checkpoints
from foja.errors import Refused
from foja.interfaces.web.caller import Caller
from foja.interfaces.web.pages.documents.downloads import download
from foja.interfaces.web.pages.frame.background import Background
from foja.interfaces.web.pages.frame.forms import see_other
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.frame.route import PageRoute
from foja.pure.core.bundle.proof_file import MEDIA_TYPE, SUFFIX
from foja.pure.judge.render.view import view_report
from foja.pure.judge.report import Report
from foja.pure.judge.trust_parser import name_lines
from foja.pure.models.access.principal import Scope

CHECKPOINTS: Final = 20


async def _audit(app: App) -> CheckReport:
    return await audit(app.settings.database_url, max_lag_seconds=app.settings.max_lag_seconds)


AUDITS: Final = Background(_audit, float("inf"))  # only on request


async def show(page: Page, entity: str = "", seq: str = "") -> Response:
    """Show checkpoints, and the proof of an event if one is asked for."""
    caller, app = page.caller, page.installation
    proven = await prove_event(caller.app.ledger, _entity(entity), _number(seq)) if entity else None
    report = view_report(await _judged(caller, proven), page.language) if proven else None
    return page.render(
        "system/ledger.html",
        "ledger",
        checkpoints=await read_checkpoints(app.database, CHECKPOINTS),
        vkey=caller.app.trust[0],
        entity=entity,
        seq=seq,
        proven=proven,
        report=report,
        audits=caller.principal.installation and caller.principal.may(Scope.OPERATE),  # of all tenants
        audit=AUDITS.last(app),
        running=AUDITS.runs(app),
    )


async def _judged(caller: Caller, proven: EventProof) -> Report:
    """Return the report about an event, with the name of its actor."""
    names = name_lines(await caller.names([proven.excerpt.actor]))
    return proven.verify([*caller.app.trust, *names])


async def proof(page: Page, entity: str, seq: str, part: str = "proof") -> Response:
    """Return the proof of an event, or the event itself, as `foja log verify` reads them."""
    proven = await prove_event(page.caller.app.ledger, _entity(entity), _number(seq))
    if part == "file":
        return download(proven.file(), f"{entity}-{seq}{SUFFIX}", MEDIA_TYPE.decode())
    if part == "event":
        return download(proven.event_text().encode(), f"{entity}-{seq}.event.json", "application/json")
    return download(proven.proof_text().encode(), f"{entity}-{seq}.tlog-proof", "text/plain")


async def start_audit(page: Page) -> Response:
    """Derive everything again and compare; the page shows the findings when they are there."""
    AUDITS.start(page.installation)
    return see_other("/ledger")


def _entity(text: str) -> UUID:
    try:
        return UUID(text.strip())
    except ValueError:
        raise Refused(f"{text!r} is not the id of a stream: expected a UUID") from None


def _number(text: str) -> int:
    if not text.strip().isdecimal():
        raise Refused(f"{text!r} is not the number of an event: expected 0 or more")
    return int(text)


PAGES = (
    PageRoute("GET /ledger", show),
    PageRoute("GET /ledger/proof", proof),
    PageRoute("POST /ledger/audit", start_audit, Scope.OPERATE, installation=True),
)
