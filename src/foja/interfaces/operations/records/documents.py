"""What callers can do with documents. Their bytes, bundles and certificates are routes of their own."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from foja.domains.documents.document import Document
from foja.engine.ledger.event import Event, parse_id
from foja.errors import BadPayload, FojaError
from foja.interfaces.answers.documents import (
    AddedBatch,
    BatchedDocument,
    Digest,
    DocumentPage,
    DocumentTrust,
    ProofFile,
    ProofList,
)
from foja.interfaces.answers.problem import problem_from
from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.operation import Operation
from foja.interfaces.operations.records.streams import Before, Evidence, Limit, Opened, is_new, prove
from foja.interfaces.operations.requests import added
from foja.pure.core.fields import many
from foja.pure.judge.trust_parser import name_lines
from foja.pure.models.access.principal import Scope
from foja.pure.models.documents.view import ShownDocument

MAX_BATCH = 1_000
PEM = "-----BEGIN "
State = Literal["none", "protected", "reinforced", "final", "given_up"]
Format = Literal["cms", "jws", "raw", "unchecked"]
Binary = Annotated[str | None, "Base64, DER or PEM", bytes]  # clients also take bytes
DocumentId = Annotated[str, "the id of a document, a UUID"]
OpenDocument: TypeAlias = Opened[Document]


async def documents(
    caller: Caller,
    *,
    state: Annotated[State | None, "`given_up`: evidence failed for good"] = None,
    before: Before = None,
    limit: Limit = 100,
) -> DocumentPage:
    """List documents, newest first."""
    found = await caller.app.documents.list(before=before, limit=limit, state=state)
    return DocumentPage(found, found[-1].id if len(found) == limit else None)


async def add_many(
    caller: Caller,
    documents: Annotated[Sequence[Digest], Field(min_length=1, max_length=MAX_BATCH)],
    *,
    required_evidence: Annotated[Sequence[str] | None, "the evidence to request of each"] = None,
) -> AddedBatch:
    """Add many documents by their digests, each by itself; see the result of each."""
    results = [await _result(caller, each, required_evidence) for each in documents]
    return AddedBatch(sum(bool(each.document and each.document.new) for each in results), results)


async def view(document: Document) -> ShownDocument:
    """Return a document as its events show it: its state, its evidence, and what happens next."""
    return (await document.view()).shown()


async def protect(
    opened: OpenDocument,
    required_evidence: Evidence = ("tsa",),
    *,
    stage: str | None = None,
    witness_hash: str | None = None,
) -> Event:
    """Request evidence of the document as it is now. An equal request returns the first one."""
    asked: dict[str, Any] = {"required_evidence": many(required_evidence)}
    asked |= {"stage": stage, "witness_hash": witness_hash}
    actor = opened.caller.principal.actor
    return await _once(opened, asked, partial(opened.stream.protect, **asked, actor=actor))


async def sign(
    opened: OpenDocument,
    signature: Binary = None,
    *,
    witness_hash: str | None = None,
    format: Format | None = None,  # noqa: A002  # its name in JSON
    key: Binary = None,
    certificate: Binary = None,
    signer: str | None = None,
    reason: str | None = None,
) -> Event:
    """Check a signature over the document as it is now, and record it; the same one is recorded once."""
    said: dict[str, Any] = {"format": format, "signer": signer, "reason": reason}
    asked = {"signature": signature, "witness_hash": witness_hash, "key": key, "certificate": certificate}
    act = partial(
        opened.stream.sign,
        _bytes("signature", signature),
        witness_hash=witness_hash,
        key=_bytes("key", key),
        certificate=_bytes("certificate", certificate),
        actor=opened.caller.principal.actor,
        idempotency_key=opened.caller.key,
        **said,
    )
    return await _once(opened, asked | said, act)


async def trust(opened: OpenDocument) -> DocumentTrust:
    """Return what this installation trusts about the document, as `/v1/verify` takes it."""
    caller, document = opened.caller, opened.stream
    names = await caller.names(await caller.app.ledger.actors(document.id))
    return DocumentTrust(await document.trust() + name_lines(names))


async def proofs(opened: OpenDocument) -> ProofList:
    """Return each proof of the current digest as a file in its tool's own format."""
    found = await opened.caller.app.documents.proofs(opened.stream.id)
    witness = (await opened.stream.view()).witness_hash
    return ProofList(witness, [ProofFile(name, b64encode(data).decode()) for name, data in found.items()])


async def find(caller: Caller, document_id: DocumentId) -> Document:
    """Find a document of the caller's tenant, or raise `UnknownEntity`."""
    return await caller.app.documents.find(document_id)


async def known(caller: Caller, document_id: DocumentId) -> OpenDocument:
    """Find a document, for an act that also needs who does it."""
    return Opened(caller, await find(caller, document_id))


async def add_digest(caller: Caller, digest: Digest) -> Document:
    """Add a document by its digest; its bytes stay with the caller."""
    predecessor = None if digest.predecessor is None else parse_id(digest.predecessor, "document")
    fields = {**asdict(digest), "predecessor": predecessor}
    return await caller.app.documents.add_digest(**fields, actor=caller.principal.actor)


async def _result(caller: Caller, digest: Digest, evidence: Sequence[str] | None) -> BatchedDocument:
    try:
        document = await add_digest(caller, digest)
        if evidence is not None:
            await document.protect(evidence, actor=caller.principal.actor)
    except FojaError as error:
        return BatchedDocument(None, problem_from(error))
    return BatchedDocument(added(document), None)


async def _once(
    opened: OpenDocument, asked: Mapping[str, Any], record: Callable[[], Awaitable[Event]]
) -> Event:
    """Return the event that an act records, or that of the same key before."""
    request = opened.caller.request()
    if found := await request.found(asked):
        events = await opened.stream.events(after=int(found[0]) - 1, limit=1)
        return replace(events[0], replayed=True)
    event = await record()
    await request.note(asked, str(event.seq))
    return event


def _bytes(name: str, text: str | None) -> bytes | None:
    """Return the bytes of a field: PEM as it is, anything else from Base64."""
    if text is None or text.lstrip().startswith(PEM):
        return None if text is None else text.encode()
    try:
        return b64decode(text, validate=True)
    except (NotBase64, ValueError):
        raise BadPayload(f"{name} is not Base64 or PEM; encode the bytes as Base64") from None


def _nothing(_: AddedBatch) -> Sequence[str]:
    """Return what a batch leaves under its key: each document is found by its digest."""
    return ()


ALL, READ, WRITE = "/v1/documents", Scope.READ, Scope.WRITE
ONE = f"{ALL}/{{document_id}}"
OPERATIONS = (
    Operation("documents.list", f"GET {ALL}", documents, READ),
    Operation("documents.add_many", f"POST {ALL}/batch", add_many, WRITE, made=_nothing),
    Operation("document.view", f"GET {ONE}", view, READ, find),
    Operation("document.protect", f"POST {ONE}/protect", protect, WRITE, known, new=is_new, takes_key=True),
    Operation("document.record", f"POST {ONE}/events", Document.record, WRITE, find, new=is_new),
    Operation("document.sign", f"POST {ONE}/signatures", sign, WRITE, known, new=is_new, takes_key=True),
    Operation("document.revoke", f"POST {ONE}/revoke", Document.revoke, WRITE, find, new=is_new),
    Operation("document.archive", f"POST {ONE}/archive", Document.archive, WRITE, find, new=is_new),
    Operation("document.retry", f"POST {ONE}/retry", Document.retry, Scope.RETRY, find, new=is_new),
    Operation("document.erase", f"POST {ONE}/erase", Document.erase, WRITE, find),
    Operation("document.prove", f"GET {ONE}/events/{{seq}}/proof", prove, READ, known),
    Operation("document.trust", f"GET {ONE}/trust", trust, READ, known),
    Operation("document.proofs", f"GET {ONE}/proofs", proofs, READ, known),
)
