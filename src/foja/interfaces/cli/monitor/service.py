"""`foja monitor --every`: poll until stopped, and tell each finding once."""

from __future__ import annotations

import asyncio
import logging
import time
from argparse import Namespace
from dataclasses import asdict
from functools import partial
from pathlib import Path

from foja.domains.alerts.channels import open_channels
from foja.domains.alerts.outage import Outage
from foja.engine.faults import Watch
from foja.engine.monitor.follower import Monitor
from foja.engine.monitor.received import read_received
from foja.engine.monitor.state import State, write_state
from foja.engine.monitor.streams import Finding
from foja.errors import ObjectMissing, SetupFailed, Tampered, Unavailable
from foja.interfaces.cli.installation import read_settings
from foja.interfaces.cli.monitor.notice import deliver, outage_notice
from foja.interfaces.cli.output import print_json_line, print_line

UNREADABLE_SECONDS = 600.0  # until the channels of alerts are told
log = logging.getLogger("foja.monitor")


class MonitorService:
    """Follows a log for ever. A log that cannot be read is tried again."""

    def __init__(self, arguments: Namespace, follower: Monitor, path: Path) -> None:
        self._arguments, self._follower, self._path = arguments, follower, path
        self._channels = open_channels(read_settings(arguments))
        self._reading, self._storing, self._delivery = map(Watch, ("the log", "the state", "alerts"))
        notice = partial(outage_notice, follower.state.name)
        self._outage = Outage(self._channels, UNREADABLE_SECONDS, notice)

    async def run(self) -> None:
        """Poll, store what was seen, then tell what was found."""
        while True:
            try:
                await poll(self._follower, self._arguments.also)
                self._reading.worked()
                await self._outage.over()
            except (Unavailable, ObjectMissing, Tampered, SetupFailed) as error:
                self._reading.failed(error)
                await self._outage.seen()
            await self._store()
            for each in self._follower.new:
                self._print(each)
            if await deliver(self._follower.state, self._channels, self._delivery):
                await self._store()
            await asyncio.sleep(self._arguments.every)

    async def _store(self) -> None:
        """Store the state. On a full disk what was found is told anyway, and stored when there is room."""
        try:
            await store(self._path, self._follower.state)
            self._storing.worked()
        except OSError as error:
            self._storing.failed(error)

    def _print(self, found: Finding) -> None:
        (log.error if found.is_fault else log.warning)("%s: %s", found.kind, found.detail)
        if self._arguments.json:
            print_json_line(asdict(found))
        else:
            print_line(line_of(found))


async def poll(follower: Monitor, also: list[Path]) -> None:
    """Read what is new, and compare it with the checkpoints that others were shown."""
    received = await asyncio.to_thread(read_received, also)
    await follower.poll(int(time.time()), received)


async def store(path: Path, state: State) -> None:
    """Replace the file of the state."""
    await asyncio.to_thread(write_state, path, state)


def line_of(found: Finding) -> str:
    """Return a finding as one line."""
    return f"{'✗' if found.is_fault else '·'} {found.kind}: {found.detail}"
