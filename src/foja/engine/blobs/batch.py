"""Send what waits at the same time in one call: a call costs as much as many of its items."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

MAX_ITEMS = 256
MAX_SENDERS = 2
Item = TypeVar("Item")
Result = TypeVar("Result")


class Batch(Generic[Item, Result]):
    """No item waits for others: one that is alone is sent alone."""

    def __init__(
        self,
        send: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]],
        senders: int = MAX_SENDERS,
        items: int = MAX_ITEMS,
    ) -> None:
        """`send` returns a result for each of up to `items`, in order; so many calls run at the same time."""
        self._send, self._most, self._items = send, senders, items
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._senders: set[asyncio.Task[None]] = set()

    async def ask(self, item: Item) -> Result:
        """Return the result of one item."""
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, result))
        if sum(not sender.done() for sender in self._senders) < self._most:
            sender = asyncio.create_task(self._run())
            self._senders.add(sender)
            sender.add_done_callback(self._senders.discard)
        return await result

    async def _run(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[: self._items], self._waiting[self._items :]
            try:
                answers = await self._send([item for item, _ in batch])
            except BaseException as error:
                _fail([result for _, result in batch], error)
                if not isinstance(error, Exception):
                    raise
                continue
            for (_, result), answer in zip(batch, answers, strict=True):
                if not result.done():
                    result.set_result(answer)


def _fail(results: Sequence[asyncio.Future[Result]], error: BaseException) -> None:
    for result in results:
        if result.done():
            continue
        if isinstance(error, Exception):
            result.set_exception(error)
        else:
            result.cancel()
