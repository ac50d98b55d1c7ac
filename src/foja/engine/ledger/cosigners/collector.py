"""Ask a cosigner to sign the newest published checkpoint. Publishing never waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum

from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.faults import Watch
from foja.engine.ledger.cosigners.configuration import NamedCosigner
from foja.engine.ledger.log import Log
from foja.engine.remote.cosigner import CosignerConnection, CosignerReply, Declined, OtherSize, Signed
from foja.engine.remote.tsa import NoReply
from foja.engine.settings import Settings
from foja.errors import ObjectMissing, SetupFailed, Tampered, redact
from foja.pure.proofs.cosignature import Cosignature, CosignRequest, read_answer

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
_CANNOT_CONTINUE = 422
_SERVER_ERROR = 500
log = logging.getLogger("foja.cosigners")


class CosignerFault(StrEnum):
    """Why a cosigner has not signed."""

    AWAY = "away"
    REFUSED = "refused"
    INVALID = "invalid"
    ANOTHER_HISTORY = "another history"
    FORGOT = "forgot"


class _Unsigned(Exception):
    """A request without a valid signature."""

    def __init__(self, fault: CosignerFault, detail: str) -> None:
        super().__init__(redact(detail))
        self.fault = fault


@dataclass(frozen=True, slots=True)
class DueCheckpoint:
    """A checkpoint that a cosigner has not signed, and the size of its log that it signed last."""

    origin: int
    size: int
    note: str
    seen: int
    now: int  # seconds since 1970, by the database's clock


class CosignatureCollector:
    """Asks one cosigner, and stores what it signed or why it did not."""

    def __init__(
        self,
        database: Database,
        log: Log,
        cosigner: NamedCosigner,
        connection: CosignerConnection,
        tolerance_seconds: float,
    ) -> None:
        self._database, self._log, self._key = database, log, cosigner.key
        self._connection, self._tolerance = connection, tolerance_seconds
        self._watch = Watch(f"cosigner {self._key.name}")
        self._pause, self._retry_at = 0.0, 0.0

    async def ask(self) -> int:
        """Ask for each checkpoint that is due, one after the other. Return the number of new signatures."""
        clock, signed = asyncio.get_running_loop().time, 0
        while clock() >= self._retry_at and (due := await self._due()) and await self._sign(due):
            signed += 1
        return signed

    async def _sign(self, due: DueCheckpoint) -> bool:
        """Ask for one checkpoint. Return whether it is signed now."""
        try:
            found = await self._cosign(due)
        except _Unsigned as unsigned:
            self._pause = min(max(FIRST_PAUSE_SECONDS, 2 * self._pause), LONGEST_PAUSE_SECONDS)
            self._retry_at = asyncio.get_running_loop().time() + self._pause
            await self._record_fault(due, unsigned)
            return False
        if found is None:
            return False
        await self._record(due, found)
        self._pause = 0.0
        self._watch.worked()
        return True

    def close(self) -> None:
        """Stop watching the cosigner."""
        self._watch.close()

    async def _cosign(self, due: DueCheckpoint) -> Cosignature | None:
        """Return the signature; None if a newer checkpoint has to be asked for."""
        asked, reply = due.seen, await self._request(due, due.seen)
        if isinstance(reply, OtherSize) and due.seen < reply.size <= due.size:  # its last answer was lost
            asked, reply = reply.size, await self._request(due, reply.size)
        if isinstance(reply, OtherSize):
            await self._check_size(due, asked, reply.size)
            return None
        return self._check(due, asked, reply)

    async def _request(self, due: DueCheckpoint, old: int) -> CosignerReply:
        try:
            proof = await self._log.prove_growth(due.origin, old, due.size)
        except ObjectMissing as error:
            raise _Unsigned(CosignerFault.ANOTHER_HISTORY, f"its growth cannot be shown: {error}") from None
        return await self._connection.add_checkpoint(CosignRequest(old, tuple(proof), due.note).text())

    async def _check_size(self, due: DueCheckpoint, asked: int, size: int) -> None:
        """Raise unless the cosigner may have signed this size for another process of this installation."""
        if size == asked:
            raise _Unsigned(CosignerFault.ANOTHER_HISTORY, f"it saw {size} leaves with another root")
        if size < due.seen:
            detail = f"it has signed {due.seen} leaves and knows only {size}"
            raise _Unsigned(CosignerFault.FORGOT, detail)
        newest = await self._due()
        if newest and newest.origin == due.origin and size > newest.size:
            detail = f"it saw {size} leaves, and {newest.size} are published here"
            raise _Unsigned(CosignerFault.ANOTHER_HISTORY, detail)

    def _check(self, due: DueCheckpoint, asked: int, reply: Signed | Declined | NoReply) -> Cosignature:
        match reply:
            case NoReply():
                raise _Unsigned(CosignerFault.AWAY, reply.detail)
            case Declined(status) if status >= _SERVER_ERROR:
                raise _Unsigned(CosignerFault.AWAY, f"HTTP status {status}")
            case Declined(status) if status == _CANNOT_CONTINUE:
                detail = f"{due.size} leaves do not continue the {asked} leaves that it saw"
                raise _Unsigned(CosignerFault.ANOTHER_HISTORY, detail)
            case Declined(status, detail):
                raise _Unsigned(CosignerFault.REFUSED, f"HTTP status {status}: {detail}")
            case Signed(text):
                return self._check_signature(due, text)

    def _check_signature(self, due: DueCheckpoint, text: str) -> Cosignature:
        try:
            found = read_answer(due.note, text, self._key)
        except Tampered as error:
            raise _Unsigned(CosignerFault.INVALID, str(error)) from None
        if abs(found.time - due.now) > self._tolerance:
            detail = f"its clock differs by {found.time - due.now} seconds from the database's"
            raise _Unsigned(CosignerFault.INVALID, detail)
        return found

    async def _due(self) -> DueCheckpoint | None:
        return await self._database.row(sql.query("cosigner_due"), DueCheckpoint, key=self._key.public_key)

    async def _record(self, due: DueCheckpoint, found: Cosignature) -> None:
        await self._database.row(
            sql.query("record_cosignature"),
            origin=due.origin,
            size=due.size,
            key=self._key.public_key,
            vkey=self._key.vkey(),
            line=found.line,
        )

    async def _record_fault(self, due: DueCheckpoint, unsigned: _Unsigned) -> None:
        if self._watch.begins(f"cosigner {self._key.name} ({unsigned.fault})"):
            log.warning("cosigner %s: %s: %s", self._key.name, unsigned.fault.value, unsigned)
        await self._database.row(
            sql.query("record_cosigner_fault"),
            origin=due.origin,
            key=self._key.public_key,
            vkey=self._key.vkey(),
            fault=unsigned.fault.value,
            detail=str(unsigned),
        )


def open_collectors(
    settings: Settings,
    cosigners: Sequence[NamedCosigner],
    database: Database,
    log: Log,
    own_key: bytes,
    closing: AsyncExitStack,
) -> list[Callable[[], Awaitable[int]]]:
    """Return one chore for each cosigner. Raise `SetupFailed` if one has the key of the log itself."""
    chores: list[Callable[[], Awaitable[int]]] = []
    for each in cosigners:
        if each.key.public_key == own_key:
            raise SetupFailed(f"the cosigner {each.key.name} has the key of this log; name another one")
        connection = CosignerConnection(each.url, timeout_seconds=settings.cosigner_timeout_seconds)
        closing.push_async_callback(connection.aclose)
        collector = CosignatureCollector(database, log, each, connection, settings.clock_tolerance_seconds)
        closing.callback(collector.close)
        chores.append(collector.ask)
    return chores
