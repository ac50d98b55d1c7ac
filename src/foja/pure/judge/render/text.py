"""A report as lines for a terminal: the headline, then verdict and codes, then every proof."""

from __future__ import annotations

from collections.abc import Iterator

from foja.pure.judge.render.headline import headline
from foja.pure.judge.render.statements import section
from foja.pure.judge.render.translations import text
from foja.pure.judge.render.view import facts, view_finding
from foja.pure.judge.render.words import say_item
from foja.pure.judge.report import Report
from foja.pure.proofs.finding import Finding, Status

_MARKS = {Status.VERIFIED: "✓", Status.INVALID: "✗"}


def as_text(report: Report, language: str = "en") -> str:
    """Return the report as lines, the sentence for people first."""
    return "\n".join(_lines(report, language)) + "\n"


def _lines(report: Report, language: str) -> Iterator[str]:
    yield from headline(report, language).lines()
    yield ""
    yield from _events(report, language)
    for label, value in facts(report, language):
        yield f"  {label}: {value}"
    yield f"  {text('rests_on', language)}:"
    for item in report.rests_on:
        yield f"    {say_item(item, language)}"
    if not report.rests_on:
        yield f"    {text('rests_on_nothing', language)}"
    yield ""
    for finding in report.evidence:
        yield from _finding(finding, language)
    if not report.evidence:
        yield text("no_evidence", language)


def _events(report: Report, language: str) -> Iterator[str]:
    found = section(report, language)
    if found is None:
        return
    yield f"{found.title}:"
    yield f"  {found.lead}"
    for place, said in enumerate(found.said):
        if place == found.gap_after:
            yield f"  … {found.gap}"
        yield f"  {said.sentence}"
        yield from (f"    | {each}" for each in said.quotes)
    yield ""
    if found.complete:
        yield f"{found.title_complete}:"
        yield from (f"  {each}" for each in found.complete)
        yield ""


def _finding(finding: Finding, language: str) -> Iterator[str]:
    view = view_finding(finding, language)
    code = f" ({view.code})" if view.code else ""
    yield f"{_MARKS.get(finding.status, '·')} {view.title}: {view.status}{code}"
    yield f"    {view.sentence}"
    if view.detail:
        yield f"    {text('technical', language)}: {view.detail}"
    yield from (f"    {text('remark', language)}: {each}" for each in view.remarks)
    yield from (f"    {text('not_checked', language)}: {each}" for each in view.not_checked)
