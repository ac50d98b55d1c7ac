"""`/verify`: judge a bundle, or a file with its proofs. For anyone; nothing is stored.

The script sends the digest of a file instead of the file where a digest is enough.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import Request, Response
from starlette.datastructures import FormData

from foja.errors import Refused, TooLarge
from foja.judge.detached import Detached
from foja.judge.proof import MAX_BYTES
from foja.judge.render.headline import Headline, headline, missing_items
from foja.judge.render.notices import explain, translate
from foja.judge.render.text import facts
from foja.judge.render.timeline import Entry, timeline
from foja.judge.render.translations import STATUSES, index_of
from foja.judge.render.words import say_item, say_limit, say_source, shown, title
from foja.judge.report import Report, plain
from foja.proofs.finding import Finding, Status
from foja.verification import verify as judge
from foja.web.context import Context
from foja.web.pages.frame.errors import page_router
from foja.web.pages.frame.forms import field, files_of, read_form
from foja.web.pages.frame.rendering import Requested
from foja.web.pages.frame.visitor import Visitor
from foja.web.pages.texts.verify import TEXTS

MAX_REQUEST_BYTES: Final = 512 * 1024 * 1024
TONES: Final = {"passed": "good", "caution": "warn", "undecided": "info", "failed": "bad"}
STATUS_TONES: Final = {Status.VERIFIED: "good", Status.INVALID: "bad", Status.PENDING: "warn"}
routes = page_router(prefix="/verify")
_at_once = asyncio.Semaphore(2)  # judging uses a processor; others wait


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
    not_checked: Sequence[str]


@dataclass(frozen=True, slots=True)
class ReportView:
    """A report in words: the verdict, on whose word it rests, what was not checked."""

    tone: str
    head: Headline
    facts: Sequence[tuple[str, str]]
    rests_on: Sequence[str]
    missing: Sequence[str]
    timeline: Sequence[Entry]
    evidence: Sequence[FindingView]
    json: str


@routes.get("")
async def show(page: Requested, visitor: Visitor) -> Response:
    """Show the form."""
    return page.render("verify.html", TEXTS, principal=visitor, report=None, own=True, digest="")


@routes.post("")
async def verify(ctx: Context, page: Requested, visitor: Visitor, request: Request) -> Response:
    """Judge what was sent, and show the report below the form."""
    if int(request.headers.get("content-length", "0")) > MAX_REQUEST_BYTES:
        size = MAX_REQUEST_BYTES // (1024 * 1024)
        raise TooLarge(f"the files are over {size} MB; use `foja verify` on your computer instead")
    form = await read_form(request)
    own = field(form, "own") == "yes"
    report = await _judge(form, ctx.app.trust if own else [])
    shown_report = view_report(report, page.language)
    return page.render(
        "verify.html", TEXTS, principal=visitor, report=shown_report, own=own, digest=field(form, "digest")
    )


async def _judge(form: FormData, own_trust: Sequence[str]) -> Report:
    files, digest = files_of(form, "file"), field(form, "digest")
    proofs = [Detached(await each.read(MAX_BYTES + 1), each.filename) for each in files_of(form, "proofs")]
    trust: list[str | bytes] = [*own_trust, *[await each.read() for each in files_of(form, "trust_files")]]
    if lines := field(form, "trust"):
        trust.append(f"{lines}\n")
    if not files and not digest:
        raise Refused("there is nothing to verify; choose a bundle, or a file with its proofs")
    subject = files[0].file if files else None
    name = files[0].filename if files else field(form, "name") or None
    async with _at_once:
        return await asyncio.to_thread(judge, subject, trust, proofs=proofs, digest=digest or None, name=name)


def view_report(report: Report, language: str) -> ReportView:
    """Return a report in the words of a language."""
    head = headline(report, language)
    return ReportView(
        TONES[head.tone],
        head,
        [*facts(report, language)],
        [say_item(each, language) for each in report.rests_on],
        [say_item(each, language) for each in missing_items(report)],
        timeline(report, language),
        [_view(each, language) for each in report.evidence],
        report.json().decode(),
    )


def _view(finding: Finding, language: str) -> FindingView:
    sentence, detail = explain(finding, language)
    timed = finding.no_later_than is not None
    return FindingView(
        title(finding, language),
        STATUSES[finding.status][index_of(language)],
        STATUS_TONES.get(finding.status, "info"),
        shown(finding.reason) if finding.reason else "",
        say_limit(finding, language) if timed else "",
        say_source(finding, language) if timed else "",
        plain(sentence) or "",
        plain(detail) or "",
        [plain(translate(each, language)) or "" for each in finding.not_checked],
    )
