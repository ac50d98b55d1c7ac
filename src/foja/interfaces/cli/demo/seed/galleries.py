"""Galleries: images that were moved, replaced, described and removed, and one that is stored elsewhere."""

from __future__ import annotations

from uuid import UUID

from foja.app import App
from foja.domains.images.gallery import Gallery
from foja.interfaces.cli.demo.seed.drawings import chair, lamp, table
from foja.pure.models.images.gallery import Image

ACTOR = "demo"
CHAIRS = UUID("0de00000-0000-4000-8000-000000000101")
LAMPS = UUID("0de00000-0000-4000-8000-000000000102")
TABLES = UUID("0de00000-0000-4000-8000-000000000103")
SUPPLIER = UUID("0de00000-0000-4000-8000-000000000200")
OAK, WALNUT, ASH, STEEL = (181, 137, 84), (92, 62, 42), (222, 202, 164), (120, 130, 140)


async def seed_galleries(app: App) -> int:
    """Fill each gallery that is empty, and return how many were."""
    stories = {CHAIRS: _chairs, LAMPS: _lamps, TABLES: _tables}
    new = 0
    for product_id, write in stories.items():
        gallery = await app.images.open(product_id)
        if not await gallery.events(limit=1):
            await write(gallery)
            new += 1
            if product_id == CHAIRS:
                await app.publish()  # what is protected must be sealed
                await app.images.protect(CHAIRS, ["tsa"])
    return new


async def _chairs(gallery: Gallery) -> None:
    """Four chairs; the last one became the main image, and one was replaced."""
    for name, wood in {"oak": OAK, "walnut": WALNUT, "ash": ASH}.items():
        await _add(gallery, chair(wood), f"A chair of {name}", f"chair-{name}.png")
    steel = await _add(gallery, chair(STEEL), "A chair of steel", "chair-steel.png")
    await gallery.main(steel.id, actor=ACTOR)
    await gallery.replace((await gallery.list())[1].id, chair(OAK, width=800), actor=ACTOR)


async def _lamps(gallery: Gallery) -> None:
    """Two lamps, and a third that was removed."""
    first = await _add(gallery, lamp(STEEL), None, "lamp.png")
    await _add(gallery, lamp(OAK), "A lamp with a shade of oak", "lamp-oak.png")
    bad = await _add(gallery, lamp(WALNUT), "A blurred picture", "lamp-blurred.png")
    await gallery.remove(bad.id, reason="blurred", actor=ACTOR)
    await gallery.describe(first.id, "A lamp of steel", actor=ACTOR)


async def _tables(gallery: Gallery) -> None:
    """A table, and one whose picture is stored elsewhere: it is never fetched, and has no variants."""
    await _add(gallery, table(ASH), "A table of ash", "table.png")
    await gallery.add_url(
        "https://images.example/table.jpg", alt="The same table, stored elsewhere", actor=ACTOR
    )


async def _add(gallery: Gallery, drawing: bytes, alt: str | None, name: str) -> Image:
    return await gallery.add(drawing, supplier_id=SUPPLIER, alt=alt, name=name, actor=ACTOR)
