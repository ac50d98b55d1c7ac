"""The recorders of the `eventsourcing` library on our ledger, so that its own test cases can judge ours.

An originator is a conversation, a stored event one message in it, a notification id its place in the
log plus one. Only what any program can call is used: append, events, and reading or following the log.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from base64 import b64decode, b64encode
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar
from uuid import UUID

from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    IntegrityError,
    Notification,
    OperationalError,
    StoredEvent,
    Subscription,
)

from foja.app import App
from foja.engine.ledger.event import Draft, Event, Reset
from foja.engine.ledger.log import LogPosition
from foja.errors import IdempotencyConflict, Unavailable
from foja.pure.models.conversations.events import CONVERSATION

PAGE = 1_000
Result = TypeVar("Result")


class Background:
    """An installation on a loop in a thread of its own, for callers that know no loops."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.turn = asyncio.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="foja")
        self._door, self._closed = Lock(), False

    def submit(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        with self._door:
            if self._closed:
                work.close()
                raise RuntimeError("this installation is closed")
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self.submit(work).result()

    @contextmanager
    def running(self) -> Iterator[None]:
        self._thread.start()
        try:
            self.run(self.app.__aenter__())
            yield
            self.run(self.app.__aexit__(None, None, None))
        finally:
            self._close()

    def _close(self) -> None:
        """End the loop, and with an error whoever still waits for it: those tests forget two readers."""
        with self._door:
            self._closed = True
        asyncio.run_coroutine_threadsafe(_cancel_the_others(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_the_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class LedgerAggregateRecorder(AggregateRecorder):
    """Each aggregate is a stream; a version can be taken once."""

    def __init__(self, background: Background) -> None:
        self._background, self._app = background, background.app

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> Sequence[int] | None:
        self._background.run(self._insert(stored_events))
        return None

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        found = [
            event
            for event in self._background.run(self._stream(_entity(originator_id)))
            if (gt is None or event.originator_version > gt)
            and (lte is None or event.originator_version <= lte)
        ]
        return sorted(found, key=lambda event: event.originator_version, reverse=desc)[:limit]

    async def _insert(self, events: Sequence[StoredEvent]) -> list[Event]:
        drafts = [self._draft(event) for event in events]
        try:
            # The ledger keeps the order of each stream, and lets batches of different streams mix;
            # this library wants each batch in one piece, so they go in one after the other.
            async with self._background.turn:
                return await self._app.ledger.append_many(drafts)
        except IdempotencyConflict as error:
            raise IntegrityError(str(error)) from error
        except Unavailable as error:
            raise OperationalError(str(error)) from error

    def _draft(self, event: StoredEvent) -> Draft:
        content = {
            "version": event.originator_version,
            "topic": event.topic,
            "state": b64encode(event.state).decode(),
            "nonce": secrets.token_hex(8),  # so that the same version again is another event, not a replay
        }
        return self._app.ledger.draft(
            CONVERSATION,
            _entity(event.originator_id),
            "user_message_sent",
            {"content": json.dumps(content)},
            idempotency_key=f"version:{event.originator_version}",
        )

    async def _stream(self, entity_id: UUID) -> list[StoredEvent]:
        found: list[Event] = []
        while page := await self._app.ledger.events(entity_id, len(found) - 1, PAGE):
            found += page
        return [StoredEvent(**_stored(event)) for event in found]


class LedgerApplicationRecorder(LedgerAggregateRecorder, ApplicationRecorder):
    """The application's sequence is the log."""

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> Sequence[int]:
        return self._background.run(self._insert_and_number(stored_events))

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        after = start or 0
        if after and inclusive_of_start:
            after -= 1
        return self._background.run(self._select(after, limit, stop, topics))

    def max_notification_id(self) -> int | None:
        return self._background.run(self._size()) or None

    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> Subscription[ApplicationRecorder]:
        return LedgerSubscription(self, self._background, gt, topics)

    async def _insert_and_number(self, events: Sequence[StoredEvent]) -> list[int]:
        after = await self._size()
        inserted = {(event.entity_id, event.seq): 0 for event in await self._insert(events)}
        while await self._app.sequencer.sweep() + await self._app.sequencer.number():
            pass
        while not all(inserted.values()):
            page = await self._page(after, PAGE)
            assert page, "what was inserted is not in the log"
            for event in page:
                after = place(event)
                if (event.entity_id, event.seq) in inserted:
                    inserted[event.entity_id, event.seq] = after
        return list(inserted.values())

    async def _select(
        self, after: int, limit: int, stop: int | None, topics: Sequence[str]
    ) -> list[Notification]:
        found: list[Notification] = []
        while len(found) < limit and (page := await self._page(after, limit)):
            after = place(page[-1])
            found += [
                each
                for each in map(notification, page)
                if (stop is None or each.id <= stop) and (not topics or each.topic in topics)
            ]
            if stop is not None and after >= stop:
                break
        return found[:limit]

    async def _page(self, after: int, limit: int) -> list[Event]:
        if after and after >= await self._size():
            return []
        return await self._app.ledger.log.events(await log_cursor(self._app, after), limit)

    async def _size(self) -> int:
        return (await self._app.sequencer.current()).size


class LedgerSubscription(Subscription[ApplicationRecorder]):
    """Follows the log."""

    def __init__(
        self, recorder: ApplicationRecorder, background: Background, gt: int | None, topics: Sequence[str]
    ) -> None:
        super().__init__(recorder, gt, topics)
        self._arrived: SimpleQueue[Notification | None] = SimpleQueue()
        self._task = background.submit(self._follow(background.app, gt or 0))

    def stop(self) -> None:
        super().stop()
        self._task.cancel()

    def __next__(self) -> Notification:
        arrived = None if self._has_been_stopped else self._arrived.get()
        if arrived is not None and not self._has_been_stopped:
            return arrived
        if not self._task.cancelled():
            self._task.result()  # raises what ended it
        raise StopIteration

    async def _follow(self, app: App, after: int) -> None:
        try:
            async for event in app.ledger.log.follow(await log_cursor(app, after)):
                assert not isinstance(event, Reset)
                if not self._topics or notification(event).topic in self._topics:
                    self._arrived.put(notification(event))
        finally:
            self._arrived.put(None)


async def log_cursor(app: App, after: int) -> str:
    """Return the log's cursor behind the notification with this id."""
    start = await app.ledger.log.start(None)
    assert isinstance(start, LogPosition)
    return LogPosition(start.epoch, idx=after - 1).cursor


def notification(event: Event) -> Notification:
    return Notification(id=place(event), **_stored(event))


def place(event: Event) -> int:
    """Return the notification id of an event of the log."""
    assert event.cursor is not None
    return int(event.cursor.rpartition(":")[2]) + 1


def _stored(event: Event) -> dict[str, Any]:
    content = json.loads(event.payload["content"])
    return {
        "originator_id": event.entity_id,
        "originator_version": content["version"],
        "topic": content["topic"],
        "state": b64decode(content["state"]),
    }


def _entity(originator_id: UUID | str) -> UUID:
    assert isinstance(originator_id, UUID)
    return originator_id
