"""A block of a test network never passes as one of the main network, and is marked wherever it passes."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

import foja
from foja.errors import Refused
from foja.pure.judge.render import as_html, as_text
from foja.pure.judge.render.headline import headline
from foja.pure.judge.report import Report, Verdict
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.finding import Reason, Status
from foja.pure.proofs.notices import TEST_NOTICE
from foja.pure.proofs.ots.network import MAINNET_DIFFICULTY
from tests.rules import blocks
from tests.rules.bundles import NOW, Scene
from tests.rules.stamps import HEADER, PROOF
from tests.vectors.shared import shared

AT = datetime(2026, 1, 1, tzinfo=UTC)
LINE = f"bitcoin-header:{HEADER.height}:{HEADER.data.hex()}"
LOW = '{"form": "foja/policy/v1", "minimum_difficulty": 0}'
FIRST = {
    "en": "on the word of Bitcoin regtest block 100, a block of a test network: "
    "it takes no work and proves no time to others.",
    "es": "según el bloque 100 de Bitcoin regtest, un bloque de una red de pruebas: "
    "no cuesta trabajo y no prueba la hora a otros.",
}


def judged(*trust: str, proofs: tuple[bytes, ...] = (PROOF,)) -> Report:
    return foja.verify(b"document", trust, AT, proofs=proofs, name="contract.txt")


def test_a_block_of_regtest_passes_only_under_trust_that_names_it() -> None:
    report = judged(LINE)
    assert (report.verdict, report.evidence[0].reason) == (Verdict.TOTAL_FAILED, Reason.POW_INVALID)
    assert judged(LINE, "bitcoin-network:main").verdict is Verdict.TOTAL_FAILED
    assert judged(LINE, "bitcoin-network:testnet").verdict is Verdict.TOTAL_FAILED, "difficulty 1 is more"
    assert judged(LINE, "bitcoin-network:regtest:1").verdict is Verdict.TOTAL_FAILED
    for line in ("bitcoin-network:regtest", "bitcoin-network:regtest:0"):
        assert judged(LINE, line).verdict is Verdict.TOTAL_PASSED
    assert judged("bitcoin-network:regtest").evidence[0].reason is Reason.NO_HEADER


@pytest.mark.parametrize("language", ["en", "es"])
def test_every_report_marks_it(language: str) -> None:
    report = judged(LINE, "bitcoin-network:regtest")
    found = headline(report, language)
    assert found.tone == "caution"
    assert found.first.endswith(FIRST[language])
    short = {"en": "test network", "es": "red de pruebas"}[language]
    for shown in (as_text(report, language), as_html(report, language)):
        assert shown.count(short) >= 2
        assert "regtest" in shown
    document = json.loads(report.json())
    assert document["policy"]["bitcoin_network"] == "regtest"
    assert TEST_NOTICE in document["evidence"][0]["not_checked"]
    assert "test network" in document["headline"][0]


def test_a_block_that_only_a_lower_difficulty_lets_pass_is_marked_too() -> None:
    report = judged(LINE, LOW)
    assert report.verdict is Verdict.TOTAL_PASSED
    assert report.evidence[0].of_test_network
    assert headline(report).tone == "caution"
    assert "a block of a test network" in headline(report).first


def test_a_block_of_the_main_network_is_not_marked() -> None:
    name = "hello-world.txt"
    header = shared("ots", "block-358391.header.hex").read_text().strip()
    report = foja.verify(
        shared("ots", name).read_bytes(),
        [f"bitcoin-header:358391:{header}", f"bitcoin-network:main:{MAINNET_DIFFICULTY}"],
        AT,
        proofs=[shared("ots", f"{name}.ots").read_bytes()],
    )
    [found] = report.evidence
    assert (found.status, found.of_test_network) == (Status.VERIFIED, False)
    assert headline(report).tone == "passed"
    assert "bitcoin_network" not in json.loads(report.json())["policy"]


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "Test network: its blocks prove no time to others, and the following rests on one: Bitcoin."),
        (
            "es",
            "Red de pruebas: sus bloques no prueban la hora a otros, y en uno se basa lo siguiente: Bitcoin.",
        ),
    ],
)
def test_the_time_of_another_proof_is_preferred(language: str, line: str) -> None:
    block = blocks.scene()
    trust = [LINE, "bitcoin-network:regtest", f"evm-block:0x{block.block_hash.hex()}"]
    report = judged(*trust, proofs=(PROOF, block.anchor.encode()))
    assert report.earliest is not None
    assert report.earliest.evidence == "polygon"
    found = headline(report, language)
    assert found.tone == "passed"
    assert line in found.more


def test_a_local_authority_and_a_test_network_are_both_named() -> None:
    scene = Scene()
    token = scene.stamper.token(sha256(b"document").digest())
    report = foja.verify(
        b"document",
        [scene.stamper.root.pem, LINE, "bitcoin-network:regtest"],
        NOW + timedelta(hours=1),
        proofs=[PROOF, token],
    )
    assert report.verdict is Verdict.TOTAL_PASSED
    found = headline(report)
    assert found.tone == "caution"
    assert "test network" in found.first
    assert any(line.startswith("Local authority: ") for line in found.more)


@pytest.mark.parametrize(
    "line",
    [
        "bitcoin-network:",
        "bitcoin-network:litecoin",
        "bitcoin-network:main:1",
        "bitcoin-network:main:9999999999",
        "bitcoin-network:regtest:-1",
        "bitcoin-network:regtest:",
        "bitcoin-network:testnet:0",
        "bitcoin-network:regtest\nbitcoin-network:main",
    ],
)
def test_a_line_that_means_nothing_is_refused(line: str) -> None:
    with pytest.raises(Refused):
        read([line])


def test_the_same_line_twice_is_one_and_a_policy_may_ask_for_more() -> None:
    trust = read(["bitcoin-network:regtest", "bitcoin-network:regtest:0"])
    assert (trust.bitcoin_network, trust.minimum_difficulty) == ("regtest", 0)
    trust = read(["bitcoin-network:signet", '{"form": "foja/policy/v1", "minimum_difficulty": 5}'])
    assert (trust.bitcoin_network, trust.minimum_difficulty) == ("signet", 5)


CHAINS = {  # by language: what is said of a test chain, and of one that nobody knows
    "en": ("a block of a test network", "a chain that is not known as a public main network"),
    "es": ("un bloque de una red de pruebas", "una cadena que no se conoce como red pública principal"),
}


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize(("chain", "said"), [(1337, 0), (80002, 0), (31337, 0), (5555, 1)])
def test_a_block_of_another_chain_than_a_main_network_is_marked(language: str, chain: int, said: int) -> None:
    """Blocks of development chains (1337) and of test networks (80002) passed without a remark."""
    one = blocks.scene(chain_id=chain)
    report = foja.verify(
        None, [f"evm-block:0x{one.block_hash.hex()}"], AT, proofs=[one.anchor.encode()], digest=one.digest
    )
    first = headline(report, language)
    assert (report.verdict, first.tone) == (Verdict.TOTAL_PASSED, "caution")
    assert CHAINS[language][said] in first.first
    known = blocks.scene(chain_id=1)
    report = foja.verify(
        None,
        [f"evm-block:0x{known.block_hash.hex()}"],
        AT,
        proofs=[known.anchor.encode()],
        digest=known.digest,
    )
    assert headline(report, language).tone == "passed"
