"""The certificate: PDF/A in two languages, with the report attached, always the same bytes."""

from __future__ import annotations

import re
import subprocess
import sys
import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from opentimestamps.core.notary import LitecoinBlockHeaderAttestation
from opentimestamps.core.op import Op, OpRIPEMD160, OpSHA256
from opentimestamps.core.timestamp import Timestamp

import foja
from foja.errors import Refused
from foja.interfaces.certificate.font import characters, replace_missing
from foja.interfaces.certificate.page import BundleInfo, certificate
from foja.pure.core.bundle import history
from foja.pure.core.canonical import Json
from foja.pure.judge.render.labels import ITEMS, KINDS, STATUSES, VERDICTS
from foja.pure.judge.render.notices import REASONS, translate
from foja.pure.judge.render.translations import LANGUAGES, TRANSLATIONS
from foja.pure.judge.report import Report, Subject, Verdict
from foja.pure.judge.trust import Trust
from foja.pure.proofs.finding import Finding, Reason, Status
from tests.rules import sigstores, stamps
from tests.rules.all_proofs import all_proofs
from tests.rules.batches import stamp_batch
from tests.rules.bundles import ENTITY, NOW, Scene
from tests.rules.pdf_text import pdf_lines
from tests.rules.streams import stream

AT = datetime(2026, 11, 16, 7, 50, tzinfo=UTC)
EVIDENCE = (
    Finding("container", Status.VERIFIED),
    Finding("tsa", Status.VERIFIED, None, "", AT, "An authority", ("revocation of “An authority”",)),
    Finding("bitcoin", Status.PENDING, Reason.NOT_ATTESTED_YET),
)
REPORT = Report(Subject(b"\x12" * 32, "contrato año 中.pdf"), EVIDENCE, AT, ("tsa",))
BUNDLE = BundleInfo("ab" * 32, 12345)

SCRIPT = """
from hashlib import sha256
from tests.rules.judge.test_certificate import BUNDLE, REPORT, certificate
print(sha256(certificate(REPORT, BUNDLE, language="es")).hexdigest())
"""


def test_the_font_has_every_character_of_every_text() -> None:
    tables = (TRANSLATIONS, KINDS, ITEMS, STATUSES, VERDICTS)
    every = [pair for table in tables for pair in table.values()]
    used = {character for pair in [*every, REASONS.values()] for text in pair for character in text}
    assert used <= characters() | {"\n"}
    assert all(len(pair) == len(LANGUAGES) for pair in every)
    assert set(VERDICTS) == set(Verdict)
    assert set(STATUSES) == set(Status)


def all_notices() -> set[str]:
    """Return every notice and every source of a time, over all kinds of evidence."""
    proofs, scene, at = all_proofs(), Scene(), NOW + timedelta(hours=1)
    digest = sha256(b"document").digest()
    said: Json = {"seq": 0, "reason": "asked for"}
    events = stream("document", ENTITY, [*scene.document_events(digest), ("body.erased", said)])
    erased = [replace(events[0], payload=None, actor=None, salt=None), *events[1:]]
    exported = history.heading("document", ENTITY) + b"".join(history.encode(erased))
    bare = replace(scene.contents(), document=None)
    bare = replace(bare, manifest=replace(bare.manifest, document=None))
    narrow, end = narrowed()
    old = stamps.written((narrow, stamps.block()), (stamps.WAY, LitecoinBlockHeaderAttestation(5)))
    easy = replace(Trust(), minimum_difficulty=0, headers=((100, stamps.mined(end).data),))
    instance = sigstores.Instance()
    certified = instance.bundle(certificate=instance.certificate(), version=1)
    trust = [instance.trusted_root(), scene.stamper.root.pem]
    reports = [
        foja.verify(proofs.bundle, proofs.trust, at),
        foja.verify(b"document", trust, at, proofs=[certified, scene.stamper.reply(digest)]),
        foja.verify(b"document", easy, at, proofs=[old]),
        foja.verify(scene.seal(scene.conversation().parts()), scene.trust, at),
        foja.verify(scene.seal(bare.parts()), scene.trust, at),
        foja.verify(exported, scene.trust, at, proofs=[scene.prove(events[-1]).text().encode()]),
        foja.verify(b"document", scene.trust, at, proofs=[stamp_batch(scene.stamper, [digest])[0].record]),
    ]
    return {text for report in reports for text in notices(report)}


def narrowed() -> tuple[list[Op], bytes]:
    """Return operations with RIPEMD-160, and their result."""
    operations = [OpRIPEMD160(), OpSHA256()]
    stamp = Timestamp(stamps.DIGEST)
    return operations, stamp.ops.add(operations[0]).ops.add(operations[1]).msg


def notices(report: Report) -> list[str]:
    not_checked = [text for each in report.evidence for text in each.not_checked]
    verified = [each for each in report.evidence if each.status is Status.VERIFIED]
    sources = [each.according_to for each in verified if each.according_to]
    return not_checked + sources + [each.detail for each in verified]


def test_every_notice_has_a_spanish_translation() -> None:
    every = all_notices()
    names = {text for text in every if text.startswith("CN=Foja local")}
    assert len(every) > 12
    assert {text for text in every if translate(text, "es") == text} == names
    assert all(translate(text, "en") == text for text in every)
    assert {character for text in every for character in translate(text, "es")} <= characters()
    assert translate("Bitcoin block 358391", "es") == "el bloque 358391 de Bitcoin"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_steps_name_the_file_that_is_there(language: str) -> None:
    batched = replace(EVIDENCE[1], name="META-INF/evidencerecord01.ers")
    for evidence, expected in ((EVIDENCE[1], "01.tsr"), (batched, "evidencerecord01.ers")):
        page = " ".join(
            pdf_lines(certificate(replace(REPORT, evidence=(evidence,)), BUNDLE, language=language))
        )
        assert [name in page for name in ("01.tsr", "evidencerecord01.ers")].count(True) == 1
        assert expected in page


def test_a_character_that_the_font_lacks_is_replaced() -> None:
    assert replace_missing("ñandú 中") == "ñandú [U+4E2D]"


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_marked_as_pdf_a_3(language: str) -> None:
    data = certificate(REPORT, BUNDLE, language=language)
    assert data.startswith(b"%PDF-1.7")
    assert b"<pdfaid:part>3</pdfaid:part>" in data
    assert b"<pdfaid:conformance>B</pdfaid:conformance>" in data
    assert b"/OutputIntents" in data
    assert b"/AFRelationship /Data" in data
    assert TRANSLATIONS["title"][LANGUAGES.index(language)].encode() in data


def test_the_report_is_attached_for_programs() -> None:
    data = certificate(REPORT, BUNDLE)
    streams = re.findall(rb"stream\n(.*?)\nendstream", data, re.DOTALL)
    assert any(REPORT.json() in (each, _unpacked(each)) for each in streams)


def _unpacked(data: bytes) -> bytes:
    try:
        return zlib.decompress(data)
    except zlib.error:
        return b""


def test_the_same_report_gives_the_same_bytes_in_every_process() -> None:
    here = sha256(certificate(REPORT, BUNDLE, language="es")).hexdigest()
    for seed in ("1", "2"):
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SCRIPT],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed, "TZ": "Asia/Tokyo"},
        )
        assert ran.stdout.strip() == here


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(Refused, match="en or es"):
        certificate(REPORT, language="la")


def test_a_failed_report_has_a_certificate_too() -> None:
    broken = Finding("container", Status.INVALID, Reason.ZIP_LAYOUT, "x" * 3000)
    assert certificate(Report(Subject(), (broken,) * 80, AT)).startswith(b"%PDF")
