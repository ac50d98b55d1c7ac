"""Threads of LangGraph: append events, read checkpoints and channel values, erase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from foja.ledger.event import MAX_SEQ, Event
from foja.ledger.ledger import Ledger
from foja.ledger.reader import BodyRow
from foja.threads.model.events import THREAD, ids_about

ERASE_BATCH = 1_000  # bodies erased in one transaction, so that no stream is locked for long


class CheckpointBody(NamedTuple):
    """An event of a thread that was not erased, and the checkpoint it belongs to."""

    seq: int
    kind: str
    ns: str
    checkpoint_id: str
    run_id: str | None


class Threads:
    """Every thread of this tenant; each is a stream."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def stream_of(self, thread_id: str) -> UUID:
        """Return the stream of a thread."""
        return self._ledger.derived_id(b"foja/thread/v1", thread_id)

    async def save(self, stream: UUID, kind: str, payload: Mapping[str, Any], event_id: UUID) -> Event:
        """Append one event. Appending it again returns the first one."""
        return await self._ledger.append(self._ledger.draft(THREAD, stream, kind, payload, event_id=event_id))

    async def await_standbys(self) -> None:
        """Return once all that was read is as durable as an append."""
        await self._ledger.await_standbys()

    async def checkpoints(
        self, stream: UUID, ns: str | None, *, before: int | None = None, limit: int | None = None
    ) -> list[BodyRow]:
        """Return the newest checkpoints, newest first."""
        upper = MAX_SEQ - 1 if before is None else before
        rows = await self._rows("thread_checkpoints", stream, ns=ns, before=upper, limit=limit)
        return [BodyRow(*row) for row in rows]

    async def latest(self, stream: UUID, ns: str) -> list[BodyRow]:
        """Return all events that belong to the latest checkpoint of a namespace, in order."""
        return [BodyRow(*row) for row in await self._rows("thread_latest", stream, ns=ns)]

    async def writes(self, stream: UUID, saved: Sequence[int]) -> list[BodyRow]:
        """Return the writes of the checkpoints at these numbers, in order."""
        return [BodyRow(*row) for row in await self._rows("thread_writes", stream, seqs=list(saved))]

    async def about(self, stream: UUID, ns: str, checkpoint_id: str) -> list[BodyRow]:
        """Return all events that belong to a checkpoint, in order."""
        low, high = ids_about(ns, checkpoint_id)
        return [BodyRow(*row) for row in await self._rows("thread_about", stream, low=low, high=high)]

    async def values(self, stream: UUID, held: Sequence[tuple[str, int]]) -> dict[tuple[str, int], Any]:
        """Return the values of channels at these numbers, with the values they are based on."""
        if not held:
            return {}
        channels, seqs = [channel for channel, _ in held], [seq for _, seq in held]
        rows = await self._rows("thread_values", stream, channels=channels, seqs=seqs)
        payloads = {seq: payload["values"] for _, seq, payload in rows if payload is not None}
        return {(channel, seq): payloads.get(seq, {}).get(channel) for channel, seq, _ in rows}

    async def streams(self) -> list[UUID]:
        """Return the ids of all threads."""
        return [stream for (stream,) in await self._ledger.ask("thread_streams")]

    async def bodies(self, stream: UUID) -> list[CheckpointBody]:
        """Return the events of a thread that were not erased, without their payloads."""
        return [CheckpointBody(*row) for row in await self._rows("thread_bodies", stream)]

    async def erase(self, stream: UUID, seqs: Sequence[int], *, reason: str) -> None:
        """Erase the bodies of these events, many in one transaction."""
        for at in range(0, len(seqs), ERASE_BATCH):
            await self._ledger.erase_all(THREAD, stream, seqs[at : at + ERASE_BATCH], reason=reason)

    async def _rows(self, query: str, stream: UUID, **values: object) -> list[tuple[Any, ...]]:
        return await self._ledger.ask(query, entity=stream, **values)
