"""Tenants on the same connections: an id of one tenant is unknown to every other, to read and to write."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest

from foja.app import App
from foja.conversations.service import Conversation
from foja.errors import FojaError, NotCovered, Refused, UnknownEntity
from foja.ledger.event import Draft, StreamItem, Transient
from foja.tenants.app import TenantApp
from tests.png import png

SAY, WITNESS = "user_message_sent", {"witness_hash": "00" * 32}


@dataclass(frozen=True)
class Scene:
    """What tenant `ana` has, and the surface of tenant `bob`, who knows every id of it."""

    ana: TenantApp
    bob: TenantApp
    talk: Conversation
    document: UUID
    product: UUID
    image: UUID
    job: int


@pytest.fixture
async def scene(app: App) -> Scene:
    ana, bob = app.tenant("ana"), app.tenant("bob")
    talk = await ana.conversations.open()
    await talk.append(SAY, {"content": "only for ana"})
    await talk.request_approval("pay", {"amount": 5}, approval_id="a-1")
    document = await ana.documents.add(b"only for ana", name="secret.txt")
    await document.protect()
    product = uuid4()
    image = await ana.images.add(product, png())
    await app.publish()
    [job, *_] = await ana.jobs.list()
    return Scene(ana, bob, talk, document.id, product, image.id, job.id)


async def gives_nothing(call: Awaitable[object]) -> bool:
    """Return whether a call of the other tenant ends with an error of ours, or with nothing."""
    try:
        found = await call
    except FojaError:
        return True
    return not found or found == {"next_seq": 0}


READS: dict[str, Callable[[Scene], Awaitable[object]]] = {
    "conversations.list": lambda s: s.bob.conversations.list(),
    "conversations.summaries": lambda s: s.bob.conversations.summaries(),
    "conversation.events": lambda s: _talk(s, lambda talk: talk.events()),
    "conversation.gaps": lambda s: _talk(s, lambda talk: talk.gaps()),
    "conversation.prove": lambda s: _talk(s, lambda talk: talk.prove(0)),
    "conversation.approvals": lambda s: _talk(s, lambda talk: talk.approvals()),
    "conversation.approval": lambda s: _talk(s, lambda talk: talk.approval("a-1")),
    "documents.list": lambda s: s.bob.documents.list(),
    "documents.known": lambda s: s.bob.documents.known([s.document]),
    "documents.open": lambda s: s.bob.documents.open(s.document),
    "documents.view": lambda s: s.bob.documents.view(s.document),
    "documents.explain": lambda s: s.bob.documents.explain(s.document),
    "documents.events": lambda s: s.bob.documents.events(s.document),
    "documents.bundle": lambda s: s.bob.documents.bundle(s.document),
    "documents.trust": lambda s: s.bob.documents.trust(s.document),
    "documents.proofs": lambda s: s.bob.documents.proofs(s.document),
    "images.list": lambda s: s.bob.images.list(s.product),
    "images.image": lambda s: s.bob.images.image(s.product, s.image),
    "images.content": lambda s: s.bob.images.content(s.product, s.image),
    "images.products": lambda s: s.bob.images.products(),
    "images.products_with_counts": lambda s: s.bob.images.products_with_counts(),
    "images.rendering": lambda s: s.bob.images.rendering(s.image),
    "threads.streams": lambda s: s.bob.threads.streams(),
    "threads.bodies": lambda s: s.bob.threads.bodies(s.talk.id),
    "jobs.list": lambda s: s.bob.jobs.list(),
    "jobs.list of a stream": lambda s: s.bob.jobs.list(entity_id=s.document),
    "jobs.show": lambda s: s.bob.jobs.show(s.job),
    "bundles.store_transcript": lambda s: s.bob.bundles.store_transcript(s.talk.id),
}
WRITES: dict[str, Callable[[Scene], Awaitable[object]]] = {
    "conversation.append": lambda s: _talk(s, lambda talk: talk.append(SAY, {"content": "forged"})),
    "conversation.append_many": lambda s: _talk(s, lambda talk: talk.append_many([forged(talk)])),
    "conversation.reserve": lambda s: _talk(s, lambda talk: talk.reserve(1)),
    "conversation.erase": lambda s: _talk(s, lambda talk: talk.erase(0, reason="mine")),
    "conversation.decide": lambda s: _talk(s, lambda talk: talk.decide("a-1", "approved")),
    "conversations.protect": lambda s: s.bob.conversations.protect(s.talk.id),
    "documents.protect": lambda s: s.bob.documents.protect(s.document, witness_hash="00" * 32),
    "documents.record": lambda s: s.bob.documents.record(s.document, "document.witness.ready", WITNESS),
    "documents.revoke": lambda s: s.bob.documents.revoke(s.document, reason="mine"),
    "documents.archive": lambda s: s.bob.documents.archive(s.document, reason="mine"),
    "documents.retry": lambda s: s.bob.documents.retry(s.document),
    "documents.erase": lambda s: s.bob.documents.erase(s.document, reason="mine"),
    "images.add": lambda s: s.bob.images.add(s.product, png()),
    "images.move": lambda s: s.bob.images.move(s.product, s.image, to=0),
    "images.remove": lambda s: s.bob.images.remove(s.product, s.image),
    "images.render": lambda s: s.bob.images.render(s.image),
    "images.protect": lambda s: s.bob.images.protect(s.product),
    "threads.erase": lambda s: s.bob.threads.erase(s.talk.id, [0], reason="mine"),
    "jobs.retry": lambda s: s.bob.jobs.retry([s.job]),
    "jobs.cancel": lambda s: s.bob.jobs.cancel([s.job]),
    "jobs.enqueue": lambda s: s.bob.jobs.enqueue("protect_document_v2", s.document, key="mine"),
}


async def _talk(scene: Scene, call: Callable[[Conversation], Awaitable[object]]) -> object:
    return await call(await scene.bob.conversations.open(scene.talk.id))


def forged(talk: Conversation) -> Draft:
    return talk.draft(SAY, {"content": "forged"})


async def test_no_method_reads_anything_of_another_tenant(scene: Scene) -> None:
    open_to_bob = [name for name, read in READS.items() if not await gives_nothing(read(scene))]
    assert open_to_bob == []


async def test_no_method_writes_anything_of_another_tenant(scene: Scene, app: App) -> None:
    before = await everything(scene)
    accepted = []
    for name, write in WRITES.items():
        with contextlib.suppress(FojaError):
            await write(scene)
            accepted.append(name)
    assert accepted == []
    assert await everything(scene) == before


async def everything(scene: Scene) -> object:
    """Return all that ana has, as ana sees it."""
    return (
        await scene.talk.events(),
        await scene.ana.documents.events(scene.document),
        await scene.ana.images.list(scene.product),
        [(job.id, job.state, job.tries) for job in await scene.ana.jobs.list()],
        await scene.ana.conversations.list(),
    )


async def test_the_same_calls_of_its_own_tenant_find_everything(scene: Scene) -> None:
    """The reads above can fail: the same surface of ana answers every one of them."""
    own = Scene(scene.bob, scene.ana, *[getattr(scene, name) for name in OWNED])
    unanswered = {name for name, read in READS.items() if await gives_nothing(read(own))}
    assert unanswered == {"conversation.gaps", "threads.streams", "documents.proofs"}  # ana has none


OWNED = ("talk", "document", "product", "image", "job")


async def test_the_same_bytes_are_another_document_of_each_tenant(app: App) -> None:
    ana, bob = app.tenant("ana"), app.tenant("bob")
    first, second = await ana.documents.add(b"same"), await bob.documents.add(b"same")
    assert first.id != second.id
    assert first.sha256 == second.sha256
    assert ana.threads.stream_of("t") != bob.threads.stream_of("t")


async def test_an_object_of_another_tenant_is_missing(scene: Scene, app: App) -> None:
    view = await scene.ana.images.image(scene.product, scene.image)
    digest = view.url.rpartition(":")[2] if ":" in view.url else view.url
    with pytest.raises(FojaError):
        await app.objects.get("bob", digest)


async def test_follow_and_transients_of_another_tenant_give_nothing(scene: Scene) -> None:
    own, other = scene.talk, await scene.bob.conversations.open(scene.talk.id)
    received: dict[str, list[StreamItem]] = {"ana": [], "bob": []}
    tasks = [
        asyncio.create_task(collect(talk, received[name])) for name, talk in (("ana", own), ("bob", other))
    ]
    try:
        async with asyncio.timeout(30):
            while not any(isinstance(each, Transient) for each in received["ana"]):
                await own.emit("session_start", {})
                await asyncio.sleep(0.01)
            await own.append(SAY, {"content": "more"})
            while len([each for each in received["ana"] if not isinstance(each, Transient)]) < 3:
                await asyncio.sleep(0.01)
            # Bob's own transient arrives, so bob has been listening, and nothing of ana's came before it.
            while not received["bob"]:
                await other.emit("session_end", {})
                await asyncio.sleep(0.01)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert {each.kind for each in received["bob"]} == {"session_end"}
    assert "session_end" not in {each.kind for each in received["ana"]}


async def collect(talk: Conversation, into: list[StreamItem]) -> None:
    async for each in talk.follow():
        into.append(each)


async def test_a_wake_of_one_tenant_does_not_reach_a_follower_of_the_other(scene: Scene) -> None:
    with scene.bob.ledger.watch(scene.talk.id) as bobs, scene.ana.ledger.watch(scene.talk.id) as anas:
        anas.clear()
        bobs.clear()
        await scene.talk.append(SAY, {"content": "more"})
        assert anas.grown
        assert not bobs.grown


async def test_services_of_a_tenant_are_kept_and_bounded(app: App) -> None:
    assert app.tenant("ana") is app.tenant("ana")
    assert app.tenant("ana").ledger.tenant == "ana"
    assert app.tenant("ana").settings.own_tenant == "ana"
    for n in range(1_100):
        app.tenant(f"tenant-{n}")
    assert app._tenants.cache_info().currsize <= 1_024


@pytest.mark.parametrize("name", ["", "system", "a\nb", "x" * 201, "\0", 5])
def test_no_tenant_has_such_a_name(open_app: Callable[..., App], name: str) -> None:
    with pytest.raises(Refused):
        open_app().tenant(name)


async def test_a_process_of_one_tenant_serves_others_too(open_app: Callable[..., App]) -> None:
    """FOJA_TENANT is the default of a process, not its limit: `tenant()` names any other."""
    async with open_app(tenant="ana") as app:
        talk = await app.conversations.open()
        await talk.append(SAY, {"content": "hi"})
        assert await app.conversations.list() == [talk.id]
        assert await app.tenant("bob").conversations.list() == []
        with pytest.raises(UnknownEntity):
            await (await app.tenant("bob").conversations.open(talk.id)).prove(0)
        with pytest.raises(NotCovered):
            await (await app.tenant("ana").conversations.open(talk.id)).prove(0)
