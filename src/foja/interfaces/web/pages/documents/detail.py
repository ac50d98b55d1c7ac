"""`/documents/{id}`: what a document waits for and why, its evidence, its history; protect and retry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from starlette.responses import Response

from foja.engine.ledger.event import Event
from foja.interfaces.web.caller import Caller
from foja.interfaces.web.pages.documents.explanation import translate
from foja.interfaces.web.pages.documents.index import TONES, possible
from foja.interfaces.web.pages.frame.forms import form
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.frame.route import PageRoute
from foja.pure.judge.render.notices import translate as translate_notice
from foja.pure.models.documents.events import Evidence
from foja.pure.models.documents.projection import EvidenceView
from foja.pure.models.documents.states import EvidenceStatus, State
from foja.pure.models.documents.view import DocumentView
from foja.pure.quotation import LONGEST_LINE, quoted

STATUS_TONES: Final = {
    EvidenceStatus.CONFIRMED: "good",
    EvidenceStatus.FAILED: "bad",
    EvidenceStatus.GIVEN_UP: "bad",
    EvidenceStatus.NOT_INSTALLED: "warn",
    EvidenceStatus.REQUESTED: "info",
    EvidenceStatus.SCHEDULED: "info",
    EvidenceStatus.OPEN: "info",
    EvidenceStatus.RECORDED: "info",
}
BUSY: Final = (EvidenceStatus.REQUESTED, EvidenceStatus.OPEN, EvidenceStatus.RECORDED)
_GOOD, _BAD = ("confirmed", "finalized", "renewed"), ("failed", "timeout", "revoked")
_DETAILS: Final = ("network", "name", "authority", "failure_code", "reason", "evidence")
_ENDINGS: Final[Mapping[str, tuple[str, ...]]] = {
    Evidence.TSA: (".tsr", ".ers", ".xml", ".blinding"),
    Evidence.POLYGON: (".evm.json",),
    Evidence.BITCOIN: (".ots", ".header"),
    Evidence.REKOR: (".sigstore.json", ".rekor.json"),
}


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of the timeline."""

    seq: int
    at: datetime | None
    kind: str
    tone: str
    actor: str | None
    details: Sequence[str]


async def show(page: Page, document_id: str) -> Response:
    """Show one document; the script shows it again when it has a new event."""
    caller = page.caller
    documents = caller.app.documents
    view = await documents.view(document_id)
    events = await documents.events(view.id)
    added: Mapping[str, Any] = next(
        (each.payload for each in events if each.kind == "document.added" and each.payload), {}
    )
    return page.render(
        "documents/detail.html",
        "documents",
        names=await caller.names(each.actor for each in events),
        view=view,
        added=added,
        explanation=translate(view.explain, page.language),
        note=translate_notice(view.note, page.language) if view.note else None,
        moments=[*_moments(events)],
        last=events[-1].seq,
        busy=BUSY,
        tones=TONES,
        status_tones=STATUS_TONES,
        State=State,
        proofs=await _proofs(caller, view),
        possible=possible(caller),
        given_up=[each for each in view.evidence if each.status is EvidenceStatus.GIVEN_UP],
    )


async def _proofs(caller: Caller, view: DocumentView) -> dict[str, list[str]]:
    """Return the names of the proofs in their tools' own formats, by evidence."""
    if not any(each.status is EvidenceStatus.CONFIRMED for each in view.evidence):
        return {}
    names = await caller.app.documents.proofs(view.id)
    return {each.evidence: _named(each, names) for each in view.evidence}


def _named(evidence: EvidenceView, names: Mapping[str, bytes]) -> list[str]:
    return [each for each in names if each.endswith(_ENDINGS.get(evidence.evidence, ()))]


def _moments(events: Sequence[Event]) -> Iterator[Moment]:
    """Yield the timeline, newest first."""
    for event in reversed(events):
        body: Mapping[str, Any] = event.payload or {}
        end = event.kind.rpartition(".")[2]
        tone = "good" if end in _GOOD else "bad" if end in _BAD else ""
        named = [body[name] for name in _DETAILS if body.get(name) not in (None, "")]
        details = [quoted(str(each), LONGEST_LINE) for each in named]
        yield Moment(event.seq, event.at, event.kind, tone, event.actor, details)


ONE = "/documents/{document_id}"
PAGES = (
    PageRoute(f"GET {ONE}", show),
    form(f"{ONE}/protect", "document.protect", ONE),
    form(f"{ONE}/retry", "document.retry", ONE),
)
