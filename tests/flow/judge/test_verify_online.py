"""`foja verify --online`: what is missing is asked of one's own nodes, and of nobody without the word."""

from __future__ import annotations

import json
import re
import socket
from base64 import b64decode
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from foja.engine.remote import online
from foja.interfaces.cli import main
from foja.pure.proofs.evm.anchor import Anchor
from tests.counterparties.anvil import node
from tests.counterparties.http_server import listening
from tests.flow.networks.test_evm_node import data, header_of, mined
from tests.rules.blocks import Trie, batch
from tests.rules.bundles import NOW
from tests.rules.proofs import test_rekor_growth as logs
from tests.rules.sigstores import armour, spki
from tests.rules.stamps import HEADER, PROOF


class Bitcoin(BaseHTTPRequestHandler):
    """Answers as bitcoind does about one block."""

    top = HEADER.height + 5
    header = HEADER.data.hex()
    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["content-length"])))
        type(self).asked.append(question["method"])
        answers: dict[str, Any] = {
            "getblockcount": self.top,
            "getblockhash": HEADER.name,
            "getblockheader": self.header,
        }
        body = json.dumps({"result": answers[question["method"]], "error": None, "id": 1}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def bitcoin(**changes: object) -> Iterator[tuple[str, list[str]]]:
    handler = type("Changed", (Bitcoin,), {"asked": [], **changes})
    with served_by(handler) as url:
        yield url.replace("//", "//user:password@"), handler.asked  # type: ignore[attr-defined]


def served_by(handler: type[BaseHTTPRequestHandler]) -> AbstractContextManager[str]:
    return listening(HTTPServer(("127.0.0.1", 0), handler))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "document.txt").write_bytes(b"document")
    (tmp_path / "x.ots").write_bytes(PROOF)
    (tmp_path / "policy.json").write_text('{"form": "foja/policy/v1", "minimum_difficulty": 0}')
    monkeypatch.chdir(tmp_path)
    return tmp_path


WORDS = ["verify", "document.txt", "--proof", "x.ots", "--policy", "policy.json"]


def test_a_header_is_asked_of_a_node(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bitcoin() as (url, asked):
        monkeypatch.setenv("FOJA_BITCOIN_RPC_URL", url)
        assert main(WORDS) == 2
        assert asked == []
        assert main([*WORDS, "--online"]) == 0
        assert asked == ["getblockcount", "getblockhash", "getblockheader"]
        assert main([*WORDS[:-2], "--online"]) == 1, "the work of an easy header must not do"


def test_a_header_of_a_test_network_passes_only_if_it_is_named_and_is_marked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with bitcoin() as (url, _):
        monkeypatch.setenv("FOJA_BITCOIN_RPC_URL", url)
        words = [*WORDS[:-2], "--online", "--trust"]
        assert main([*words, "bitcoin-network:main"]) == 1
        assert "POW_INVALID" in capsys.readouterr().out
        assert main([*words, "bitcoin-network:regtest"]) == 0
        first = capsys.readouterr().out.splitlines()[0]
        assert "Bitcoin regtest block 100, a block of a test network" in first
        assert main([*words, "bitcoin-network:regtest", "--lang", "es"]) == 0
        assert "un bloque de una red de pruebas" in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize("changes", [{"top": HEADER.height + 4}, {"header": "00"}, {"header": "no"}], ids=str)
def test_what_a_node_does_not_know_well_is_not_trusted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object]
) -> None:
    with bitcoin(**changes) as (url, _):
        monkeypatch.setenv("FOJA_BITCOIN_RPC_URL", url)
        assert main([*WORDS, "--online"]) == 2


def test_a_node_that_does_not_answer_is_told_and_changes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FOJA_BITCOIN_RPC_URL", "http://127.0.0.1:1")
    assert main([*WORDS, "--online"]) == 2
    assert "the node did not answer getblockcount" in capsys.readouterr().err
    monkeypatch.delenv("FOJA_BITCOIN_RPC_URL")
    assert main([*WORDS, "--online"]) == 2


def test_a_node_that_stays_silent_is_told_with_the_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(online, "TIMEOUT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("FOJA_BITCOIN_RPC_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert main([*WORDS, "--online"]) == 2
    assert re.search("the node did not answer getblockcount: .*Timeout", capsys.readouterr().err)


def test_a_block_is_trusted_once_it_is_final(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = sha256(b"document").digest()
    root, place = batch(digest, 3, 1)
    words = ["verify", "document.txt", "--proof", "x.evm.json", "--online"]
    with node(137) as chain:
        monkeypatch.setenv("FOJA_POLYGON_RPC_URL", chain.url)
        block, position = mined(chain, root)
        raw = [data(chain.ask("eth_getRawTransactionByHash", each)) for each in block["transactions"]]
        proof = Anchor(137, header_of(block), position, Trie(raw).proof(position), place)
        (folder / "x.evm.json").write_bytes(proof.encode())
        assert main(words) == 2
        chain.ask("anvil_mine", "0x80")
        assert main(words[:-1]) == 2
        assert main(words) == 0
        monkeypatch.setenv("FOJA_POLYGON_RPC_URL", f"{chain.url}, {chain.url}")
        assert main(words) == 0
        with node(137) as other:
            monkeypatch.setenv("FOJA_POLYGON_RPC_URL", f"{chain.url},{other.url}")
            assert main(words) == 2
        monkeypatch.setenv("FOJA_POLYGON_RPC_URL", chain.url)
        assert main(words) == 0
        chain.ask("anvil_reorg", 129, [])
        chain.ask("anvil_mine", "0x80")
        assert main(words) == 2


class Tiles(BaseHTTPRequestHandler):
    """Answers as a Rekor log of version 2 is read: files by their paths."""

    files: ClassVar[dict[str, bytes]] = {}

    def do_GET(self) -> None:
        body = self.files.get(self.path.removeprefix("/log/"))
        self.send_response(404 if body is None else 200)
        self.send_header("content-length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("entries", "withheld", "code", "says"),
    [
        ([*logs.ENTRIES, b"e", b"f"], None, 0, "of 7 entries extends"),
        ([b"a", b"b", b"forged", b"c", b"d", b"e"], None, 1, "LOG_INCONSISTENT"),
        ([*logs.ENTRIES, b"e"], "checkpoint", 0, "same checkpoint"),
        ([*logs.ENTRIES, b"e"], "tile/0/000.p/6", 0, "same checkpoint"),
        ([b"a", b"b"], None, 0, "same checkpoint"),
    ],
)
def test_a_log_is_asked_whether_it_still_begins_so(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    entries: list[bytes],
    withheld: str | None,
    code: int,
    says: str,
) -> None:
    note, files = logs.grown(*entries)
    every = {**files, "checkpoint": note.encode()}
    served = {name: data for name, data in every.items() if name != withheld}
    (folder / "x.sigstore.json").write_bytes(logs.BUNDLE)
    (folder / "root.json").write_bytes(logs.HERE.trusted_root())
    (folder / "key.pem").write_bytes(b64decode(armour("PUBLIC KEY", spki(logs.HERE.signer))))
    words = ["verify", "document.txt", "--proof", "x.sigstore.json", "--trust", "root.json"]
    with served_by(type("Changed", (Tiles,), {"files": served})) as url:
        monkeypatch.setenv("FOJA_REKOR_URL", f"{url}/log/")
        at = (NOW + timedelta(hours=1)).isoformat()
        assert main([*words, "--trust", "key.pem", "--at", at, "--online"]) == code
    assert says in capsys.readouterr().out
