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

from foja import errors
from foja.engine.driver import encoding
from foja.engine.driver.database import AlreadyRecorded, Locked, refusal
from foja.engine.driver.encoding import Value
from foja.engine.driver.pipeline_pool import PipelinePool
from foja.engine.ledger.event import Draft, Event
from foja.engine.ledger.lanes.held import AppendResult, HeldStreams
from foja.engine.ledger.live.notifier import Notifier
from foja.engine.ledger.receipts import Receipt, draft_array, draft_record, read_receipt, read_receipts
from foja.engine.metrics import ALLOCATION

Result = TypeVar("Result")
_numbering = ALLOCATION.labels("postgres")


class Writer:
    """Writes events as the role of one source, for every tenant."""

    def __init__(
        self,
        pipelines: PipelinePool,
        apart: PipelinePool,
        notifier: Notifier,
        *,
        source: str,
        draft_type: int,
        retry_seconds: float,
    ) -> None:
        """`apart` are the connections for held streams: they wait for a lock only briefly."""
        self.source = source
        self.held = HeldStreams(self._send_apart, retry_seconds)
        self._pipelines, self._apart, self._notifier = pipelines, apart, notifier
        self._draft_type, self._retry = draft_type, retry_seconds

    async def append(self, draft: Draft) -> Event:
        """Write one event and return it numbered."""
        self.check(draft)
        try:
            return await self._append_free(draft)
        except Locked:
            return await self.held.append(draft)

    async def append_many(self, drafts: Sequence[Draft]) -> list[Event]:
        """Write all of these events or none."""
        for draft in drafts:
            self.check(draft)
        if len({draft.tenant for draft in drafts}) > 1:
            raise errors.Refused("these events are of several tenants; append those of each by themselves")
        try:
            receipts = await self._unless_held(drafts, lambda: self._send(drafts, atomic=True))
        except Locked:
            self.held.mark(draft.entity_id for draft in drafts)
            receipts = await self.retry(lambda: self._send(drafts, atomic=True, apart=True))
        events = [self._event(draft, receipt) for draft, receipt in zip(drafts, receipts, strict=True)]
        self._notify_all(drafts, events)
        return events

    async def append_each(self, drafts: Sequence[Draft]) -> list[AppendResult]:
        """Append each draft by itself; return its event or its error for each."""
        results = await self.append_free(drafts)
        held = [n for n, result in enumerate(results) if isinstance(result, Locked)]
        again = await asyncio.gather(*(self._verdict(self.held.append(drafts[n])) for n in held))
        for n, result in zip(held, again, strict=True):
            results[n] = result
        return results

    async def append_free(self, drafts: Sequence[Draft]) -> list[AppendResult]:
        """Append each draft by itself. If a stream is held, the error of all drafts may be `Locked`.

        If the batch fails as a whole for another reason, each draft is tried alone.
        """
        if len(drafts) == 1:
            return [await self._verdict(self._append_free(drafts[0]))]
        try:
            return await self._unless_held(drafts, lambda: self._send_each(drafts))
        except errors.Unavailable as error:
            return [error] * len(drafts)
        except errors.FojaError:
            return [await self._verdict(self._append_free(draft)) for draft in drafts]

    def check(self, draft: Draft) -> None:
        """Raise `WrongSource` if this draft is for another source's writer."""
        if draft.source != self.source:
            raise errors.WrongSource(f"this process writes as {self.source!r}, not as {draft.source!r}")

    def notify(self, tenant: str, entity_id: UUID) -> None:
        """Notify the followers of a tenant's stream that it has grown."""
        self._notifier.touch((tenant, entity_id))

    async def retry(
        self,
        call: Callable[[], Awaitable[Result]],
        *,
        again: type[errors.Unavailable] = errors.Unavailable,
        unless: type[errors.Unavailable] | tuple[()] = (),
        stream: UUID | None = None,
    ) -> Result:
        """Repeat `call` while the database is unavailable or busy, for a bounded time.

        `stream` is the one that `call` locks: while it is held, its callers take turns.
        """
        deadline, pause = _now() + self._retry, 0.01
        while True:
            try:
                if stream is None or stream not in self.held:
                    return await call()
                async with self.held.turn(stream, deadline):
                    return await call()
            except again as error:
                if isinstance(error, unless) or _now() + pause > deadline:
                    raise
                if stream is not None and isinstance(error, Locked):
                    self.held.mark([stream])
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.5)

    def accept(self, draft: Draft, receipt: Receipt | None) -> Event:
        """Return the event a receipt stands for, and notify its followers; or raise its refusal."""
        event = self._event(draft, receipt)
        self.notify(draft.tenant, draft.entity_id)
        return event

    def _event(self, draft: Draft, receipt: Receipt | None) -> Event:
        assert receipt is not None
        status, detail, seq, at, body_hash, sealed, result = receipt
        if seq is None or at is None or body_hash is None:
            raise refusal(detail or "")
        cursor = f"{self._notifier.epoch}:{seq}" if sealed else None
        return draft.recorded(seq, at, body_hash, cursor, result, status=status)

    async def _append(self, draft: Draft) -> Receipt:
        try:
            return read_receipt(await _ask(self._pipelines, "append", [draft_record(draft)], draft.tenant))
        except AlreadyRecorded:
            return read_receipt(await _ask(self._pipelines, "replay", [draft_record(draft)], draft.tenant))

    async def _append_free(self, draft: Draft) -> Event:
        return self.accept(draft, await self._unless_held([draft], lambda: self._append(draft)))

    async def _unless_held(self, drafts: Sequence[Draft], call: Callable[[], Awaitable[Result]]) -> Result:
        """Repeat `call` while the database is unavailable. Raise `Locked` if one of the streams is held."""
        if self.held.known and any(draft.entity_id in self.held for draft in drafts):
            raise Locked("another session holds this stream; end its transaction")
        return await self.retry(call, unless=Locked)

    async def _send_each(self, drafts: Sequence[Draft], *, apart: bool = False) -> list[AppendResult]:
        if len({draft.tenant for draft in drafts}) > 1:
            return await self._send_by_tenant(drafts, apart=apart)
        receipts = await self._send(drafts, atomic=False, apart=apart)
        results = [self._judge(draft, receipt) for draft, receipt in zip(drafts, receipts, strict=True)]
        self._notify_all(drafts, results)
        return results

    def _notify_all(self, drafts: Sequence[Draft], results: Sequence[AppendResult]) -> None:
        """Notify the followers of each stream that has grown, once."""
        pairs = zip(drafts, results, strict=True)
        for topic in {(each.tenant, each.entity_id) for each, result in pairs if isinstance(result, Event)}:
            self.notify(*topic)

    async def _send_by_tenant(self, drafts: Sequence[Draft], *, apart: bool) -> list[AppendResult]:
        """Send the drafts of each tenant in a call of its own: a transaction acts for one tenant."""
        groups: dict[str, list[Draft]] = {}
        for draft in drafts:
            groups.setdefault(draft.tenant, []).append(draft)
        sent = await asyncio.gather(*(self._send_each(own, apart=apart) for own in groups.values()))
        results = {tenant: iter(own) for tenant, own in zip(groups, sent, strict=True)}
        return [next(results[draft.tenant]) for draft in drafts]

    async def _send_apart(self, drafts: Sequence[Draft]) -> list[AppendResult]:
        return await self._send_each(drafts, apart=True)

    def _judge(self, draft: Draft, receipt: Receipt) -> AppendResult:
        try:
            return self._event(draft, receipt)
        except errors.Refused as error:
            return error

    async def _verdict(self, result: Awaitable[Event]) -> AppendResult:
        try:
            return await result
        except errors.FojaError as error:
            return error

    async def _send(self, drafts: Sequence[Draft], *, atomic: bool, apart: bool = False) -> list[Receipt]:
        if not drafts:
            return []
        pool = self._apart if apart else self._pipelines
        try:
            return await self._send_batch(pool, drafts, atomic=atomic, careful=False)
        except AlreadyRecorded:
            return await self._send_batch(pool, drafts, atomic=atomic, careful=True)

    async def _send_batch(
        self, pool: PipelinePool, drafts: Sequence[Draft], *, atomic: bool, careful: bool
    ) -> list[Receipt]:
        array = draft_array(drafts, self._draft_type)
        values = [array, encoding.boolean(atomic), encoding.boolean(careful)]
        return read_receipts(await _ask(pool, "append_drafts", values, drafts[0].tenant), drafts)


async def _ask(pool: PipelinePool, statement: str, values: Sequence[Value], tenant: str) -> bytes:
    began = perf_counter()
    answer = await pool.ask(statement, values, tenant)
    _numbering.observe(perf_counter() - began)
    return answer


def _now() -> float:
    return asyncio.get_running_loop().time()
