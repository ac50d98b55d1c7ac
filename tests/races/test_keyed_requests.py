"""The same request twice at the same time, under one Idempotency-Key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from foja.app import App
from foja.errors import IdempotencyConflict
from tests.flow.http.keyed_acts import (
    FILL,
    PAPER,
    SECRET,
    TALK,
    Scene,
    acts,
    code_of,
    opened,
    recorded,
    stable,
)

PAIRS = 6
ROUNDS = 40
ONE_NEW = [
    f"{TALK}/approvals",
    "/v1/conversations",
    f"{TALK}/slots",
    f"{TALK}/protect",
    "/v1/access/keys",
    "/v1/webhooks",
    "/v1/uploads",
    f"{PAPER}/signatures",
]


@pytest.fixture
async def scene(
    open_app: Callable[..., App], admin: psycopg.Connection[Any], tmp_path: Path
) -> AsyncIterator[Scene]:
    async with opened(open_app, admin, tmp_path) as scene:
        yield scene


async def test_two_equal_requests_at_once_are_one(scene: Scene, admin: psycopg.Connection[Any]) -> None:
    """Of two `POST …/revoke` at once under one key, one was refused with 422, `document_closed`."""
    for path, act in acts(scene.names).items():
        for _ in range(PAIRS):
            keyed = replace(act, headers={**act.headers, "Idempotency-Key": str(uuid4())})
            pair = await asyncio.gather(*(scene.send(path, keyed, act.body) for _ in range(2)))
            check(path, *pair)
            made = recorded(admin)
            again = await scene.send(path, keyed, act.body)
            check(path, pair[0], again)
            assert recorded(admin) == made, path
            await renew(scene, path)


async def test_of_six_equal_requests_at_once_one_makes_something(
    scene: Scene, admin: psycopg.Connection[Any], tmp_path: Path
) -> None:
    """Of six equal requests for an approval, several were answered with 201. What the slower made is gone.

    Of six for a conversation none was, where one appended its event and another noted the answer first.
    """
    for path in [*ONE_NEW, *["/v1/conversations"] * ROUNDS]:
        act = acts(scene.names)[path]
        keyed = replace(act, headers={**act.headers, "Idempotency-Key": str(uuid4())})
        before = valid(admin, scene)
        answers = await asyncio.gather(*(scene.send(path, keyed, act.body) for _ in range(6)))
        codes = sorted(each.status_code for each in answers)
        assert codes.count(201) == 1, (path, codes)
        assert set(codes) <= {201, 409 if path in SECRET else 200}, (path, codes)
        assert valid(admin, scene) - before <= 1, path


def valid(admin: psycopg.Connection[Any], scene: Scene) -> int:
    """Return how many keys, webhooks, reserved numbers and open uploads there are."""
    row = admin.execute(
        "select (select count(*) from foja.access_key where revoked_at is null)"
        " + (select count(*) from foja.webhook) + (select count(*) from foja.slot where state = 'open')"
    ).fetchone()
    assert row is not None
    uploads = scene.app.settings.home / "uploads"
    return int(row[0]) + (len([*uploads.iterdir()]) if uploads.exists() else 0)


@pytest.mark.parametrize("act", ["revoke", "archive", "retry", "sign"])
async def test_two_equal_calls_at_once_are_one(scene: Scene, act: str) -> None:
    """The same in Python, where these acts took no key; another request under the key is a conflict."""
    document = await scene.app.documents.open(scene.names["document_id"])
    fields = {"format": "unchecked", "signer": "Ana"} if act == "sign" else {}
    call = partial(getattr(document, act), **fields, actor="local:ana", idempotency_key="k")
    events = await asyncio.gather(*(call(reason="a") for _ in range(8)))
    again = await call(reason="a")
    assert {each.seq for each in events} == {again.seq}
    assert sorted(each.replayed for each in events) == [False] + [True] * 7
    assert again.replayed
    for other in (partial(call, reason="b"), partial(call, reason="a", actor="local:eva")):
        with pytest.raises(IdempotencyConflict):
            await other()
    if act != "retry":
        with pytest.raises(IdempotencyConflict):
            await document.retry(reason="a", actor="local:ana", idempotency_key="k")


async def renew(scene: Scene, path: str) -> None:
    """Make anew what the act at this address uses up."""
    if path.startswith(PAPER):
        await scene.new_document(protected=path.endswith("/retry"))
        await scene.app.work(until_idle=True)
    elif path == FILL:
        slots = await scene.post(f"{TALK}/slots".format(**scene.names), {"count": 1, "ttl": 600})
        scene.names |= {"token": slots["token"], "seq": str(slots["seqs"][0])}


def check(path: str, *answers: httpx.Response) -> None:
    """Both succeed and say the same; of an answer with a secret there is at most one."""
    if path in SECRET:
        assert {code_of(each) for each in answers if not each.is_success} <= {"idempotency_conflict"}, path
        return
    assert all(each.is_success for each in answers), (path, [each.text for each in answers])
    one, other = map(stable, answers)
    assert one == other, path
