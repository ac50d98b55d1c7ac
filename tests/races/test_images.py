"""Many writers on one gallery: always 0 to n-1, one main image, and typed conflicts only."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest

from foja.app import App
from foja.domains.images.gallery import Gallery
from foja.engine.observe.audit import audit
from foja.errors import BadPlace, ProductDeleted, Unavailable, UnknownImage, WrongExpectedSeq
from tests.database.schema.rows import Admin

INSERT: LiteralString = "select insert_image_with_order(%s, %s, null)"
PLACES: LiteralString = "select image_order from product_images where product_id = %s order by 1"
CONFLICTS = (BadPlace, UnknownImage, WrongExpectedSeq)
WRITERS = 64


@contextlib.asynccontextmanager
async def connected(url: str, count: int) -> AsyncIterator[list[psycopg.AsyncConnection[Any]]]:
    async with contextlib.AsyncExitStack() as opened:
        connecting = (psycopg.AsyncConnection.connect(url, autocommit=True) for _ in range(count))
        yield [await opened.enter_async_context(await each) for each in connecting]


async def inserted(connection: psycopg.AsyncConnection[Any], product: UUID) -> int:
    row = await (await connection.execute(INSERT, (product, "https://cdn.example/x"))).fetchone()
    assert row is not None
    return int(row[0])


def new_product(admin: Admin) -> UUID:
    product = uuid4()
    admin.execute("insert into products (productid) values (%s)", (product,))
    return product


async def test_ten_calls_at_once_give_zero_to_nine(admin: Admin, database_url: str) -> None:
    async with connected(database_url, 10) as connections:
        for _ in range(20):
            product = new_product(admin)
            places = await asyncio.gather(*(inserted(connection, product) for connection in connections))
            assert sorted(places) == list(range(10))


async def test_another_product_does_not_wait(admin: Admin, database_url: str) -> None:
    slow, free = new_product(admin), new_product(admin)
    async with connected(database_url, 2) as [first, second]:
        async with first.transaction():
            await inserted(first, slow)
            await second.execute("set lock_timeout = '100ms'")
            assert [await inserted(second, free) for _ in range(5)] == list(range(5))
            with pytest.raises(psycopg.errors.LockNotAvailable):
                await inserted(second, slow)
        assert await inserted(second, slow) == 1


async def change(choice: random.Random, gallery: Gallery) -> str:
    view = await gallery.list()
    if len(view) < 2:
        await gallery.add_url("https://cdn.example/x")
        return "add"
    image, to = choice.choice(view).id, choice.randrange(len(view))
    verb = choice.choice(["add", "add", "move", "move", "drag", "main", "remove", "remove"])
    match verb:
        case "add":
            await gallery.add_url("https://cdn.example/x")
        case "move":
            await gallery.move(image, to=to)
        case "drag":
            await gallery.move(image, to=to, expected_seq=view.next_seq)
        case "main":
            await gallery.main(image)
        case _:
            await gallery.remove(image)
    return verb


def check(admin: Admin, product: UUID) -> int:
    places = [place for (place,) in admin.execute(PLACES, (product,)).fetchall()]
    assert places == list(range(len(places)))
    return len(places)


async def test_sixty_four_writers_on_one_product(either_app: App, admin: Admin, database_url: str) -> None:
    gallery, counts = await either_app.images.open(), Counter[str]()

    async def write(number: int) -> None:
        choice = random.Random(number)
        for _ in range(4):
            try:
                counts[await change(choice, gallery)] += 1
            except CONFLICTS as error:
                counts[error.code] += 1

    for _ in range(3):
        await asyncio.gather(*(write(number) for number in range(WRITERS)))
        check(admin, gallery.id)
    assert sum(counts.values()) == 3 * 4 * WRITERS
    assert {"add", "move", "remove", "main"} <= counts.keys()
    assert len(await gallery.events(limit=10_000)) == sum(
        counts[verb] for verb in ("add", "move", "drag", "main", "remove")
    )
    assert (await audit(database_url, max_lag_seconds=60)).clean


async def test_a_product_is_deleted_among_writers(open_app: Callable[..., App], admin: Admin) -> None:
    async with open_app() as app, open_app() as other:
        for _ in range(10):
            product = uuid4()
            await app.images.add_url(product, "https://cdn.example/0")
            outcomes = Counter[str]()

            async def write(app: App, product: UUID = product, outcomes: Counter[str] = outcomes) -> None:
                while True:
                    try:
                        await app.images.add_url(product, "https://cdn.example/x")
                        outcomes["added"] += 1
                    except (ProductDeleted, UnknownImage) as error:
                        outcomes[error.code] += 1
                        if isinstance(error, ProductDeleted):
                            return

            writers = [asyncio.create_task(write(each)) for each in (app, app, other, other)]
            await asyncio.sleep(0.05)
            await asyncio.to_thread(admin.execute, "delete from products where productid = %s", (product,))
            await asyncio.wait_for(asyncio.gather(*writers), 60)
            assert outcomes["product_deleted"] == 4
            assert check(admin, product) == 0
            kinds = Counter(
                event.kind for event in await (await app.images.open(product)).events(limit=10_000)
            )
            assert kinds["image.added"] == kinds["image.removed"]


@pytest.mark.long
async def test_writers_from_python_and_sql_and_rebuilds(app: App, admin: Admin, database_url: str) -> None:
    gallery = await app.images.open()
    await gallery.add_url("https://cdn.example/0")
    clock = asyncio.get_running_loop().time
    ends = clock() + 20

    async def write(number: int) -> None:
        choice = random.Random(number)
        while clock() < ends:
            with contextlib.suppress(*CONFLICTS, Unavailable):
                await change(choice, gallery)

    async def insert(connection: psycopg.AsyncConnection[Any]) -> None:
        while clock() < ends:
            await inserted(connection, gallery.id)
            await asyncio.sleep(0.1)

    async def rebuild() -> None:
        while clock() < ends:
            with contextlib.suppress(Unavailable):
                assert (await app.images.rebuild()).mended == 0
            await asyncio.sleep(0.5)

    async with connected(database_url, 4) as connections:
        await asyncio.gather(*map(write, range(32)), *map(insert, connections), rebuild())
    check(admin, gallery.id)
    assert (await audit(database_url, max_lag_seconds=60)).clean


async def test_the_answer_of_an_append_has_the_place(app: App, admin: Admin, database_url: str) -> None:
    stored = [f"{n:064x}" for n in range(12)]
    for digest in stored:
        admin.execute(
            "insert into foja.object (sha256, generation, state, tenant) values (%s, 0, 'live', 'default')",
            (digest,),
        )
    galleries = [await app.images.open(new_product(admin)) for _ in range(2)]
    bodies: list[dict[str, Any]] = [{"object": digest, "size": 1, "alt": digest[-2:]} for digest in stored]
    events = await asyncio.gather(
        *(galleries[n % 2].append("image.added", body) for n, body in enumerate(bodies))
    )
    for n, event in enumerate(events):
        assert event.result is not None
        assert await galleries[n % 2].after(event) == await galleries[n % 2].image(event.id or "")
    for n, gallery in enumerate(galleries):
        assert sorted(event.result or 0 for event in events[n::2]) == list(range(6))
        assert [image.order for image in await gallery.list()] == list(range(6))
    assert (await audit(database_url, max_lag_seconds=60)).clean
