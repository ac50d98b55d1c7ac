"""Variants of images: rendered by a worker, recorded with its job, shown as the seed shows them."""

from __future__ import annotations

import asyncio
import io
from base64 import b64decode
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from PIL import Image as Picture

import foja
from foja.app import App
from foja.domains.images.decoder.pool import Decoders
from foja.errors import AttemptsSpent, ImageRefused, UnknownImage
from foja.pure.models.images.variants import specs_of
from tests import pictures
from tests.cases import all_cases
from tests.flow.command import Run
from tests.flow.http.described import described
from tests.png import png

ONE = "/v1/products/{product_id}/images/{image_id}"
NAMES = {spec.name for spec in specs_of("catalog", "jpeg webp")}
PHOTO = pictures.with_gps(pictures.photo(640, 480), 6)


def row(app: App, image: UUID) -> dict[str, object]:
    """The row of an image in the seed's table."""
    with psycopg.connect(app.settings.database_url, row_factory=psycopg.rows.dict_row) as connection:
        query = "select * from public.image_thumbnail_jobs where product_image_id = %s"
        found = connection.execute(query, [image]).fetchone()
    assert found is not None
    return found


def count(app: App, query: str) -> int:
    with psycopg.connect(app.settings.database_url) as connection:
        found = connection.execute(query).fetchone()
    assert found is not None
    return int(found[0])


async def test_an_upload_is_checked_stored_and_rendered(app: App) -> None:
    product = uuid4()
    image = await app.images.add(product, PHOTO)
    assert dict(image.metadata) | {"size": 0} == {
        "media_type": "image/jpeg",
        "width": 640,
        "height": 480,
        "frames": 1,
        "size": 0,
    }
    assert (await app.images.rendering(image)).status == "queued"
    await app.work(until_idle=True)
    [shown] = await app.images.list(product)
    assert shown.variants.keys() == NAMES
    assert shown.thumbnail_url == shown.variants["desktop"]
    assert await app.images.content(product, image.id) == PHOTO
    desktop = Picture.open(io.BytesIO(await app.images.content(product, image.id, "desktop")))
    assert (desktop.format, desktop.size) == ("JPEG", (320, 260))
    state = await app.images.rendering(image.id)
    assert (state.status, state.attempts, state.last_error, state.skipped) == ("success", 1, None, None)
    assert state.duration_ms is not None
    assert state.duration_ms > 0


async def test_each_variant_is_an_event_with_its_identity(app: App) -> None:
    product = uuid4()
    image = await app.images.add(product, PHOTO)
    await app.work(until_idle=True)
    events = [
        each for each in await (await app.images.open(product)).events() if each.kind == "image.rendered"
    ]
    specs = {spec.name: spec for spec in specs_of("catalog", "jpeg webp")}
    assert {each.payload["variant"] for each in events} == NAMES
    for each in events:
        spec = specs[each.payload["variant"]]
        assert each.payload["spec"] == spec.digest
        assert (each.payload["original"], each.payload["image_id"]) == (image.object, str(image.id))
        assert (each.payload["width"], each.payload["height"]) == (spec.width, spec.height)
        assert each.payload["ms"] > 0
        assert 5 < len(b64decode(each.payload["thumbhash"])) < 40
    live = f"select count(*) from foja.object_reference where entity_id = '{product}' and role = 'variant'"
    assert count(app, live) == len(NAMES)


@all_cases(
    ("data", "code"),
    [
        (b"", "image_empty"),
        (b"<svg xmlns='x'><script/></svg>", "image_svg"),
        (PHOTO[: len(PHOTO) // 2], "image_cut_short"),
        (b"%!PS-Adobe", "image_not_raster"),
    ],
)
async def test_a_refused_upload_leaves_nothing(app: App, data: bytes, code: str) -> None:
    product = uuid4()
    with pytest.raises(ImageRefused) as refused:
        await app.images.add(product, data)
    assert refused.value.code == code
    assert count(app, "select count(*) from foja.object") == 0
    assert count(app, "select count(*) from public.products") == 0


async def test_an_address_elsewhere_is_skipped_with_its_reason(app: App) -> None:
    product = uuid4()
    image = await app.images.add_url(product, "https://cdn.example/front.jpg")
    await app.work(until_idle=True)
    state = await app.images.rendering(image)
    assert (state.status, state.attempts) == ("success", 1)
    assert state.skipped is not None
    assert state.skipped.startswith("external")
    assert [each.kind for each in await (await app.images.open(product)).events()] == [
        "image.added",
        "image.skipped",
    ]


async def test_without_the_extra_images_are_recorded_and_skipped(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Decoders, "renders", property(lambda self: False))
    product = uuid4()
    image = await app.images.add(product, png())
    await app.work(until_idle=True)
    state = await app.images.rendering(image)
    assert state.status == "success"
    assert state.skipped is not None
    assert "foja[images]" in state.skipped
    monkeypatch.undo()
    assert await app.images.render() == 1
    await app.work(until_idle=True)
    assert (await app.images.image(product, image.id)).variants.keys() == NAMES
    assert (await app.images.rendering(image)).skipped is None


async def test_one_image_is_rendered_again_by_hand(app: App) -> None:
    product = uuid4()
    image = await app.images.add(product, PHOTO)
    await app.work(until_idle=True)
    before = (await app.images.list(product)).next_seq
    assert await app.images.render() == 0
    assert await app.images.render(image) == 1
    assert (await app.images.rendering(image)).status == "queued"
    await app.work(until_idle=True)
    after = await app.images.list(product)
    assert after.next_seq == before + len(NAMES)
    assert after[0].variants.keys() == NAMES
    live = "select count(*) from foja.object_reference where role = 'variant'"
    assert count(app, live) == len(NAMES)
    with pytest.raises(UnknownImage):
        await app.images.render(uuid4())


def test_what_failed_as_often_as_allowed_needs_force(
    open_app: Callable[..., App], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every retry of an image that is no image began again with no attempts, and was tried without an end."""
    monkeypatch.setenv("FOJA_THUMBNAIL_MAX_ATTEMPTS", "3")
    product, retry = uuid4(), {"what": ["images"]}

    async def spend() -> dict[str, str]:
        async with open_app() as app, described(app) as api:
            document = await app.documents.add(b"no image")
            event = await (await app.images.open(product)).append("image.added", {"object": document.sha256})
            image, retried = str(event.id), []
            for _ in range(4):
                await app.work(until_idle=True)
                state = await app.images.rendering(image)
                answer = (await api.call("POST", "/v1/maintenance/retry", 200, retry)).json()
                retried.append((state.attempts, state.spent, answer["images"]))
            assert retried == [(1, False, 1), (2, False, 1), (3, True, 0), (3, True, 0)]
            assert await app.images.render(product_id=product) == 0
            with pytest.raises(AttemptsSpent, match="tried 3 times"):
                await app.images.render(image)
            at = {"product_id": str(product), "image_id": image}
            refused = await api.call("POST", f"{ONE}/render", 409, **at)
            assert refused.json()["code"] == "attempts_spent"
            return at

    async def force(at: dict[str, str]) -> None:
        async with open_app() as app, described(app) as api:
            assert (await app.images.rendering(at["image_id"])).attempts == 0
            for _ in range(3):
                await app.work(until_idle=True)
                await app.images.render()
            forced = await api.call("POST", "/v1/maintenance/retry", 200, {**retry, "force": True})
            assert forced.json()["images"] == 1
            await app.work(until_idle=True)
            await api.call("POST", f"{ONE}/render", 200, query="?force=true", **at)
            assert (await app.images.rendering(at["image_id"])).attempts == 0

    at = asyncio.run(spend())
    assert run("images", "render", at["image_id"]).code == 1
    assert run("images", "render", "--json").document == {"queued": 0}
    assert run("images", "render", at["image_id"], "--force", "--json").document == {"queued": 1}
    asyncio.run(force(at))


async def test_a_replaced_image_loses_its_variants_and_gets_others(app: App) -> None:
    product = uuid4()
    image = await app.images.add(product, png(red=1))
    await app.work(until_idle=True)
    first = (await app.images.image(product, image.id)).variants
    await app.images.replace(product, image.id, PHOTO)
    assert (await app.images.image(product, image.id)).variants == {}
    assert count(app, "select count(*) from foja.object_reference") == 1
    await app.work(until_idle=True)
    second = (await app.images.image(product, image.id)).variants
    assert second.keys() == NAMES
    assert not set(first.values()) & set(second.values())
    await app.images.remove(product, image.id)
    assert count(app, "select count(*) from foja.object_reference") == 0
    assert count(app, "select count(*) from public.image_thumbnail_jobs") == 0
    assert count(app, "select count(*) from foja.image_variant") == 0


async def test_an_erased_image_keeps_no_variant(app: App) -> None:
    product = uuid4()
    image = await app.images.add(product, PHOTO)
    await app.work(until_idle=True)
    await (await app.images.open(product)).erase(0, reason="asked")
    assert (await app.images.image(product, image.id)).variants == {}
    assert count(app, "select count(*) from foja.object_reference") == 0


async def test_a_job_of_an_image_that_is_gone_ends_without_an_event(app: App) -> None:
    product = uuid4()
    image = await app.images.add(product, PHOTO)
    await app.images.remove(product, image.id)
    await app.work(until_idle=True)
    assert [each.kind for each in await (await app.images.open(product)).events()] == [
        "image.added",
        "image.removed",
    ]
    assert (
        count(app, "select count(*) from foja.job where type = 'render_image' and state = 'succeeded'") == 1
    )


async def test_a_changed_set_is_rendered_in_the_background_within_a_limit(app: App) -> None:
    products = [uuid4() for _ in range(3)]
    for product in products:
        await app.images.add(product, PHOTO)
    await app.work(until_idle=True)
    settings: dict[str, Any] = {"database_url": app.settings.database_url, "home": app.settings.home}
    async with foja.connect(**settings, thumbnail_sets="responsive", thumbnail_backlog=2) as changed:
        for _ in range(4):
            await changed.work(until_idle=True)
            waiting = "select count(*) from foja.job where type = 'render_image' and priority = 2"
            assert count(changed, f"{waiting} and state = 'queued'") <= 2
            for chore in changed._chores:
                await chore()
        variants = {name for product in products for name in (await changed.images.list(product))[0].variants}
    assert variants >= {"w320", "w640.webp"} | NAMES


async def test_the_rows_are_rebuilt_from_jobs_and_events(app: App) -> None:
    product = uuid4()
    image = await app.images.add(product, PHOTO)
    other = await app.images.add_url(product, "https://cdn.example/front.jpg")
    await app.work(until_idle=True)
    wanted = [row(app, each.id) for each in (image, other)]
    with psycopg.connect(app.settings.database_url) as connection:
        connection.execute("delete from public.image_thumbnail_jobs")
        connection.execute("delete from foja.image_variant")
    assert (await app.images.rebuild()).mended == 1
    for before, after in zip(wanted, (row(app, each.id) for each in (image, other)), strict=True):
        for name in ("status", "attempts", "last_error", "error_code", "skipped", "job_id", "completed_at"):
            assert (name, after[name]) == (name, before[name])
    assert (await app.images.rebuild()).mended == 0
    assert (await app.images.image(product, image.id)).variants.keys() == NAMES
