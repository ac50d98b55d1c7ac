"""`/v1/log`: what is a file: the checkpoint, proofs of events, receipts."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field
from starlette.responses import Response

from foja.engine.ledger.excerpts import growth_receipt, prove_event
from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.records.streams import Seq
from foja.interfaces.web.log.files import NOTE
from foja.interfaces.web.operation import HttpOperation, file_answer
from foja.interfaces.web.transfer.files import attachment
from foja.pure.core.bundle.proof_file import MEDIA_TYPE as PROOF_TYPE
from foja.pure.core.bundle.proof_file import SUFFIX
from foja.pure.core.proof import MAX_BYTES
from foja.pure.models.access.principal import Scope
from foja.pure.proofs.cose import MEDIA_TYPE

PROOF_FILE = PROOF_TYPE.decode()
SignedNote = Annotated[str, Field(max_length=MAX_BYTES), "the signed note, as it was published"]


async def checkpoint(caller: Caller) -> Response:
    """Return the newest published checkpoint as its signed note. Save it where no administrator can write."""
    note = await caller.app.ledger.log.checkpoint()
    return Response(note, media_type=NOTE, headers={"Cache-Control": "no-cache"})


async def proof_file(caller: Caller, entity_id: UUID, seq: Seq) -> Response:
    """Return the proof of an event of any stream as one file, for `foja verify`; 409 while none covers it."""
    proven = await prove_event(caller.app.ledger, entity_id, seq)
    headers = {"Content-Disposition": attachment(f"{entity_id}-{seq}{SUFFIX}")}
    return Response(proven.file(), media_type=PROOF_FILE, headers=headers)


async def receipt(caller: Caller, entity_id: UUID, seq: Seq) -> Response:
    """Return a COSE receipt (RFC 9942) of an event of any stream; 409 while no checkpoint covers it."""
    proven = await prove_event(caller.app.ledger, entity_id, seq)
    headers = {"Content-Disposition": attachment(f"{entity_id}-{seq}.cose")}
    return Response(proven.receipt(caller.app.signer), media_type=MEDIA_TYPE, headers=headers)


async def checkpoint_receipt(caller: Caller, checkpoint: SignedNote) -> Response:
    """Return a COSE receipt that the log of today continues an older checkpoint; 409 if it did not grow."""
    data = await growth_receipt(caller.app.ledger, caller.app.signer, checkpoint)
    return Response(data, media_type=MEDIA_TYPE)


ALL, READ = "/v1/log", Scope.READ
PROOF, RECEIPT = f"{ALL}/proofs/{{entity_id}}/{{seq}}", file_answer(MEDIA_TYPE)
OPERATIONS = (
    HttpOperation("log.checkpoint", f"GET {ALL}/checkpoint", checkpoint, READ, answers=file_answer(NOTE)),
    HttpOperation("log.proof_file", f"GET {PROOF}/file", proof_file, READ, answers=file_answer(PROOF_FILE)),
    HttpOperation("log.receipt", f"GET {PROOF}/receipt", receipt, READ, answers=RECEIPT),
    HttpOperation("log.growth", f"POST {ALL}/receipt", checkpoint_receipt, READ, answers=RECEIPT),
)
