"""Documents, galleries, jobs and verification with both clients, against a live server."""

from __future__ import annotations

import asyncio
import json
import subprocess
from base64 import b64encode
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args
from uuid import uuid4

import pytest

import foja
from foja import client as foja_client
from foja import errors
from foja.app import App
from foja.client import Client
from foja.pure.models.anchors.view import NAMES
from tests.flow.client.client import SAY
from tests.flow.http.cut_relay import Moment, cut_relay
from tests.flow.javascript.javascript import MODULE, NODE, needs_node
from tests.png import png
from tests.worker_task import working

TEXT = b"the contract"


async def test_the_server_judges_with_the_roots_that_are_given(app: App, client: Client) -> None:
    document = await client.documents.add(TEXT)
    await document.protect(["tsa"])
    await app.work(until_idle=True)
    container = await document.bundle()
    judged = await client.verify(container, trust=await document.trust())
    assert (judged.verdict, judged.headline) == ("TOTAL_PASSED", judged.raw["headline"])
    assert (await client.verify(container)).verdict == "INDETERMINATE"
    assert (await client.verify(container, own_trust=True)).verdict == "TOTAL_PASSED"


@pytest.mark.parametrize("moment", get_args(Moment))
async def test_a_lost_upload_is_sent_again_and_stored_once(
    app: App, url: str, tmp_path: Path, moment: Moment
) -> None:
    file = tmp_path / "large.bin"
    file.write_bytes(bytes(3_000_000))
    async with cut_relay(url) as (address, relay), foja_client.connect(address) as client:
        relay.lose("POST /v1/documents", moment)
        document = await client.documents.add(file)
        assert relay.cuts == 1
        assert document.size == 3_000_000
    assert len(await app.documents.list()) == 1


async def test_a_conversation_becomes_a_document(app: App, client: Client) -> None:
    talk = await client.conversations.open()
    await talk.append(SAY, {"content": "hi"})
    await app.work(until_idle=True)
    document = await talk.protect()
    assert (await client.conversations.protect(talk.id)).id == document.id
    await app.work(until_idle=True)
    assert foja.verify(await document.bundle(), await document.trust()).verdict == "TOTAL_PASSED"
    proof = await talk.prove(0)
    assert proof.verify(app.trust).verdict == "TOTAL_PASSED"
    assert proof.file() == (await (await app.conversations.open(talk.id)).prove(0)).file()
    receipt = await talk.receipt(0)
    assert foja.verify(proof.event.encode(), app.trust, proofs=[receipt]).verdict == "TOTAL_PASSED"
    batch = [{"kind": SAY, "payload": {"content": "a"}}, {"kind": "x", "payload": {}}]
    results = await talk.append_many(batch, atomic=False)
    assert [type(each) for each in results] == [foja.Event, errors.UnknownKind]


async def test_products_are_read_page_by_page(client: Client) -> None:
    products = sorted([uuid4() for _ in range(3)])
    for product in products:
        await client.images.add_url(product, "https://cdn.example/chair.jpg")
    page = await client.images.products(limit=2)
    rest = await client.images.products(after=page.next)
    assert [each.id for each in [*page, *rest]] == products
    assert rest.next is None


async def test_variants_are_rendered_again(app: App, client: Client) -> None:
    product = uuid4()
    image = await client.images.add(product, png(2, 2))
    await app.work(until_idle=True)
    assert (await client.images.rendering(product, image.id)).status == "success"
    assert (await client.images.render(product, image.id, force=True)).images == 1
    assert (await client.images.render_failed(product)).images == 0


async def test_the_store_and_the_networks(client: Client) -> None:
    scan = await client.maintenance.cleanup(dry_run=False)
    assert (scan.action, scan.outcome, scan.dry) == ("scan", "complete", False)
    report = await client.maintenance.report()
    assert ([each.run for each in report.runs], report.candidates) == ([scan.run], [])
    assert (await client.maintenance.retry(what=["documents"])).evidence == 0
    networks = await client.anchors.overview()
    assert {each.network: each.spent for each in networks} == dict.fromkeys(NAMES, Decimal(0))
    assert (await client.anchors.flush("rekor")).jobs == 0
    with pytest.raises(errors.UnknownEntity):
        await client.anchors.show(uuid4())


STORY = """
const [, , module, url] = process.argv;
const { connect } = await import(module);
const client = connect(url);
const text = new TextEncoder().encode("the contract");
const document = await client.documents.add(text, { name: "contract.txt", mediaType: "text/plain" });
await document.protect(["tsa"]);
let view = await document.view();
while (view.pipeline !== null) {
  await new Promise((done) => setTimeout(done, 50));
  view = await document.view();
}
const bundle = await document.bundle();
const report = await client.verify(bundle, { trust: await document.trust() });
const own = await client.verify(bundle);
const digest = await client.documents.addDigest("ab".repeat(32));
const refused = await digest.protect(["tsa", "polygon"]).catch((error) => error.code);
const product = crypto.randomUUID();
const pixels = Uint8Array.from(atob(PIXELS), (each) => each.charCodeAt(0));
const first = await client.images.add(product, pixels, { name: "a.png", alt: "a" });
const second = await client.images.add(product, new Blob([pixels]));
await client.images.move(product, second.id, 0);
const order = (await client.images.list(product)).map((each) => each.id === second.id);
const removed = await client.images.remove(product, first.id);
const talk = client.conversations.open();
await talk.append("user_message_sent", { content: "hi" });
const proof = await talk.prove(0);
const jobs = await client.jobs.list({ entityId: document.id });
process.stdout.write(JSON.stringify({
  state: view.state, sha256: document.sha256, verdict: report.verdict, own: own.verdict, refused, order,
  left: (await client.images.list(product)).length, jobs: jobs.length > 0, proof: proof.size > 0,
  listed: (await client.documents.list()).length, removed: [removed.kind, removed.replayed ?? null],
  networks: (await client.anchors.overview()).length, dry: (await client.maintenance.cleanup()).dry,
}));
"""


@needs_node
async def test_the_same_in_javascript(app: App, url: str, tmp_path: Path) -> None:
    script = tmp_path / "story.mjs"
    script.write_text(STORY.replace("PIXELS", json.dumps(b64encode(png(2, 2)).decode())))
    assert NODE is not None
    process = await asyncio.create_subprocess_exec(
        NODE, str(script), MODULE.as_uri(), url, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        async with working(app), asyncio.timeout(120):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, err.decode()
    seen: dict[str, Any] = json.loads(out)
    assert seen == {
        "state": "final",
        "sha256": sha256(TEXT).hexdigest(),
        "verdict": "TOTAL_PASSED",
        "own": "INDETERMINATE",
        "refused": "cannot_produce",
        "order": [True, False],
        "left": 1,
        "jobs": True,
        "proof": True,
        "listed": 2,
        "removed": ["image.removed", None],
        "networks": 3,
        "dry": True,
    }
