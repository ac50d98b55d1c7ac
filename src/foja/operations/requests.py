"""Acts that are done once under an Idempotency-Key, although no stream takes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from foja.answers.documents import AddedDocument
from foja.documents.document import Document
from foja.operations.caller import Caller
from foja.operations.operation import Made


def added(document: Document) -> AddedDocument:
    """Return a document as the answer to what added it."""
    return AddedDocument(
        document.id, document.sha256, document.name, document.size, document.custody, document.new
    )


async def protect_once(
    caller: Caller,
    protect: Callable[..., Awaitable[Document]],
    required_evidence: Iterable[str],
) -> Made[AddedDocument]:
    """Return the document that `protect` makes of a stream, or that of the same key before."""
    request, asked = caller.request(), {"required_evidence": list(required_evidence)}
    if found := await request.found(asked):
        return Made(added(await caller.app.documents.open(found[0])), new=False)
    document = await protect(required_evidence, actor=caller.principal.actor)
    first = await request.note(asked, str(document.id))
    return Made(added(document), new=not first)
