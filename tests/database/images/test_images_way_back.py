"""The way back from galleries and up again: the events stay, and the rows are made from them."""

from __future__ import annotations

from foja.domains.registration import prepare
from foja.engine.sql.steps import read_steps
from tests.database.images.shop import Shop
from tests.database.schema.rows import Admin
from tests.docs.pages import docs

BEFORE = next(step.number for step in read_steps() if step.name == "images") - 1


async def test_the_rows_are_made_from_the_events_again(admin: Admin, database_url: str) -> None:
    shop = Shop(admin)
    shop.create()
    images = shop.fill(4)
    shop.say("image.moved", images[3], to=0)
    shop.say("image.removed", images[1], reason="sold")
    shop.say("image.described", images[2], alt="a chair")
    order, text = shop.order, shop.row(images[2])["alt"]
    kinds = shop.kinds()
    await prepare(database_url, to=BEFORE)
    assert admin.execute("select to_regclass('public.product_images')").fetchone() == (None,)
    assert admin.execute("select guard from foja.domain where domain = 'image'").fetchone() == (None,)
    assert shop.kinds() == kinds
    await prepare(database_url)
    assert (shop.order, shop.row(images[2])["alt"], shop.kinds()) == (order, text, kinds)
    assert shop.insert() == 3


def test_the_guide_names_the_step_of_the_way_back() -> None:
    """How the seed's tables are rolled back was written down nowhere."""
    assert f"`foja migrate --to {BEFORE} --yes`" in docs("images").read_text()


async def test_references_are_made_again_after_the_way_back_past_objects(
    admin: Admin, database_url: str
) -> None:
    shop = Shop(admin)
    shop.create()
    digest = shop.object()
    shop.insert(f"foja:sha256/{digest}")
    await prepare(database_url, to=BEFORE - 1)
    await prepare(database_url)
    references = admin.execute("select entity_id, seq, sha256, role from foja.object_reference").fetchall()
    assert references == [(shop.product, 0, digest, "original")]
