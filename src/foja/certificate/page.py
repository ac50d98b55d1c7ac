"""The page itself. fpdf2 draws it; the date on it is the report's, never the clock's."""

from __future__ import annotations

import io
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import segno
from fpdf import FPDF
from fpdf.enums import XPos, YPos

from foja.certificate.font import NAME, font_bytes, writable
from foja.certificate.notices import spoken
from foja.certificate.translations import KINDS, LANGUAGES, STATUSES, VERDICTS, word
from foja.errors import Refused
from foja.judge.report import Report, instant
from foja.proofs.finding import Finding

PRODUCER = "Foja, with fpdf2"
MARGIN, WIDTH, SQUARE = 20, 170, 34
GREY, BLACK = 110, 0


@dataclass(frozen=True, slots=True)
class BundleInfo:
    """Which bundle the page is about."""

    sha256: str
    size: int


def certificate(report: Report, bundle: BundleInfo | None = None, *, language: str = "en") -> bytes:
    """Return the certificate as a PDF/A-3: the same bytes for the same report."""
    if language not in LANGUAGES:
        raise Refused(f"the certificate is written in {' or '.join(LANGUAGES)}, not in {language!r}")
    page = _Page(language)
    page.top()
    page.document(report)
    page.found(report)
    page.evidence(report)
    page.missed(report)
    page.checking(bundle)
    return page.finish(report)


class _Page:
    """A page being written from top to bottom."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.pdf = FPDF(format="A4", enforce_compliance="PDF/A-3B")
        self.pdf.set_margin(MARGIN)
        self.pdf.set_auto_page_break(True, MARGIN)
        with tempfile.TemporaryDirectory() as folder:  # fpdf2 takes fonts from files only
            path = Path(folder) / "letters.ttf"
            path.write_bytes(font_bytes())
            self.pdf.add_font(NAME, fname=path)
        self.pdf.add_page()

    def top(self) -> None:
        self._line(word("title", self.language), 20)
        self._line(word("notice", self.language), 11)

    def document(self, report: Report) -> None:
        """Say which document is meant, with its digest as a square code."""
        digest = report.subject.sha256.hex() if report.subject.sha256 else "?"
        self._heading("document")
        top = self.pdf.get_y()
        square = io.BytesIO()
        segno.make(f"sha256:{digest}", error="m", micro=False).save(square, kind="png", scale=4, border=2)
        self.pdf.image(square, x=MARGIN + WIDTH - SQUARE, y=top, w=SQUARE, alt_text=f"sha256:{digest}")
        beside = WIDTH - SQUARE - 6
        name = report.subject.name or word("unnamed", self.language)
        self._line(f"{word('name', self.language)}: {name}", 10, width=beside)
        self._line(f"{word('digest', self.language)}: {_grouped(digest)}", 10, width=beside)
        self._line(word("digest_meaning", self.language), 9, GREY, width=beside)
        self.pdf.set_y(max(self.pdf.get_y(), top + SQUARE))

    def found(self, report: Report) -> None:
        """Say in a sentence what is proven."""
        self._heading("finding")
        self._line(VERDICTS[report.verdict][LANGUAGES.index(self.language)], 12)
        earliest = report.earliest
        if earliest:
            self._line(word("proven", self.language).format(**self._when(earliest)), 11)
        else:
            self._line(word("nothing_proven", self.language), 11)
        if revoked := report.revoked:
            said = word("revoked", self.language).format(
                time=_moment(revoked.at), reason=revoked.reason or "–"
            )
            self._line(said, 11)
        self._line(word("judged_at", self.language).format(time=_moment(report.at)), 9, GREY)

    def evidence(self, report: Report) -> None:
        """List what was looked at."""
        self._heading("evidence")
        for each in report.evidence:
            self._line(self._sentence(each), 10)

    def missed(self, report: Report) -> None:
        """List what was not looked at, each once."""
        self._heading("missed")
        every = dict.fromkeys(text for each in report.evidence for text in each.not_checked)
        for text in every:
            self._line(f"· {spoken(text, self.language)}", 9)
        if not every:
            self._line(word("nothing_missed", self.language), 9)

    def checking(self, bundle: BundleInfo | None) -> None:
        """Say how others check it."""
        self._heading("check")
        for step in ("step_digest", "step_verify", "step_other"):
            self._line(word(step, self.language), 9)
        if bundle:
            size = f"{bundle.size} bytes"
            self._line(f"{word('bundle', self.language)}: SHA-256 {_grouped(bundle.sha256)}, {size}", 9, GREY)

    def finish(self, report: Report) -> bytes:
        """Return the bytes, with the whole report attached for programs."""
        self.pdf.set_title(word("title", self.language))
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
            desc=word("report", self.language),
        )
        return bytes(self.pdf.output())

    def _sentence(self, finding: Finding) -> str:
        at = LANGUAGES.index(self.language)
        kind = KINDS.get(finding.evidence, (finding.evidence,) * 2)[at]
        said = f"{kind}: {STATUSES[finding.status][at]}"
        if finding.reason:
            said += f" ({finding.reason})"
        if finding.no_later_than:
            said += f"; {word('until', self.language).format(**self._when(finding))}"
        return f"· {said}"

    def _when(self, finding: Finding) -> dict[str, str]:
        """Return time and source; a miner's clock may be two hours off, so Bitcoin's time is about right."""
        moment = finding.no_later_than
        about = word("about", self.language) if finding.evidence == "bitcoin" else ""
        source = spoken(finding.according_to or "?", self.language)
        return {"time": about + _moment(moment) if moment else "?", "source": source}

    def _heading(self, name: str) -> None:
        self.pdf.ln(3)
        self._line(word(name, self.language), 13)
        self.pdf.line(MARGIN, self.pdf.get_y(), MARGIN + WIDTH, self.pdf.get_y())
        self.pdf.ln(1.5)

    def _line(self, text: str, size: float, grey: int = BLACK, width: float = WIDTH) -> None:
        self.pdf.set_font(NAME, size=size)
        self.pdf.set_text_color(grey)
        self.pdf.multi_cell(
            width, size * 0.48, writable(text), align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT
        )
        self.pdf.ln(0.8)


def _metadata(pdf: FPDF, at: datetime) -> str:
    """Return what fpdf2 would say of the file, without the time of day it would put in."""
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


def _moment(moment: datetime) -> str:
    """Write a time as people read it; it is always that of Greenwich."""
    return f"{(instant(moment) or '').removesuffix('Z').replace('T', ' ')} UTC"


def _grouped(digest: str) -> str:
    return " ".join(digest[at : at + 8] for at in range(0, len(digest), 8))
