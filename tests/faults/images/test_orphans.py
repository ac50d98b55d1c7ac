"""Purges that crash, stores that list a part or fail, clocks that jump: nothing live is deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import timedelta
from typing import Any, get_args

import pytest

from foja.app import App
from foja.domains.system.orphans.purge import Purger
from foja.domains.system.orphans.run import Run
from foja.domains.system.orphans.scan import Scanner
from foja.engine.blobs.entries import Listed
from foja.engine.blobs.store import Store, object_key
from foja.errors import LedgerUnavailable
from foja.pure.models.system.orphans import DAY, OrphanTerms
from foja.pure.models.system.view import RunResult
from tests.database.schema.rows import Admin
from tests.faults.steps import Moment, SteppedDatabase, SteppedPlace, Steps

ZERO = timedelta(0)
AT_ONCE = OrphanTerms(grace=ZERO, quarantine=ZERO, fresh=ZERO)


async def scan(app: App, store: Store | None = None, terms: OrphanTerms = AT_ONCE) -> RunResult:
    return await Scanner(app.orphans.database, store or app.store, terms).scan()


async def purge(app: App, steps: Steps | None = None, terms: OrphanTerms = AT_ONCE) -> RunResult:
    if steps is None:
        return await Purger(app.orphans.database, app.store, terms).purge()
    store = Store(SteppedPlace(app.store._backend, steps), "the store")
    return await Purger(SteppedDatabase(app.orphans.database, steps), store, terms).purge()


async def seed(app: App, number: int) -> tuple[str, str]:
    """Store an object that something refers to and one that nothing does; return both digests."""
    kept = await app.documents.add(f"kept {number}".encode())
    orphan = await app.objects.put(f"orphan {number}".encode())
    assert kept.sha256 is not None
    return kept.sha256, orphan.sha256


async def test_a_failure_at_every_step_of_a_purge(app: App, admin: Admin) -> None:
    await seed(app, 0)
    await scan(app)
    steps = Steps()
    assert (await purge(app, steps)).deleted == 1
    assert {"quarantine_orphans", "claim_orphans", "present", "delete", "record_purge"} <= {*steps.names}
    number = 0
    for at in range(len(steps.names)):
        for moment in get_args(Moment):
            number += 1
            kept, orphan = await seed(app, number)
            await scan(app)
            try:
                failed = await purge(app, Steps(at, moment))
                assert failed.outcome == "aborted", "only a store that fails is survived"
                assert "the store was cut off by the test" in str(failed.detail)
            except LedgerUnavailable:
                pass
            assert await app.objects.get("default", kept) == f"kept {number}".encode()
            await purge(app)
            assert not await app.store.exists(object_key(orphan, 0))
            rows = admin.execute("select state from foja.object where sha256 = %s", [orphan]).fetchall()
            assert rows == [("deleted",)]
    tombstones = [
        each["sha256"]
        for event in await app.system.events()
        if event.kind == "object.purged" and event.payload
        for each in event.payload["objects"]
    ]
    assert len(tombstones) == len({*tombstones}) == number + 1, "each is recorded once"


class Patched:
    """A store with something wrong."""

    def __init__(self, app: App) -> None:
        self._inner: Any = app.store._backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Partial(Patched):
    """Lists only every second object, and says nothing about it."""

    async def list(self, prefix: str, after: str | None = None) -> AsyncIterator[Sequence[Listed]]:
        async for page in self._inner.list(prefix, after):
            yield page[::2]

    async def present(self, keys: Collection[str]) -> set[str]:
        return {*sorted(keys)[::2]}


class Broken(Patched):
    """Does not answer whether an object is there."""

    async def present(self, keys: Collection[str]) -> set[str]:
        raise OSError("timed out")


class Cut(Patched):
    """Fails in the middle of the listing."""

    async def list(self, prefix: str, after: str | None = None) -> AsyncIterator[Sequence[Listed]]:
        async for page in self._inner.list(prefix, after):
            yield page[:1]
            raise OSError("connection reset")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Partial, "lists only a part"),
        (Broken, "timed out"),
        (Cut, "connection reset"),
    ],
)
async def test_a_store_that_is_not_right_aborts_the_scan(
    app: App, admin: Admin, kind: type[Patched], words: str
) -> None:
    for number in range(3):
        await seed(app, number)
    found = await scan(app, Store(kind(app)))
    assert found.outcome == "aborted"
    assert words in str(found.detail)
    assert found.missing == 0, "no false alarm"
    [event] = [each for each in await app.system.events() if each.kind == "object.scanned"]
    assert event.payload is not None
    assert (event.payload["outcome"], words in event.payload["detail"]) == ("aborted", True)
    # An aborted scan does not count: with a grace period nothing is due, and nothing goes.
    admin.execute("update image_orphan_candidates set detected_at = now() - interval '30 days'")
    gone = await purge(app, terms=OrphanTerms(fresh=ZERO, quarantine=ZERO))
    assert (gone.outcome, gone.deleted) == ("aborted", 0)
    assert "scan first" in str(gone.detail)
    assert {state for (state,) in admin.execute("select state from foja.object")} == {"live"}


async def test_an_existence_check_that_fails_aborts_the_purge(app: App) -> None:
    _, orphan = await seed(app, 0)
    await scan(app)
    gone = await Purger(app.orphans.database, Store(Broken(app)), AT_ONCE).purge()
    assert (gone.outcome, gone.deleted) == ("aborted", 0)
    assert await app.store.get(orphan) == b"orphan 0"
    assert (await purge(app)).deleted == 1


async def test_too_large_a_share_aborts_the_purge(app: App, admin: Admin) -> None:
    for number in range(11):
        await app.objects.put(f"orphan {number}".encode())
    await scan(app)
    gone = await purge(app)
    assert (gone.outcome, gone.quarantined) == ("aborted", 0)
    assert "11 of 11 objects are due" in str(gone.detail)
    assert {state for (state,) in admin.execute("select state from foja.object")} == {"live"}


@pytest.mark.parametrize("jump", [8 * DAY, -8 * DAY], ids=["ahead", "back"])
async def test_a_clock_that_jumps_during_a_run_aborts_it(
    app: App, admin: Admin, monkeypatch: pytest.MonkeyPatch, jump: timedelta
) -> None:
    await seed(app, 0)
    now, calls = Run._now, 0

    async def jumping(self: Run) -> Any:
        nonlocal calls
        calls += 1
        return await now(self) + (jump if calls > 1 else ZERO)

    monkeypatch.setattr(Run, "_now", jumping)
    found = await scan(app)
    assert found.outcome == "aborted"
    assert "the clock jumped" in str(found.detail)


async def test_a_clock_that_jumped_between_two_runs_purges_nothing(app: App, admin: Admin) -> None:
    """A jump ahead makes candidates old, and the last scan, too; a jump back makes the last run young."""
    await seed(app, 0)
    terms = OrphanTerms(fresh=ZERO, quarantine=ZERO)
    await scan(app, terms=terms)
    admin.execute("update image_orphan_candidates set detected_at = detected_at - interval '8 days'")
    admin.execute("update foja.orphan_run set ended_at = ended_at - interval '8 days'")
    gone = await purge(app, terms=terms)
    assert (gone.outcome, gone.quarantined) == ("aborted", 0)
    assert "the clock jumped" in str(gone.detail)
    await scan(app, terms=terms)  # the next scan, by the same clock: one day of seven
    assert (await purge(app, terms=terms)).quarantined == 0
    admin.execute("update foja.orphan_run set ended_at = now() + interval '8 days'")
    gone = await purge(app, terms=terms)
    assert (gone.outcome, gone.quarantined) == ("aborted", 0)
    assert "the clock went back" in str(gone.detail)
    assert {state for (state,) in admin.execute("select state from foja.object")} == {"live"}
