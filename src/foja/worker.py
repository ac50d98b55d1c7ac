"""The work that no caller waits for: sweep, seal, number, sign, publish, and the chores of the domains."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from foja.errors import FojaError, LogHalted
from foja.ledger.sequencer import Sequencer

PAUSE = 0.05
MUCH = 1_000  # less than this can wait for more: much at once costs less
AFTER_AN_ERROR = 1.0
Chore = Callable[[], Awaitable[int]]  # returns how much it did
log = logging.getLogger("foja.worker")


class Worker:
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
            while await self._step():
                pass
            while await self._behind():
                pass
            again = sum([await chore() for chore in self._afterwards]) > 0

    async def _behind(self) -> bool:
        try:
            size = await self._sequencer.publish()
            return size < (await self._sequencer.current()).size
        except LogHalted:
            return False

    async def _for_ever(self) -> None:
        clock = asyncio.get_running_loop().time
        due, pending = clock(), True
        while True:
            try:
                done = await self._step()
                pending = pending or done > 0
                if pending and clock() >= due:
                    pending, due = await self._behind(), clock() + self._every
            except FojaError as error:
                log.warning("%s", error)
                self._checked, done = False, 0
                await asyncio.sleep(AFTER_AN_ERROR)
            if done < MUCH:
                await asyncio.sleep(PAUSE)

    async def _step(self) -> int:
        done = await self._sequencer.sweep() + await self._number()
        for chore in self._chores:
            done += await chore()
        return done

    async def _number(self) -> int:
        try:
            if not self._checked:
                await self._sequencer.check()
                self._checked = True
            return await self._sequencer.number()
        except LogHalted:
            return 0


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
