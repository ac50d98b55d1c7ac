"""Documents with every anchor, on real counterparties, from the request to a verdict of others."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

import foja
from foja.app import App
from foja.pure.judge.report import Verdict
from foja.pure.models.documents.states import State
from tests.counterparties.npm import installed
from tests.flow.command import FOJA
from tests.flow.networks.anchored_world import Admin, World, running_world, work
from tests.flow.networks.bitcoin.story import OTS
from tests.flow.networks.rekor_scene import SCRIPT
from tests.other_tools import agreed

EVIDENCE = ["tsa", "polygon", "bitcoin", "rekor"]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with running_world(tmp_path) as found:
        yield found


@pytest.mark.parametrize("size", [4, pytest.param(1_000, marks=pytest.mark.long)])
async def test_a_document_with_every_anchor_becomes_final_and_others_agree(
    world: World,
    open_app: Callable[..., App],
    admin: Admin,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
) -> None:
    async with open_app(**world.settings | {"anchor_batch_seconds": 900}) as app:
        for name in EVIDENCE[1:]:
            assert not (await app.anchors.enable(name)).missing
        documents = [await app.documents.add(os.urandom(50), name=f"{n}.bin") for n in range(4)]
        for each in documents:
            await each.protect(EVIDENCE)
        for n in range(size - len(documents)):  # they only fill the batches
            other = await app.documents.add_digest(sha256(b"%d" % n).hexdigest())
            await other.protect(EVIDENCE, stage="intermediate")
        await app.work(until_idle=True, only=["protect_document_v2", "run_tsa"])
        for name in EVIDENCE[1:]:
            await app.anchors.flush(name)
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
    assert {each.size for each in batches} == {size}
    assert paid.status == "confirmed"
    assert world.paid == 1

    for name, value in world.settings.items():
        monkeypatch.setenv(f"FOJA_{name.upper()}", str(value))
    await asyncio.to_thread(check_commands, world, home.parent, str(document.id), container, size)


def run(*words: object) -> CompletedProcess[str]:
    return subprocess.run([*FOJA, *map(str, words)], capture_output=True, text=True, check=False)


def check_commands(world: World, folder: Path, document: str, container: bytes, size: int) -> None:
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
    check_with_others(world, folder / "proofs", digest, names, size)
    check_with_sigstore(world, folder / "proofs", names)
    check_readme(world, (folder / "proofs" / "README.txt").read_text())


def check_with_others(world: World, folder: Path, digest: str, names: list[str], size: int) -> None:
    [token] = [name for name in names if name.endswith(".tsr")]
    openssl = ["openssl", "ts", "-verify", "-digest", digest, "-in", token, "-CAfile", "roots.pem"]
    assert b"Verification: OK" in subprocess.run(openssl, cwd=folder, capture_output=True, check=True).stdout
    [stamp] = [name for name in names if name.endswith(".ots")]
    regtest = ["--no-cache", "--btc-regtest", "--bitcoin-node", world.bitcoin.url]
    ots = [str(OTS), *regtest, "verify", "-d", digest, stamp]
    found = subprocess.run(ots, cwd=folder, capture_output=True, text=True, check=False)
    assert "Success!" in found.stderr, found
    agreed("`.ots` files", "opentimestamps-client")
    [anchor] = [name for name in names if name.endswith(".evm.json")]
    proof = json.loads((folder / anchor).read_text())
    assert proof["chain_id"] == 137
    assert proof["batch"]["size"] == size


def check_with_sigstore(world: World, folder: Path, names: list[str]) -> None:
    """Accept the bundle of the batch over the bytes of its root, and over no other bytes."""
    [bundle] = [folder / name for name in names if name.endswith(".sigstore.json")]
    [root] = [folder / name for name in names if name.endswith(".root")]
    [token] = [folder / name for name in names if name.endswith(".tsr")]
    der = subprocess.run(
        ["openssl", "ts", "-reply", "-in", token, "-token_out"], capture_output=True, check=True
    ).stdout
    print_certificates = ["openssl", "pkcs7", "-inform", "DER", "-print_certs"]
    signers = subprocess.run(print_certificates, input=der, capture_output=True, check=True).stdout
    pems = signers + (folder / "roots.pem").read_bytes()
    chain = [each.public_bytes(Encoding.DER) for each in x509.load_pem_x509_certificates(pems)]
    shared = {
        "bundle": json.loads(bundle.read_text()),
        "trustedRoot": world.log.trusted_root(*dict.fromkeys(chain)),
        "key": (folder / "signer.pem").read_text(),
    }
    files = [root.read_bytes(), b"another file"]
    cases = [{**shared, "file": b64encode(each).decode()} for each in files]
    ran = subprocess.run(
        ["node", str(SCRIPT), str(installed("@sigstore/verify@3.1.1"))],
        input=json.dumps(cases), capture_output=True, text=True, check=True,
    )  # fmt: skip
    accepted, refused = json.loads(ran.stdout)
    assert accepted is None
    assert refused is not None


def check_readme(world: World, readme: str) -> None:
    """The commands can be pasted: the hash of the transaction, the network, the signed bytes."""
    found = re.search(r"cast tx (0x[0-9a-f]{64}) input +# prints (0x4c444731[0-9a-f]{64})", readme)
    assert found
    assert world.chain.ask("eth_getTransactionByHash", found[1])["input"] == found[2]
    assert "ots --btc-regtest verify -d" in readme
    assert re.search(
        r"cosign verify-blob --bundle \d+\.sigstore\.json --key signer\.pem .* \d+\.root", readme
    )
