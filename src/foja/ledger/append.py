"""The one way in: append one, many, or each.

A draft's id is fixed before the first try, so a lost answer is asked for
again and never written twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from foja import errors, sql
from foja.core.canonical import canonical
from foja.ledger.event import Draft, Event
from foja.ledger.hints import Hints
from foja.sql.database import AlreadyRecorded, Database, refusal

Receipt = tuple[str, str | None, int, datetime, bytes, bool | None]
Verdict = Event | errors.FojaError
Result = TypeVar("Result")


class Writer:
    """Writes events for one tenant, as the role of one source."""

    def __init__(
        self, database: Database, hints: Hints, *, tenant: str, epoch: str, source: str, retry_seconds: float
    ) -> None:
        self.tenant, self.epoch, self.source = tenant, epoch, source
        self._database, self._hints, self._retry = database, hints, retry_seconds

    async def append(self, draft: Draft) -> Event:
        """Write one event and return it numbered."""
        self.check(draft)
        return self.accept(draft, await self.patiently(lambda: self._append(self.values(draft))))

    async def append_many(self, drafts: Sequence[Draft]) -> list[Event]:
        """Write all of these events or none."""
        for draft in drafts:
            self.check(draft)
        receipts = await self.patiently(lambda: self._send(drafts, atomic=True))
        return [self.accept(draft, receipt) for draft, receipt in zip(drafts, receipts, strict=True)]

    async def append_each(self, drafts: Sequence[Draft]) -> list[Verdict]:
        """Write what can be written; each draft gets its event or its error.

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

    async def erase(self, entity_id: UUID, seq: int, *, reason: str, actor: str | None) -> None:
        """Forget the body of one event; its hash and every proof stay."""
        canonical([reason, actor])  # what has no canonical form cannot be stored either
        values = {"entity": entity_id, "tenant": self.tenant, "seq": seq, "source": self.source}
        await self.patiently(
            lambda: self._database.row(sql.query("erase"), reason=reason, actor=actor, **values)
        )
        self.hint(entity_id)

    def check(self, draft: Draft) -> None:
        """Raise `WrongSource` if this draft is for another source's writer."""
        if draft.source != self.source:
            raise errors.WrongSource(f"this process writes as {self.source!r}, not as {draft.source!r}")

    def hint(self, entity_id: UUID) -> None:
        """Tell the followers of a stream that it has grown."""
        self._hints.touch(entity_id)

    async def patiently(self, call: Callable[[], Awaitable[Result]]) -> Result:
        """Repeat `call` while the database is away or busy, for a bounded time."""
        clock = asyncio.get_running_loop().time
        deadline, pause = clock() + self._retry, 0.01
        while True:
            try:
                return await call()
            except errors.Unavailable:
                if clock() + pause > deadline:
                    raise
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.5)

    def accept(self, draft: Draft, receipt: Receipt | None) -> Event:
        """Return the event a receipt stands for, or raise its refusal."""
        assert receipt is not None
        status, detail, seq, at, body_hash, sealed = receipt
        if status == "refused":
            raise refusal(detail or "")
        self.hint(draft.entity_id)
        cursor = f"{self.epoch}:{seq}" if sealed else None
        return draft.recorded(seq, at, body_hash, cursor, erased=status == "erased")

    async def _append(self, values: dict[str, object]) -> Receipt | None:
        try:
            return await self._database.row(sql.query("append"), **values)
        except AlreadyRecorded:
            return await self._database.row(sql.query("replay"), **values)

    def _judge(self, draft: Draft, receipt: Receipt) -> Verdict:
        try:
            return self.accept(draft, receipt)
        except errors.Refused as error:
            return error

    async def _verdict(self, result: Awaitable[Event]) -> Verdict:
        try:
            return await result
        except errors.FojaError as error:
            return error

    async def _send(self, drafts: Sequence[Draft], *, atomic: bool) -> list[Receipt]:
        columns = {
            "entity": [d.entity_id for d in drafts],
            "domain": [d.domain for d in drafts],
            "kind": [d.kind for d in drafts],
            "v": [d.v for d in drafts],
            "event": [d.event_id for d in drafts],
            "actor": [d.actor for d in drafts],
            "payload": [d.payload for d in drafts],
            "salt": [d.salt for d in drafts],
            "hash": [d.body_hash for d in drafts],
            "key": [d.key for d in drafts],
            "expected": [d.expected for d in drafts],
        }
        scope = {"source": self.source, "tenant": self.tenant, "atomic": atomic}
        return await self._database.rows(sql.query("append_batch"), **columns, **scope)

    def values(self, draft: Draft) -> dict[str, object]:
        """Return a draft as the parameters of a query."""
        return {
            "entity": draft.entity_id,
            "domain": draft.domain,
            "tenant": self.tenant,
            "kind": draft.kind,
            "v": draft.v,
            "event": draft.event_id,
            "actor": draft.actor,
            "source": draft.source,
            "payload": draft.payload,
            "salt": draft.salt,
            "hash": draft.body_hash,
            "key": draft.key,
            "expected": draft.expected,
        }
