"""`broadcast_anchor_<network>` sends a batch; `process_<network>_anchors` looks at it until it is confirmed
or cannot be, and afterwards watches it.

The result of a batch is stored first, and then recorded for its documents in steps. A crash between two steps
leaves the rest to the next look.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from foja.engine.anchors.batch import places_of
from foja.engine.anchors.network import Network, Place
from foja.engine.anchors.progress import ask, note_of
from foja.engine.anchors.store import AnchorStore, Claimed, Ending, Note
from foja.engine.anchors.terms import AnchorTerms
from foja.engine.jobs.outcome import Done, Job, Outcome
from foja.engine.jobs.queue import Queue
from foja.engine.ledger.event import Draft, draft
from foja.errors import FojaError, Unavailable, redact
from foja.pure.models.documents.events import DOCUMENT, Evidence

STEP = 1_000  # documents of one transaction
CLAIMED_AT_ONCE, ROUNDS = 10, 100  # of one job
RACES = 5  # times that the events of a step are read again
log = logging.getLogger("foja.anchors")
Prove = Callable[[int], bytes]


class BatchWorker:
    """Sends, looks at and watches the batches of one network."""

    def __init__(self, network: Network, queue: Queue, terms: AnchorTerms) -> None:
        self._network, self._queue, self._terms = network, queue, terms
        self._store = AnchorStore(queue.database, network.name)

    async def broadcast(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Send the batch of each job. An outage of the network is a snooze."""
        for job in jobs:
            for claimed in await self._store.claim(batch=job.entity_id):
                if claimed.status == "drafted":
                    await self._advance(claimed)
                else:
                    await self._postpone(claimed, None)
        await self._store.plan()
        return [Done() for _ in jobs]

    async def process(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Look at every batch that is due; one that cannot be looked at now is looked at later."""
        for _ in range(ROUNDS):
            found = await self._store.claim(limit=CLAIMED_AT_ONCE)
            for claimed in found:
                await self._try_advance(claimed)
            if not found:
                break
        await self._store.plan()
        return [Done() for _ in jobs]

    async def _try_advance(self, claimed: Claimed) -> None:
        try:
            await self._advance(claimed)
        except Exception as error:
            if not isinstance(error, Unavailable):
                log.warning(
                    "batch %s: %s", claimed.batch.id, error, exc_info=not isinstance(error, FojaError)
                )

    async def _advance(self, claimed: Claimed) -> None:
        """Do the next step of a batch: tell, send, look or watch. An outage postpones it."""
        if claimed.told is not None:
            await self._tell(claimed, claimed.told)
            return
        try:
            note = note_of(claimed, await ask(self._network, claimed), self._terms)
        except Exception as error:
            await self._postpone(claimed, redact(f"{error}"))
            raise
        if await self._store.note(claimed, note) and note.outcome is not None:
            stored = replace(claimed.batch, state=json.loads(json.dumps(note.state)))
            await self._tell(replace(claimed, batch=stored, status=note.status, outcome=note.outcome), 0)

    async def _postpone(self, claimed: Claimed, detail: str | None) -> None:
        """Leave a batch as it is, and look at it later."""
        if claimed.told is None:
            await self._store.note(claimed, Note(claimed.status, seconds=self._terms.every, detail=detail))

    async def _tell(self, claimed: Claimed, start: int) -> None:
        """Append the event about the end of a batch to its documents, a step at a time."""
        prove = await self._prover(claimed) if claimed.status == "confirmed" else None
        if start >= claimed.batch.size:  # only those are left whose stream another session held
            await self._tell_step(claimed, start, start, prove)
        while start < claimed.batch.size:
            stop = min(start + STEP, claimed.batch.size)
            if not await self._tell_step(claimed, start, stop, prove):
                return
            start = stop

    async def _tell_step(self, claimed: Claimed, start: int, stop: int, prove: Prove | None) -> bool:
        """Tell one step; return whether the batch is still ours."""
        for _ in range(RACES):
            endings = await self._store.endings(claimed.batch.id, start, stop)
            drafts = await asyncio.to_thread(self._drafts, claimed, endings, prove)
            verdict = await self._store.tell(claimed, start, stop, drafts, self._terms.every)
            if verdict == "told":
                self._queue.touch([(each.tenant, each.entity_id) for each in endings], DOCUMENT.name)
                return True
            if verdict == "stale":
                return False
        log.warning("batch %s: its documents change all the time; it is told later", claimed.batch.id)
        return False

    async def _prover(self, claimed: Claimed) -> Prove:
        """Return the function that makes the proof of a member, by its index."""
        digests, leaves, salts = await self._store.leaves(claimed.batch.id)
        places: Sequence[Place] = await asyncio.to_thread(places_of, digests, leaves, salts)
        return lambda index: self._network.prove(claimed.batch, places[index])

    def _drafts(self, claimed: Claimed, endings: Sequence[Ending], prove: Prove | None) -> list[Draft]:
        return [self._draft(claimed, each, prove) for each in endings]

    def _draft(self, claimed: Claimed, each: Ending, prove: Prove | None) -> Draft:
        about: dict[str, Any] = {"witness_hash": each.witness, "attempt": each.attempt}
        kind = "anchor.failed" if prove is None else "anchor.confirmed"
        if prove is not None:
            about |= {
                "batch": str(claimed.batch.id),
                "proof": {"sha256": sha256(prove(each.place)).hexdigest()},
            }
            about |= {"late": True} if each.late else {}
        if prove is not None and self._network.name == Evidence.REKOR:
            kind = "rekor.confirmed"
        else:
            about["network"] = self._network.name
        payload: Mapping[str, Any] = {**claimed.outcome, **about}
        source = self._queue.source
        return draft(DOCUMENT, each.entity_id, kind, payload, tenant=each.tenant, source=source)
