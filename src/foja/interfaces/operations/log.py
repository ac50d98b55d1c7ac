"""What callers can read of the log, beside its files."""

from __future__ import annotations

from base64 import b64encode
from typing import Annotated
from uuid import UUID

from pydantic import Field

from foja.domains.system.service import AnchoredCheckpoint
from foja.engine.ledger.excerpts import prove_event
from foja.interfaces.answers.log import Anchored, AnchoredList, LogHead, TrustRoots
from foja.interfaces.answers.streams import ProvenEvent
from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.operation import Operation
from foja.interfaces.operations.records.streams import Seq, proven
from foja.pure.core.note import parse_checkpoint, split_note
from foja.pure.models.access.principal import Scope
from foja.pure.pages import MAX_LIMIT


async def head(caller: Caller) -> LogHead:
    """Return the newest published checkpoint, and the key that signed it."""
    note = await caller.app.ledger.log.checkpoint()
    found = parse_checkpoint(split_note(note)[0])
    root = b64encode(found.root).decode()
    return LogHead(found.origin, found.size, root, caller.app.trust[0], note)


async def trust(caller: Caller) -> TrustRoots:
    """Return the trust roots of this installation: the key of its log, the roots of its timestamps."""
    return TrustRoots(caller.app.trust)


async def prove(caller: Caller, entity_id: UUID, seq: Seq) -> ProvenEvent:
    """Return the proof that an event of any stream is in the log; 409 while no checkpoint covers it."""
    return proven(await prove_event(caller.app.ledger, entity_id, seq), caller.app.trust[0])


async def anchored(
    caller: Caller, *, limit: Annotated[int, Field(ge=1, le=MAX_LIMIT), "the newest of them"] = 100
) -> AnchoredList:
    """Return the checkpoints that networks confirmed, with their proofs."""
    found = (await caller.app.system.anchored())[-limit:]
    return AnchoredList([await _described(caller, each) for each in found])


async def _described(caller: Caller, each: AnchoredCheckpoint) -> Anchored:
    found = await caller.app.system.proof_of(each)
    return Anchored(
        log=each.log,
        origin=each.origin,
        size=each.size,
        network=each.network,
        sha256=each.sha256,
        batch=each.batch,
        confirmed_at=each.confirmed_at,
        confirmed=each.status == "confirmed",
        note=each.note,
        proof=b64encode(found.data).decode() if found else None,
        trust=list(found.trust) if found else [],
    )


OPERATIONS = (
    Operation("log.head", "GET /v1/log", head, Scope.READ),
    Operation("log.trust", "GET /v1/log/trust", trust, Scope.READ),
    Operation("log.prove", "GET /v1/log/proofs/{entity_id}/{seq}", prove, Scope.READ),
    Operation("log.anchored", "GET /v1/log/anchored", anchored, Scope.READ),
)
