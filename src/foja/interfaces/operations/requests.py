"""Acts that are done once under an Idempotency-Key, although no stream takes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from uuid import UUID

from foja.domains.documents.document import Document
from foja.errors import IdempotencyConflict
from foja.interfaces.answers.documents import AddedDocument
from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.operation import Made


class Named(Protocol):
    """A thing with an id."""

    @property
    def id(self) -> UUID | str: ...


Secret = TypeVar("Secret", bound=Named)


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


async def make_secret(
    caller: Caller,
    what: str,
    asked: Mapping[str, Any],
    make: Callable[[], Awaitable[Secret]],
    undo: Callable[[Any], Awaitable[object]],
) -> Secret:
    """Return what `make` makes with a secret. It is shown once: a second request under a key is refused."""
    request = caller.request()
    _refuse_second(what, await request.found(asked))
    made = await make()
    if first := await request.note(asked, str(made.id)):
        await undo(made.id)
        _refuse_second(what, first)
    return made


def _refuse_second(what: str, found: Sequence[str] | None) -> None:
    """Raise `IdempotencyConflict` if a request made something whose secret was in its only answer."""
    if found:
        raise IdempotencyConflict(
            f"the {what} {found[0]} was made under this Idempotency-Key, and its secret is shown once; "
            "rotate it if the answer was lost"
        )
