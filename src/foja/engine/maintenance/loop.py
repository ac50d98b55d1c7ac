"""Background work: sweep, seal, number, sign, publish, and the chores of the domains."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from foja.engine.faults import SETTLE_SECONDS, Report, Watch, unreported
from foja.engine.jobs.assembly import Chore
from foja.engine.ledger.sequencer import Sequencer
from foja.engine.maintenance.lease import MaintenanceLease
from foja.engine.tasks import end
from foja.errors import FojaError, LedgerUnavailable, LogHalted

PAUSE_SECONDS, ERROR_PAUSE_SECONDS = 0.05, 1.0
BUSY_THRESHOLD = 1_000  # with fewer changes, pause: larger batches cost less
LOOK_SECONDS = 1.0
STALLED_SECONDS = 10.0  # then a process that is not stuck takes over


class RetriedChore:
    """A chore that never fails: it logs an error once, calls `failed`, and retries after a pause."""

    def __init__(self, chore: Chore, name: str, failed: Callable[[FojaError], None]) -> None:
        self._chore, self._failed = chore, failed
        self._watch = Watch(f"maintenance, {name}", SETTLE_SECONDS)
        self._clock, self._retry_at = asyncio.get_running_loop().time, 0.0

    @property
    def failing(self) -> bool:
        """Whether its last fault has not ended yet."""
        return self._watch.failing

    async def __call__(self) -> int:
        """Run the chore unless it failed a moment ago; return how much it did."""
        if self._clock() < self._retry_at:
            return 0
        try:
            done = await self._chore()
            self._watch.worked()
            return done
        except FojaError as error:
            self._watch.failed(error)
            self._retry_at = self._clock() + ERROR_PAUSE_SECONDS
            self._failed(error)
            return 0


class Maintenance:
    """Runs the sequencer and the chores, until idle or for ever.

    With a `lease`, it works for ever only while it holds it; until idle it works at once.
    """

    def __init__(
        self,
        sequencer: Sequencer,
        checkpoint_seconds: float,
        chores: Sequence[Chore] = (),
        afterwards: Sequence[Chore] = (),
        beside: Sequence[Chore] = (),
        lease: MaintenanceLease | None = None,
        report: Report = unreported,
    ) -> None:
        """`afterwards` are chores that need a published checkpoint; they run only with `until_idle`.

        `beside` are chores that wait for others, each in a task of its own; they too follow a checkpoint.
        `report` is told how the log does: each time that it was numbered or published.
        """
        self._report, self._looked_at = report, float("-inf")
        self._sequencer, self._every, self._chores = sequencer, checkpoint_seconds, chores
        self._afterwards, self._beside, self._lease = afterwards, beside, lease
        self._checked, self._pending = False, True

    async def run(self, *, until_idle: bool = False) -> None:
        """Work for ever, or with `until_idle`, until there is nothing to do now."""
        if until_idle:
            await self._until_idle()
            return
        chores = [self._retried(chore) for chore in (self._sequencer.sweep, *self._chores)]
        # In two tasks, so that neither the chores nor the log wait for the other.
        tasks = [chores, [self._retried(self._log())]]
        tasks += [[self._retried(throttle(each, self._every))] for each in self._beside]
        lease = [self._lease.keep()] if self._lease else []
        await side_by_side(*lease, *(self._repeat(each) for each in tasks))

    async def _until_idle(self) -> None:
        again = True
        while again:
            while await _run_all([self._sequencer.sweep, self._number, *self._chores]):
                pass
            while await self._publish():
                pass
            await asyncio.gather(*(each() for each in self._beside))
            again = await _run_all(self._afterwards) > 0

    def _log(self) -> Chore:
        """Return the chore that numbers, and publishes at the set interval."""
        clock = asyncio.get_running_loop().time
        due = clock()

        async def number_and_publish() -> int:
            nonlocal due
            done = await self._number()
            self._pending = self._pending or done > 0
            if self._pending and clock() >= due:
                self._pending, due = await self._publish(), clock() + self._every
            return done

        return number_and_publish

    def _retried(self, chore: Chore) -> RetriedChore:
        return RetriedChore(chore, _name(chore), self._failed)

    def _failed(self, error: FojaError) -> None:
        self._checked = False
        if self._lease and not isinstance(error, LedgerUnavailable):
            self._lease.hand_over()  # perhaps another process can

    async def _repeat(self, chores: Sequence[RetriedChore]) -> None:
        while True:
            if await self._in_turn(chores) < BUSY_THRESHOLD:
                await asyncio.sleep(PAUSE_SECONDS)

    async def _in_turn(self, chores: Sequence[RetriedChore]) -> int:
        """Run the chores if this process holds the lease; else only those that fail here.

        Another process does their work then. Only this one can tell when its own fault has ended.
        """
        if self._lease is None:
            return await _run_all(chores)
        if not self._lease.held and (failing := [chore for chore in chores if chore.failing]):
            return await _run_all(failing)
        await self._lease.wait()
        stalled = asyncio.get_running_loop().call_later(STALLED_SECONDS, self._lease.hand_over)
        try:
            return await _run_all(chores)
        finally:
            stalled.cancel()

    async def _publish(self) -> bool:
        """Publish a checkpoint. Return whether there is more to publish."""
        try:
            size = await self._sequencer.publish()
            return size < (await self._sequencer.current()).size
        except LogHalted as error:
            self._report(error)
            return False
        except FojaError as error:
            self._report(error)
            raise

    async def _number(self) -> int:
        try:
            if not self._checked:
                self._checked = True  # set first: an error during the check resets it
                await self._sequencer.check()
            done = await self._sequencer.number()
            await self._look()
            return done
        except FojaError as error:
            self._checked = False
            self._report(error)
            if isinstance(error, LogHalted):
                return 0
            raise

    async def _look(self) -> None:
        """Report how the log does, once a second: one that is halted takes no number and raises nothing.

        What another process numbered and could not publish is published here.
        """
        now = asyncio.get_running_loop().time()
        if now < self._looked_at + LOOK_SECONDS:
            return
        self._looked_at = now
        halted = (await self._sequencer.current()).halted
        self._checked = not halted  # a check sees whether what halted it has ended
        self._pending = self._pending or (not halted and await self._sequencer.is_behind())
        self._report(LogHalted(f"the log is halted: {halted}") if halted else None)


async def _run_all(chores: Sequence[Chore]) -> int:
    """Run all chores, even if one fails. Then raise the first error."""
    done, failed = 0, None
    for chore in chores:
        try:
            done += await chore()
        except FojaError as error:
            failed = failed or error
    if failed:
        raise failed
    return done


def throttle(chore: Chore, seconds: float) -> Chore:
    """Return a chore that runs at most once in `seconds`, and otherwise does nothing."""
    last = -seconds

    async def throttled() -> int:
        nonlocal last
        now = asyncio.get_running_loop().time()
        if now < last + seconds:
            return 0
        last = now
        return await chore()

    throttled.__qualname__ = _name(chore)
    return throttled


def _name(chore: Chore) -> str:
    """Return the name of a chore for the log."""
    return str(getattr(getattr(chore, "func", chore), "__qualname__", "chore"))


async def side_by_side(*works: Coroutine[Any, Any, None]) -> None:
    """Run all of these until one fails or this task is cancelled. Then wait until all have ended."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        await end(tasks)
