"""Resumable uploads over HTTP (tus 1.0): parts, cuts, expiry, and whose they are."""

from __future__ import annotations

import hashlib
import os
import stat
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import httpx
import pytest

from foja.app import App
from foja.engine.blobs.uploads import PartialUploads
from tests.cases import all_cases
from tests.flow.access.access_scene import ME
from tests.flow.http.described import Described, described
from tests.png import png

UPLOADS, ONE = "/v1/uploads", "/v1/uploads/{token}"
TUS = {"Tus-Resumable": "1.0.0"}
CHUNK = {**TUS, "Content-Type": "application/offset+octet-stream"}


@pytest.fixture
async def api(app: App) -> AsyncIterator[Described]:
    async with described(app) as api:
        yield api


def metadata(**values: str) -> dict[str, str]:
    pairs = [f"{name} {b64encode(value.encode()).decode()}" for name, value in values.items()]
    return {"Upload-Metadata": ",".join(pairs)}


async def create(api: Described, length: int, status: int = 201, **values: str) -> str:
    headers = {**TUS, "Upload-Length": str(length), **metadata(**values)}
    answer = await api.call("POST", UPLOADS, status, headers=headers)
    assert answer.headers.get("upload-expires") or status != 201
    return str(answer.headers.get("location", "")).rpartition("/")[2]


async def send(
    api: Described, token: str, at: int, data: bytes, status: int = 204, checksum: str | None = None
) -> Any:
    stated = {"Upload-Checksum": f"sha256 {checksum}"} if checksum else {}
    headers = {**CHUNK, "Upload-Offset": str(at), **stated}
    return await api.call("PATCH", ONE, status, content=data, headers=headers, token=token)


async def offset(api: Described, token: str) -> int:
    answer = await api.call("HEAD", ONE, 200, headers=TUS, token=token)
    assert answer.headers["cache-control"] == "no-store"
    return int(answer.headers["upload-offset"])


async def test_a_document_in_three_parts(app: App, api: Described) -> None:
    about = (await api.call("OPTIONS", UPLOADS, 204)).headers
    assert "termination" in about["tus-extension"]
    assert int(about["tus-max-size"]) == app.settings.upload_bytes
    data = os.urandom(300_000)
    token = await create(api, len(data), filename="video.mp4", filetype="video/mp4", protect="tsa")
    await send(api, token, 0, data[:100_000])
    folder = app.settings.home / "uploads" / token
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()} == {0o600}
    await send(api, token, 0, data[:100_000], 409)
    assert await offset(api, token) == 100_000
    part = data[100_000:200_000]
    digest = b64encode(hashlib.sha256(part).digest()).decode()
    await send(api, token, 100_000, part[::-1], 460, digest)
    assert await offset(api, token) == 100_000
    await send(api, token, 100_000, part, 204, digest)
    assert not (await api.call("GET", ONE, 200, token=token)).json()["finished"]
    await send(api, token, 200_000, data[200_000:])
    found = (await api.call("GET", ONE, 200, token=token)).json()
    assert (found["finished"], found["document"]["name"]) == (True, "video.mp4")
    assert found["document"]["sha256"] == hashlib.sha256(data).hexdigest()
    assert not (folder / "data").exists(), "the part was not removed"
    view = await app.documents.view(found["document"]["id"])
    assert view.required_evidence == ("tsa",)
    assert await offset(api, token) == len(data)
    await send(api, token, len(data), b"", 409)
    await api.call("DELETE", ONE, 204, headers=TUS, token=token)
    await api.call("GET", ONE, 404, token=token)
    assert [*api.uncalled(UPLOADS)] == []


async def test_an_image_by_its_metadata(app: App, api: Described) -> None:
    product = str(uuid4())
    data = png()
    headers = {
        **CHUNK,
        "Upload-Length": str(len(data)),
        **metadata(target="image", product_id=product, alt="x"),
    }
    answer = await api.call("POST", UPLOADS, 201, content=data, headers=headers)
    assert answer.headers["upload-offset"] == str(len(data))
    found = (await api.client.get(answer.headers["location"])).json()
    assert (found["image"]["alt"], found["image"]["order"]) == ("x", 0)
    address = f"/v1/products/{product}/images/{found['image']['id']}"
    assert found["image"] == (await api.client.get(address)).json()
    token = await create(api, 8, target="image", product_id=product)
    await send(api, token, 0, b"no image", 422)
    assert (await api.call("GET", ONE, 200, token=token)).json()["problem"]["error"] == "ImageRefused"
    for wrong in ({"target": "x"}, {"target": "image"}, {"other": "x"}):
        await create(api, 8, 422, **wrong)


async def test_an_empty_document(api: Described) -> None:
    token = await create(api, 0)
    assert (await api.call("GET", ONE, 200, token=token)).json()["document"]["size"] == 0


@all_cases(
    ("headers", "status"),
    [
        ({"Upload-Length": "5"}, 412),
        ({**TUS}, 400),
        ({**TUS, "Upload-Length": "-5"}, 400),
        ({**TUS, "Upload-Length": "²"}, 400),
        ({**TUS, "Upload-Length": "5", "Upload-Metadata": "name ***"}, 400),
        ({**TUS, "Upload-Length": "5", "Upload-Metadata": "name /w=="}, 400),
        ({**TUS, "Upload-Length": "99999999999999"}, 413),
    ],
)
async def test_a_wrong_creation_is_refused(api: Described, headers: dict[str, str], status: int) -> None:
    encoded = httpx.Headers({name: value.encode() for name, value in headers.items()})  # type: ignore[arg-type]
    await api.call("POST", UPLOADS, status, headers=encoded)


async def test_an_upload_belongs_to_one_tenant_and_principal(
    app: App, api: Described, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await create(api, 10)
    upload = app.uploads.find(token, "default", ME)
    for tenant, actor in (("default", "other"), ("other", ME)):
        others = replace(upload, tenant=tenant, actor=actor)
        monkeypatch.setattr(PartialUploads, "_read", lambda *_, others=others: others)
        await api.call("GET", ONE, 404, token=token)
        await api.call("HEAD", ONE, 404, headers=TUS, token=token)
        await send(api, token, 0, b"x", 404)
        await api.call("DELETE", ONE, 404, headers=TUS, token=token)
    monkeypatch.undo()
    for wrong in ("x", "a" * 43):
        assert (await api.client.get(f"{UPLOADS}/{wrong}")).status_code in (404, 405)
    assert await offset(api, token) == 0


async def test_uploads_expire_and_have_a_limit(app: App) -> None:
    limits = {"upload_seconds": 0.2, "upload_space_mb": 0.001}
    app.settings = app.settings.model_copy(update=limits)
    async with described(app) as api:
        token = await create(api, 900)
        await send(api, token, 0, b"x" * 901, 413)
        await create(api, 200, 429)
        while (await api.client.get(f"{UPLOADS}/{token}")).status_code != 404:
            pass
        await app.uploads.sweep()
        assert not [*(app.settings.home / "uploads").iterdir()]
        await create(api, 900)
