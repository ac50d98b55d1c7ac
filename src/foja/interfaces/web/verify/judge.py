"""Judge what a request sent in a subprocess of its own, a few at a time."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO

from foja.engine.sandbox.process import Bounds, Died, SandboxProcess, TooSlow
from foja.engine.settings import Settings
from foja.errors import BadPayload, Unavailable
from foja.interfaces.web.problems import Rejected

PROGRAM = "foja.interfaces.web.verify.program"
WAITING_FOR_EACH = 4  # requests that wait, for each process that runs


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """What is judged besides the file."""

    trust: Sequence[str | bytes] = ()
    proofs: Sequence[bytes] = ()
    at: datetime | None = None
    digest: str | None = None
    name: str | None = None
    domain: str | None = None
    language: str | None = None  # None: the report as JSON; else `judge.render.view` in this language

    def encode(self) -> bytes:
        """Return the request as the program reads it."""
        trust = [
            each if isinstance(each, str) else {"base64": b64encode(each).decode()} for each in self.trust
        ]
        fields = {
            "trust": trust,
            "proofs": [b64encode(each).decode() for each in self.proofs],
            "at": self.at.isoformat() if self.at else None,
            "digest": self.digest,
            "name": self.name,
            "domain": self.domain,
            "language": self.language,
        }
        return json.dumps(fields).encode()


class _Room:
    """The requests of one sort of callers that are judged or wait: so many at once, and some behind them."""

    def __init__(self, slots: int) -> None:
        self._slots, self._most = asyncio.Semaphore(slots), slots * (1 + WAITING_FOR_EACH)
        self._admitted = 0

    @property
    def is_full(self) -> bool:
        return self._admitted >= self._most

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        self._admitted += 1
        try:
            async with self._slots:
                yield
        finally:
            self._admitted -= 1


class Judges:
    """Runs the judge in subprocesses: each has one request, a time limit and a memory limit.

    Callers without a key have one process less, and wait among themselves: they cannot take the last one.
    """

    def __init__(self, settings: Settings) -> None:
        processes = settings.verify_processes
        self._bounds = Bounds(settings.verify_seconds, settings.verify_memory_mb << 20, jobs=1)
        self._free = asyncio.Semaphore(processes)
        self._known, self._anonymous = _Room(processes), _Room(max(1, processes - 1))

    def check_room(self, *, anonymous: bool = False) -> None:
        """Raise `Rejected` (429) if too many requests of such callers are judged or wait for it."""
        if self._room(anonymous=anonymous).is_full:
            raise Rejected(
                429,
                "Too many verifications run.",
                "try again later, verify with `foja verify`, or raise FOJA_VERIFY_PROCESSES",
                retry_after=self._bounds.seconds / 4,
            )

    async def judge(self, file: BinaryIO | None, request: VerifyRequest, *, anonymous: bool = False) -> bytes:
        """Return the report as JSON; raise `BadPayload` for a request that cannot be judged."""
        self.check_room(anonymous=anonymous)
        async with self._room(anonymous=anonymous).slot(), self._free:
            return await self._judge(file, request)

    def _room(self, *, anonymous: bool) -> _Room:
        return self._anonymous if anonymous else self._known

    async def _judge(self, file: BinaryIO | None, request: VerifyRequest) -> bytes:
        number = -1 if file is None else file.fileno()
        try:
            process = await SandboxProcess.start_program(
                PROGRAM, self._bounds, number, files=() if file is None else [number]
            )
        except (Died, OSError, TimeoutError, KeyError) as error:
            raise Unavailable(f"no judge could be started ({error}); raise FOJA_VERIFY_MEMORY_MB") from error
        try:
            answer, report = await process.ask({}, request.encode())
        except TooSlow:
            raise BadPayload(
                f"judging took over {self._bounds.seconds:g} seconds (FOJA_VERIFY_SECONDS); "
                "verify it with `foja verify`, which has no limit"
            ) from None
        except Died as error:
            raise BadPayload(f"the judge died on it ({error}); verify it with `foja verify`") from error
        finally:
            await process.kill()
        return _checked(answer, report)


def _checked(answer: dict[str, Any], report: bytes) -> bytes:
    if "refused" in answer:
        detail = "".join(each if each.isprintable() else "�" for each in str(answer.get("detail", ""))[:2000])
        raise BadPayload(detail)
    return report
