"""The JavaScript client in Node and in a browser, against a live server, through cuts."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from foja.app import App
from tests.counterparties.npm import installed
from tests.flow.chromium import PROGRAM, chromium
from tests.flow.client.client import served
from tests.flow.http.cut_relay import CutRelay, cut_relay
from tests.flow.javascript.javascript import MODULE, NODE, needs_node

HERE = Path(__file__).parent


@pytest.fixture
async def relayed(app: App) -> AsyncIterator[tuple[str, CutRelay]]:
    async with served(app) as client, cut_relay(str(client.base_url)) as found:
        yield found


async def cut_often(app: App, relay: CutRelay) -> None:
    """Cut every connection whenever the newest conversation has grown by some events."""
    done = 0
    while True:
        for conversation in await app.conversations.list(limit=1):
            grown = (await (await app.conversations.open(conversation)).state()).next_seq // 7
            if grown > done:
                done = grown
                relay.cut()
        await asyncio.sleep(0.02)


def check(seen: dict[str, Any]) -> None:
    assert seen["first"] == [0, False, "ana", 0, True, True]
    assert seen["hole"] == ["user_message_sent", "slot.open", "user_message_sent"]
    assert seen["refused"] == [
        [True, "UnknownKind", "unknown_kind", 422, False],
        [True, "WrongExpectedSeq", "wrong_expected_seq", 409, False],
        [True, "IdempotencyConflict", "idempotency_conflict", 409, False],
        [True, "CursorLost", "cursor_lost", 410, False],
        [True, "UnknownEntity", "unknown_entity", 404, False],
    ]
    assert seen["approval"] == ["requested", "denied", True, 1]
    assert seen["listed"] is True
    assert seen["pages"] == [0, 1]
    assert seen["followed"] == list(range(25)), "each once, across cuts"
    assert seen["shown"] == 25


@needs_node
async def test_in_node(app: App, relayed: tuple[str, CutRelay]) -> None:
    url, relay = relayed
    cutting = asyncio.create_task(cut_often(app, relay))
    assert NODE is not None
    process = await asyncio.create_subprocess_exec(
        NODE,
        str(HERE / "client.mjs"),
        MODULE.as_uri(),
        url,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(120):
            out, err = await process.communicate()
    finally:
        cutting.cancel()
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, err.decode()
    check(json.loads(out))
    assert relay.cuts >= 3


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium: apt install chromium")
async def test_in_a_browser(app: App, relayed: tuple[str, CutRelay], tmp_path: Path) -> None:
    url, relay = relayed
    program = (HERE / "client_story.mjs").read_text().replace("export async function", "async function")
    code = f"(async () => {{ {program}; return story(await import('/static/foja.js'), location.origin); }})()"
    async with chromium(tmp_path) as browser:
        page = await browser.open(f"{url}/conversations")
        await page.until("document.readyState === 'complete'")
        cutting = asyncio.create_task(cut_often(app, relay))
        try:
            seen = await page.value(code)
        finally:
            cutting.cancel()
    check(seen)
    assert relay.cuts >= 3


KEYED = """
const [, , module, url, key] = process.argv;
const { connect } = await import(module);
const caught = await connect(url).conversations.list().catch((error) => error);
const talk = connect(url, { key }).conversations.open();
const event = await talk.append("user_message_sent", { content: "hi" });
const { names } = await connect(url, { key }).access.names([event.actor, "local:eva"]);
process.stdout.write(JSON.stringify([caught.name, caught.code, caught.status, event.actor, names]));
"""


@needs_node
async def test_a_key_is_sent(app: App, relayed: tuple[str, CutRelay], tmp_path: Path) -> None:
    key = await app.access.keys.create("default", ["read", "write"], name="Ana")
    script = tmp_path / "keyed.mjs"
    script.write_text(KEYED)
    assert NODE is not None
    process = await asyncio.create_subprocess_exec(
        NODE, str(script), MODULE.as_uri(), relayed[0], key.text, stdout=subprocess.PIPE
    )
    async with asyncio.timeout(120):
        out, _ = await process.communicate()
    me = f"key:{key.id}"
    names = {me: "Ana", "local:eva": "eva"}
    assert json.loads(out) == ["NotAuthenticated", "not_authenticated", 401, me, names]


TYPED = """
import { connect, FojaError, order, View, type Event, type StreamItem } from "foja";

const client = connect("http://localhost:8000", { key: "k" });
const talk = client.conversations.open();
const event: Event = await talk.append("user_message_sent", { content: "hi" }, { idempotencyKey: "1" });
const seq: number = event.seq;
for await (const item of talk.follow({ after: event.cursor })) {
  const one: StreamItem = item;
  const view: View = new View().add(one);
  order(view.items());
}
const document = await client.documents.add(new Uint8Array(3), { name: "x" });
const bytes: Uint8Array = await document.bundle();
const report = await client.verify(bytes, { trust: await document.trust() });
if (report.verdict === "TOTAL_PASSED") throw new FojaError("never");
// @ts-expect-error: a payload is an object
await talk.append("user_message_sent", "text");
// @ts-expect-error: there is no such verdict
report.verdict === "PASSED";
"""


def test_the_types_compile_and_refuse_mistakes(tmp_path: Path) -> None:
    compiler = installed("typescript@5.9.3") / "node_modules" / "typescript" / "bin" / "tsc"
    package = tmp_path / "node_modules" / "foja"
    package.mkdir(parents=True)
    for name in ("package.json", "foja.js", "foja.d.ts"):
        (package / name).write_bytes((MODULE.parent / name).read_bytes())
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "use.ts").write_text(TYPED)
    options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2023,dom"]
    assert NODE is not None
    ran = subprocess.run(
        [NODE, str(compiler), *options, "use.ts"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "")


@needs_node
def test_the_types_name_what_the_module_has() -> None:
    """Every exported name, and every public method of its classes, is in both files."""
    script = f"""
const foja = await import({MODULE.as_uri()!r});
const client = foja.connect("http://localhost");
const methods = (value) => Object.getOwnPropertyNames(value).filter((name) => !/^_|^constructor$/.test(name));
const found = Object.keys(foja);
for (const name of ["Stream", "Conversation", "Document", "Client"]) {{
  found.push(...methods(foja[name].prototype));
}}
for (const name of ["conversations", "documents", "images", "jobs"]) {{
  found.push(name, ...methods(Object.getPrototypeOf(client[name])));
}}
process.stdout.write(JSON.stringify([...new Set(found)]));
"""
    assert NODE is not None
    ran = subprocess.run(
        [NODE, "--input-type=module", "-e", script], capture_output=True, text=True, timeout=60, check=True
    )
    types = (MODULE.parent / "foja.d.ts").read_text()
    names: list[str] = json.loads(ran.stdout)
    assert [each for each in names if f"{each}(" not in types and f" {each}" not in types] == []
