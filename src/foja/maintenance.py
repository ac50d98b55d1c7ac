"""The work that no caller waits for: sweep, seal, number, sign, publish, and the chores of the domains."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any

from foja.errors import FojaError, LogHalted
from foja.jobs.assembly import Chore
from foja.ledger.sequencer import Sequencer

PAUSE_SECONDS = 0.05
BUSY_THRESHOLD = 1_000  # less than this can wait for more: much at once costs less
ERROR_PAUSE_SECONDS = 1.0
log = logging.getLogger("foja.maintenance")


class Maintenance:
    """Runs the sequencer and the chores, once through or for ever."""

    def __init__(
        self,
        sequencer: Sequencer,
        checkpoint_seconds: float,
        chores: Sequence[Chore] = (),
        afterwards: Sequence[Chore] = (),
    ) -> None:
        """`afterwards` is what waits for a checkpoint: done once one is out, where that ends."""
        self._sequencer, self._every, self._chores = sequencer, checkpoint_seconds, chores
        self._afterwards = afterwards
        self._checked = False

    async def run(self, *, until_idle: bool = False) -> None:
        """Work; with `until_idle`, return when nothing is runnable now."""
        if until_idle:
            await self._until_idle()
        else:
            await self._for_ever()

    async def _until_idle(self) -> None:
        again = True
        while again:
            while await _all_of([self._sequencer.sweep, self._number, *self._chores]):
                pass
            while await self._behind():
                pass
            again = await _all_of(self._afterwards) > 0

    async def _for_ever(self) -> None:
        """Keep deadlines and keep the log, side by side: neither waits for what the other needs."""
        chores = [self._patiently(chore) for chore in (self._sequencer.sweep, *self._chores)]
        await side_by_side(_again_and_again(chores), _again_and_again([self._patiently(self._log())]))

    def _log(self) -> Chore:
        """Return the chore that numbers, and publishes as often as it should."""
        clock = asyncio.get_running_loop().time
        due, pending = clock(), True

        async def keep() -> int:
            nonlocal due, pending
            done = await self._number()
            pending = pending or done > 0
            if pending and clock() >= due:
                pending, due = await self._behind(), clock() + self._every
            return done

        return keep

    def _patiently(self, chore: Chore) -> Chore:
        """Return a chore that never fails: it says why, and rests for a second."""
        clock, rested = asyncio.get_running_loop().time, 0.0

        async def patient() -> int:
            nonlocal rested
            if clock() < rested:
                return 0
            try:
                return await chore()
            except FojaError as error:
                log.warning("%s", error)
                self._checked, rested = False, clock() + ERROR_PAUSE_SECONDS
                return 0

        return patient

    async def _behind(self) -> bool:
        try:
            size = await self._sequencer.publish()
            return size < (await self._sequencer.current()).size
        except LogHalted:
            return False

    async def _number(self) -> int:
        try:
            if not self._checked:
                self._checked = True  # until anything fails, also meanwhile
                await self._sequencer.check()
            return await self._sequencer.number()
        except FojaError as error:
            self._checked = False
            if isinstance(error, LogHalted):
                return 0
            raise


async def _again_and_again(chores: Sequence[Chore]) -> None:
    while True:
        if await _all_of(chores) < BUSY_THRESHOLD:
            await asyncio.sleep(PAUSE_SECONDS)


async def _all_of(chores: Sequence[Chore]) -> int:
    """Do each of these, whatever comes of the others; then raise what failed first."""
    done, failed = 0, None
    for chore in chores:
        try:
            done += await chore()
        except FojaError as error:
            failed = failed or error
    if failed:
        raise failed
    return done


def sparingly(chore: Chore, seconds: float) -> Chore:
    """Return a chore that is done at most so often; asked in between, it does nothing."""
    done = -seconds

    async def seldom() -> int:
        nonlocal done
        now = asyncio.get_running_loop().time()
        if now < done + seconds:
            return 0
        done = now
        return await chore()

    return seldom


async def side_by_side(*works: Coroutine[Any, Any, None]) -> None:
    """Do all of these until one fails, or until told to stop; end none of them half-way."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
