"""Threads of LangGraph: append events, read checkpoints and channel values, erase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from foja.engine.driver.tenant_statement import UNNAMED, Row
from foja.engine.ledger.event import MAX_SEQ, Event
from foja.engine.ledger.ledger import Ledger
from foja.engine.ledger.reader import BodyRow
from foja.pure.models.threads.events import THREAD, ids_about

ERASE_BATCH = 1_000  # bodies erased in one transaction, so that no stream is locked for long


class ChannelRow(NamedTuple):
    """An event that holds a value of a channel; of several rows of one event, the first has its payload."""

    channel: str
    seq: int
    payload: Mapping[str, Any] | None


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
        return await self._rows("thread_checkpoints", stream, BodyRow, ns=ns, before=upper, limit=limit)

    async def latest(self, stream: UUID, ns: str) -> list[BodyRow]:
        """Return all events that belong to the latest checkpoint of a namespace, in order."""
        return await self._rows("thread_latest", stream, BodyRow, ns=ns)

    async def writes(self, stream: UUID, saved: Sequence[int]) -> list[BodyRow]:
        """Return the writes of the checkpoints at these numbers, in order."""
        return await self._rows("thread_writes", stream, BodyRow, seqs=list(saved))

    async def about(self, stream: UUID, ns: str, checkpoint_id: str) -> list[BodyRow]:
        """Return all events that belong to a checkpoint, in order."""
        low, high = ids_about(ns, checkpoint_id)
        return await self._rows("thread_about", stream, BodyRow, low=low, high=high)

    async def values(self, stream: UUID, held: Sequence[tuple[str, int]]) -> dict[tuple[str, int], Any]:
        """Return the values of channels at these numbers, with the values they are based on."""
        if not held:
            return {}
        channels, seqs = [channel for channel, _ in held], [seq for _, seq in held]
        rows = await self._rows("thread_values", stream, ChannelRow, channels=channels, seqs=seqs)
        payloads = {row.seq: row.payload["values"] for row in rows if row.payload is not None}
        return {(row.channel, row.seq): payloads.get(row.seq, {}).get(row.channel) for row in rows}

    async def streams(self) -> list[UUID]:
        """Return the ids of all threads."""
        return [stream for (stream,) in await self._ledger.ask("thread_streams")]

    async def bodies(self, stream: UUID) -> list[CheckpointBody]:
        """Return the events of a thread that were not erased, without their payloads."""
        return await self._rows("thread_bodies", stream, CheckpointBody)

    async def erase(self, stream: UUID, seqs: Sequence[int], *, reason: str) -> None:
        """Erase the bodies of these events, many in one transaction."""
        for at in range(0, len(seqs), ERASE_BATCH):
            await self._ledger.erase_all(THREAD, stream, seqs[at : at + ERASE_BATCH], reason=reason)

    async def _rows(
        self, query: str, stream: UUID, of: type[Row] = UNNAMED, /, **values: object
    ) -> list[Row]:
        return await self._ledger.ask(query, of, entity=stream, **values)
