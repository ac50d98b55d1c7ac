"""`/documents/{id}`: what a document waits for and why, its evidence, its history; protect and retry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

from fastapi import Request, Response

from foja.domains.documents.document import EvidenceName
from foja.engine.ledger.event import Event
from foja.interfaces.web.caller import Caller, Reader, Retrier, Writer
from foja.interfaces.web.pages.documents.explanation import translate
from foja.interfaces.web.pages.documents.index import TONES, evidence_of, possible
from foja.interfaces.web.pages.frame.errors import page_router
from foja.interfaces.web.pages.frame.forms import field, read_form, see_other
from foja.interfaces.web.pages.frame.page import Requested
from foja.interfaces.web.pages.texts.documents import TEXTS
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
routes = page_router(prefix="/documents")


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of the timeline."""

    seq: int
    at: datetime | None
    kind: str
    tone: str
    actor: str | None
    details: Sequence[str]


@routes.get("/{document_id}")
async def show(caller: Reader, page: Requested, document_id: str) -> Response:
    """Show one document; the script shows it again when it has a new event."""
    documents = caller.app.documents
    view = await documents.view(document_id)
    events = await documents.events(view.id)
    added: Mapping[str, Any] = next(
        (each.payload for each in events if each.kind == "document.added" and each.payload), {}
    )
    return page.render(
        "documents/detail.html",
        TEXTS,
        names=await caller.names(each.actor for each in events),
        principal=caller.principal,
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


@routes.post("/{document_id}/protect")
async def protect(caller: Writer, request: Request, document_id: str) -> Response:
    """Request evidence of the document as it is now."""
    form = await read_form(request)
    await caller.app.documents.protect(document_id, evidence_of(form), actor=caller.principal.actor)
    return see_other(f"/documents/{document_id}")


@routes.post("/{document_id}/retry")
async def retry(caller: Retrier, request: Request, document_id: str) -> Response:
    """Grant new attempts for an evidence that was given up."""
    evidence = cast(EvidenceName, field(await read_form(request), "evidence"))
    await caller.app.documents.retry(document_id, evidence, actor=caller.principal.actor)
    return see_other(f"/documents/{document_id}")


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
