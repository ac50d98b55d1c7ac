"""Galleries: the seed's function with its advisory lock, Foja's from SQL, and Foja from Python."""

from __future__ import annotations

from contextlib import AsyncExitStack
from hashlib import sha256
from uuid import UUID, uuid4

import foja
from bench.contenders.connections import Connection, connect, disconnect, execute, fetch, query
from bench.database import BenchDatabase
from bench.harness import Role
from foja.domains.images.gallery import Gallery
from foja.domains.registration import prepare

OBJECTS = 50_000  # stored; the calls use them in turn
SEED, SQL, PYTHON = "seed 003, advisory lock", "foja, SQL", "foja, Python"


def digest(call: int) -> str:
    """Return the digest of the object of a call."""
    return sha256(str(call % OBJECTS).encode()).hexdigest()


class SeedGallery:
    """The function of the seed: a lock, max + 1, a plain insert. No events, no references, no jobs."""

    name, note = SEED, "one row per image and nothing else"
    role: Role = "baseline"
    lossless = False
    blocking = False

    def __init__(self) -> None:
        self.products: list[UUID] = []
        self._url = ""
        self._connections: list[Connection] = []

    async def create(self, database: BenchDatabase, streams: int) -> None:
        self._url = database.url
        await self._make(database.url)
        self.products = [uuid4() for _ in range(streams)]
        await self.open(1)
        for call, product in enumerate(self.products):
            await execute(database.url, "make_product", product=product)
            await self.append(0, call, call)
        await self.close()

    async def _make(self, url: str) -> None:
        await execute(url, "make_seed_gallery")

    async def open(self, callers: int) -> None:
        self._connections = await connect(self._url, callers)

    async def append(self, caller: int, call: int, stream: int) -> None:
        values = (self.products[stream], f"foja:sha256/{digest(call)}")
        await self._connections[caller].execute(query("add_in_order"), values, prepare=True)

    async def append_list(self, caller: int, call: int, stream: int, size: int) -> None:
        raise NotImplementedError("an image is added by itself")

    async def close(self) -> None:
        await disconnect(self._connections)

    async def count(self) -> int:
        return int((await fetch(self._url, "count_images"))[0][0])


class FojaSqlGallery(SeedGallery):
    """The same call on Foja: an event with its chain, the row, the reference, the job that renders it."""

    name, note = SQL, "the seed's call"
    role: Role = "foja"
    lossless = True

    async def open(self, callers: int) -> None:
        await super().open(callers)
        for connection in self._connections:
            await connection.execute("set role foja_api; set foja.tenant = 'default'")

    async def _make(self, url: str) -> None:
        await prepare(url)
        await execute(url, "make_gallery_objects", count=OBJECTS)
        await execute(url, "lift_gallery_limit")


class FojaGallery(FojaSqlGallery):
    """One process of Foja with micro-batching; every call returns the image with its place."""

    name, note = PYTHON, "with micro-batching; every call returns the image with its place"

    async def create(self, database: BenchDatabase, streams: int) -> None:
        self._database, self._opened = database, AsyncExitStack()
        await super().create(database, streams)

    async def open(self, callers: int) -> None:
        app = await self._opened.enter_async_context(
            foja.connect(database_url=self._database.url, home=self._database.folder)
        )
        self._galleries: list[Gallery] = [await app.images.open(product) for product in self.products]

    async def append(self, caller: int, call: int, stream: int) -> None:
        gallery = self._galleries[stream]
        event = await gallery.append("image.added", {"object": digest(call), "size": 1000})
        await gallery.after(event)

    async def close(self) -> None:
        await self._opened.aclose()
