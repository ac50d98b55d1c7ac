"""What waits at the same time is sent in one call, and nothing waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from foja.engine.blobs.batch import Batch


@pytest.mark.parametrize("senders", [1, 2])
async def test_who_got_an_answer_asks_again_at_once(senders: int) -> None:
    """The sender has just ended then: it must not count as one that will send."""

    async def send(items: Sequence[int]) -> list[int]:
        await asyncio.sleep(0)
        return [-item for item in items]

    batch = Batch(send, senders)

    async def ask(first: int) -> list[int]:
        return [await batch.ask(number) for number in range(first, first + 100)]

    async with asyncio.timeout(60):
        found = await asyncio.gather(*(ask(1000 * caller) for caller in range(senders)))
    assert found == [[-n for n in range(1000 * caller, 1000 * caller + 100)] for caller in range(senders)]


async def test_what_waits_is_sent_together_and_an_error_reaches_all() -> None:
    sent = []

    async def send(items: Sequence[int]) -> list[int]:
        sent.append(len(items))
        await asyncio.sleep(0.01)
        if 13 in items:
            raise ValueError("13")
        return list(items)

    batch = Batch(send, 1)
    found = await asyncio.gather(*map(batch.ask, range(20)), return_exceptions=True)
    assert sent == [20]
    assert {str(each) for each in found} == {"13"}
    assert await batch.ask(7) == 7


async def test_no_call_has_more_items_than_its_limit() -> None:
    sent = []

    async def send(items: Sequence[int]) -> list[int]:
        sent.append(len(items))
        await asyncio.sleep(0)
        return list(items)

    batch = Batch(send, items=8)
    assert await asyncio.gather(*map(batch.ask, range(20))) == list(range(20))
    assert sent == [8, 8, 4]
