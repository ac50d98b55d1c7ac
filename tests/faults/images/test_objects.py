"""Every step of storing an object fails twice: before it was done, and after; then it is repeated."""

from __future__ import annotations

import io
from hashlib import sha256
from typing import get_args

import psycopg
import pytest

from foja.app import App
from foja.engine.blobs.objects import Objects
from foja.engine.blobs.store import Store
from foja.errors import Unavailable
from tests.faults.steps import Moment, SteppedDatabase, SteppedPlace, Steps

TEXT = b"Stored once, whatever happens in between.\n"
DIGEST = sha256(TEXT).hexdigest()


def stepped(app: App, steps: Steps) -> Objects:
    operator = SteppedDatabase(app.operator, steps)
    return Objects(Store(SteppedPlace(app.store._backend, steps)), app.database, operator, "default")


STEPS = {
    "bytes": ["begin_objects", "write", "finish_objects"],
    "stream": ["spool", "begin_objects", "save", "finish_objects"],
    "batch": ["begin_objects", "write_many", "finish_objects"],
}


async def store(objects: Objects, way: str) -> None:
    if way == "batch":
        await objects.put_many([TEXT])
    else:
        await (objects.put(TEXT) if way == "bytes" else objects.keep(io.BytesIO(TEXT)))


@pytest.mark.parametrize("way", STEPS)
async def test_a_failure_at_every_step_of_an_upload(
    app: App, admin: psycopg.Connection[object], way: str
) -> None:
    steps = Steps()
    await store(stepped(app, steps), way)
    assert [name.partition(" ")[0] for name in steps.names] == STEPS[way]
    for at in range(len(steps.names)):
        for moment in get_args(Moment):
            admin.execute("truncate foja.object")
            with pytest.raises(Unavailable):
                await store(stepped(app, Steps(at, moment)), way)
            left = admin.execute("select state from foja.object").fetchall()
            assert left in ([], [("intent",)], [("live",)])
            again = await app.objects.put(TEXT)
            assert again.generation == 0
            assert admin.execute("select state from foja.object").fetchall() == [("live",)]
            assert await app.store.get(DIGEST) == TEXT
