"""Uploads through the pages have the limits of the API, and the page says which one."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable

from foja.app import App
from tests.flow.client.client import served
from tests.pictures import encoded, photo


async def objects(app: App) -> int:
    [(count,)] = await app.sweeper.rows("select count(*) from foja.object")
    return int(count)


async def test_files_over_the_limit_of_an_upload_are_refused_before_they_are_read(
    open_app: Callable[..., App],
) -> None:
    async with open_app(upload_max_mb=0.5) as app, served(app) as client:
        page = (await client.get("/documents")).text
        assert 'data-most="500000"' in page
        assert "Up to 500 KB each." in page
        for path in ("/documents", "/galleries"):
            sent = await client.post(path, files={"file": ("large.bin", b"x" * 600_000, "")})
            assert sent.status_code == 413, path
            assert "This is too large" in sent.text
            assert "the limit is 500,000 (FOJA_UPLOAD_MAX_MB)" in sent.text
        assert await objects(app) == 0
        assert (await client.post("/documents", files={"file": ("a", b"x" * 400_000, "")})).status_code == 303


async def test_a_form_that_does_not_say_its_size_is_refused(app: App) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"--x\r\nContent-Disposition: form-data; name=file; filename=a\r\n\r\nbytes\r\n--x--\r\n"

    async with served(app) as client:
        kind = {"Content-Type": "multipart/form-data; boundary=x"}
        refused = await client.post("/documents", content=pieces(), headers=kind)
        assert refused.status_code == 411
        assert "send Content-Length" in refused.text


async def test_no_image_is_added_if_one_of_them_is_over_the_limit(open_app: Callable[..., App]) -> None:
    async with open_app(image_max_mb=0.1) as app, served(app) as client:
        small, large = encoded(photo(64, 48, 1)), os.urandom(200_000)
        files = [("file", ("small.jpg", small, "image/jpeg")), ("file", ("large.jpg", large, "image/jpeg"))]
        refused = await client.post("/galleries", files=files)
        assert refused.status_code == 413
        assert "large.jpg has 200,000 bytes and the limit is 100,000 (FOJA_IMAGE_MAX_MB)" in refused.text
        assert await objects(app) == 0
        assert await app.images.products() == []
