"""The table of other tools in docs/verify.md: made from this list, the pins and the tests that ask them."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

TITLE = "## Other tools that agree\n\n"
NEEDS = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)
PINS = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
BOUNCY = "1.72 (Debian)"
# What Foja writes, the tool, its version if no pin has it, and the test that asks it.
TOOLS = [
    (
        "timestamps",
        "`openssl ts`",
        "3.0",
        "flow/test_tsa_local.py::test_openssl_verifies_and_reads_its_tokens",
    ),
    ("timestamps", "rfc3161-client", "", "flow/test_tsa_local.py::test_another_library_verifies_its_tokens"),
    (
        "evidence records",
        "Bouncy Castle",
        BOUNCY,
        "flow/test_ers_other_tools.py::test_bouncy_castle_agrees_on_every_record_of_a_batch",
    ),
    (
        "evidence records of seals",
        "Bouncy Castle",
        BOUNCY,
        "flow/test_ers_other_tools.py::test_bouncy_castle_agrees_on_every_seal_of_a_batch",
    ),
    (
        "renewed evidence records (read)",
        "Bouncy Castle",
        BOUNCY,
        "flow/test_ers_other_tools.py::test_renewals_by_bouncy_castle_are_judged",
    ),
    (
        "`.ots` files",
        "opentimestamps-client",
        "",
        "flow/test_anchored_documents.py::test_a_document_with_every_anchor_becomes_final_and_others_agree",
    ),
    (
        "Sigstore bundles",
        "`@sigstore/verify`",
        "3.1.1",
        "flow/test_rekor_network.py::test_a_batch_is_recorded_once_and_every_digest_of_it_is_proven",
    ),
    (
        "Sigstore bundles",
        "cosign",
        "3.1.1; 2.5.0 refuses them",
        "flow/test_rekor_network.py::test_cosign_accepts_the_same_bundles",
    ),
    (
        "checkpoints, cosignatures",
        "Go `golang.org/x/mod`",
        "of Debian",
        "flow/test_cosigner_go.py::test_go_and_the_judge_count_the_same_cosigners",
    ),
    (
        "COSE receipts",
        "scitt-cose",
        "",
        "flow/test_cli.py::test_a_receipt_is_verified_by_foja_and_by_scitt_cose",
    ),
    (
        "lists of bundles: XML",
        "lxml",
        "",
        "rules/test_bundle_judged.py::test_the_list_has_the_structure_of_the_standard",
    ),
]
NOT_CHECKED = [
    ("lists of bundles: the schema of EN 319 162-1", "none that a package has", "not checked"),
    ("lists of bundles: EU DSS", "its rules were read, it was not run", "not checked"),
]


def table() -> str:
    rows = [
        f"| {what} | {tool} | {version or PINS[tool]} | `tests/{test.split('::')[0]}` |"
        for what, tool, version, test in TOOLS
    ]
    rows += [f"| {what} | {tool} | – | {state} |" for what, tool, state in NOT_CHECKED]
    return "\n".join(["| what Foja writes | tool | version | test |", "|---|---|---|---|", *rows, ""])


def test_the_table_of_other_tools_is_made_from_the_pins_and_the_tests() -> None:
    page = (ROOT / "docs" / "verify.md").read_text(encoding="utf-8")
    assert TITLE + table() in page, table()


def test_every_test_of_the_table_exists() -> None:
    for *_, test in TOOLS:
        path, _, name = test.partition("::")
        assert name in NEEDS.findall((ROOT / "tests" / path).read_text(encoding="utf-8")), test
