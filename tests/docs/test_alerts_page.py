"""Every alert has a runbook with commands that exist, and its row in docs/alerts.md."""

from __future__ import annotations

import re

import pytest

from foja.interfaces.web.pages.frame.language import read_texts
from foja.pure.models.alerts.alert import Alert
from foja.pure.models.alerts.table import ALERTS
from tests.docs.pages import PARSER, PLACEHOLDERS, ROOT, blocks, docs, rows, section

RUNBOOKS = ROOT / "docs" / "runbooks"
CODE = re.compile("`([^`\n]+)`")
HEADINGS = ("## What it means", "## How to see it", "## What to do")


def row(alert: Alert) -> list[str]:
    side = "less than" if alert.below else "more than"
    fires = f"{side} {alert.shown(alert.limit)}" if alert.built_in else "no series"
    lasting = f"{alert.seconds:,.0f} s" if alert.seconds else "at once"
    return [f"[`{alert.name}`](runbooks/{alert.runbook})", alert.severity, fires, lasting, alert.sentence]


def test_the_table_of_alerts_is_the_table() -> None:
    found = rows(section(docs("alerts"), "## The alerts"))[1:]
    assert [[cell.rstrip(" |") for cell in cells] for cells in found] == [
        row(alert) for alert in ALERTS.values()
    ]


def test_every_alert_has_a_runbook_and_no_other_is_there() -> None:
    for folder in (RUNBOOKS, RUNBOOKS / "es"):
        assert {page.name for page in folder.glob("*.md")} == {alert.runbook for alert in ALERTS.values()}


@pytest.mark.parametrize("alert", ALERTS.values(), ids=lambda alert: alert.name)
def test_a_spanish_runbook_has_the_commands_and_steps_of_the_english_one(alert: Alert) -> None:
    english, spanish = RUNBOOKS / alert.runbook, RUNBOOKS / "es" / alert.runbook
    summary = read_texts("alert_summaries")[alert.name]["es"].format(label="…")
    assert spanish.read_text().startswith(f"# {alert.name}\n\n{summary} En Prometheus es `{alert.title}`.\n")
    assert [block.lines() for block in blocks(spanish)] == [block.lines() for block in blocks(english)]
    steps = [
        [line[:2] for line in page.read_text().splitlines() if line[:1].isdigit()]
        for page in (english, spanish)
    ]
    assert steps[0] == steps[1]
    assert set(CODE.findall(english.read_text())) == set(CODE.findall(spanish.read_text()))


@pytest.mark.parametrize("alert", ALERTS.values(), ids=lambda alert: alert.name)
def test_a_runbook_says_what_it_means_how_to_see_it_and_what_to_do(alert: Alert) -> None:
    page = RUNBOOKS / alert.runbook
    text = page.read_text()
    assert text.startswith(f"# {alert.name}\n")
    assert f"`{alert.title}`" in text
    assert [line for line in text.splitlines() if line.startswith("## ")] == list(HEADINGS)
    shown = [words for block in blocks(page) for words in block.lines()]
    assert shown
    for program, *words in shown:
        assert program == "foja"
        PARSER.parse_args([PLACEHOLDERS.get(word, word) for word in words])
