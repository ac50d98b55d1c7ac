"""Many tenants on few connections at once: each reads and writes its own streams, and no other one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from uuid import UUID

import pytest

from foja.app import App
from foja.errors import FojaError, UnknownEntity
from tests.database.schema.rows import Admin

SAY, ROUNDS = "user_message_sent", 25
TENANTS = [f"tenant-{n}" for n in range(6)]


@pytest.mark.parametrize("micro_batch", [True, False], ids=["micro-batch", "one by one"])
async def test_tenants_that_write_at_once_never_meet(
    open_app: Callable[..., App], admin: Admin, *, micro_batch: bool
) -> None:
    async with open_app(connections=2, writers=2, micro_batch=micro_batch) as app:
        streams: dict[str, UUID] = {}
        for tenant in TENANTS:
            talk = await app.tenant(tenant).conversations.open()
            await talk.append(SAY, {"content": tenant})
            streams[tenant] = talk.id

        async def live(tenant: str) -> None:
            """Write, read, try the stream of another tenant, and give up in the middle now and then."""
            own = await app.tenant(tenant).conversations.open(streams[tenant])
            for n in range(ROUNDS):
                await own.append(SAY, {"content": tenant})
                other = random.choice([each for each in TENANTS if each != tenant])
                foreign = await app.tenant(tenant).conversations.open(streams[other])
                with pytest.raises(UnknownEntity):
                    await foreign.append(SAY, {"content": tenant})
                assert await foreign.events() == []
                assert {event.payload["content"] for event in await own.events()} == {tenant}
                reading = asyncio.create_task(own.events())
                await asyncio.sleep(0)
                if n % 3 == 0:
                    reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)

        await asyncio.gather(*map(live, TENANTS))
        for tenant, stream in streams.items():
            talk = await app.tenant(tenant).conversations.open(stream)
            assert [event.payload["content"] for event in await talk.events()] == [tenant] * (ROUNDS + 1)
    mixed = admin.execute("""select count(*) from foja.event v join foja.entity e using (entity_id)
        where v.tenant <> e.tenant or v.payload ->> 'content' <> v.tenant""").fetchone()
    assert mixed == (0,)


async def test_drafts_of_several_tenants_in_one_call_each_get_their_own_verdict(app: App) -> None:
    drafts = []
    for tenant in TENANTS * 3:
        talk = await app.tenant(tenant).conversations.open()
        drafts.append(talk.draft(SAY, {"content": tenant}))
    results = await app.ledger.append_each(drafts)
    assert [getattr(each, "seq", None) for each in results] == [0] * len(drafts)
    foreign = drafts[0]._replace(tenant=TENANTS[1])  # another tenant's name for the stream of the first
    refused, replayed = await app.ledger.append_each([foreign, drafts[1]])
    assert isinstance(refused, UnknownEntity)
    assert getattr(replayed, "replayed", False)
    with pytest.raises(FojaError, match="several tenants"):
        await app.ledger.append_many(drafts[:2])
