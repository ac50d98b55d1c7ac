"""Append one event, many, or each by itself.

A draft's id is fixed before the first try, so a lost answer is asked for
again and never written twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import TypeVar
from uuid import UUID

from foja import errors, sql
from foja.driver import encoding
from foja.driver.database import AlreadyRecorded, Database, refusal
from foja.driver.encoding import Value
from foja.driver.pipeline_pool import PipelinePool
from foja.ledger.event import MAX_SEQ, Draft, Event, bounded
from foja.ledger.live.notifier import Notifier
from foja.ledger.receipts import Receipt, draft_array, draft_record, read_receipt, read_receipts
from foja.metrics import ALLOCATION

AppendResult = Event | errors.FojaError
Result = TypeVar("Result")
_numbering = ALLOCATION.labels("postgres")


class Writer:
    """Writes events as the role of one source, for every tenant."""

    def __init__(
        self,
        database: Database,
        pipelines: PipelinePool,
        notifier: Notifier,
        *,
        source: str,
        draft_type: int,
        retry_seconds: float,
    ) -> None:
        self.source = source
        self._database, self._pipelines, self._notifier, self._retry = (
            database,
            pipelines,
            notifier,
            retry_seconds,
        )
        self._draft_type = draft_type

    async def append(self, draft: Draft) -> Event:
        """Write one event and return it numbered."""
        self.check(draft)
        return self.accept(draft, await self.patiently(lambda: self._append(draft)))

    async def append_many(self, drafts: Sequence[Draft]) -> list[Event]:
        """Write all of these events or none."""
        for draft in drafts:
            self.check(draft)
        receipts = await self.patiently(lambda: self._send(drafts, atomic=True))
        return [self.accept(draft, receipt) for draft, receipt in zip(drafts, receipts, strict=True)]

    async def append_each(self, drafts: Sequence[Draft]) -> list[AppendResult]:
        """Append each draft by itself; return its event or its error for each.

        If the batch fails as a whole, each draft is tried alone.
        """
        if len(drafts) == 1:
            return [await self._verdict(self.append(drafts[0]))]
        try:
            receipts = await self.patiently(lambda: self._send(drafts, atomic=False))
        except errors.Unavailable as error:
            return [error] * len(drafts)
        except errors.FojaError:
            return [await self._verdict(self.append(draft)) for draft in drafts]
        return [self._judge(draft, receipt) for draft, receipt in zip(drafts, receipts, strict=True)]

    async def erase(self, entity_id: UUID, tenant: str, seq: int, *, reason: str, actor: str | None) -> None:
        """Remove the body of one event; its hash and every proof stay."""
        bounded([reason, actor])
        if type(seq) is not int or not 0 <= seq < MAX_SEQ:
            raise errors.UnknownEntity(f"{entity_id} has no event {seq!r}")
        values = {"entity": entity_id, "tenant": tenant, "seq": seq, "source": self.source}
        await self.patiently(
            lambda: self._database.row(sql.query("erase"), reason=reason, actor=actor, **values)
        )
        self.notify(entity_id)

    async def erase_all(self, entity_id: UUID, tenant: str, seqs: Sequence[int], *, reason: str) -> None:
        """Remove the bodies of some events in one transaction, or of none."""
        bounded([reason])
        values = {"entity": entity_id, "tenant": tenant, "seqs": list(seqs), "source": self.source}
        await self.patiently(lambda: self._database.row(sql.query("erase_all"), reason=reason, **values))
        self.notify(entity_id)

    def check(self, draft: Draft) -> None:
        """Raise `WrongSource` if this draft is for another source's writer."""
        if draft.source != self.source:
            raise errors.WrongSource(f"this process writes as {self.source!r}, not as {draft.source!r}")

    def notify(self, entity_id: UUID) -> None:
        """Notify the followers of a stream that it has grown."""
        self._notifier.touch(entity_id)

    async def patiently(
        self, call: Callable[[], Awaitable[Result]], *, again: type[errors.Unavailable] = errors.Unavailable
    ) -> Result:
        """Repeat `call` while the database is unavailable or busy, for a bounded time."""
        clock = asyncio.get_running_loop().time
        deadline, pause = clock() + self._retry, 0.01
        while True:
            try:
                return await call()
            except again:
                if clock() + pause > deadline:
                    raise
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.5)

    def accept(self, draft: Draft, receipt: Receipt | None) -> Event:
        """Return the event a receipt stands for, or raise its refusal."""
        assert receipt is not None
        status, detail, seq, at, body_hash, sealed = receipt
        if seq is None or at is None or body_hash is None:
            raise refusal(detail or "")
        self.notify(draft.entity_id)
        cursor = f"{self._notifier.epoch}:{seq}" if sealed else None
        return draft.recorded(seq, at, body_hash, cursor, status=status)

    async def _append(self, draft: Draft) -> Receipt:
        try:
            return read_receipt(await self._ask("append", [draft_record(draft)]))
        except AlreadyRecorded:
            return read_receipt(await self._ask("replay", [draft_record(draft)]))

    def _judge(self, draft: Draft, receipt: Receipt) -> AppendResult:
        try:
            return self.accept(draft, receipt)
        except errors.Refused as error:
            return error

    async def _verdict(self, result: Awaitable[Event]) -> AppendResult:
        try:
            return await result
        except errors.FojaError as error:
            return error

    async def _send(self, drafts: Sequence[Draft], *, atomic: bool) -> list[Receipt]:
        if not drafts:
            return []
        try:
            return await self._send_batch(drafts, atomic=atomic, careful=False)
        except AlreadyRecorded:
            return await self._send_batch(drafts, atomic=atomic, careful=True)

    async def _send_batch(self, drafts: Sequence[Draft], *, atomic: bool, careful: bool) -> list[Receipt]:
        values = [
            draft_array(drafts, self._draft_type),
            encoding.boolean(atomic),
            encoding.boolean(careful),
        ]
        return read_receipts(await self._ask("append_drafts", values), drafts)

    async def _ask(self, statement: str, values: Sequence[Value]) -> bytes:
        began = perf_counter()
        answer = await self._pipelines.ask(statement, values)
        _numbering.observe(perf_counter() - began)
        return answer
