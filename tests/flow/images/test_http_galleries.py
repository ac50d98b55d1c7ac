"""Galleries over HTTP: images in a gapless order, and their bytes as browsers may keep them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from foja.app import App
from tests.flow.http.described import Described, described
from tests.png import png

ALL = "/v1/products/{product_id}/images"
ONE = f"{ALL}/{{image_id}}"


@pytest.fixture
async def api(app: App) -> AsyncIterator[Described]:
    async with described(app) as api:
        yield api


async def test_the_story_of_a_gallery(app: App, api: Described) -> None:
    one = {"product_id": str(uuid4())}
    key = {"Idempotency-Key": "k"}
    first = (await api.call("POST", ALL, 201, content=png(red=1), headers=key, **one)).json()
    again = (await api.call("POST", ALL, 200, content=png(red=1), headers=key, **one)).json()
    assert (again["id"], first["width"], first["main"]) == (first["id"], 8, True)
    form = {"file": ("chair.png", png(red=2), "image/png")}
    second = (await api.call("POST", ALL, 201, files=form, data={"alt": "a chair"}, **one)).json()
    assert (second["order"], second["alt"], second["name"]) == (1, "a chair", "chair.png")
    third = (await api.call("POST", ALL, 201, {"url": "https://cdn.example/x.jpg"}, **one)).json()
    await api.call("POST", ALL, 422, content=b"no image", **one)
    gallery = (await api.call("GET", ALL, 200, **one)).json()
    assert [each["id"] for each in gallery["images"]] == [first["id"], second["id"], third["id"]]
    at = {**one, "image_id": second["id"]}
    moved = await api.call("POST", f"{ONE}/move", 200, {"to": 0, "expected_seq": gallery["next_seq"]}, **at)
    assert moved.json()["main"]
    await api.call("POST", f"{ONE}/move", 409, {"to": 1, "expected_seq": gallery["next_seq"]}, **at)
    assert (await api.call("POST", f"{ONE}/describe", 200, {"alt": ""}, **at)).json()["alt"] is None
    assert (await api.call("GET", ONE, 200, **one, image_id="0")).json()["id"] == second["id"]
    await api.call("POST", f"{ONE}/move", 409, {"to": 1, "expected_seq": 1}, **one, image_id="0")
    await api.call("GET", ONE, 404, **one, image_id="3")
    assert (await api.call("PUT", ONE, 200, content=png(width=9), **at)).json()["width"] == 9
    removed = {**one, "image_id": third["id"]}
    assert (await api.call("DELETE", ONE, 200, query="?reason=sold", **removed)).json()[
        "kind"
    ] == "image.removed"
    await api.call("GET", ONE, 404, **removed)
    before = (await api.call("GET", ALL, 200, query="?at=3", **one)).json()
    assert len(before["images"]) == 3
    await app.work(until_idle=True)
    await _bytes(api, at, png(width=9))
    document = (await api.call("POST", "/v1/products/{product_id}/protect", 201, {}, **one)).json()
    assert document["custody"] == "stored"
    products = (await api.call("GET", "/v1/products", 200, query="?limit=1")).json()
    assert products["products"] == [{"id": one["product_id"]}]
    assert [*api.uncalled("/v1/products")] == []


async def _bytes(api: Described, at: dict[str, str], original: bytes) -> None:
    image = (await api.call("GET", ONE, 200, **at)).json()
    assert (await api.call("GET", f"{ONE}/rendering", 200, **at)).json()["status"] == "success"
    name, address = next(iter(image["variants"].items()))
    whole = await api.call("GET", f"{ONE}/variants/{{variant}}", 200, variant=name, **at)
    assert whole.headers["cache-control"] == "private, no-cache"
    kept = await api.client.get(address)
    assert (kept.content, kept.headers["etag"]) == (whole.content, whole.headers["etag"])
    assert "immutable" in kept.headers["cache-control"]
    assert kept.headers["x-content-type-options"] == "nosniff"
    assert kept.headers["content-type"].startswith("image/")
    unchanged = await api.client.get(address, headers={"If-None-Match": kept.headers["etag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    part = await api.client.get(address, headers={"Range": "bytes=-5"})
    assert (part.status_code, part.content) == (206, whole.content[-5:])
    other = f"?v={'0' * 64}"
    await api.call("GET", f"{ONE}/variants/{{variant}}", 404, query=other, variant=name, **at)
    raw = await api.call("GET", f"{ONE}/original", 200, **at)
    assert raw.content == original
    assert raw.headers["content-type"] == "application/octet-stream"
    assert raw.headers["content-disposition"].startswith("attachment;")
    assert (await api.call("POST", f"{ONE}/render", 200, **at)).json() == {"images": 1}
    assert (await api.call("POST", f"{ALL}/render", 200, product_id=at["product_id"])).json() == {"images": 0}


async def test_an_image_over_the_limit_is_refused_before_it_is_read(app: App) -> None:
    app.settings = app.settings.model_copy(update={"image_max_mb": 0.1})
    async with described(app) as api:
        await api.call("POST", ALL, 413, content=bytes(300_000), product_id=uuid4())
