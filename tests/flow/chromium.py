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
    """Speaks to the browser: every command is answered, every event is heard."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self.complaints: list[str] = []

    async def ask(self, method: str, session: str | None = None, **values: Any) -> Any:
        """Give a command and return its result."""
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": values}
        if session:
            command["sessionId"] = session
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._writer.write(json.dumps(command).encode() + b"\0")
        return await asyncio.wait_for(answer, 60)

    async def wake_on(self) -> None:
        """Take what the browser says until it ends."""
        while True:
            message = json.loads((await self._reader.readuntil(b"\0"))[:-1])
            answer = self._waiting.pop(message.get("id"), None)
            if answer and not answer.done():
                if "error" in message:
                    answer.set_exception(RuntimeError(str(message["error"])))
                else:
                    answer.set_result(message["result"])
            elif message.get("method") in {"Runtime.exceptionThrown", "Log.entryAdded"}:
                self.complaints.append(json.dumps(message["params"]))

    async def open(self, address: str) -> Page:
        """Open a page in a new tab."""
        target = (await self.ask("Target.createTarget", url="about:blank"))["targetId"]
        session = (await self.ask("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        for room in ("Page", "Runtime", "Network", "Log"):
            await self.ask(f"{room}.enable", session)
        page = Page(self, session)
        await self.ask("Page.navigate", session, url=address)
        return page


@dataclass(frozen=True, slots=True)
class Page:
    """One tab."""

    browser: Browser
    session: str

    async def value(self, expression: str) -> Any:
        """Return what an expression of JavaScript is worth."""
        answer = await self.browser.ask(
            "Runtime.evaluate", self.session, expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def until(self, expression: str, seconds: float = 30) -> None:
        """Wait until an expression is true; a page that is just loading is no failure."""
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
        await self.browser.ask("Page.reload", self.session)

    async def offline(self, *, away: bool) -> None:
        """Take the network away from this tab, or give it back."""
        await self.browser.ask(
            "Network.emulateNetworkConditions",
            self.session,
            offline=away,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )

    async def picture(self, path: Path) -> None:
        """Keep what the tab shows as a PNG file."""
        data = (await self.browser.ask("Page.captureScreenshot", self.session, format="png"))["data"]
        path.write_bytes(base64.b64decode(data))


@contextlib.asynccontextmanager
async def chromium(folder: Path) -> AsyncIterator[Browser]:
    """Lend a browser with a profile of its own."""
    assert PROGRAM, "there is no Chromium here"
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    # The browser wants to find its pipe at 3 and 4.
    script = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out} 2>"{folder}/chromium.log"'
    words = [PROGRAM, *OPTIONS, f"--user-data-dir={folder / 'profile'}"]
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", script, *words, pass_fds=(theirs_in, theirs_out), stdout=asyncio.subprocess.DEVNULL
    )
    os.close(theirs_in)
    os.close(theirs_out)
    loop = asyncio.get_running_loop()
    reader = StreamReader(limit=64 * 1024 * 1024)
    with os.fdopen(ours_in, "rb") as from_it, os.fdopen(ours_out, "wb") as to_it:
        incoming, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), from_it)
        outgoing, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, to_it)
        browser = Browser(reader, StreamWriter(outgoing, protocol, None, loop))
        hearing = asyncio.create_task(browser.wake_on())
        try:
            yield browser
        finally:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(browser.ask("Browser.close"), 5)
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)
            try:
                await asyncio.wait_for(process.wait(), 10)
            except TimeoutError:
                process.kill()
                await process.wait()
            incoming.close()
            outgoing.close()
