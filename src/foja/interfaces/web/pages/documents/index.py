"""`/documents`: the list with filters and search, and the upload."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from starlette.datastructures import UploadFile
from starlette.responses import Response

from foja.domains.documents.lists import STATES
from foja.interfaces.web.caller import Caller
from foja.interfaces.web.pages.frame.forms import file_of, files_of, read_form, see_other
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.frame.route import PageRoute
from foja.pure.models.access.principal import Scope
from foja.pure.models.documents.events import REQUIRABLE, Evidence
from foja.pure.models.documents.view import DocumentRow

LIST_LIMIT = 50
TONES: Final = {"none": "", "protected": "info", "reinforced": "info", "final": "good"}


async def listing(page: Page, q: str = "", state: str = "", before: UUID | None = None) -> Response:
    """Show documents, newest first: all, those in a state, or those that a search finds."""
    caller = page.caller
    rows = await _find(caller, q.strip(), state, before)
    older = page.address(before=rows[-1].id) if len(rows) == LIST_LIMIT and not q.strip() else None
    return page.render(
        "documents/list.html",
        "documents",
        rows=rows,
        older=older,
        q=q.strip(),
        state=state if state in STATES else "",
        states=STATES,
        tones=TONES,
        possible=possible(caller),
        most=caller.app.settings.upload_bytes,
    )


async def _find(caller: Caller, text: str, state: str, before: UUID | None) -> Sequence[DocumentRow]:
    documents = caller.app.documents
    if text:
        return await documents.search(text, limit=LIST_LIMIT)
    return await documents.list(before=before, limit=LIST_LIMIT, state=state if state in STATES else None)


async def upload(page: Page) -> Response:
    """Add one or several files as documents and request evidence of them."""
    form = await read_form(page.request)
    chosen = files_of(form, "file") or [file_of(form, "file")]
    evidence = [each for each in form.getlist("required_evidence") if isinstance(each, str)]
    added = [await _add(page.caller, each, evidence) for each in chosen]
    if len(added) == 1:
        return see_other(f"/documents/{added[0]}")
    return see_other("/documents", notice="uploaded")


async def _add(caller: Caller, file: UploadFile, evidence: Sequence[str]) -> UUID:
    actor = caller.principal.actor
    document = await caller.app.documents.add(
        file.file, name=file.filename, media_type=file.content_type or None, actor=actor
    )
    if evidence:
        await document.protect(evidence, actor=actor)
    return document.id


def possible(caller: Caller) -> list[Evidence]:
    """Return what a document may require here, in order."""
    return [each for each in REQUIRABLE if each in caller.app.documents.abilities]


PAGES = (
    PageRoute("GET /documents", listing),
    PageRoute("POST /documents", upload, Scope.WRITE),
)
