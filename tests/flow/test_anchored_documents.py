"""Documents with every anchor, on real counterparties, from the request to a verdict of others."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import psycopg
import pytest

import foja
from foja.app import App
from foja.documents.model.states import State
from foja.judge.report import Verdict
from tests.counterparties.bitcoin_node import BitcoinNode, bitcoin_node
from tests.counterparties.ots_calendar import Calendar, ots_calendar
from tests.counterparties.rekor import RekorLog, running_rekor
from tests.flow.anvil import Node, node
from tests.flow.bitcoin.story import OTS
from tests.flow.command import FOJA
from tests.flow.polygon_scene import DEPTH, FINAL, KEY

Admin = psycopg.Connection[Any]
EVIDENCE = ["tsa", "polygon", "bitcoin", "rekor"]


@dataclass
class World:
    """Three networks on loopback."""

    chain: Node
    bitcoin: BitcoinNode
    calendars: list[Calendar]
    log: RekorLog

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "polygon_rpc_url": self.chain.url,
            "polygon_private_key": KEY,
            "polygon_depth": DEPTH,
            "ots_calendars": " ".join(each.url for each in self.calendars),
            "bitcoin_rpc_url": self.bitcoin.url,
            "bitcoin_network": "regtest",
            "rekor_url": self.log.url,
            "rekor_key": self.log.vkey,
            "anchor_batch_seconds": 0,
            "checkpoint_anchor_seconds": 0,
            "anchor_poll_seconds": 1,
        }

    def confirm(self) -> None:
        """Put everything into blocks, deep enough."""
        self.chain.ask("anvil_mine", hex(2 + max(DEPTH, FINAL)))
        for calendar in self.calendars:
            calendar.anchor(self.bitcoin)
        self.bitcoin.grow(6)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        chain = stack.enter_context(node(137, "--slots-in-an-epoch", str(FINAL // 2)))
        bitcoin = stack.enter_context(bitcoin_node(tmp_path))
        bitcoin.grow(3)
        calendars = [stack.enter_context(ots_calendar()) for _ in range(2)]
        log = stack.enter_context(running_rekor())
        log.grow(10)
        yield World(chain, bitcoin, calendars, log)


async def work(app: App, admin: Admin, documents: list[foja.Document], state: State) -> None:
    """Work, and look at every batch at each tick, until all documents are in a state."""
    deadline = time.monotonic() + 60  # a bound for a busy machine
    while {(await each.view()).state for each in documents} != {state}:
        assert time.monotonic() < deadline, (
            [await each.explain() for each in documents],
            [(each.network, each.status, each.detail) for each in await app.anchors.list()],
        )
        admin.execute("update foja.anchor_batch set next_look = now() where next_look is not null")
        admin.execute("update foja.tick set due = now() where type like %s", ["process%anchors"])
        await app.work(until_idle=True)
        await asyncio.sleep(0.2)


async def test_a_document_with_every_anchor_becomes_final_and_others_agree(
    world: World, open_app: Callable[..., App], admin: Admin, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(**world.settings) as app:
        for name in EVIDENCE[1:]:
            assert not (await app.anchors.enable(name)).missing
        documents = [await app.documents.add(os.urandom(50), name=f"{n}.bin") for n in range(4)]
        for each in documents:
            await each.protect(EVIDENCE)
        await work(app, admin, documents, State.REINFORCED)  # by Rekor, which needs no block
        assert {(await each.view()).pipeline for each in documents} == {"awaiting_anchors"}
        world.confirm()
        await work(app, admin, documents, State.FINAL)

        document = documents[2]
        container, trust = await document.bundle(), await document.trust()
        assert foja.verify(container, trust=trust).verdict is Verdict.TOTAL_PASSED
        report = foja.verify(container, trust=app.trust)
        assert report.verdict is Verdict.INDETERMINATE
        statuses = {each.evidence: each.status for each in report.evidence}
        assert {statuses[name] for name in EVIDENCE[1:]} == {"INDETERMINATE"}, statuses
        batches = await app.anchors.list()
    [paid] = [each for each in batches if each.network == "polygon"]
    assert (paid.size, paid.status) == (4, "confirmed")
    assert int(world.chain.ask("eth_getTransactionCount", paid.account, "latest"), 16) == 1

    for name, value in world.settings.items():
        monkeypatch.setenv(f"FOJA_{name.upper()}", str(value))
    await asyncio.to_thread(check_commands, world, home.parent, str(document.id), container)


def run(*words: object) -> CompletedProcess[str]:
    return subprocess.run([*FOJA, *map(str, words)], capture_output=True, text=True, check=False)


def check_commands(world: World, folder: Path, document: str, container: bytes) -> None:
    """What a stranger does: trust, verify, proofs, and the tools of others."""
    (folder / "c.asice").write_bytes(container)
    assert run("trust", document, "-o", folder / "doc.trust").returncode == 0
    passed = run("verify", folder / "c.asice", "--trust", folder / "doc.trust")
    assert passed.returncode == 0, passed.stdout
    assert "regtest" in passed.stdout
    written = run("proofs", document, "-o", folder / "proofs", "--json")
    names = json.loads(written.stdout)["files"]
    assert {"01.tsr", "trust.txt", "roots.pem", "README.txt"} < {*names}
    status = json.loads(run("status", document, "--json").stdout)
    digest = status["witness_hash"]
    assert "Bitcoin regtest, a test network" in status["note"]
    for shown in (run("status", document), run("explain", document), run("status")):
        assert "Bitcoin regtest, a test network" in shown.stdout
    for name in names:
        if name.endswith((".tsr", ".ots", ".evm.json", ".rekor.json")):
            proof = folder / "proofs" / name
            alone = run(
                "verify", "--digest", f"sha256:{digest}", "--proof", proof, "--trust", folder / "doc.trust"
            )
            assert alone.returncode == 0, (name, alone.stdout)
    check_with_others(world, folder / "proofs", digest, names)
    check_readme(world, (folder / "proofs" / "README.txt").read_text())


def check_with_others(world: World, folder: Path, digest: str, names: list[str]) -> None:
    [token] = [name for name in names if name.endswith(".tsr")]
    openssl = ["openssl", "ts", "-verify", "-digest", digest, "-in", token, "-CAfile", "roots.pem"]
    assert b"Verification: OK" in subprocess.run(openssl, cwd=folder, capture_output=True, check=True).stdout
    [stamp] = [name for name in names if name.endswith(".ots")]
    regtest = ["--no-cache", "--btc-regtest", "--bitcoin-node", world.bitcoin.url]
    ots = [str(OTS), *regtest, "verify", "-d", digest, stamp]
    found = subprocess.run(ots, cwd=folder, capture_output=True, text=True, check=False)
    assert "Success!" in found.stderr, found
    [anchor] = [name for name in names if name.endswith(".evm.json")]
    proof = json.loads((folder / anchor).read_text())
    assert proof["chain_id"] == 137
    assert proof["batch"]["size"] == 4


def check_readme(world: World, readme: str) -> None:
    """The commands can be pasted: the hash of the transaction, the network, the signed bytes."""
    found = re.search(r"cast tx (0x[0-9a-f]{64}) input +# prints (0x4c444731[0-9a-f]{64})", readme)
    assert found
    assert world.chain.ask("eth_getTransactionByHash", found[1])["input"] == found[2]
    assert "ots --btc-regtest verify -d" in readme
    assert re.search(
        r"cosign verify-blob --bundle \d+\.sigstore\.json --key signer\.pem .* \d+\.root", readme
    )
