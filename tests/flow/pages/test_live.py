"""The pages in a real browser: upload to final, reorder, verify by drop, approvals in two tabs."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from foja.app import App
from tests.flow.access.access_scene import ME
from tests.flow.chromium import PROGRAM, Page, chromium
from tests.flow.client.client import served
from tests.flow.pages.scene import EVIL
from tests.pictures import encoded, photo
from tests.worker_task import working

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium: apt install chromium")
DROP = """(() => {{
  const data = new DataTransfer();
  const bytes = Uint8Array.from(atob({data}), each => each.charCodeAt(0));
  data.items.add(new File([bytes], {name}));
  document.querySelector({zone}).dispatchEvent(
    new DragEvent('drop', {{ dataTransfer: data, bubbles: true, cancelable: true }}));
}})()"""
CHOOSE = """(() => {{
  const data = new DataTransfer();
  const bytes = Uint8Array.from(atob({data}), each => each.charCodeAt(0));
  data.items.add(new File([bytes], {name}));
  document.querySelector({zone}).files = data.files;
}})()"""
ORDER = "JSON.stringify(Array.from(document.querySelectorAll('[data-image]'), each => each.dataset.image))"


async def give(page: Page, script: str, zone: str, name: str, data: bytes) -> None:
    """Drop or choose a file."""
    values = {"data": base64.b64encode(data).decode(), "name": name, "zone": zone}
    await page.value(script.format(**{key: json.dumps(value) for key, value in values.items()}))


async def test_an_upload_is_followed_to_final_on_the_screen(
    open_app: Callable[..., App], tmp_path: Path
) -> None:
    async with (
        open_app(checkpoint_seconds=0.2) as app,
        working(app),
        served(app) as client,
        chromium(tmp_path) as browser,
    ):
        page = await browser.open(f"{client.base_url}/documents")
        await page.until("document.querySelector('.drop') && document.readyState === 'complete'")
        await give(page, DROP, ".drop", f"{EVIL}.txt".replace("/", ""), b"a letter")
        await page.until("location.pathname.startsWith('/documents/')")
        await page.until("document.querySelector('[data-part=badges]').innerText.includes('final')", 90)
        await page.until("document.querySelectorAll('[data-status=confirmed]').length === 2")
        assert await page.value("document.querySelectorAll('.timeline li').length") == 6
        assert await page.value("document.querySelector('h1').innerText.startsWith('“<script>')")
        assert await page.value("window.evil ?? null") is None
        assert browser.errors == []


async def test_a_new_order_survives_a_reload_and_is_seen_in_a_second_tab(app: App, tmp_path: Path) -> None:
    gallery = await app.images.open()
    a, b, c = [str((await gallery.add(encoded(photo(64, 48, seed)))).id) for seed in (1, 2, 3)]
    await app.images.describe(gallery.id, b, EVIL)
    async with served(app) as client, chromium(tmp_path) as browser:
        address = f"{client.base_url}/galleries/{gallery.id}"
        one, two = await browser.open(address), await browser.open(address)
        for tab in (one, two):
            await tab.until("document.querySelector('.connection').dataset.state === 'live'")
        await one.value(
            """(() => {
              const [first, , last] = document.querySelectorAll('[data-image]');
              const data = new DataTransfer();
              const fire = (element, name) => element.dispatchEvent(
                new DragEvent(name, { dataTransfer: data, bubbles: true, cancelable: true }));
              fire(last, 'dragstart'); fire(first, 'dragover'); fire(first, 'drop'); fire(last, 'dragend');
            })()"""
        )
        for tab in (one, two):
            await tab.until(f"{ORDER} === {json.dumps(json.dumps([c, a, b], separators=(',', ':')))}")
        await one.value(f"document.getElementById('later-{c}').focus()")
        await one.value(
            "document.activeElement.dispatchEvent(new KeyboardEvent('keydown',"
            " { key: 'ArrowRight', altKey: true, bubbles: true }))"
        )
        await one.reload()
        for tab in (two, one):
            await tab.until(f"{ORDER} === {json.dumps(json.dumps([a, c, b], separators=(',', ':')))}")
        assert [str(each.id) for each in await app.images.list(gallery.id)] == [a, c, b]
        assert await two.value("window.evil ?? null") is None
        assert await two.value(f"document.getElementById('alt-{b}').value") == EVIL


async def test_bundles_are_verified_by_drop_and_a_file_with_proofs_stays_here(
    app: App, tmp_path: Path
) -> None:
    content = b"the contract " * 100_000
    document = await app.documents.add(content, name="contract.txt")
    await document.protect()
    await app.work(until_idle=True)
    bundle = await app.documents.bundle(document.id)
    token = next(
        each for name, each in (await app.documents.proofs(document.id)).items() if name.endswith(".tsr")
    )
    async with served(app) as client, chromium(tmp_path) as browser:
        page = await browser.open(f"{client.base_url}/verify")
        await page.until("document.readyState === 'complete'")
        tampered = bytearray(bundle)
        tampered[len(bundle) // 2] ^= 1
        for data, tone in ((bundle, "warn"), (bytes(tampered), "bad")):
            await give(page, DROP, "[data-drop=file]", "contract.foja.zip", data)
            await page.until(f"document.querySelector('#result [data-tone={tone}]') !== null")
        await page.value(  # a page also asks for other things, which have no body
            "(() => { const real = fetch; window.sent = null;"
            " window.fetch = (url, more) => { sent = more?.body ?? sent; return real(url, more); }; })()"
        )
        for data, tone in ((content, "warn"), (content + b".", "bad")):
            await page.value("document.getElementById('result').replaceChildren()")
            await give(page, CHOOSE, "#proofs", "01.tsr", token)
            await give(page, DROP, "[data-drop=file]", "contract.txt", data)
            await page.until(f"document.querySelector('#result [data-tone={tone}]') !== null")
            assert await page.value("sent.has('file')") is False
            assert len(await page.value("sent.get('digest')")) == 64
        assert browser.errors == []


async def test_an_approval_decided_in_one_tab_is_seen_in_another(app: App, tmp_path: Path) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", {"content": EVIL})
    await talk.request_approval("refund", {"amount": 5}, ttl=600, approval_id="one")
    async with served(app) as client, chromium(tmp_path) as browser:
        address = f"{client.base_url}/conversations/{talk.id}"
        one, two = await browser.open(address), await browser.open(address)
        for tab in (one, two):
            await tab.until("document.getElementById('connection').dataset.state === 'live'")
            await tab.until("document.querySelector('button[value=approved]') !== null")
        await one.value("document.querySelector('.decide [name=reason]').value = 'two of forty chairs'")
        await one.value("document.querySelector('button[value=approved]').click()")
        for tab in (one, two):
            await tab.until("document.querySelector('article.answer[data-state=approved]') !== null")
            await tab.until("document.querySelector('button[value=approved]') === null")
            assert await tab.value("window.evil ?? null") is None
        decided = await talk.approval("one")
        assert (decided.state, decided.reason) == ("approved", "two of forty chairs")
        assert decided.decided_by == ME  # it was recorded as nobody's
        await talk.request_approval("refund", {"amount": 6}, ttl=600, approval_id="two")
        plain = await client.post(
            f"/conversations/{talk.id}/approvals", data={"approval_id": "two", "decision": "denied"}
        )
        assert plain.status_code == 303
        decided = await talk.approval("two")
        assert (decided.state, decided.decided_by) == ("denied", ME)
