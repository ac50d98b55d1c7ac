"""The table of other tools in docs/verify.md: a test that asked a tool records here what it ran.

`FOJA_WRITE_DOCS=1 pytest …` writes the version into its row. A tool that is not installed where the tests ran
keeps the version that was run last.
"""

from __future__ import annotations

import os
import re
import subprocess
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "verify.md"
HEAD = "| what Foja writes | tool | version | it says | test |\n|---|---|---|---|---|\n"
PINS = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
OPENSSL, BOUNCY_CASTLE, SCITT = "`openssl ts`", "Bouncy Castle", "scitt-cose"
X_MOD, SIGSTORE, COSIGN = "Go `golang.org/x/mod`", "`@sigstore/verify`", "cosign"


class Row(NamedTuple):
    """What is written, the tool that reads it, and the test that asks the tool."""

    written: str
    tool: str
    test: str


ROWS = (
    Row("timestamps", OPENSSL, "flow/networks/test_tsa_local.py::test_openssl_verifies_and_reads_its_tokens"),
    Row(
        "timestamps",
        "rfc3161-client",
        "flow/networks/test_tsa_local.py::test_another_library_verifies_its_tokens",
    ),
    Row(
        "evidence records",
        BOUNCY_CASTLE,
        "flow/judge/test_ers_other_tools.py::test_bouncy_castle_agrees_on_every_record_of_a_batch",
    ),
    Row(
        "evidence records of seals",
        BOUNCY_CASTLE,
        "flow/judge/test_ers_other_tools.py::test_bouncy_castle_agrees_on_every_seal_of_a_batch",
    ),
    Row(
        "renewed evidence records (read)",
        BOUNCY_CASTLE,
        "flow/judge/test_ers_other_tools.py::test_renewals_by_bouncy_castle_are_judged",
    ),
    Row(
        "`.ots` files",
        "opentimestamps-client",
        "flow/documents/test_anchored_documents.py::test_a_document_with_every_anchor_becomes_final_and_others_agree",
    ),
    Row(
        "Sigstore bundles",
        SIGSTORE,
        "flow/networks/test_rekor_network.py::test_a_batch_is_recorded_once_and_every_digest_of_it_is_proven",
    ),
    Row(
        "Sigstore bundles",
        COSIGN,
        "flow/networks/test_rekor_network.py::test_cosign_accepts_the_same_bundles",
    ),
    Row(
        "checkpoints, Ed25519 cosignatures",
        X_MOD,
        "flow/log/test_cosigner_go.py::test_go_and_the_judge_count_the_same_cosigners",
    ),
    Row("COSE receipts", SCITT, "flow/cli/test_cli.py::test_a_receipt_is_verified_by_foja_and_by_scitt_cose"),
    Row(
        "COSE receipts of checkpoints: signature, hashes",
        SCITT,
        "rules/judge/test_receipts.py::test_a_receipt_about_a_checkpoint_shows_its_growth",
    ),
    Row(
        "lists of bundles: digests, by the schema of XML signatures",
        "signxml",
        "rules/judge/test_bundle_judged.py::test_the_list_has_the_structure_of_the_standard",
    ),
    Row(
        "lists of bundles: XML",
        "lxml",
        "rules/judge/test_bundle_judged.py::test_the_list_has_the_structure_of_the_standard",
    ),
)


def agreed(written: str, tool: str, version: str = "") -> None:
    """Record that this version accepted what Foja writes, or compare it with the page.

    Without a version it is that of the package of this name. Only a pinned one has to be the recorded one:
    the others are those of the machine.
    """
    [row] = [each for each in ROWS if (each.written, each.tool) == (written, tool)]
    found = version or PINS[tool]
    if os.environ.get("FOJA_WRITE_DOCS"):
        with (ROOT / "pyproject.toml").open() as turn:
            flock(turn, LOCK_EX)
            page = PAGE.read_text(encoding="utf-8")
            PAGE.write_text(_line(row).sub(_text(row, found), page, count=1), encoding="utf-8")
    else:
        recorded = _line(row).search(PAGE.read_text(encoding="utf-8"))
        assert recorded, f"docs/verify.md has no row: {_text(row, found)}"
        assert tool not in PINS or recorded[1] == found, f"run FOJA_WRITE_DOCS=1 pytest tests/{row.test}"


def output(*words: str | Path, pattern: str) -> str:
    """Return what a command prints as its version."""
    ran = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    found = re.search(pattern, ran.stdout + ran.stderr)
    assert found, ran.stdout
    return found[1]


def openssl_version() -> str:
    """Return the version of the program that is on the path."""
    return output("openssl", "version", pattern=r"OpenSSL ([0-9.]+)")


def _line(row: Row) -> re.Pattern[str]:
    before, after = (re.escape(each) for each in _text(row, "\0").split("\0"))
    return re.compile(f"{before}([^|\n]+){after}")


def _text(row: Row, version: str) -> str:
    return f"| {row.written} | {row.tool} | {version} | accepted | `tests/{row.test.split('::')[0]}` |\n"
