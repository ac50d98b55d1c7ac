"""The table of other tools in docs/verify.md: every row is one that a test writes when its tool has run."""

from __future__ import annotations

import re

from tests.other_tools import HEAD, PAGE, PINS, ROOT, ROWS

NEEDS = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)
NOT_CHECKED = [
    "| lists of bundles: the schema of EN 319 162-1 | none that a package has | – | not checked | – |",
    "| lists of bundles: EU DSS | its rules were read, it was not run | – | not checked | – |",
]


def rows() -> list[list[str]]:
    table = PAGE.read_text(encoding="utf-8").partition(HEAD)[2].partition("\n\n")[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines()]


def test_the_table_has_the_rows_that_tests_write_and_says_what_is_not_checked() -> None:
    found = rows()
    expected = [[row.written, row.tool, f"`tests/{row.test.partition('::')[0]}`"] for row in ROWS]
    assert [[each[0], each[1], each[4]] for each in found[: len(ROWS)]] == expected
    assert {each[3] for each in found[: len(ROWS)]} == {"accepted"}
    assert found[len(ROWS) :] == [each.strip("| ").split(" | ") for each in NOT_CHECKED]


def test_a_tool_with_a_pin_was_run_in_that_version() -> None:
    for _, tool, version, *_ in rows():
        assert version == PINS.get(tool, version), f"{tool}: run its test with FOJA_WRITE_DOCS=1"


def test_every_test_of_the_table_exists() -> None:
    for row in ROWS:
        path, _, name = row.test.partition("::")
        assert name in NEEDS.findall((ROOT / "tests" / path).read_text(encoding="utf-8")), row.test
