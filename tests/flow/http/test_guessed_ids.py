"""Ids that a tenant could guess: from digests, names, keys and all that it can read of the installation.

A document's id was derived from the installation's id, tenant, digest and name. Another tenant that computed
it and appended to it was answered 404 if the document was there and 201 if not, or had taken the id.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from hashlib import sha256
from typing import Any, LiteralString
from uuid import UUID

import httpx
import psycopg
import pytest

from foja.app import App
from foja.integrations.openai_agents import LedgerSession
from foja.pure.core.event import derived_id
from tests.database.schema.catalogue import Visitor, acting
from tests.flow.access.access_scene import bearer, make_key
from tests.flow.client.client import SAY, served

Admin = psycopg.Connection[Any]
DATA, NAME, KEY, THREAD, SESSION = b"an offer to buy", "offer.pdf", "order-1", "thread-1", "session-1"
TAKE: LiteralString = (
    """select foja.append_event(%s, 'conversation', 'user_message_sent', '{"content": "mine"}')"""
)
MESSAGE = {"event": {"kind": SAY, "payload": {"content": "hi"}}}


@pytest.fixture
async def client(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with served(app) as client:
        yield client


@pytest.fixture
async def alpha(app: App) -> dict[str, str]:
    return bearer(await make_key(app, ("read", "write"), tenant="alpha"))


@pytest.fixture
async def beta(app: App) -> dict[str, str]:
    return bearer(await make_key(app, ("read", "write"), tenant="beta"))


def guesses(admin: Admin, actor: str) -> Iterator[UUID]:
    """Yield what alpha's ids would be if they were made of what beta may know."""
    with acting(admin, Visitor("foja_api", "beta")):
        [(installation,)] = admin.execute("select installation_id from foja.installation").fetchall()
    digest = sha256(DATA).hexdigest()
    for start in ([], [installation.bytes]):
        for label, fields in (
            (b"foja/document/v1", [digest, NAME, ""]),
            (b"foja/request/v1", [actor, "/v1/conversations", KEY]),
            (b"foja/thread/v1", [THREAD]),
            (b"foja/session/v1", [SESSION]),
        ):
            guess = derived_id(label, *start, b"alpha", *map(str.encode, fields))
            yield guess
            yield derived_id(b"foja/made/v1", b"conversation", guess.bytes)


async def make_all(tenant: str, app: App, client: httpx.AsyncClient, headers: dict[str, str]) -> set[UUID]:
    """Make one of each as a tenant; return the ids of the streams."""
    paper = await client.post(f"/v1/documents?name={NAME}", content=DATA, headers=headers)
    assert paper.status_code == 201, paper.text
    keyed = {**headers, "Idempotency-Key": KEY}
    talk = await client.post("/v1/conversations", json=MESSAGE, headers=keyed)
    assert talk.status_code == 201, talk.text
    own = app.tenant(tenant)
    thread = own.threads.stream_of(THREAD)
    payload = {"ns": "", "checkpoint_id": "1", "values": {}}
    await own.threads.save(thread, "values.saved", payload, UUID(int=1))
    session = LedgerSession(SESSION, own)
    await session.add_items([{"role": "user", "content": "hi"}])
    return {UUID(paper.json()["id"]), UUID(talk.json()["id"]), thread, session.conversation.id}


async def actor_of(client: httpx.AsyncClient, headers: dict[str, str]) -> str:
    return str((await client.get("/v1/access/me", headers=headers)).json()["actor"])


async def test_what_another_tenant_can_compute_tells_nothing(
    app: App, client: httpx.AsyncClient, admin: Admin, alpha: dict[str, str], beta: dict[str, str]
) -> None:
    """Each answer is that about an id that nobody has. The same things of beta have other ids."""
    made = await make_all("alpha", app, client, alpha)
    assert not made & await make_all("beta", app, client, beta)
    for number, guess in enumerate(guesses(admin, await actor_of(client, alpha))):
        assert guess not in made
        path = f"/v1/conversations/{guess}"
        if number % 2:
            answer = await client.post(f"{path}/slots", json={"count": 1}, headers=beta)
        else:
            answer = await client.post(f"{path}/events", json=MESSAGE["event"], headers=beta)
        assert answer.status_code == 201, (guess, answer.text)


async def test_another_tenant_cannot_take_an_id_first(
    app: App, client: httpx.AsyncClient, admin: Admin, alpha: dict[str, str]
) -> None:
    for guess in guesses(admin, await actor_of(client, alpha)):
        with admin.transaction():
            admin.execute("set local role foja_api; set local foja.tenant = 'beta'")
            admin.execute(TAKE, [guess])
    await make_all("alpha", app, client, alpha)


@pytest.mark.parametrize(
    "role",
    ["anon", "authenticated", "service_role", "foja_api", "foja_access", "foja_reader", "foja_run_tsa"],
)
async def test_the_key_of_the_ids_is_read_by_no_role_of_a_tenant(admin: Admin, role: str) -> None:
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege),
        acting(admin, Visitor(role, "beta")),
    ):
        admin.execute("select key from foja.id_key")


async def test_each_process_derives_the_same_ids(open_app: Callable[..., App]) -> None:
    async with open_app() as one, open_app() as other:
        first = await one.documents.add(DATA, name=NAME)
        again = await other.documents.add(DATA, name=NAME)
    assert (again.id, again.new) == (first.id, False)
