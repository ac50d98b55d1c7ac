"""Tenants on the same connections: an id of one tenant is unknown to every other, to read and to write."""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import Awaitable, Callable
from dataclasses import replace
from inspect import iscoroutinefunction
from uuid import UUID, uuid4

import pytest

from foja.app import App
from foja.domains.conversations.service import Conversation, Conversations
from foja.domains.documents.service import Documents
from foja.domains.images.service import Images
from foja.domains.threads.service import Threads
from foja.domains.webhooks.service import Webhooks
from foja.engine.jobs.admin import Jobs
from foja.engine.ledger.event import Draft, StreamItem, Transient
from foja.errors import FojaError, NotCovered, Refused, UnknownEntity
from foja.tenant import TenantApp
from tests.cases import all_cases
from tests.database.access.two_tenants import SAY, Scene, two_tenants
from tests.png import png

WITNESS = {"witness_hash": "00" * 32}
WRITES_SAVED = {"ns": "", "checkpoint_id": "c", "task_id": "t", "writes": []}


@pytest.fixture
async def scene(app: App) -> Scene:
    return await two_tenants(app)


async def gives_nothing(call: Awaitable[object]) -> bool:
    """Return whether a call of the other tenant ends with an error of ours, or with nothing."""
    try:
        found = await call
    except FojaError:
        return True
    return not found


READS: dict[str, Callable[[Scene], Awaitable[object]]] = {
    "conversations.list": lambda s: s.ana.conversations.list(),
    "conversations.summaries": lambda s: s.ana.conversations.summaries(),
    "conversation.events": lambda s: _talk(s, lambda talk: talk.events()),
    "conversation.gaps": lambda s: _talk(s, lambda talk: talk.gaps()),
    "conversation.prove": lambda s: _talk(s, lambda talk: talk.prove(0)),
    "conversation.approvals": lambda s: _talk(s, lambda talk: talk.approvals()),
    "conversation.approval": lambda s: _talk(s, lambda talk: talk.approval("a-1")),
    "conversation.state": lambda s: _talk(s, next_seq),
    "documents.states": lambda s: known_states(s.ana, s.document),
    "documents.at_work": lambda s: s.ana.documents.at_work([s.document]),
    "documents.length": lambda s: s.ana.documents.length([s.document]),
    "documents.write_bundle": lambda s: written(s.ana, s.document),
    "threads.checkpoints": lambda s: s.ana.threads.checkpoints(s.talk.id, None),
    "threads.latest": lambda s: s.ana.threads.latest(s.talk.id, ""),
    "threads.writes": lambda s: s.ana.threads.writes(s.talk.id, [0]),
    "threads.about": lambda s: s.ana.threads.about(s.talk.id, "", "c"),
    "threads.values": lambda s: channel_values(s.ana, s.talk.id),
    "documents.list": lambda s: s.ana.documents.list(),
    "documents.known": lambda s: s.ana.documents.known([s.document]),
    "documents.open": lambda s: s.ana.documents.open(s.document),
    "documents.find": lambda s: s.ana.documents.find(s.document),
    "documents.view": lambda s: s.ana.documents.view(s.document),
    "documents.explain": lambda s: s.ana.documents.explain(s.document),
    "documents.events": lambda s: s.ana.documents.events(s.document),
    "documents.bundle": lambda s: s.ana.documents.bundle(s.document),
    "documents.trust": lambda s: s.ana.documents.trust(s.document),
    "documents.proofs": lambda s: s.ana.documents.proofs(s.document),
    "documents.search": lambda s: s.ana.documents.search("secret"),
    "documents.artifact": lambda s: s.ana.documents.artifact(s.document),
    "images.renderings": lambda s: s.ana.images.renderings(s.product),
    "images.thumbhashes": lambda s: s.ana.images.thumbhashes(s.product),
    "images.summaries": lambda s: s.ana.images.summaries(),
    "webhooks.list": lambda s: s.ana.webhooks.list(),
    "webhooks.show": lambda s: s.ana.webhooks.show(s.webhook),
    "webhooks.deliveries": lambda s: s.ana.webhooks.deliveries(s.webhook),
    "webhooks.delivery": lambda s: s.ana.webhooks.delivery(s.webhook, 1),
    "images.list": lambda s: s.ana.images.list(s.product),
    "images.image": lambda s: s.ana.images.image(s.product, s.image),
    "images.content": lambda s: s.ana.images.content(s.product, s.image),
    "images.products": lambda s: s.ana.images.products(),
    "images.products_with_counts": lambda s: s.ana.images.products_with_counts(),
    "images.rendering": lambda s: s.ana.images.rendering(s.image),
    "threads.await_standbys": lambda s: s.ana.threads.await_standbys(),
    "threads.streams": lambda s: s.ana.threads.streams(),
    "threads.bodies": lambda s: s.ana.threads.bodies(s.talk.id),
    "jobs.unhandled": lambda s: s.ana.jobs.unhandled(),
    "jobs.list": lambda s: s.ana.jobs.list(),
    "jobs.list of a stream": lambda s: s.ana.jobs.list(entity_id=s.document),
    "jobs.show": lambda s: s.ana.jobs.show(s.job),
    "jobs.named": lambda s: s.ana.jobs.named([s.job]),
    "bundles.store_transcript": lambda s: s.ana.bundles.store_transcript(s.talk.id),
}
WRITES: dict[str, Callable[[Scene], Awaitable[object]]] = {
    "conversation.append": lambda s: _talk(s, lambda talk: talk.append(SAY, {"content": "forged"})),
    "conversation.append_many": lambda s: _talk(s, lambda talk: talk.append_many([forged(talk)])),
    "conversation.append_each": lambda s: _talk(s, forge_each),
    "conversation.request_approval": lambda s: _talk(s, lambda talk: talk.request_approval("pay", {})),
    "conversation.wait_for_approval": lambda s: _talk(s, lambda talk: talk.wait_for_approval("a-1")),
    "documents.sign": lambda s: s.ana.documents.sign(s.document, b"x", witness_hash="00" * 32, format="jws"),
    "documents.grant": lambda s: s.ana.documents.grant(s.document),
    "documents.add_transcript": lambda s: s.ana.documents.add_transcript(s.talk.id),
    "images.add_url": lambda s: s.ana.images.add_url(s.product, "https://a.test/x.png"),
    "images.replace": lambda s: s.ana.images.replace(s.product, s.image, png()),
    "images.describe": lambda s: s.ana.images.describe(s.product, s.image, "mine"),
    "images.main": lambda s: s.ana.images.main(s.product, s.image),
    "threads.save": lambda s: s.ana.threads.save(s.talk.id, "writes.saved", WRITES_SAVED, uuid4()),
    "jobs.pause": lambda s: s.ana.jobs.pause("render_image"),
    "jobs.resume": lambda s: s.ana.jobs.resume("render_image"),
    "conversation.reserve": lambda s: _talk(s, lambda talk: talk.reserve(1)),
    "conversation.erase": lambda s: _talk(s, lambda talk: talk.erase(0, reason="mine")),
    "conversation.decide": lambda s: _talk(s, lambda talk: talk.decide("a-1", "approved")),
    "conversation.protect": lambda s: _talk(s, lambda talk: talk.protect()),
    "conversations.protect": lambda s: s.ana.conversations.protect(s.talk.id),
    "documents.protect": lambda s: s.ana.documents.protect(s.document, witness_hash="00" * 32),
    "documents.record": lambda s: s.ana.documents.record(s.document, "document.witness.ready", WITNESS),
    "documents.revoke": lambda s: s.ana.documents.revoke(s.document, reason="mine"),
    "documents.archive": lambda s: s.ana.documents.archive(s.document, reason="mine"),
    "documents.retry": lambda s: s.ana.documents.retry(s.document),
    "documents.erase": lambda s: s.ana.documents.erase(s.document, reason="mine"),
    "images.add": lambda s: s.ana.images.add(s.product, png()),
    "images.move": lambda s: s.ana.images.move(s.product, s.image, to=0),
    "images.remove": lambda s: s.ana.images.remove(s.product, s.image),
    "images.render": lambda s: s.ana.images.render(s.image),
    "images.delete": lambda s: s.ana.images.delete(s.product),
    "webhooks.change": lambda s: s.ana.webhooks.change(s.webhook, kinds=["*"]),
    "webhooks.switch": lambda s: s.ana.webhooks.switch(s.webhook, on=False),
    "webhooks.rotate": lambda s: s.ana.webhooks.rotate(s.webhook),
    "webhooks.remove": lambda s: s.ana.webhooks.remove(s.webhook),
    "webhooks.replay": lambda s: s.ana.webhooks.replay(s.webhook, failed=True),
    "images.protect": lambda s: s.ana.images.protect(s.product),
    "threads.erase": lambda s: s.ana.threads.erase(s.talk.id, [0], reason="mine"),
    "jobs.retry": lambda s: s.ana.jobs.retry([s.job]),
    "jobs.cancel": lambda s: s.ana.jobs.cancel([s.job]),
    "jobs.enqueue": lambda s: s.ana.jobs.enqueue("protect_document_v2", s.document, key="mine"),
}


async def _talk(scene: Scene, call: Callable[[Conversation], Awaitable[object]]) -> object:
    return await call(await scene.ana.conversations.open(scene.talk.id))


async def next_seq(talk: Conversation) -> int:
    return (await talk.state()).next_seq


async def known_states(app: TenantApp, document: UUID) -> bool:
    """Return whether the state of a document differs from that of an unknown one."""
    unknown = uuid4()
    found = await app.documents.states([document, unknown])
    return found.get(document) != found.get(unknown)


async def channel_values(app: TenantApp, stream: UUID) -> bool:
    """Return whether an event of a stream is found, although it is not one of a thread."""
    try:
        return bool(await app.threads.values(stream, [("c", 0)]))
    except KeyError:
        return True


async def written(app: TenantApp, document: UUID) -> bytes:
    with io.BytesIO() as file:
        await app.documents.write_bundle(document, file)
        return file.getvalue()


async def forge_each(talk: Conversation) -> object:
    [result] = await talk.append_each([forged(talk)])
    if isinstance(result, FojaError):
        raise result
    return result


def forged(talk: Conversation) -> Draft:
    return talk.draft(SAY, {"content": "forged"})


async def test_no_method_reads_anything_of_another_tenant(scene: Scene, app: App) -> None:
    stranger = replace(scene, ana=app.tenant("eve"))  # who has nothing of her own
    open_to_eve = [name for name, read in READS.items() if not await gives_nothing(read(stranger))]
    assert open_to_eve == []


def test_every_method_of_the_surface_is_tried() -> None:
    """A new method of a service fails here until it is tried above, or is said to need no id."""
    every = {f"{name}.{each}" for name, kind in SURFACE.items() for each in vars_of(kind)}
    tried = {name.partition(" ")[0] for name in READS | WRITES}
    assert every - tried == WITHOUT_AN_ID


def vars_of(kind: type) -> set[str]:
    return {
        name for name in dir(kind) if not name.startswith("_") and iscoroutinefunction(getattr(kind, name))
    }


SURFACE = {
    "conversations": Conversations,
    "conversation": Conversation,
    "webhooks": Webhooks,
    "documents": Documents,
    "images": Images,
    "threads": Threads,
    "jobs": Jobs,
}
# They name nothing that can be of another tenant: they open a handle, add something new, or list one's own.
WITHOUT_AN_ID = {
    "conversation.check_domain",  # of another tenant's stream it says what it says of a new one
    "conversation.emit",  # to the followers of one's own tenant; tried below
    "conversations.open",
    "documents.add",
    "documents.add_digest",
    "documents.check_evidence",
    "documents.failed",
    "documents.versions",
    "images.adopt",
    "images.open",
    "images.rebuild",
    "jobs.close",
    "jobs.paused",
    "webhooks.create",
}


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
    """Return all that bob has, as bob sees it."""
    return (
        await scene.talk.events(),
        await scene.bob.documents.events(scene.document),
        await scene.bob.images.list(scene.product),
        [(job.id, job.state, job.tries) for job in await scene.bob.jobs.list()],
        await scene.bob.conversations.list(),
    )


async def test_the_same_calls_of_its_own_tenant_find_everything(scene: Scene) -> None:
    """The reads above can fail: the same surface of bob answers every one of them."""
    own = replace(scene, ana=scene.bob)
    unanswered = {name for name, read in READS.items() if await gives_nothing(read(own))}
    # Bob has no gap, no proof and no thread, and no worker has looked at his document or his image yet.
    none = {"conversation.gaps", "documents.artifact", "documents.proofs", "documents.states"}
    none |= {"images.thumbhashes", "webhooks.deliveries", "webhooks.delivery"}
    assert unanswered == none | {
        f"threads.{name}"
        for name in ("streams", "checkpoints", "writes", "latest", "about", "await_standbys")
    }


async def test_the_same_bytes_are_another_document_of_each_tenant(app: App) -> None:
    bob, ana = app.tenant("bob"), app.tenant("ana")
    first, second = await bob.documents.add(b"same"), await ana.documents.add(b"same")
    assert first.id != second.id
    assert first.sha256 == second.sha256
    assert bob.threads.stream_of("t") != ana.threads.stream_of("t")


async def test_an_object_of_another_tenant_is_missing(scene: Scene, app: App) -> None:
    view = await scene.bob.images.image(scene.product, scene.image)
    digest = view.url.rpartition(":")[2] if ":" in view.url else view.url
    with pytest.raises(FojaError):
        await app.objects.get("ana", digest)


async def test_follow_and_transients_of_another_tenant_give_nothing(scene: Scene) -> None:
    own, other = scene.talk, await scene.ana.conversations.open(scene.talk.id)
    received: dict[str, list[StreamItem]] = {"bob": [], "ana": []}
    tasks = [
        asyncio.create_task(collect(talk, received[name])) for name, talk in (("bob", own), ("ana", other))
    ]
    try:
        async with asyncio.timeout(30):
            while not any(isinstance(each, Transient) for each in received["bob"]):
                await own.emit("session_start", {})
                await asyncio.sleep(0.01)
            await own.append(SAY, {"content": "more"})
            while len([each for each in received["bob"] if not isinstance(each, Transient)]) < 3:
                await asyncio.sleep(0.01)
            # Bob's own transient arrives, so ana has been listening, and nothing of bob's came before it.
            while not received["ana"]:
                await other.emit("session_end", {})
                await asyncio.sleep(0.01)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert {each.kind for each in received["ana"]} == {"session_end"}
    assert "session_end" not in {each.kind for each in received["bob"]}


async def collect(talk: Conversation, into: list[StreamItem]) -> None:
    async for each in talk.follow():
        into.append(each)


async def test_a_wake_of_one_tenant_does_not_reach_a_follower_of_the_other(scene: Scene) -> None:
    with scene.ana.ledger.watch(scene.talk.id) as anas, scene.bob.ledger.watch(scene.talk.id) as bobs:
        anas.clear()
        await anas.wait()  # the first watch begins to listen, which wakes all watches once
        bobs.clear()
        anas.clear()
        await scene.talk.append(SAY, {"content": "more"})
        assert bobs.grown
        assert not anas.grown


async def test_services_of_a_tenant_are_kept_and_bounded(app: App) -> None:
    assert app.tenant("bob") is app.tenant("bob")
    assert app.tenant("bob").ledger.tenant == "bob"
    assert app.tenant("bob").settings.own_tenant == "bob"
    for n in range(1_100):
        app.tenant(f"tenant-{n}")
    assert app._tenants.cache_info().currsize <= 1_024


@all_cases("name", ["", "system", "a\nb", "a\u202eb", "x" * 201, "é" * 128, "\0", 5])
def test_no_tenant_has_such_a_name(open_app: Callable[..., App], name: str) -> None:
    with pytest.raises(Refused):
        open_app().tenant(name)


async def test_a_process_of_one_tenant_serves_others_too(open_app: Callable[..., App]) -> None:
    """FOJA_TENANT is the default of a process, not its limit: `tenant()` names any other."""
    async with open_app(tenant="bob") as app:
        talk = await app.conversations.open()
        await talk.append(SAY, {"content": "hi"})
        assert await app.conversations.list() == [talk.id]
        assert await app.tenant("ana").conversations.list() == []
        with pytest.raises(UnknownEntity):
            await (await app.tenant("ana").conversations.open(talk.id)).prove(0)
        with pytest.raises(NotCovered):
            await (await app.tenant("bob").conversations.open(talk.id)).prove(0)
