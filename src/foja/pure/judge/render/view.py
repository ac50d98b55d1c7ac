"""A report as the texts that a page shows: the verdict, on whose word it rests, what was not checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from foja.pure.judge.render.headline import headline, missing_items
from foja.pure.judge.render.labels import STATUSES, VERDICTS
from foja.pure.judge.render.notices import explain, translate
from foja.pure.judge.render.statements import Section, section
from foja.pure.judge.render.timeline import timeline
from foja.pure.judge.render.translations import index_of, text
from foja.pure.judge.render.words import say_item, say_limit, say_source, say_time, say_times, title
from foja.pure.judge.report import Report, plain
from foja.pure.proofs.finding import Finding, Status
from foja.pure.quotation import LONGEST_LINE, quoted

TONES: Final = {"passed": "good", "caution": "warn", "undecided": "info", "failed": "bad"}
STATUS_TONES: Final = {Status.VERIFIED: "good", Status.INVALID: "bad", Status.PENDING: "warn"}
MARK_TONES: Final = {"proof": "good", "revoked": "bad"}


@dataclass(frozen=True, slots=True)
class FindingView:
    """What one piece of evidence shows, in words."""

    title: str
    status: str
    tone: str
    code: str
    time: str
    source: str
    sentence: str
    detail: str
    remarks: Sequence[str]
    not_checked: Sequence[str]

    def by(self, language: str) -> str:
        """Return which time the evidence proves, and on whose word."""
        return text("by", language, time=self.time, source=self.source)


@dataclass(frozen=True, slots=True)
class MomentView:
    """One line of the timeline."""

    at: str
    time: str
    what: str
    source: str
    tone: str


@dataclass(frozen=True, slots=True)
class ReportView:
    """A report in the words of a language. It holds only texts, so that another process can send it."""

    tone: str
    first: str
    more: Sequence[str]
    facts: Sequence[tuple[str, str]]
    rests_on: Sequence[str]
    missing: Sequence[str]
    timeline: Sequence[MomentView]
    evidence: Sequence[FindingView]
    events: Section | None
    whole: str  # as canonical JSON


def view_report(report: Report, language: str) -> ReportView:
    """Return a report in the words of a language."""
    head = headline(report, language)
    return ReportView(
        TONES[head.tone],
        head.first,
        head.more,
        [*facts(report, language)],
        [say_item(each, language) for each in report.rests_on],
        [say_item(each, language) for each in missing_items(report)],
        [
            MomentView(each.at.isoformat(), each.time, each.what, each.source, MARK_TONES.get(each.mark, ""))
            for each in timeline(report, language)
        ],
        [view_finding(each, language) for each in report.evidence],
        section(report, language),
        report.json().decode(),
    )


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


def view_finding(finding: Finding, language: str) -> FindingView:
    """Return one piece of evidence in the words of a language."""
    sentence, detail = explain(finding, language)
    timed = finding.no_later_than is not None
    return FindingView(
        title(finding, language),
        STATUSES[finding.status][index_of(language)],
        STATUS_TONES.get(finding.status, "info"),
        finding.reason.value if finding.reason else "",
        say_limit(finding, language) if timed else "",
        say_source(finding, language) if timed else "",
        say_times(sentence, language),
        say_times(detail or "", language),
        [_notice(each, language) for each in finding.remarks],
        [_notice(each, language) for each in finding.not_checked],
    )


def _notice(notice: str, language: str) -> str:
    return say_times(plain(translate(notice, language)) or "", language)
