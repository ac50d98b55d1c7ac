"""The certificate as other programs read it: the structure of PDF/A-3, and the QR code on the page."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pikepdf
import pypdfium2
import pytest
import zxingcpp

from foja.interfaces.certificate.page import certificate
from foja.pure.judge.render.translations import LANGUAGES
from tests.rules.judge.test_certificate import BUNDLE, REPORT

ACTIONS = ("/A", "/AA", "/JS", "/JavaScript", "/Launch", "/Encrypt", "/XFA")


@pytest.fixture(params=LANGUAGES)
def data(request: pytest.FixtureRequest) -> bytes:
    return certificate(REPORT, BUNDLE, language=request.param)


@pytest.fixture
def pdf(data: bytes) -> Iterator[pikepdf.Pdf]:
    with pikepdf.open(io.BytesIO(data)) as opened:
        yield opened


def dictionaries(pdf: pikepdf.Pdf) -> Iterator[Any]:
    return (each for each in pdf.objects if isinstance(each, pikepdf.Dictionary | pikepdf.Stream))


def test_it_identifies_itself_as_pdf_a_3b(pdf: pikepdf.Pdf) -> None:
    """The identification is read from its XMP metadata, not found as text."""
    with pdf.open_metadata() as metadata:
        assert (metadata["pdfaid:part"], metadata["pdfaid:conformance"]) == ("3", "B")
    [intent] = pdf.Root.OutputIntents
    assert str(intent.S) == "/GTS_PDFA1"
    assert intent.DestOutputProfile.read_bytes()[36:40] == b"acsp"  # an ICC profile


def test_every_font_is_embedded(pdf: pikepdf.Pdf) -> None:
    """As PDF/A requires."""
    described = [each for each in dictionaries(pdf) if each.get("/Type") == "/FontDescriptor"]
    assert described
    assert all({"/FontFile", "/FontFile2", "/FontFile3"} & set(each.keys()) for each in described)
    simple = [
        each for each in dictionaries(pdf) if each.get("/Type") == "/Font" and "/FontDescriptor" not in each
    ]
    assert all("/DescendantFonts" in each for each in simple)


def test_nothing_in_it_acts_or_hides(pdf: pikepdf.Pdf) -> None:
    """As PDF/A requires."""
    found = [(name, each) for each in dictionaries(pdf) for name in ACTIONS if name in each]
    assert found == []
    assert isinstance(pdf.Root.get("/OpenAction"), pikepdf.Array)  # the page to show first


def test_the_attached_report_says_what_it_is(pdf: pikepdf.Pdf) -> None:
    [file] = pdf.Root.AF
    assert [str(file.Type), str(file.AFRelationship)] == ["/Filespec", "/Data"]
    assert file.EF.F.read_bytes() == REPORT.json()


def test_a_camera_reads_the_digest(data: bytes) -> None:
    """The QR code on the rendered page contains the digest of the document."""
    page = pypdfium2.PdfDocument(data)[0].render(scale=3).to_pil()
    [code] = zxingcpp.read_barcodes(page)
    assert REPORT.subject.sha256 is not None
    assert code.text.lower().find(REPORT.subject.sha256.hex()) >= 0
