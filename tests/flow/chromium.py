"""A real Chromium without a screen, driven through its own pipe (DevTools protocol)."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
]  # fmt: skip


class Browser:
    """Sends commands to the browser and receives its answers and events."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self.errors: list[str] = []

    async def send(self, method: str, session: str | None = None, **values: Any) -> Any:
        """Send a command and return its result."""
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": values}
        if session:
            command["sessionId"] = session
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._writer.write(json.dumps(command).encode() + b"\0")
        return await asyncio.wait_for(answer, 60)

    async def receive(self) -> None:
        """Receive messages until the browser ends."""
        while True:
            message = json.loads((await self._reader.readuntil(b"\0"))[:-1])
            answer = self._waiting.pop(message.get("id"), None)
            if answer and not answer.done():
                if "error" in message:
                    answer.set_exception(RuntimeError(str(message["error"])))
                else:
                    answer.set_result(message["result"])
            elif message.get("method") in {"Runtime.exceptionThrown", "Log.entryAdded"}:
                self.errors.append(json.dumps(message["params"]))

    async def open(self, address: str) -> Page:
        """Open a page in a new tab."""
        target = (await self.send("Target.createTarget", url="about:blank"))["targetId"]
        session = (await self.send("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            await self.send(f"{domain}.enable", session)
        page = Page(self, session)
        await self.send("Page.navigate", session, url=address)
        return page


@dataclass(frozen=True, slots=True)
class Page:
    """One tab."""

    browser: Browser
    session: str

    async def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression."""
        answer = await self.browser.send(
            "Runtime.evaluate", self.session, expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def until(self, expression: str, seconds: float = 30) -> None:
        """Wait until an expression is true. A page that is loading is not a failure."""
        last: Any = None
        try:
            async with asyncio.timeout(seconds):
                while not last:
                    with contextlib.suppress(AssertionError, RuntimeError):
                        last = await self.value(expression)
                    await asyncio.sleep(0.03)
        except TimeoutError:
            shown = await self.value("document.documentElement.outerHTML")
            raise AssertionError(f"never true: {expression}\n{shown}") from None

    async def reload(self) -> None:
        await self.browser.send("Page.reload", self.session)

    async def offline(self, *, away: bool) -> None:
        """Disconnect this tab from the network, or reconnect it."""
        await self.browser.send(
            "Network.emulateNetworkConditions",
            self.session,
            offline=away,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )

    async def picture(self, path: Path) -> None:
        """Save a screenshot of the tab as a PNG file."""
        data = (await self.browser.send("Page.captureScreenshot", self.session, format="png"))["data"]
        path.write_bytes(base64.b64decode(data))


@contextlib.asynccontextmanager
async def chromium(folder: Path) -> AsyncIterator[Browser]:
    """Yield a browser with its own profile."""
    assert PROGRAM, "Chromium is not installed"
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    # The browser expects its pipe at file descriptors 3 and 4.
    script = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out} 2>"{folder}/chromium.log"'
    arguments = [PROGRAM, *OPTIONS, f"--user-data-dir={folder / 'profile'}"]
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", script, *arguments, pass_fds=(theirs_in, theirs_out), stdout=asyncio.subprocess.DEVNULL
    )
    os.close(theirs_in)
    os.close(theirs_out)
    loop = asyncio.get_running_loop()
    reader = StreamReader(limit=64 * 1024 * 1024)
    with os.fdopen(ours_in, "rb") as from_it, os.fdopen(ours_out, "wb") as to_it:
        incoming, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), from_it)
        outgoing, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, to_it)
        browser = Browser(reader, StreamWriter(outgoing, protocol, None, loop))
        receiving = asyncio.create_task(browser.receive())
        try:
            yield browser
        finally:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(browser.send("Browser.close"), 5)
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)
            try:
                await asyncio.wait_for(process.wait(), 10)
            except TimeoutError:
                process.kill()
                await process.wait()
            incoming.close()
            outgoing.close()
