"""A bundle that one token seals together with others: an evidence record about its list of files."""

from __future__ import annotations

import io
import random
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from lxml import etree

import foja
from foja.engine.embedded.tsa.issuer import new_root
from foja.pure.core.bundle import asic, assembly, names
from foja.pure.core.bundle.archive import Part, part, write
from foja.pure.core.bundle.evidence_record import encode
from foja.pure.core.bundle.reader import open_container
from foja.pure.judge.container.bundle import BundleRequest, judge_bundle
from foja.pure.judge.render import as_html, as_text
from foja.pure.judge.report import Report, Verdict
from foja.pure.judge.trust import Trust
from foja.pure.proofs.ers import read_record
from foja.pure.proofs.ers.record import MAX_BYTES
from foja.pure.proofs.finding import Finding, Reason, Status
from tests.rules.batches import SealedParts, digests_of, seal_batch, stamp_batch
from tests.rules.bundles import NOW, TEXT, Scene, Stamper

AT = NOW + timedelta(hours=1)
SCENE = Scene()
PATHS = names.SEAL_RECORD
PLAIN = SCENE.contents().parts()
OTHERS = [SCENE.contents(b"another document %d\n" % number).parts() for number in range(4)]
OWN, NEIGHBOUR, DISTANT, *_ = seal_batch(SCENE.stamper, [PLAIN, *OTHERS])
BUNDLE = b"".join(write(OWN.files))
STRANGER = sha256(b"stranger").digest()


def judged(files: Sequence[Part] | bytes, trust: Trust | None = None) -> Report:
    data = files if isinstance(files, bytes) else b"".join(write(files))
    return judge_bundle(io.BytesIO(data), BundleRequest(trust or SCENE.trust, AT))


def finding(report: Report, evidence: str) -> Finding:
    return next(each for each in report.evidence if each.evidence == evidence)


def recorded(record: bytes, one: SealedParts = OWN) -> list[Part]:
    """Return the bundle with another evidence record."""
    return assembly.seal_in_a_batch(one.parts, one.listed, one.stamped.blinding, record)


def test_a_bundle_of_a_batch_passes() -> None:
    report = foja.verify(BUNDLE, SCENE.trust, AT)
    assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
    found = finding(report, "seal")
    assert found.name == PATHS.record == "META-INF/evidencerecord.ers"
    assert "a batch of bundles" in found.detail
    inside = open_container(io.BytesIO(BUNDLE)).names
    assert inside[-4:] == (names.ASIC_MANIFEST, PATHS.blinding, PATHS.listing, PATHS.record)
    assert names.STAMP not in inside


def test_a_bundle_with_both_records_passes() -> None:
    """The token of a batch of documents inside, and that of a batch of bundles outside."""
    digest = sha256(TEXT).digest()
    stamped, *_ = stamp_batch(SCENE.stamper, [digest, *digests_of(2)])
    contents = SCENE.contents(TEXT, SCENE.document_events(digest, confirmed=stamped.payload()))
    report = judged(seal_batch(SCENE.stamper, [contents.parts(), PLAIN])[0].files)
    assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
    found = {each.evidence: each.name for each in report.evidence}
    assert (found["tsa"], found["seal"]) == ("META-INF/evidencerecord01.ers", "META-INF/evidencerecord.ers")


@pytest.mark.parametrize(("language", "words"), [("en", "a batch of bundles"), ("es", "un lote de paquetes")])
def test_reports_say_that_the_seal_covers_a_batch(language: str, words: str) -> None:
    report = foja.verify(BUNDLE, SCENE.trust, AT)
    assert words in as_text(report, language=language)
    assert words in as_html(report, language=language)


def test_the_lists_are_those_of_the_standard() -> None:
    """EN 319 162-1: both name the record; that of the record lists the files that it is about."""
    container = open_container(io.BytesIO(BUNDLE))
    spaces = {"asic": asic.ASIC, "ds": asic.DSIG}
    for name in (names.ASIC_MANIFEST, PATHS.listing):
        root = etree.fromstring(container.read(name))
        assert root.xpath("asic:SigReference/@URI", namespaces=spaces) == [PATHS.record]
        assert root.xpath("asic:SigReference/@MimeType", namespaces=spaces) == []
    listed = root.xpath("asic:DataObjectReference/@URI", namespaces=spaces)
    assert listed == ["document/a.txt", names.ASIC_MANIFEST, PATHS.blinding]  # EU DSS counts these files
    types = root.xpath("asic:DataObjectReference/@MimeType", namespaces=spaces)
    assert types == ["text/plain", "text/xml", "application/octet-stream"]
    digests = [sha256(container.read(name)).digest() for name in listed]
    values = root.xpath("asic:DataObjectReference/ds:DigestValue/text()", namespaces=spaces)
    assert values == [b64encode(each).decode() for each in digests]
    assert set(read_record(container.read(PATHS.record)).lists[0]) == set(digests)


def test_no_bundle_shows_the_list_of_a_neighbour() -> None:
    shown = {each for hashes in OWN.stamped.lists for each in hashes}
    assert sha256(NEIGHBOUR.listed).digest() not in shown
    assert not shown & set(NEIGHBOUR.stamped.group)


@pytest.mark.parametrize("name", [names.ASIC_MANIFEST, *PATHS])
def test_every_file_of_the_seal_is_needed(name: str) -> None:
    report = judged([each for each in OWN.files if each.entry.name != name])
    assert report.verdict is Verdict.TOTAL_FAILED
    assert finding(report, "container").reason is Reason.MISSING_ENTRY


def replaced(name: str, data: bytes) -> list[Part]:
    return [part(name, data) if each.entry.name == name else each for each in OWN.files]


REFUSED = {
    "another blinding": (PATHS.blinding, NEIGHBOUR.stamped.blinding, Reason.NON_CANONICAL),
    "a longer blinding": (PATHS.blinding, bytes(33), Reason.MALFORMED),
    "no byte of a blinding": (PATHS.blinding, b"", Reason.MALFORMED),
    "another list of the group": (PATHS.listing, b"<a/>", Reason.NON_CANONICAL),
    "the list of a neighbour": (names.ASIC_MANIFEST, NEIGHBOUR.listed, Reason.NON_CANONICAL),
    "a list that names a token": (names.ASIC_MANIFEST, assembly.listing(PLAIN), Reason.MALFORMED),
}


@pytest.mark.parametrize("name", REFUSED)
def test_each_fault_of_the_files_has_its_reason(name: str) -> None:
    path, data, reason = REFUSED[name]
    report = judged(replaced(path, data))
    assert report.verdict is Verdict.TOTAL_FAILED
    assert finding(report, "container").reason is reason


def test_a_changed_document_is_named_where_a_record_seals_the_list() -> None:
    report = judged(replaced("document/a.txt", b"another\n"))
    found = finding(report, "container")
    assert found.detail == "the document inside was changed after it was sealed: “document/a.txt”"


STAMPED = OWN.stamped
WIDER = sorted([*STAMPED.lists[0], STRANGER])
NO_PARAMETERS = STAMPED.record.replace(b"\x02\x01\x05\x00", b"\x02\x01\x05", 1)
RECORDS: dict[str, tuple[bytes, Reason]] = {
    "of another bundle": (NEIGHBOUR.stamped.record, Reason.DIGEST_MISMATCH),
    "without the digest of the list": (
        encode([[*sorted(NEIGHBOUR.stamped.lists[0])], *STAMPED.lists[1:]], STAMPED.token),
        Reason.DIGEST_MISMATCH,
    ),
    "of the list and another blinding": (
        encode([sorted((STAMPED.digest, *NEIGHBOUR.stamped.group)), *STAMPED.lists[1:]], STAMPED.token),
        Reason.GROUP_MISMATCH,
    ),
    "of a larger group": (
        encode([WIDER], SCENE.stamper.token(sha256(b"".join(WIDER)).digest())),
        Reason.GROUP_MISMATCH,
    ),
    "at the place of a neighbour": (
        encode([STAMPED.lists[0], *DISTANT.stamped.lists[1:]], STAMPED.token),
        Reason.IMPRINT_MISMATCH,
    ),
    "with a path that is cut": (encode(STAMPED.lists[:-1], STAMPED.token), Reason.IMPRINT_MISMATCH),
    "with another hash in its path": (
        encode([*STAMPED.lists[:-1], [STRANGER]], STAMPED.token),
        Reason.IMPRINT_MISMATCH,
    ),
    "with a token over another root": (
        encode(STAMPED.lists, SCENE.stamper.token(STRANGER)),
        Reason.IMPRINT_MISMATCH,
    ),
    "with the reply of the authority": (
        encode(STAMPED.lists, SCENE.stamper.reply(STAMPED.root)),
        Reason.MALFORMED,
    ),
    "that is a plain token": (SCENE.stamper.token(STAMPED.digest), Reason.MALFORMED),
    "with more behind it": (STAMPED.record + b"\0", Reason.MALFORMED),
    "that is empty": (b"", Reason.MALFORMED),
    "of another version": (STAMPED.record.replace(b"\x02\x01\x01", b"\x02\x01\x02", 1), Reason.NON_CANONICAL),
    "of another version, and nothing else": (b"\x30\x03\x02\x01\x02", Reason.NON_CANONICAL),
    "that is not about the document": (
        encode([sorted(each for each in STAMPED.lists[0] if each != PLAIN[1].sha256)], STAMPED.token),
        Reason.GROUP_MISMATCH,
    ),
    "of a single hash": (encode([[STAMPED.digest]], STAMPED.token), Reason.NON_CANONICAL),
}


@pytest.mark.parametrize("name", RECORDS)
def test_each_fault_of_the_record_has_its_reason(name: str) -> None:
    data, reason = RECORDS[name]
    report = judged(recorded(data))
    assert report.verdict is Verdict.TOTAL_FAILED
    assert (finding(report, "seal").status, finding(report, "seal").reason) == (Status.INVALID, reason)


@pytest.mark.parametrize("name", RECORDS)
def test_a_renewal_makes_no_fault_of_the_record_harmless(name: str) -> None:
    """A first seal that could not be judged passed beside a valid renewal, and where none was required."""
    files = recorded(RECORDS[name][0])
    without = replace(SCENE.trust, required=("tsa",))
    assert judged(renewed(files, SCENE.stamper, 0)).verdict is Verdict.TOTAL_FAILED
    assert judged(files, without).verdict is Verdict.TOTAL_FAILED


def test_a_record_has_one_encoding() -> None:
    """The parameters of a hash algorithm may be absent in DER; Foja writes NULL, and reads nothing else."""
    bare = b"\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01"
    lists = STAMPED.record[: len(STAMPED.record) - len(STAMPED.token)]
    assert lists.count(b"\x30\x0d" + bare[2:] + b"\x05\x00") == 1
    inner = read_record(STAMPED.record)
    algorithms = b"\x30\x0d" + bare
    whole = encode(inner.lists, inner.token)
    start = whole.index(b"\x30\x0f\x30\x0d")
    body = whole[start - 3 : start] + algorithms + whole[start + 17 :]
    other = b"\x30\x82" + len(body).to_bytes(2, "big") + body
    assert read_record(other).lists == inner.lists
    report = judged(recorded(other))
    assert finding(report, "seal").reason is Reason.NON_CANONICAL
    assert report.verdict is Verdict.TOTAL_FAILED


def test_a_record_beyond_the_limits_is_not_judged() -> None:
    report = judged(recorded(bytes(MAX_BYTES + 1)))
    assert (finding(report, "seal").status, finding(report, "seal").reason) == (
        Status.UNSUPPORTED,
        Reason.TOO_LARGE,
    )
    assert report.verdict is Verdict.INDETERMINATE


def test_a_record_of_an_unknown_authority_proves_nothing() -> None:
    own, *_ = seal_batch(Stamper(), [PLAIN, *OTHERS])
    report = judged(own.files)
    assert finding(report, "seal").status is Status.INDETERMINATE
    assert report.verdict is Verdict.INDETERMINATE


def test_there_is_one_seal_a_token_or_a_record() -> None:
    token = part(names.STAMP, SCENE.stamper.token(STAMPED.digest))
    alone = part(names.STAMP, SCENE.stamper.token(sha256(assembly.listing(PLAIN)).digest()))
    plain = assembly.seal(PLAIN, SCENE.stamper.token(sha256(assembly.listing(PLAIN)).digest()))
    both = [
        [*OWN.files, token],
        [*OWN.files[:-3], token, *OWN.files[-3:]],
        [*OWN.files[:-3], alone, *OWN.files[-3:]],
        [*plain, *OWN.files[-3:]],
        [*OWN.files, *assembly.seal(PLAIN, b"")[-1:]],
        [*OWN.files[:-4], *plain[-2:], *OWN.files[-4:]],
    ]
    for files in both[:-1]:
        report = judged(files)
        assert report.verdict is Verdict.TOTAL_FAILED
        assert finding(report, "container").reason is Reason.UNREFERENCED_ENTRY
    assert finding(judged(both[-1]), "container").reason is Reason.DUPLICATE_ENTRY


@pytest.mark.parametrize("name", PATHS)
def test_nothing_of_a_record_is_in_a_bundle_with_a_token(name: str) -> None:
    listed = sha256(assembly.listing(PLAIN)).digest()
    more = next(each for each in OWN.files if each.entry.name == name)
    sealed = assembly.seal(PLAIN, SCENE.stamper.token(listed))
    for files in ([*sealed, more], [*PLAIN, more, *sealed[-2:]]):
        report = judged(files)
        assert report.verdict is Verdict.TOTAL_FAILED
        assert finding(report, "container").reason in (Reason.UNREFERENCED_ENTRY, Reason.MISSING_ENTRY)


def test_the_files_of_the_seal_have_one_order() -> None:
    *inner, listed, blinding, group, record = OWN.files
    for seal in (
        [listed, group, blinding, record],
        [listed, record, blinding, group],
        [blinding, listed, group, record],
    ):
        report = judged([*inner, *seal])
        assert report.verdict is Verdict.TOTAL_FAILED
        assert finding(report, "container").reason is Reason.UNREFERENCED_ENTRY


def renewed(files: list[Part], stamper: Stamper, days: int) -> list[Part]:
    token = stamper.token(sha256(assembly.listing(files, 1)).digest(), NOW + timedelta(days=days))
    return assembly.seal(files, token, 1)


def test_a_renewal_carries_the_record_past_the_end_of_its_root() -> None:
    younger = Stamper(new_root(NOW + timedelta(days=300)))
    trust = replace(SCENE.trust, roots=(*SCENE.trust.roots, younger.root.der))
    after = SCENE.stamper.root.certificate.not_valid_after_utc + timedelta(days=1)
    request = BundleRequest(trust, after)
    assert judge_bundle(io.BytesIO(BUNDLE), request).verdict is Verdict.INDETERMINATE
    whole = b"".join(write(renewed(OWN.files, younger, 300)))
    report = judge_bundle(io.BytesIO(whole), request)
    assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
    seals = [each.name for each in report.evidence if each.evidence == "seal"]
    assert seals == ["META-INF/evidencerecord.ers", "META-INF/timestamp001.tst"]


CHANGES: dict[str, Callable[[Part], Part]] = {
    PATHS.blinding: lambda _: part(PATHS.blinding, NEIGHBOUR.stamped.blinding),
    PATHS.record: lambda _: part(PATHS.record, NEIGHBOUR.stamped.record),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_renewal_covers_every_file_of_the_seal(name: str) -> None:
    files = renewed(OWN.files, SCENE.stamper, 0)
    changed = [CHANGES[name](each) if each.entry.name == name else each for each in files]
    assert judged(files).verdict is Verdict.TOTAL_PASSED
    assert judged(changed).verdict is Verdict.TOTAL_FAILED


def test_a_renewal_is_no_record() -> None:
    listed = assembly.listing(OWN.files, 1)
    one, *_ = stamp_batch(SCENE.stamper, [sha256(listed).digest(), *digests_of(1)])
    report = judged([*OWN.files, part(names.seal_names(1)[0], listed), part(names.STAMP, one.record)])
    assert report.verdict is Verdict.TOTAL_FAILED
    report = judged(assembly.seal(OWN.files, one.record, 1, listed=listed))
    assert report.verdict is Verdict.TOTAL_FAILED
    assert finding(report, "container").status is Status.VERIFIED


SWEEPS = [pytest.param(1499, id="sample"), pytest.param(1, id="all", marks=pytest.mark.long)]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("step", SWEEPS)
def test_no_flipped_bit_passes(step: int) -> None:
    for bit in range(random.randrange(step), 8 * len(BUNDLE), step):
        broken = bytearray(BUNDLE)
        broken[bit // 8] ^= 1 << bit % 8
        assert judged(bytes(broken)).verdict is not Verdict.TOTAL_PASSED, bit


FROZEN = Path(__file__).parents[2] / "vectors" / "batch"


def test_the_frozen_bundle_is_read_and_passes() -> None:
    report = foja.verify(FROZEN / "sealed.asice", [FROZEN / "sealed_trust.txt"], AT)
    assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
    assert finding(report, "seal").name == PATHS.record


def test_a_bundle_without_its_document_has_a_record_without_it() -> None:
    """The record of a seal names only files that are in the bundle."""
    contents = SCENE.contents()
    left_out = replace(contents, manifest=replace(contents.manifest, document=None), document=None)
    own, *_ = seal_batch(SCENE.stamper, [left_out.parts(), *OTHERS])
    report = judged(own.files)
    assert report.verdict is Verdict.TOTAL_PASSED, as_text(report)
    assert b"document/" not in open_container(io.BytesIO(b"".join(write(own.files)))).read(PATHS.listing)
