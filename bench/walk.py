"""Count what a stranger reads to follow three calls: `python -m bench.walk`.

Distinct functions and files of `src/foja` that run during the second call of each, in this process.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import CodeType, FrameType
from uuid import uuid4

import httpx

import foja
from foja.interfaces.web.application import create_application
from foja.interfaces.web.context import WebContext

ROOT = str(Path(foja.__file__).parent)


async def walked(call: Callable[[], Awaitable[object]]) -> tuple[int, int]:
    """Return how many functions and files the second call runs through."""
    await call()
    await asyncio.sleep(0.5)  # what it left to be done
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            seen.add(frame.f_code)

    sys.setprofile(note)
    try:
        await call()
    finally:
        sys.setprofile(None)
    named = {code for code in seen if not code.co_name.startswith("<")}
    return len(named), len({code.co_filename for code in named})


async def main() -> None:
    """Walk an append, an added document and the page of a document, and print the counts."""
    with tempfile.TemporaryDirectory() as home:
        async with foja.connect(home=home) as app:
            web = httpx.ASGITransport(create_application(WebContext(app)))
            async with httpx.AsyncClient(transport=web, base_url="http://localhost") as client:
                talk = await app.conversations.open()
                document = await app.documents.add(b"walked")
                calls: dict[str, Callable[[], Awaitable[object]]] = {
                    "conversation.append": lambda: talk.append("user_message_sent", {"content": "hi"}),
                    "POST /v1/documents": lambda: client.post("/v1/documents", content=uuid4().bytes),
                    "GET /documents/{id}": lambda: client.get(f"/documents/{document.id}"),
                }
                for name, call in calls.items():
                    functions, files = await walked(call)
                    print(f"{name:24}{functions:4} functions in {files} files")


if __name__ == "__main__":
    asyncio.run(main())
