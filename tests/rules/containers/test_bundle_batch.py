"""A bundle whose timestamp covers a batch: an evidence record, the list of its group, and the blinding."""

from __future__ import annotations

import io
import random
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from lxml import etree

import foja
from foja.pure.core.bundle import asic, assembly, names
from foja.pure.core.bundle.archive import Part, part, write
from foja.pure.core.bundle.assembly import Contents
from foja.pure.core.bundle.evidence_record import lists_of
from foja.pure.core.bundle.reader import open_container
from foja.pure.core.canonical import Json
from foja.pure.judge.container.bundle import BundleRequest, judge_bundle
from foja.pure.judge.detached import Detached
from foja.pure.judge.render import as_html, as_text
from foja.pure.judge.report import Report, Verdict
from foja.pure.proofs.ers import read_record
from foja.pure.proofs.finding import Finding, Reason, Status
from foja.pure.proofs.notices import GROUP_NOT_GIVEN
from tests.rules.batches import Stamped, digests_of, stamp_batch
from tests.rules.bundles import NOW, TEXT, Scene

AT = NOW + timedelta(hours=1)
SCENE = Scene()
DIGEST = sha256(TEXT).digest()
STAMPED, NEIGHBOUR, *_ = stamp_batch(SCENE.stamper, [DIGEST, *digests_of(6)])
PATHS = names.record_names(1)
EVENTS = SCENE.document_events(DIGEST, confirmed=STAMPED.payload())
BUNDLE = SCENE.bundle(TEXT, EVENTS)


def judged(data: bytes, trust: object = None) -> Report:
    return judge_bundle(io.BytesIO(data), BundleRequest(SCENE.trust, AT))


def finding(report: Report, evidence: str) -> Finding:
    return next(each for each in report.evidence if each.evidence == evidence)


def changed(change: Callable[[list[Part]], list[Part]]) -> Report:
    """Judge a bundle whose files were changed, listed and sealed anew."""
    return judged(SCENE.seal(change(SCENE.contents(TEXT, EVENTS).parts())))


def replaced(name: str, data: bytes) -> Callable[[list[Part]], list[Part]]:
    return lambda parts: [part(name, data) if each.entry.name == name else each for each in parts]


def test_a_bundle_with_an_evidence_record_passes() -> None:
    report = foja.verify(BUNDLE, SCENE.trust, AT)
    assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
    found = finding(report, "tsa")
    assert found.name == PATHS.record == "META-INF/evidencerecord01.ers"
    assert "a batch of documents" in found.detail
    assert GROUP_NOT_GIVEN not in found.not_checked
    names_inside = open_container(io.BytesIO(BUNDLE)).names
    assert set(PATHS) <= set(names_inside)
    assert names.proof_name("tsa", 1) not in names_inside
    assert names_inside[-2:] == names.seal_names(0)


@pytest.mark.parametrize(
    ("language", "words"), [("en", "a batch of documents"), ("es", "un lote de documentos")]
)
def test_reports_say_that_the_token_covers_a_batch(language: str, words: str) -> None:
    report = foja.verify(BUNDLE, SCENE.trust, AT)
    assert words in as_text(report, language=language)
    assert words in as_html(report, language=language)


def test_the_list_of_the_group_is_that_of_the_standard() -> None:
    """EN 319 162-1, 4.4.3.2: it names the record, and every file that the record is about, by its digest."""
    container = open_container(io.BytesIO(BUNDLE))
    root = etree.fromstring(container.read(PATHS.listing))
    spaces = {"asic": asic.ASIC, "ds": asic.DSIG}
    assert root.xpath("asic:SigReference/@URI", namespaces=spaces) == [PATHS.record]
    listed = root.xpath("asic:DataObjectReference/@URI", namespaces=spaces)
    assert listed == ["document/a.txt", PATHS.blinding]
    values = root.xpath("asic:DataObjectReference/ds:DigestValue/text()", namespaces=spaces)
    digests = [sha256(container.read(name)).digest() for name in listed]
    assert values == [b64encode(each).decode() for each in digests]
    assert set(read_record(container.read(PATHS.record)).lists[0]) == set(digests)


def test_a_bundle_without_the_document_passes_for_its_digest() -> None:
    def without(contents: Contents) -> Contents:
        return replace(contents, manifest=replace(contents.manifest, document=None), document=None)

    contents = without(SCENE.contents(TEXT, EVENTS))
    group = {names.document_name(""): DIGEST, PATHS.blinding: STAMPED.group[0]}
    listing = part(PATHS.listing, asic.encode_group(PATHS.record, group))
    proofs = [listing if each.entry.name == PATHS.listing else each for each in contents.proofs]
    report = judged(SCENE.seal(replace(contents, proofs=proofs).parts()))
    assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
    report = judged(SCENE.seal(contents.parts()))  # its list names a path that is not there
    assert finding(report, "container").reason is Reason.NON_CANONICAL


@pytest.mark.parametrize("name", PATHS)
def test_every_file_of_a_record_is_needed(name: str) -> None:
    report = changed(lambda parts: [each for each in parts if each.entry.name != name])
    assert report.verdict is Verdict.TOTAL_FAILED
    assert finding(report, "container").reason is Reason.MISSING_ENTRY


REFUSED = {
    "another blinding": (PATHS.blinding, NEIGHBOUR.blinding, "container", Reason.NON_CANONICAL),
    "a longer blinding": (PATHS.blinding, bytes(33), "container", Reason.MALFORMED),
    "another list": (PATHS.listing, b"<a/>", "container", Reason.NON_CANONICAL),
    "another record": (PATHS.record, NEIGHBOUR.record, "container", Reason.MANIFEST_DIGEST),
}


@pytest.mark.parametrize("name", REFUSED)
def test_each_fault_of_the_files_has_its_reason(name: str) -> None:
    path, data, evidence, reason = REFUSED[name]
    report = changed(replaced(path, data))
    assert report.verdict is Verdict.TOTAL_FAILED
    assert finding(report, evidence).reason is reason


def test_a_blinding_with_its_list_made_anew_is_not_of_the_group() -> None:
    other = part(PATHS.blinding, NEIGHBOUR.blinding)
    group = {"document/a.txt": DIGEST, PATHS.blinding: other.sha256}
    listing = part(PATHS.listing, asic.encode_group(PATHS.record, group))
    files = {PATHS.blinding: other, PATHS.listing: listing}
    report = changed(lambda parts: [files.get(each.entry.name, each) for each in parts])
    assert finding(report, "tsa").reason is Reason.GROUP_MISMATCH
    assert report.verdict is Verdict.TOTAL_FAILED


def with_proof(stamped: Stamped, data: bytes, path: str) -> Contents:
    """Return a bundle whose manifest names these bytes at this path as its timestamp."""
    contents = SCENE.contents(TEXT, SCENE.document_events(DIGEST, confirmed=stamped.payload()))
    proof = part(path, data)
    [evidence] = contents.manifest.evidence
    manifest = replace(contents.manifest, evidence=(replace(evidence, path=path, sha256=proof.sha256),))
    return replace(contents, manifest=manifest, proofs=[proof, *contents.proofs[1:]])


def test_the_record_is_the_one_of_its_event() -> None:
    [again] = stamp_batch(SCENE.stamper, [DIGEST])
    report = judged(SCENE.seal(with_proof(STAMPED, again.record, PATHS.record).parts()))
    assert finding(report, "ledger").reason is Reason.EVIDENCE_MISMATCH
    plain = SCENE.stamper.reply(DIGEST)
    report = judged(SCENE.seal(with_proof(STAMPED, plain, PATHS.record).parts()))
    assert finding(report, "ledger").reason is Reason.EVIDENCE_MISMATCH
    assert finding(report, "tsa").status is Status.INVALID  # a plain token has no group


def test_a_record_is_not_at_the_path_of_a_token() -> None:
    contents = with_proof(STAMPED, STAMPED.record, names.proof_name("tsa", 1))
    alone = replace(contents, proofs=contents.proofs[:1])
    assert finding(judged(SCENE.seal(alone.parts())), "ledger").reason is Reason.EVIDENCE_MISMATCH
    report = judged(SCENE.seal(contents.parts()))
    assert finding(report, "container").reason is Reason.UNREFERENCED_ENTRY


BROKEN: dict[str, dict[str, Json]] = {
    "no path": {"path_b64": None},
    "no blinding": {"blinding_b64": None},
    "short blinding": {"blinding_b64": b64encode(bytes(31)).decode()},
    "short path": {"path_b64": b64encode(bytes(31)).decode()},
    "long path": {"path_b64": b64encode(bytes(64 * 32)).decode()},
    "not base64": {"path_b64": "*"},
    "a number": {"blinding_b64": 7},
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_event_without_a_whole_record_records_no_proof(name: str) -> None:
    payload = {**STAMPED.payload(), **BROKEN[name]}
    payload = {name: value for name, value in payload.items() if value is not None}
    report = foja.verify(
        SCENE.bundle(TEXT, SCENE.document_events(DIGEST, confirmed=payload)), SCENE.trust, AT
    )
    assert finding(report, "tsa").reason is Reason.NOT_INCLUDED
    assert report.verdict is Verdict.INDETERMINATE


SWEEPS = [pytest.param(1499, id="sample"), pytest.param(1, id="all", marks=pytest.mark.long)]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("step", SWEEPS)
def test_no_flipped_bit_passes(step: int) -> None:
    for bit in range(random.randrange(step), 8 * len(BUNDLE), step):
        broken = bytearray(BUNDLE)
        broken[bit // 8] ^= 1 << bit % 8
        assert judged(bytes(broken)).verdict is not Verdict.TOTAL_PASSED, bit


def test_a_loose_record_with_and_without_its_blinding_file() -> None:
    record = Detached(STAMPED.record, "a.ers")
    blinding = Detached(STAMPED.blinding, "a.blinding")
    alone = foja.verify(TEXT, SCENE.trust, AT, proofs=[record])
    assert alone.verdict is Verdict.TOTAL_PASSED, as_text(alone)
    assert GROUP_NOT_GIVEN in alone.evidence[0].not_checked
    assert "los demás archivos de su grupo" in as_text(alone, language="es")
    whole = foja.verify(TEXT, SCENE.trust, AT, proofs=[blinding, record])
    assert whole.verdict is Verdict.TOTAL_PASSED, as_text(whole)
    assert [GROUP_NOT_GIVEN in each.not_checked for each in whole.evidence] == [False]
    other = foja.verify(b"another document", SCENE.trust, AT, proofs=[record, blinding])
    assert other.verdict is Verdict.TOTAL_FAILED
    assert other.evidence[0].reason is Reason.DIGEST_MISMATCH


def test_a_blinding_file_of_no_record_is_refused() -> None:
    record = Detached(STAMPED.record, "a.ers")
    stranger = Detached(NEIGHBOUR.blinding, "b.blinding")
    for proofs in ([record, stranger], [stranger]):
        report = foja.verify(TEXT, SCENE.trust, AT, proofs=proofs)
        assert report.verdict is Verdict.TOTAL_FAILED
        assert report.evidence[-1].reason is Reason.GROUP_MISMATCH
        assert report.evidence[-1].name == "b.blinding"
    both = [record, Detached(STAMPED.blinding, "a.blinding"), stranger]
    assert foja.verify(TEXT, SCENE.trust, AT, proofs=both).verdict is Verdict.TOTAL_FAILED


def test_a_blinding_file_that_begins_like_a_proof_is_still_one() -> None:
    for start in (b"\x30", b"{", b"PK\x03\x04"):
        blinding = start + bytes(32 - len(start))
        report = foja.verify(TEXT, SCENE.trust, AT, proofs=[Detached(blinding, "a.BLINDING")])
        assert report.evidence[0].reason is Reason.GROUP_MISMATCH


def test_a_record_beside_a_bundle_is_about_its_document() -> None:
    plain = SCENE.bundle()
    proofs = [Detached(STAMPED.record, "a.ers"), Detached(STAMPED.blinding, "a.blinding")]
    assert foja.verify(plain, SCENE.trust, AT, proofs=proofs).verdict is Verdict.TOTAL_PASSED


FROZEN = Path(__file__).parents[2] / "vectors" / "batch"


def test_the_frozen_bundle_is_read_and_passes() -> None:
    report = foja.verify(FROZEN / "bulk.asice", [FROZEN / "trust.txt"], AT)
    assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
    assert finding(report, "tsa").name == PATHS.record


def test_the_frozen_record_is_read_and_written_as_it_was() -> None:
    proofs = [FROZEN / "x.ers", FROZEN / "x.blinding"]
    report = foja.verify(FROZEN / "document.txt", [FROZEN / "trust.txt"], AT, proofs=proofs)
    assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
    data = (FROZEN / "x.ers").read_bytes()
    record = read_record(data)
    assert record.encode() == data
    blinding = (FROZEN / "x.blinding").read_bytes()
    path = b"".join(each for (each,) in record.lists[1:])
    assert lists_of(sha256(TEXT).digest(), blinding, path) == [list(each) for each in record.lists]


def test_a_renewal_covers_the_record() -> None:
    parts = SCENE.contents(TEXT, EVENTS).parts()
    sealed = assembly.seal(parts, SCENE.stamper.token(sha256(assembly.listing(parts)).digest()))
    token = SCENE.stamper.token(sha256(assembly.listing(sealed, 1)).digest(), NOW + timedelta(minutes=1))
    renewed = b"".join(write(assembly.seal(sealed, token, 1)))
    assert judged(renewed).verdict is Verdict.TOTAL_PASSED
    late = [*assembly.seal(sealed, token, 1), part(names.record_names(2).record, STAMPED.record)]
    report = judged(b"".join(write(late)))
    assert finding(report, "container").reason is Reason.UNREFERENCED_ENTRY


@pytest.mark.parametrize(
    "name", [names.record_names(2).record, "META-INF/evidencerecord.xml", "META-INF/a.ers"]
)
def test_no_other_record_is_in_a_bundle(name: str) -> None:
    report = changed(lambda parts: [*parts, part(name, STAMPED.record)])
    assert report.verdict is Verdict.TOTAL_FAILED
    assert finding(report, "container").reason is Reason.UNREFERENCED_ENTRY
