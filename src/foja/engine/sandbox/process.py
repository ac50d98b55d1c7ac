"""One process in a sandbox: start it, ask it, kill it. What it answers is checked, never trusted."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from foja.engine.sandbox.guards import Guards
from foja.engine.sandbox.protocol import LENGTHS, MAX_OBJECT, head
from foja.engine.tasks import to_the_end

START_SECONDS, END_SECONDS = 60.0, 5.0
MAX_ANSWER = 64 << 20  # bytes of content


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one process may use."""

    seconds: float = 30.0  # for one request, both of the clock and of the processor
    memory: int = 1 << 30  # bytes of address space
    jobs: int = 200  # requests before it is replaced


class Died(Exception):
    """The process ended before it answered. It may have been killed from outside."""


class TooSlow(Exception):
    """The process was stopped because its time was over."""


class SandboxProcess:
    """A process that runs. It answers one request at a time."""

    def __init__(self, process: asyncio.subprocess.Process, bounds: Bounds) -> None:
        self._process, self._bounds = process, bounds
        self.guards = Guards(user=False, network=False, calls=False)
        self.hello: Mapping[str, Any] = {}
        self.done = 0

    @classmethod
    async def start_program(
        cls, program: str, bounds: Bounds, *arguments: int, files: Sequence[int] = ()
    ) -> Self:
        """Start a module as a program, and wait until it has given up everything that it does not need.

        It gets the limits of memory, of its whole and of one request's processor time, then `arguments`.
        `files` are descriptors that it inherits.
        """
        cpu = int(bounds.seconds) + 1
        limits = (bounds.memory, cpu * bounds.jobs, cpu, *arguments)
        process = cls(
            await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-m", program, *map(str, limits)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={},
                cwd="/",
                pass_fds=tuple(files),
                start_new_session=True,  # an interrupt of the terminal is for the parent
            ),
            bounds,
        )
        try:
            async with asyncio.timeout(START_SECONDS):
                process.hello, _ = await process._receive()
            guards = process.hello["guards"]
            process.guards = Guards(**{name: bool(guards[name]) for name in Guards.__slots__})
        except BaseException:
            await process.kill()
            raise
        return process

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def usable(self) -> bool:
        """Whether it runs and may take another request."""
        return self._process.returncode is None and self.done < self._bounds.jobs

    async def ask(self, request: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        """Return the answer to a request. On any failure the process is dead: `Died` or `TooSlow`."""
        self.done += 1
        try:
            async with asyncio.timeout(self._bounds.seconds):
                writer = self._process.stdin
                assert writer is not None
                writer.write(head(request, len(data)))
                writer.write(data)
                await writer.drain()
                return await self._receive()
        except TimeoutError:
            await self.kill()
            raise TooSlow from None
        except BaseException as error:
            if isinstance(error, Died | OSError):
                await self._end()
                if self._process.returncode == -signal.SIGXCPU:
                    raise TooSlow from None
                raise Died(f"it ended with {self._process.returncode}") from error
            await self.kill()
            raise

    async def _end(self) -> None:
        """Wait for the end of a process that closed its pipes, so that its own reason is known."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await self._process.wait()
        await self.kill()

    async def kill(self) -> None:
        """End the process, whatever it does. Wait for its end, also if this task is cancelled meanwhile."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)  # not Popen.kill, which takes the status from asyncio
        try:
            await to_the_end(self._process.wait())
        finally:
            if self._process.stdin is not None:
                self._process.stdin.close()

    async def _receive(self) -> tuple[dict[str, Any], bytes]:
        reader = self._process.stdout
        assert reader is not None
        try:
            length, size = LENGTHS.unpack(await reader.readexactly(LENGTHS.size))
            if length > MAX_OBJECT or size > MAX_ANSWER:
                raise Died(f"its answer would have {length + size:,} bytes")
            value = json.loads(await reader.readexactly(length))
            content = await reader.readexactly(size)
        except (asyncio.IncompleteReadError, ValueError) as error:
            raise Died("it ended before its answer did") from error
        if not isinstance(value, dict):
            raise Died("its answer is not an object")
        return value, content
