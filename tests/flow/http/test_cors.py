"""A page of another origin uses the API, if the settings name its origin; otherwise it is told why it cannot.

An application on another origin failed after ten seconds with "the server does not answer".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import httpx
import pytest

from foja.app import App
from foja.errors import SetupFailed
from tests.flow.access.access_scene import bearer, make_key
from tests.flow.chromium import PROGRAM, chromium
from tests.flow.client.client import SAY, served
from tests.png import png

STORY = """
import {{ connect }} from "./foja.js";
const client = connect({url}, {{ key: {key}, retryMs: 0 }});
window.done = (async () => {{
  const talk = client.conversations.open();
  await talk.append("user_message_sent", {{ content: "hello" }});
  for await (const event of talk.follow()) {{ window.followed = JSON.stringify(event); break; }}
  const added = await client.documents.add(new Blob(["a letter"]), {{ name: "letter.txt" }});
  const tus = {{ "Authorization": "Bearer " + {key}, "Tus-Resumable": "1.0.0", "Upload-Length": "1" }};
  const upload = await fetch({url} + "/v1/uploads", {{ method: "POST", headers: tus }});
  window.location_seen = upload.headers.get("location");
  window.refused = await client.documents.view({missing}).catch((error) => error.code);
  return added.id;
}})().catch((error) => "failed: " + error.message);
"""


def story_of(client: httpx.AsyncClient, key: str) -> str:
    """Return the script of a page that uses a server with a key."""
    values = {"url": str(client.base_url).rstrip("/"), "key": key, "missing": str(uuid4())}
    return STORY.format(**{name: json.dumps(value) for name, value in values.items()})


@contextmanager
def other_origin(folder: Path) -> Iterator[str]:
    """Serve a folder from an origin of its own."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium: apt install chromium")
async def test_a_page_of_a_named_origin_uses_the_api(open_app: Callable[..., App], tmp_path: Path) -> None:
    """Appends, a stream, an upload with the headers of tus, and a problem, by the client in JavaScript."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "foja.js").write_bytes((files("foja.interfaces.web") / "static" / "foja.js").read_bytes())
    (folder / "index.html").write_text('<!doctype html><script type="module" src="story.js"></script>')
    with other_origin(folder) as origin:
        async with open_app(cors_origins=origin) as app, served(app) as client, chromium(tmp_path) as browser:
            story = story_of(client, await make_key(app))
            (folder / "story.js").write_text(story)
            page = await browser.open(f"{origin}/")
            await page.until("'done' in window")
            added = await page.value("window.done")
            assert (await app.documents.open(added)).name == "letter.txt"
            assert "hello" in await page.value("window.followed")
            assert (await page.value("window.location_seen")).startswith("/v1/uploads/")
            assert await page.value("window.refused") == "unknown_entity"


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium: apt install chromium")
async def test_the_client_names_a_refused_origin(app: App, tmp_path: Path) -> None:
    """Without the setting, the error of the client names it."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "foja.js").write_bytes((files("foja.interfaces.web") / "static" / "foja.js").read_bytes())
    (folder / "index.html").write_text('<!doctype html><script type="module" src="story.js"></script>')
    with other_origin(folder) as origin:
        async with served(app) as client, chromium(tmp_path) as browser:
            story = story_of(client, "none")
            (folder / "story.js").write_text(story)
            page = await browser.open(f"{origin}/")
            await page.until("'done' in window")
            told = await page.value("window.done")
    assert told.startswith("failed: the server does not answer")
    assert f"pages of {origin} (CORS): FOJA_CORS_ORIGINS" in told


async def test_every_answer_and_no_other_origin(open_app: Callable[..., App]) -> None:
    """Preflights, problems and files name the origin exactly; no cookie is shared; others get nothing."""
    app_origin, other = "https://app.example.org", "https://evil.example.org"
    ask = {
        "Access-Control-Request-Method": "PATCH",
        "Access-Control-Request-Headers": "upload-offset,tus-resumable",
    }
    async with open_app(cors_origins=app_origin) as app, served(app) as client:
        key = {"Authorization": f"Bearer {await make_key(app)}"}
        asked = await client.options("/v1/uploads/x", headers={"Origin": app_origin, **ask})
        assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (200, app_origin)
        assert "Upload-Offset" in asked.headers["access-control-allow-headers"]
        site = {"Origin": app_origin, "Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"}
        stored = await client.post("/v1/documents?name=a", content=b"a", headers=key | site)
        missing = await client.get("/nothing", headers=key | site)
        for answer, status in ((stored, 201), (missing, 404)):
            assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (status, app_origin)
            assert "access-control-allow-credentials" not in answer.headers
            assert "Upload-Offset" in answer.headers["access-control-expose-headers"]
        for path in ("/v1/documents", "/nothing"):
            answer = await client.get(path, headers=key | {"Origin": other})
            assert "access-control-allow-origin" not in answer.headers
        answer = await client.post("/v1/documents", content=b"a", headers=key | site | {"Origin": other})
        assert answer.status_code == 403


@pytest.mark.parametrize(
    "text",
    [
        *("*", "https://a.example/path", "a.example", "https://u@a.example", "null", "https://A.example"),
        *("https://a.example:443", "http://a.example:80", "https://cañón.example", "https://a.example/"),
    ],
)
def test_a_setting_that_is_not_an_origin_is_refused(open_app: Callable[..., App], text: str) -> None:
    """What no browser sends as it is written was accepted, and matched no page."""
    with pytest.raises(SetupFailed, match="CORS_ORIGINS"):
        open_app(cors_origins=text)


NAMED = "https://app.example.org"
STRANGERS = [
    "null",
    "https://app.example.org.evil.example",
    "https://evil-app.example.org",
    "https://app.example.or",
    "https://app.example.organic",
    "https://sub.app.example.org",
    "http://app.example.org",
    "https://app.example.org:8443",
    "https://app.example.org/",
    "HTTPS://APP.EXAMPLE.ORG",
    "https://app.example.org@evil.example",
    f"{NAMED} https://evil.example",
    "*",
    "",
]
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
# What a browser shows without being told, and what is of the connection and not of the answer.
NOT_SAID = {"content-type", "content-length", "cache-control", "expires", "last-modified", "date", "server"}
NOT_SAID |= {"vary", "connection", "transfer-encoding", "content-security-policy", "x-content-type-options"}
NOT_SAID |= {"referrer-policy", "x-accel-buffering"}


@pytest.mark.parametrize("origin", STRANGERS)
async def test_an_origin_that_is_nearly_the_named_one_is_told_nothing(
    open_app: Callable[..., App], origin: str
) -> None:
    async with open_app(cors_origins=NAMED) as app, served(app) as client:
        client.headers.update(bearer(await make_key(app)) | {"Origin": origin})
        for method in METHODS:
            asked = await client.options(
                "/v1/documents", headers={"Access-Control-Request-Method": method, "Cookie": "foja_session=x"}
            )
            answer = await client.request(method, "/v1/documents")
            for each in (asked, answer):
                assert not [name for name in each.headers if name == "access-control-allow-origin"], method
                assert "access-control-allow-credentials" not in each.headers
                assert "Origin" in each.headers["vary"], method


async def test_every_answer_can_be_read_and_is_not_cached_for_others(
    open_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Problems of every status, streams, uploads and files; an answer without the headers is not reused.

    What a page showed without CORS is in the cache of its browser; a script must not be given that answer.
    """
    async with open_app(cors_origins=f"{NAMED},https://two.example") as app, served(app) as client:
        key, weak = bearer(await make_key(app)), bearer(await make_key(app, ["read"]))
        product = uuid4()
        image = await app.images.add(product, png())
        talk = (await client.post("/v1/conversations", headers=key, json={})).json()["id"]
        await app.conversations.open(talk)
        event = {"kind": SAY, "payload": {"content": "hello"}}
        tus = {"Tus-Resumable": "1.0.0", "Upload-Length": "1"}

        async def broken(**_: object) -> None:
            raise RuntimeError("as a defect would")

        monkeypatch.setattr(
            "foja.domains.documents.service.Documents.list", lambda *_, **more: broken(**more)
        )
        calls: list[tuple[int, str, str, dict[str, Any]]] = [
            (201, "POST", f"/v1/conversations/{talk}/events", {"headers": key, "json": event}),
            (201, "POST", "/v1/uploads", {"headers": key | tus}),
            (204, "OPTIONS", "/v1/uploads", {"headers": key}),
            (200, "GET", f"/v1/products/{product}/images/{image.id}/original", {"headers": key}),
            (
                206,
                "GET",
                f"/v1/products/{product}/images/{image.id}/original",
                {"headers": key | {"Range": "bytes=0-3"}},
            ),
            (401, "GET", "/v1/documents", {}),
            (403, "POST", "/v1/conversations", {"headers": weak, "json": {}}),
            (404, "GET", f"/v1/documents/{uuid4()}", {"headers": key}),
            (405, "PUT", "/v1/documents", {"headers": key}),
            (412, "POST", "/v1/uploads", {"headers": key | tus | {"Tus-Resumable": "0.2"}}),
            (422, "GET", "/v1/documents?limit=x", {"headers": key}),
            (500, "GET", "/v1/documents", {"headers": key}),
        ]
        for origin in (NAMED, "https://two.example", None):
            for status, method, path, more in calls:
                headers = more.get("headers", {}) | ({"Origin": origin} if origin else {})
                answer = await client.request(method, path, **{**more, "headers": headers})
                assert answer.status_code == status, (method, path, answer.text)
                assert answer.headers.get("access-control-allow-origin") == origin, (method, path)
                assert "Origin" in answer.headers["vary"], (method, path)
                shown = answer.headers.get("access-control-expose-headers", "").lower().split(", ")
                said = {name for name in answer.headers if not name.startswith("access-control-")}
                assert origin is None or said - NOT_SAID <= set(shown), (method, path)
            follow = f"/v1/conversations/{talk}/stream"
            headers = key | ({"Origin": origin} if origin else {})
            async with client.stream("GET", follow, headers=headers) as stream:
                assert stream.headers["content-type"].startswith("text/event-stream")
                assert stream.headers.get("access-control-allow-origin") == origin
                assert "Origin" in stream.headers["vary"]
