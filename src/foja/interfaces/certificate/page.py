"""The page of the certificate, drawn by fpdf2. Its date comes from the report, never from the clock."""

from __future__ import annotations

import io
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import segno
from fpdf import FPDF
from fpdf.enums import XPos, YPos

from foja.interfaces.certificate.font import NAME, font_bytes, replace_missing
from foja.pure.judge.render.headline import CAUTION, FAILED, PASSED, UNDECIDED, headline
from foja.pure.judge.render.statements import Section, section
from foja.pure.judge.render.timeline import timeline
from foja.pure.judge.render.translations import index_of, text
from foja.pure.judge.render.view import FindingView, facts, view_finding
from foja.pure.judge.render.words import say_fingerprint, say_item
from foja.pure.judge.report import Report
from foja.pure.proofs.finding import Status

PRODUCER = "Foja, with fpdf2"
MARGIN, WIDTH, QR_SIZE, LABELS, INDENT = 20, 170, 30, 38, 7
GREY, BLACK = (95, 101, 112), (20, 23, 28)
TONES = {PASSED: (23, 105, 58), CAUTION: (138, 90, 0), UNDECIDED: (59, 91, 140), FAILED: (163, 36, 43)}


@dataclass(frozen=True, slots=True)
class BundleInfo:
    """The bundle that the page is about."""

    sha256: str
    size: int


def certificate(report: Report, bundle: BundleInfo | None = None, *, language: str = "en") -> bytes:
    """Return the certificate as a PDF/A-3: the same bytes for the same report."""
    page = _Page(language)
    page.add_headline(report)
    page.add_events(section(report, language))
    page.add_document(report)
    page.add_rests_on(report)
    page.add_timeline(report)
    page.add_evidence(report)
    page.add_not_checked(report)
    page.add_instructions(report, bundle)
    return page.finish(report)


class _Page:
    """A page that is written from top to bottom."""

    def __init__(self, language: str) -> None:
        index_of(language)  # refuses one that there is not
        self.language = language
        self.pdf = FPDF(format="A4", enforce_compliance="PDF/A-3B")
        self.pdf.set_margin(MARGIN)
        self.pdf.set_auto_page_break(True, MARGIN)
        with tempfile.TemporaryDirectory() as folder:  # fpdf2 takes fonts from files only
            path = Path(folder) / "font.ttf"
            path.write_bytes(font_bytes())
            self.pdf.add_font(NAME, fname=path)
        self.pdf.add_page()

    def add_headline(self, report: Report) -> None:
        """Write what is proven, beside a bar in the colour of the result."""
        head = headline(report, self.language)
        self._line(f"foja · {self._text('title')}", 10, GREY)
        self.pdf.ln(3)
        top, page = self.pdf.get_y(), self.pdf.page
        self._line(head.first, 15, indent=INDENT)
        self.pdf.ln(1.5)
        for sentence in head.more:
            self._line(sentence.replace("`", ""), 10, indent=INDENT)
        self.pdf.set_fill_color(*TONES[head.tone])
        if self.pdf.page == page:
            self.pdf.rect(MARGIN, top, 1.6, self.pdf.get_y() - top - 1, style="F")
        self._line(self._text("notice"), 9, GREY)

    def add_events(self, found: Section | None) -> None:
        """Write what the events say, and what of their history is complete."""
        if found is None:
            return
        self._heading(found.title)
        self._line(found.lead, 9, GREY)
        for place, said in enumerate(found.said):
            if place == found.gap_after:
                self._line(f"… {found.gap}", 9, GREY)
            self._item(said.sentence)
            for each in said.quotes:
                self._quotation(each)
        if found.complete:
            self._heading(found.title_complete)
            for line in found.complete:
                self._item(line)

    def add_document(self, report: Report) -> None:
        """Write what was judged, with the digest as a QR code and in one line, so that it can be copied."""
        self._heading(self._text("document"))
        top, digest = self.pdf.get_y(), report.subject.sha256
        beside = WIDTH - QR_SIZE - 4 if digest else WIDTH
        if digest:
            code = io.BytesIO()
            segno.make(f"sha256:{digest.hex()}", error="m", micro=False).save(
                code, kind="png", scale=4, border=0
            )
            left, name = MARGIN + WIDTH - QR_SIZE, f"sha256:{digest.hex()}"
            self.pdf.image(code, x=left, y=top + 1, w=QR_SIZE, alt_text=name)
        for label, value in facts(report, self.language):
            is_digest = digest is not None and value == digest.hex()
            self._row(label, value, beside, size=self._fitting(value, beside - LABELS) if is_digest else 10)
        if digest:
            self._line(self._text("digest_meaning"), 9, GREY, width=beside)
            self.pdf.set_y(max(self.pdf.get_y(), top + QR_SIZE + 2))

    def add_rests_on(self, report: Report) -> None:
        """List the roots, keys and blocks that the result rests on."""
        self._heading(self._text("rests_on"))
        for item in report.rests_on:
            self._line(say_item(replace(item, fingerprint=None), self.language), 9)
            self._line(say_fingerprint(item, self.language), 9, GREY)
        if not report.rests_on:
            self._line(self._text("rests_on_nothing"), 9)

    def add_timeline(self, report: Report) -> None:
        """List when things happened."""
        self._heading(self._text("timeline"))
        for each in timeline(report, self.language):
            self._row(
                each.time, f"{each.what} – {each.source}" if each.source else each.what, labels=66, size=9
            )

    def add_evidence(self, report: Report) -> None:
        """List what was checked: each result with its sentences and remarks."""
        self._heading(self._text("evidence"))
        for finding in report.evidence:
            view = view_finding(finding, self.language)
            self._item(_result(view))
            lines = [view.by(self.language)] if view.time else []
            lines += [view.sentence] if view.sentence else []
            lines += [f"{self._text('technical')}: {view.detail}"] if view.detail else []
            lines += [f"{self._text('remark')}: {each}" for each in view.remarks]
            for line in lines:
                self._line(line, 9, GREY, indent=4)

    def add_not_checked(self, report: Report) -> None:
        """List what was not checked, each notice once; undecided evidence is not checked either."""
        self._heading(self._text("not_checked"))
        views = [(each.status, view_finding(each, self.language)) for each in report.evidence]
        lines = [_result(view) for status, view in views if status not in (Status.VERIFIED, Status.INVALID)]
        lines += dict.fromkeys(notice for _, view in views for notice in view.not_checked)
        for line in lines or [self._text("all_checked")]:
            self._item(line)

    def add_instructions(self, report: Report, bundle: BundleInfo | None) -> None:
        """Write how to check the evidence independently."""
        self._heading(self._text("check"))
        stamps = [each.name or "" for each in report.evidence if each.evidence == "tsa"]
        in_a_batch = any(name.endswith(".ers") for name in stamps)
        others = ["step_other_batch" if in_a_batch else "step_other"] if stamps else []
        for step in ("step_digest", "step_verify", *others):
            self._line(self._text(step), 9)
        if bundle:
            self._line(text("bundle", self.language, size=bundle.size), 9, GREY)
            self._line(bundle.sha256, 9, GREY)

    def finish(self, report: Report) -> bytes:
        """Return the bytes, with the whole report attached for programs."""
        self.pdf.set_title(self._text("title"))
        self.pdf.set_producer(PRODUCER)
        self.pdf.set_lang(self.language)
        self.pdf.set_creation_date(report.at)
        self.pdf.set_xmp_metadata(_metadata(self.pdf, report.at))
        self.pdf.embed_file(
            bytes=report.json(),
            basename="report.json",
            creation_date=report.at,
            modification_date=report.at,
            mime_type="application/json",
            associated_file_relationship="Data",
            desc=self._text("report"),
        )
        return bytes(self.pdf.output())

    def _heading(self, words: str) -> None:
        self.pdf.ln(3.5)
        if self.pdf.will_page_break(20):
            self.pdf.add_page()
        self._line(words, 12)
        self.pdf.set_draw_color(200)
        self.pdf.line(MARGIN, self.pdf.get_y(), MARGIN + WIDTH, self.pdf.get_y())
        self.pdf.ln(1.5)

    def _row(
        self, label: str, value: str, width: float = WIDTH, labels: float = LABELS, size: float = 10
    ) -> None:
        """Write a label and its value in two columns."""
        if self.pdf.will_page_break(10):
            self.pdf.add_page()
        top = self.pdf.get_y()
        self._line(label, 9, GREY, width=labels - 2)
        end = self.pdf.get_y()
        self.pdf.set_y(top)
        self._line(value, size, indent=labels, width=width)
        self.pdf.set_y(max(end, self.pdf.get_y()))

    def _item(self, words: str) -> None:
        """Write a line of a list; its further lines begin where its words do."""
        if self.pdf.will_page_break(5):
            self.pdf.add_page()
        top = self.pdf.get_y()
        self._line("·", 9)
        self.pdf.set_y(top)
        self._line(words, 9, indent=3)

    def _quotation(self, words: str) -> None:
        """Write words of others beside a bar, also where they need more than one line."""
        top, page = self.pdf.get_y(), self.pdf.page
        self._line(words, 9, GREY, indent=INDENT)
        self.pdf.set_fill_color(*GREY)
        if self.pdf.page == page:
            self.pdf.rect(MARGIN + INDENT - 3, top, 0.6, self.pdf.get_y() - top - 0.8, style="F")

    def _fitting(self, value: str, width: float) -> float:
        """Return the size in which a text fits in one line."""
        self.pdf.set_font(NAME, size=10)
        return min(10, 10 * (width - 3) / self.pdf.get_string_width(value))

    def _line(
        self,
        words: str,
        size: float,
        colour: tuple[int, int, int] = BLACK,
        width: float = WIDTH,
        indent: float = 0,
    ) -> None:
        self.pdf.set_font(NAME, size=size)
        self.pdf.set_text_color(*colour)
        self.pdf.set_x(MARGIN + indent)
        safe, height = replace_missing(words), size * 0.48
        self.pdf.multi_cell(width - indent, height, safe, align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self.pdf.ln(0.8)

    def _text(self, name: str) -> str:
        return text(name, self.language)


def _result(view: FindingView) -> str:
    return f"{view.title}: {view.status}{f' ({view.code})' if view.code else ''}"


def _metadata(pdf: FPDF, at: datetime) -> str:
    """Return the metadata that fpdf2 would write, without the current time."""
    moment = at.astimezone(UTC).isoformat(timespec="seconds")
    return f"""<x:xmpmeta xmlns:x="adobe:ns:meta/">
  <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/"
    xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:pdf="http://ns.adobe.com/pdf/1.3/"
    xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/">
    <rdf:Description rdf:about="" xmp:CreateDate="{moment}" xmp:ModifyDate="{moment}"
      xmp:MetadataDate="{moment}" pdf:Producer="{PRODUCER}">
      <pdfaid:part>3</pdfaid:part>
      <pdfaid:conformance>B</pdfaid:conformance>
      <dc:title><rdf:Alt><rdf:li xml:lang="x-default">{pdf.title}</rdf:li></rdf:Alt></dc:title>
    </rdf:Description>
  </rdf:RDF>
</x:xmpmeta>"""
