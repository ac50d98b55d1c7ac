"""`/v1/log`: checkpoint, proofs of events, anchored checkpoints."""

from __future__ import annotations

from base64 import b64encode
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Response
from pydantic import Field

from foja.app import App
from foja.core.bundle.proof_file import MEDIA_TYPE as PROOF_TYPE
from foja.core.bundle.proof_file import SUFFIX
from foja.core.note import parse_checkpoint, split_note
from foja.core.proof import MAX_BYTES
from foja.ledger.excerpts import growth_receipt, prove_event
from foja.proofs.cose import MEDIA_TYPE
from foja.system.service import AnchoredCheckpoint
from foja.web.bodies import RequestBody
from foja.web.caller import Reader
from foja.web.log.files import NOTE
from foja.web.reference.answers.events import EventProofAnswer
from foja.web.reference.answers.log import AnchoredList, LogAnswer, TrustRoots
from foja.web.reference.openapi import file_answer
from foja.web.routers import api_router
from foja.web.streams.proofs import Seq, describe_proof
from foja.web.transfer.encoder import JsonAnswer
from foja.web.transfer.files import attachment

routes = api_router("/v1/log", "log")
PROOF_FILE = PROOF_TYPE.decode()


class CheckpointRequest(RequestBody):
    """An older checkpoint of a log of this installation."""

    checkpoint: str = Field(max_length=MAX_BYTES, description="the signed note, as it was published")


@routes.get("", response_model=LogAnswer)
async def log(caller: Reader) -> Response:
    """Return the newest published checkpoint, and the key that signed it."""
    note = await caller.app.ledger.log.checkpoint()
    found = parse_checkpoint(split_note(note)[0])
    answer = {"origin": found.origin, "size": found.size, "root": b64encode(found.root).decode()}
    return JsonAnswer({**answer, "key": caller.app.trust[0], "checkpoint": note})


@routes.get("/checkpoint", response_class=Response, responses=file_answer(NOTE))
async def checkpoint(caller: Reader) -> Response:
    """Return the newest published checkpoint as its signed note. Save it where no administrator can write."""
    note = await caller.app.ledger.log.checkpoint()
    return Response(note, media_type=NOTE, headers={"Cache-Control": "no-cache"})


@routes.get("/trust", response_model=TrustRoots)
async def trust(caller: Reader) -> Response:
    """Return the trust roots of this installation: the key of its log, the roots of its timestamps."""
    return JsonAnswer({"trust": caller.app.trust})


@routes.get("/proofs/{entity_id}/{seq}", response_model=EventProofAnswer)
async def proof(caller: Reader, entity_id: UUID, seq: Seq) -> Response:
    """Return the proof that an event of any stream is in the log; 409 while no checkpoint covers it."""
    proven = await prove_event(caller.app.ledger, entity_id, seq)
    return JsonAnswer(describe_proof(proven, caller.app.trust[0]))


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


@routes.get("/anchored", response_model=AnchoredList)
async def anchored(
    caller: Reader,
    limit: Annotated[int, Query(ge=1, le=1000, description="the newest of them")] = 100,
) -> Response:
    """Return the checkpoints that networks confirmed, with their proofs."""
    found = (await caller.ctx.app.system.anchored())[-limit:]
    return JsonAnswer({"anchored": [await _describe(caller.ctx.app, each) for each in found]})


async def _describe(app: App, each: AnchoredCheckpoint) -> dict[str, Any]:
    found = await app.system.proof_of(each)
    fields = ("log", "origin", "size", "network", "sha256", "batch", "confirmed_at", "note")
    return {
        **{name: getattr(each, name) for name in fields},
        "confirmed": each.status == "confirmed",
        "proof": b64encode(found.data).decode() if found else None,
        "trust": list(found.trust) if found else [],
    }
