"""Values that pages compute in the background end with the server."""

from __future__ import annotations

import asyncio

from foja.interfaces.web.pages.frame.background import Background, stop


class Owner:
    """Whose value is computed."""


async def test_what_is_computed_ends_when_the_server_stops() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def load(_: Owner) -> int:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()  # as a connection is returned
        return 1

    owner, values = Owner(), Background(load, 60)
    assert values.get(owner) is None
    async with asyncio.timeout(60):
        await began.wait()
        assert values.runs(owner)
        await stop()
    assert (ended.is_set(), values.runs(owner), values.last(owner)) == (True, False, None)
