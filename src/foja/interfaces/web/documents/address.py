"""The document that the address of a request names, for a caller who may read."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Depends

from foja.interfaces.web.caller import Reader


async def read_by(caller: Reader, document_id: str) -> UUID:
    """Return the id of a document of the caller's tenant, or raise `UnknownEntity`."""
    return (await caller.app.documents.find(document_id)).id


ReadDocument = Annotated[UUID, Depends(read_by)]
