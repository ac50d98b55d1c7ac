"""A process that dies at any step of a batch, before it was saved or after: one payment, one confirmation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, LiteralString, TypeVar
from uuid import UUID

import pytest

from foja.app import App
from foja.domains.documents.workers.anchor_batches import BatchWorker
from foja.domains.documents.workers.anchors import Submitter
from foja.engine.anchors.network import Batch, Confirmed, Drafted, Place, Progress, Readiness, Refused
from foja.engine.anchors.store import AnchorStore
from foja.engine.driver.database import Database
from foja.engine.jobs.queue import Queue
from tests.database.documents.anchor_scene import SOURCES, Admin, Scene, scene
from tests.fake_network import FakeNetwork
from tests.faults.steps import NAMES, Moment

Result = TypeVar("Result")
MOMENTS: tuple[Moment, ...] = ("and not saved", "but saved")


class Killed(BaseException):
    """The process is gone: nothing in it runs any more."""


class Life:
    """Counts steps, and ends at one of them; after that no step is taken."""

    def __init__(self, at: int = -1, moment: Moment | None = None) -> None:
        self.names: list[str] = []
        self._at, self._moment, self._over = at, moment, False

    async def take(self, name: str, step: Callable[[], Awaitable[Result]]) -> Result:
        """Take a step, unless the process died before it."""
        ours = len(self.names) == self._at
        self.names.append(name)
        if self._over or (ours and self._moment == "and not saved"):
            self._over = True
            raise Killed
        found = await step()
        if ours:
            self._over = True
            raise Killed
        return found


class MortalDatabase(Database):
    """A database whose every query is a step."""

    def __init__(self, inner: Database, life: Life) -> None:
        super().__init__(inner.url, inner.role, 0)
        self._inner, self._life = inner, life

    async def rows(self, query: LiteralString, of: type[Any] = tuple, /, **values: object) -> list[Any]:
        return await self._life.take(NAMES[query], lambda: self._inner.rows(query, of, **values))

    async def made(
        self, make: Callable[[Sequence[Any]], Any], query: LiteralString, **values: object
    ) -> list[Any]:
        return await self._life.take(NAMES[query], lambda: self._inner.made(make, query, **values))


class MortalNetwork:
    """A network whose every call is a step."""

    def __init__(self, inner: FakeNetwork, life: Life) -> None:
        self.name, self.account, self._inner, self._life = inner.name, inner.account, inner, life

    async def check(self) -> Readiness:
        return await self._life.take("check", self._inner.check)

    async def draft(self, root: bytes, nonce: int | None) -> Drafted:
        return await self._life.take("draft", lambda: self._inner.draft(root, nonce))

    async def send(self, batch: Batch) -> Progress:
        return await self._life.take("send", lambda: self._inner.send(batch))

    async def look(self, batch: Batch) -> Progress:
        return await self._life.take("look", lambda: self._inner.look(batch))

    async def watch(self, batch: Batch) -> Confirmed | Refused:
        return await self._life.take("watch", lambda: self._inner.watch(batch))

    def prove(self, batch: Batch, place: Place) -> bytes:
        return self._inner.prove(batch, place)


def mortal_queue(stage: Scene, source: str, life: Life) -> Queue:
    queue = stage.app.workers.queue(source)
    return Queue(MortalDatabase(queue.database, life), queue._notifier, source=source)


async def live(stage: Scene, life: Life) -> None:
    """Submit, send, look and watch, step by step, as one process."""
    network, terms = MortalNetwork(stage.polygon, life), stage.terms()
    submit = mortal_queue(stage, "submit-anchor-polygon", life)
    follow = mortal_queue(stage, SOURCES["polygon"], life)
    try:
        jobs = await stage.claim()
        await Submitter(network, AnchorStore(submit.database, "polygon"), terms).work(jobs)
        sends = await stage.queue().claim("broadcast_anchor_polygon", 10, "test")
        await BatchWorker(network, submit, terms).broadcast(sends)
        stage.chain.mine()
        await BatchWorker(network, follow, terms).process([])
    except Killed:
        pass


async def watch(stage: Scene, life: Life) -> None:
    """Look at what is confirmed, step by step, as one process."""
    follow = mortal_queue(stage, SOURCES["polygon"], life)
    stage.run("update foja.anchor_batch set next_look = now() where next_look is not null")
    with suppress(Killed):
        await BatchWorker(MortalNetwork(stage.polygon, life), follow, stage.terms()).process([])


async def recover(stage: Scene, documents: list[UUID]) -> None:
    """Let other processes go on, after the leases of the dead one ran out."""
    stage.release()
    for _ in range(10):
        await stage.work()
        await stage.confirm()
        if all("anchor.confirmed" in stage.kinds(each) for each in documents):
            return


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("stride", [3, pytest.param(1, marks=pytest.mark.long)])
async def test_a_process_that_dies_at_any_step_pays_once_and_confirms_once(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch, stride: int
) -> None:
    """All steps in the long run, every third one otherwise."""
    async with scene(open_app, admin, monkeypatch) as stage:
        await stage.protect(2)
        whole = Life()
        await live(stage, whole)
        assert {"create_anchor_batch", "draft", "send", "look", "note_anchor", "tell_anchor"} <= {
            *whole.names
        }
        for at, name in [*enumerate(whole.names)][::stride]:
            for moment in MOMENTS:
                paid, documents = stage.chain.paid, await stage.protect(2)
                await live(stage, Life(at, moment))
                await recover(stage, documents)
                where = f"{name} {moment}"
                assert stage.chain.paid == paid + 1, where
                for document in documents:
                    kinds = stage.kinds(document)
                    assert kinds.count("anchor.submitted") == kinds.count("anchor.confirmed") == 1, where
        nonces = [nonce for (nonce,) in stage.rows("select nonce from foja.anchor_batch order by nonce")]
        assert nonces == list(range(len(nonces)))
        await stage.check()


async def test_a_process_that_dies_while_a_block_is_gone_takes_the_confirmation_back_once(
    open_app: Callable[..., App], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = ["anchor.confirmed", "anchor.failed", "anchor.confirmed"]

    def ends(document: UUID) -> list[str]:
        """Return the kinds without submissions: it may confirm again before the next attempt is opened."""
        return [kind for kind in stage.kinds(document) if kind != "anchor.submitted"]

    async with scene(open_app, admin, monkeypatch, polygon_attempts=9) as stage:

        async def gone() -> list[UUID]:
            """Return documents whose block was replaced; no earlier batch is looked at."""
            stage.run("update foja.anchor_batch set next_look = null")
            documents = await stage.protect(2)
            await stage.work()
            await stage.confirm()
            stage.chain.reorganise(keep=True)
            return documents

        await gone()
        whole = Life()
        await watch(stage, whole)
        assert {"watch", "note_anchor", "anchor_endings", "tell_anchor"} <= {*whole.names}
        for at, name in enumerate(whole.names):
            for moment in MOMENTS:
                documents, where = await gone(), f"{name} {moment}"
                paid = stage.chain.paid
                await watch(stage, Life(at, moment))
                stage.release()
                for _ in range(10):
                    await stage.look()
                    await stage.work()
                    if all(ends(each)[-1] == "anchor.confirmed" for each in documents):
                        break
                assert [ends(each) for each in documents] == [once] * 2, where
                assert stage.chain.paid == paid, where
        await stage.check()
