"""A report as lines for a terminal: the headline, then verdict and codes, then every proof."""

from __future__ import annotations

from collections.abc import Iterator

from foja.judge.render.headline import headline
from foja.judge.render.notices import explain, translate
from foja.judge.render.statements import section
from foja.judge.render.translations import STATUSES, VERDICTS, index_of, text
from foja.judge.render.words import say_item, say_time, title
from foja.judge.report import Report, plain
from foja.proofs.finding import Finding, Status
from foja.quotation import LONGEST_LINE, quoted

_MARKS = {Status.VERIFIED: "✓", Status.INVALID: "✗"}


def as_text(report: Report, language: str = "en") -> str:
    """Return the report as lines, the sentence for people first."""
    return "\n".join(_lines(report, language)) + "\n"


def facts(report: Report, language: str) -> Iterator[tuple[str, str]]:
    """Yield what was judged, when, and with which result, each with its label."""
    at = index_of(language)
    verdict = f"{report.verdict.value} ({VERDICTS[report.verdict][at]})"
    if report.subject.name:
        yield text("name", language), quoted(report.subject.name, LONGEST_LINE)
    if report.subject.sha256:
        yield text("digest", language), report.subject.sha256.hex()
    yield text("verdict", language), verdict
    yield text("judged_at", language), say_time(report.at, language)
    if report.required is not None:
        yield text("required", language), ", ".join(report.required) or text("nothing_required", language)


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
    sentence, detail = explain(finding, language)
    code = f" ({finding.reason})" if finding.reason else ""
    status = STATUSES[finding.status][index_of(language)]
    yield f"{_MARKS.get(finding.status, '·')} {title(finding, language)}: {status}{code}"
    yield f"    {sentence}"
    if detail:
        yield f"    {text('technical', language)}: {detail}"
    for each in finding.remarks:
        yield f"    {text('remark', language)}: {plain(translate(each, language))}"
    for each in finding.not_checked:
        yield f"    {text('not_checked', language)}: {plain(translate(each, language))}"
