"""The page of the certificate, drawn by fpdf2. Its date comes from the report, never from the clock."""

from __future__ import annotations

import io
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import segno
from fpdf import FPDF
from fpdf.enums import XPos, YPos

from foja.certificate.font import NAME, font_bytes, replace_missing
from foja.certificate.notices import translate
from foja.certificate.translations import KINDS, LANGUAGES, STATUSES, VERDICTS, translation
from foja.errors import Refused
from foja.judge.report import Report, instant
from foja.proofs.finding import Finding

PRODUCER = "Foja, with fpdf2"
MARGIN, WIDTH, QR_SIZE = 20, 170, 34
GREY, BLACK = 110, 0


@dataclass(frozen=True, slots=True)
class BundleInfo:
    """The bundle that the page is about."""

    sha256: str
    size: int


def certificate(report: Report, bundle: BundleInfo | None = None, *, language: str = "en") -> bytes:
    """Return the certificate as a PDF/A-3: the same bytes for the same report."""
    if language not in LANGUAGES:
        raise Refused(f"the certificate is available in {' or '.join(LANGUAGES)}, not in {language!r}")
    page = _Page(language)
    page.add_title()
    page.add_document(report)
    page.add_result(report)
    page.add_evidence(report)
    page.add_not_checked(report)
    page.add_instructions(bundle)
    return page.finish(report)


class _Page:
    """A page that is written from top to bottom."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.pdf = FPDF(format="A4", enforce_compliance="PDF/A-3B")
        self.pdf.set_margin(MARGIN)
        self.pdf.set_auto_page_break(True, MARGIN)
        with tempfile.TemporaryDirectory() as folder:  # fpdf2 takes fonts from files only
            path = Path(folder) / "font.ttf"
            path.write_bytes(font_bytes())
            self.pdf.add_font(NAME, fname=path)
        self.pdf.add_page()

    def add_title(self) -> None:
        self._line(self._text("title"), 20)
        self._line(self._text("notice"), 11)

    def add_document(self, report: Report) -> None:
        """Write the document's name and its digest, with the digest as a QR code."""
        digest = report.subject.sha256.hex() if report.subject.sha256 else "?"
        self._heading("document")
        top = self.pdf.get_y()
        code = io.BytesIO()
        segno.make(f"sha256:{digest}", error="m", micro=False).save(code, kind="png", scale=4, border=2)
        self.pdf.image(code, x=MARGIN + WIDTH - QR_SIZE, y=top, w=QR_SIZE, alt_text=f"sha256:{digest}")
        beside = WIDTH - QR_SIZE - 6
        name = report.subject.name or self._text("unnamed")
        self._line(f"{self._text('name')}: {name}", 10, width=beside)
        self._line(f"{self._text('digest')}: {_grouped(digest)}", 10, width=beside)
        self._line(self._text("digest_meaning"), 9, GREY, width=beside)
        self.pdf.set_y(max(self.pdf.get_y(), top + QR_SIZE))

    def add_result(self, report: Report) -> None:
        """Write in a sentence what is proven."""
        self._heading("finding")
        self._line(VERDICTS[report.verdict][LANGUAGES.index(self.language)], 12)
        earliest = report.earliest
        if earliest:
            self._line(self._text("proven").format(**self._when(earliest)), 11)
        else:
            self._line(self._text("nothing_proven"), 11)
        if revoked := report.revoked:
            reason = revoked.reason or "–"
            self._line(self._text("revoked").format(time=_moment(revoked.at), reason=reason), 11)
        self._line(self._text("judged_at").format(time=_moment(report.at)), 9, GREY)

    def add_evidence(self, report: Report) -> None:
        """List what was checked."""
        self._heading("evidence")
        for each in report.evidence:
            self._line(self._sentence(each), 10)

    def add_not_checked(self, report: Report) -> None:
        """List what was not checked, each notice once."""
        self._heading("not_checked")
        notices = dict.fromkeys(text for each in report.evidence for text in each.not_checked)
        for text in notices:
            self._line(f"· {translate(text, self.language)}", 9)
        if not notices:
            self._line(self._text("all_checked"), 9)

    def add_instructions(self, bundle: BundleInfo | None) -> None:
        """Write how to check the evidence independently."""
        self._heading("check")
        for step in ("step_digest", "step_verify", "step_other"):
            self._line(self._text(step), 9)
        if bundle:
            size = f"{bundle.size} bytes"
            self._line(f"{self._text('bundle')}: SHA-256 {_grouped(bundle.sha256)}, {size}", 9, GREY)

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

    def _sentence(self, finding: Finding) -> str:
        at = LANGUAGES.index(self.language)
        kind = KINDS.get(finding.evidence, (finding.evidence,) * 2)[at]
        sentence = f"{kind}: {STATUSES[finding.status][at]}"
        if finding.reason:
            sentence += f" ({finding.reason})"
        if finding.no_later_than:
            sentence += f"; {self._text('until').format(**self._when(finding))}"
        return f"· {sentence}"

    def _when(self, finding: Finding) -> dict[str, str]:
        """Return time and source; Bitcoin's time is approximate: a miner's clock may be two hours off."""
        moment = finding.no_later_than
        about = self._text("about") if finding.evidence == "bitcoin" else ""
        source = translate(finding.according_to or "?", self.language)
        return {"time": about + _moment(moment) if moment else "?", "source": source}

    def _heading(self, name: str) -> None:
        self.pdf.ln(3)
        self._line(self._text(name), 13)
        self.pdf.line(MARGIN, self.pdf.get_y(), MARGIN + WIDTH, self.pdf.get_y())
        self.pdf.ln(1.5)

    def _line(self, text: str, size: float, grey: int = BLACK, width: float = WIDTH) -> None:
        self.pdf.set_font(NAME, size=size)
        self.pdf.set_text_color(grey)
        self.pdf.multi_cell(
            width, size * 0.48, replace_missing(text), align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT
        )
        self.pdf.ln(0.8)

    def _text(self, name: str) -> str:
        return translation(name, self.language)


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


def _moment(moment: datetime) -> str:
    """Return a time for people, in UTC."""
    return f"{(instant(moment) or '').removesuffix('Z').replace('T', ' ')} UTC"


def _grouped(digest: str) -> str:
    return " ".join(digest[at : at + 8] for at in range(0, len(digest), 8))
