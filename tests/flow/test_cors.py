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
from uuid import uuid4

import httpx
import pytest

from foja.app import App
from foja.errors import SetupFailed
from tests.flow.access_scene import make_key
from tests.flow.chromium import PROGRAM, chromium
from tests.flow.client import served

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
    (folder / "foja.js").write_bytes((files("foja.web") / "static" / "foja.js").read_bytes())
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
    (folder / "foja.js").write_bytes((files("foja.web") / "static" / "foja.js").read_bytes())
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


@pytest.mark.parametrize("text", ["*", "https://a.example/path", "a.example", "https://u@a.example", "null"])
def test_a_setting_that_is_not_an_origin_is_refused(open_app: Callable[..., App], text: str) -> None:
    with pytest.raises(SetupFailed, match="CORS_ORIGINS"):
        open_app(cors_origins=text)
