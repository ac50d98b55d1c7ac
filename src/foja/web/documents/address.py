"""The document that the address of a request names, for a caller who may read or write."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Depends

from foja.documents.histories import unknown
from foja.ledger.event import parse_id
from foja.web.caller import Caller, Reader, Retrier, Writer


async def read_by(caller: Reader, document_id: str) -> UUID:
    """Return the id of a document of the caller's tenant, or raise `UnknownEntity`."""
    return await _known(caller, document_id)


async def written_by(caller: Writer, document_id: str) -> UUID:
    """Return the id of a document that the caller may write to, or raise `UnknownEntity`."""
    return await _known(caller, document_id)


async def retried_by(caller: Retrier, document_id: str) -> UUID:
    """Return the id of a document whose failed evidence the caller may start again."""
    return await _known(caller, document_id)


async def _known(caller: Caller, document_id: str) -> UUID:
    document = parse_id(document_id, "document")
    if not await caller.app.documents.known([document]):
        raise unknown(document)
    return document


ReadDocument = Annotated[UUID, Depends(read_by)]
WrittenDocument = Annotated[UUID, Depends(written_by)]
RetriedDocument = Annotated[UUID, Depends(retried_by)]
