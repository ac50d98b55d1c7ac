"""`/v1/log`: what is a file: the checkpoint, proofs of events, receipts."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Path, Response
from pydantic import Field

from foja.engine.ledger.event import MAX_SEQ
from foja.engine.ledger.excerpts import growth_receipt, prove_event
from foja.interfaces.web.bodies import RequestBody
from foja.interfaces.web.caller import Reader
from foja.interfaces.web.log.files import NOTE
from foja.interfaces.web.reference.openapi import file_answer
from foja.interfaces.web.routers import api_router
from foja.interfaces.web.transfer.files import attachment
from foja.pure.core.bundle.proof_file import MEDIA_TYPE as PROOF_TYPE
from foja.pure.core.bundle.proof_file import SUFFIX
from foja.pure.core.proof import MAX_BYTES
from foja.pure.proofs.cose import MEDIA_TYPE

Seq = Annotated[int, Path(ge=0, lt=MAX_SEQ, description="the number of an event")]
routes = api_router("/v1/log", "log")
PROOF_FILE = PROOF_TYPE.decode()


class CheckpointRequest(RequestBody):
    """An older checkpoint of a log of this installation."""

    checkpoint: str = Field(max_length=MAX_BYTES, description="the signed note, as it was published")


@routes.get("/checkpoint", response_class=Response, responses=file_answer(NOTE))
async def checkpoint(caller: Reader) -> Response:
    """Return the newest published checkpoint as its signed note. Save it where no administrator can write."""
    note = await caller.app.ledger.log.checkpoint()
    return Response(note, media_type=NOTE, headers={"Cache-Control": "no-cache"})


@routes.get("/proofs/{entity_id}/{seq}/file", response_class=Response, responses=file_answer(PROOF_FILE))
async def proof_file(caller: Reader, entity_id: UUID, seq: Seq) -> Response:
    """Return the proof of an event of any stream as one file, for `foja verify`; 409 while none covers it."""
    proven = await prove_event(caller.app.ledger, entity_id, seq)
    headers = {"Content-Disposition": attachment(f"{entity_id}-{seq}{SUFFIX}")}
    return Response(proven.file(), media_type=PROOF_FILE, headers=headers)


@routes.get("/proofs/{entity_id}/{seq}/receipt", response_class=Response, responses=file_answer(MEDIA_TYPE))
async def receipt(caller: Reader, entity_id: UUID, seq: Seq) -> Response:
    """Return a COSE receipt (RFC 9942) of an event of any stream; 409 while no checkpoint covers it."""
    proven = await prove_event(caller.app.ledger, entity_id, seq)
    headers = {"Content-Disposition": attachment(f"{entity_id}-{seq}.cose")}
    return Response(proven.receipt(caller.app.signer), media_type=MEDIA_TYPE, headers=headers)


@routes.post("/receipt", response_class=Response, responses=file_answer(MEDIA_TYPE))
async def checkpoint_receipt(caller: Reader, body: CheckpointRequest) -> Response:
    """Return a COSE receipt that the log of today continues an older checkpoint; 409 if it did not grow."""
    data = await growth_receipt(caller.app.ledger, caller.app.signer, body.checkpoint)
    return Response(data, media_type=MEDIA_TYPE)
