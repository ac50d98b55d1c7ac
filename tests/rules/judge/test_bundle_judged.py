"""What the judge finds in bundles: valid ones, unfinished ones, and forged ones."""

from __future__ import annotations

import io
import random
import zipfile
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

import foja
from foja.engine.embedded.tsa.issuer import new_root
from foja.errors import BadBundle, Refused
from foja.pure.core.bundle import asic, assembly, history, names
from foja.pure.core.bundle.archive import Part, part, write
from foja.pure.core.bundle.assembly import Contents
from foja.pure.core.bundle.reader import open_container
from foja.pure.core.note import Signer
from foja.pure.judge.container.bundle import BundleRequest, judge_bundle
from foja.pure.judge.render.headline import headline
from foja.pure.judge.report import Report, Verdict
from foja.pure.judge.trust import Trust
from foja.pure.judge.trust_parser import read
from foja.pure.proofs.finding import Reason, Status
from tests.other_tools import agreed
from tests.rules.authorities import Recipe, root, signer, token
from tests.rules.bundles import ENTITY, NOW, TEXT, Events, Scene, Stamper
from tests.rules.streams import stream

LATER = NOW + timedelta(hours=1)
YEAR = timedelta(days=365)
PASSED, UNDECIDED, FAILED = Verdict.TOTAL_PASSED, Verdict.INDETERMINATE, Verdict.TOTAL_FAILED


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene()


def judged(scene: Scene, data: bytes, trust: Trust | None = None, **changes: object) -> Report:
    request = BundleRequest(scene.trust if trust is None else trust, LATER)
    return judge_bundle(io.BytesIO(data), replace(request, **changes))  # type: ignore[arg-type]


def reasons(report: Report) -> set[tuple[str, str]]:
    bad = [each for each in report.evidence if each.status is Status.INVALID]
    return {(each.evidence, str(each.reason)) for each in bad}


def parts_of(data: bytes) -> list[Part]:
    """Return the files of a container again, without its seal."""
    container = open_container(io.BytesIO(data))
    return [part(name, container.read(name)) for name in container.names if not name.startswith("META-INF")]


def test_a_valid_bundle_passes(scene: Scene) -> None:
    report = judged(scene, scene.bundle())
    assert report.verdict is PASSED
    assert [each.evidence for each in report.evidence] == ["container", "seal", "ledger", "tsa"]
    assert report.subject.sha256 == sha256(TEXT).digest()
    assert report.subject.name == "a.txt"
    assert report.earliest is not None
    assert judged(scene, scene.bundle(), digest=sha256(TEXT).digest()).verdict is PASSED


def test_the_same_bundle_gives_the_same_report(scene: Scene) -> None:
    data = scene.bundle()
    assert judged(scene, data).json() == judged(scene, data).json()


def test_the_same_contents_give_the_same_inner_bytes(scene: Scene) -> None:
    contents = scene.contents()
    first, second = (scene.seal(contents.parts()) for _ in range(2))
    assert first != second
    stamped = open_container(io.BytesIO(first)).starts[names.STAMP]
    assert first[: stamped - 60] == second[: stamped - 60]


def test_a_bundle_without_the_document_asks_for_it(scene: Scene) -> None:
    def without(contents: Contents) -> Contents:
        return replace(contents, document=None, manifest=replace(contents.manifest, document=None))

    data = scene.changed(without)
    report = judged(scene, data)
    assert report.verdict is PASSED
    assert "document" in report.evidence[0].not_checked[0]
    assert judged(scene, data, digest=sha256(TEXT).digest()).evidence[0].not_checked == ()
    other = judged(scene, data, digest=sha256(b"another").digest())
    assert reasons(other) == {("container", "DIGEST_MISMATCH")}


def test_without_trust_nothing_passes(scene: Scene) -> None:
    report = judged(scene, scene.bundle(), Trust())
    assert report.verdict is UNDECIDED
    assert {each.evidence: each.status for each in report.evidence} == {
        "container": Status.VERIFIED,
        "seal": Status.INDETERMINATE,
        "ledger": Status.INDETERMINATE,
        "tsa": Status.INDETERMINATE,
    }


def test_the_copies_of_roots_inside_are_never_trusted(scene: Scene) -> None:
    """Trust material from inside the bundle: an unknown root and key, with valid tokens."""
    foreign = Scene(Stamper(), Signer("log.example", b"s" * 32))
    report = judged(scene, foreign.bundle())
    assert report.verdict is not PASSED
    assert not [each for each in report.evidence if each.status is Status.VERIFIED and each.no_later_than]
    assert {each.reason for each in report.evidence[1:]} == {Reason.NO_TRUST_ANCHOR}


@pytest.mark.parametrize("required", [(), ("container",)])
def test_a_valid_container_alone_proves_nothing(scene: Scene, required: tuple[str, ...]) -> None:
    assert judged(scene, scene.bundle(), Trust(required=required)).verdict is UNDECIDED


def test_an_empty_list_of_requirements_is_the_default(scene: Scene) -> None:
    report = judged(scene, scene.bundle(), replace(scene.trust, required=()))
    assert report.required == ("container", "seal", "ledger", "tsa")


def test_what_the_caller_requires_counts(scene: Scene) -> None:
    only = replace(scene.trust, logs=(), required=("tsa",))
    assert judged(scene, scene.bundle(), only).verdict is PASSED
    more = replace(scene.trust, required=("tsa", "bitcoin"))
    assert judged(scene, scene.bundle(), more).verdict is UNDECIDED


def test_a_bundle_without_proofs_is_undecided(scene: Scene) -> None:
    digest = sha256(TEXT).digest()
    added: Events = [("document.added", {"sha256": digest.hex(), "custody": "stored"})]
    assert judged(scene, scene.bundle(events=added)).verdict is UNDECIDED
    unconfirmed = [each for each in scene.document_events(digest) if each[0] != "tsa.confirmed"]
    report = judged(scene, scene.bundle(events=unconfirmed))
    assert report.verdict is UNDECIDED
    assert report.evidence[-1].status is Status.ABSENT


def test_a_history_that_no_checkpoint_covers_yet_is_undecided(scene: Scene) -> None:
    def early(contents: Contents) -> Contents:
        return replace(contents, log_proof=None, manifest=replace(contents.manifest, checkpoint=None))

    report = judged(scene, scene.changed(early))
    assert report.verdict is UNDECIDED
    assert {each.evidence: each.reason for each in report.evidence}["ledger"] is Reason.NO_CHECKPOINT


def test_an_extra_file_is_refused(scene: Scene) -> None:
    parts = parts_of(scene.bundle())
    token = scene.stamper.token(sha256(assembly.listing(parts)).digest())
    stowaway = part("evidence/extra.txt", b"believe me")
    behind = [*parts, stowaway, *assembly.seal(parts, token)[-2:]]
    assert reasons(judged(scene, b"".join(write(behind)))) == {("container", "UNREFERENCED_ENTRY")}
    # listed and stamped anew, it is still not in the manifest
    assert ("container", "UNREFERENCED_ENTRY") in reasons(judged(scene, scene.seal([*parts, stowaway])))


@pytest.mark.parametrize("name", ["document/zz.pdf", "evidence/tsa/02.tsr", "trust/zz", "META-INF/zz.xml"])
@pytest.mark.parametrize("renewed", [False, True])
def test_an_extra_file_is_refused_wherever_it_lies(scene: Scene, name: str, renewed: bool) -> None:
    container = open_container(io.BytesIO(scene.renewed(0) if renewed else scene.bundle()))
    whole = [part(each, container.read(each)) for each in container.names]
    assert judged(scene, b"".join(write(whole))).verdict is PASSED
    for at in range(len(whole) + 1):
        stowed = [*whole[:at], part(name, b"believe me"), *whole[at:]]
        expected = "UNREFERENCED_ENTRY" if at else "ZIP_LAYOUT"
        assert reasons(judged(scene, b"".join(write(stowed)))) == {("container", expected)}, at


def test_a_file_beside_the_lists_is_refused(scene: Scene) -> None:
    parts = parts_of(scene.bundle())
    token = scene.stamper.token(sha256(assembly.listing(parts)).digest())
    sealed = [*assembly.seal(parts, token), part("META-INF/signatures.xml", b"<x/>")]
    assert reasons(judged(scene, b"".join(write(sealed)))) == {("container", "UNREFERENCED_ENTRY")}


def test_a_missing_file_is_reported(scene: Scene) -> None:
    parts = [each for each in parts_of(scene.bundle()) if each.entry.name != "evidence/tsa/01.tsr"]
    assert ("container", "MISSING_ENTRY") in reasons(judged(scene, scene.seal(parts)))


def swapped(name: str, data: bytes) -> Callable[[list[Part]], list[Part]]:
    def change(parts: list[Part]) -> list[Part]:
        return [part(name, data) if each.entry.name == name else each for each in parts]

    return change


def test_a_changed_file_is_not_the_listed_one(scene: Scene) -> None:
    parts = parts_of(scene.bundle())
    token = scene.stamper.token(sha256(assembly.listing(parts)).digest())
    sealed = assembly.seal(parts, token)
    changed = swapped("document/a.txt", b"another\n")(sealed)
    assert reasons(judged(scene, b"".join(write(changed)))) == {("container", "MANIFEST_DIGEST")}


def test_a_changed_list_is_not_called_a_changed_document(scene: Scene) -> None:
    """The document was as it had been sealed, and the report said that it was changed after it was sealed."""
    parts = parts_of(scene.bundle())
    listing = assembly.listing(parts)
    sealed = assembly.seal(parts, scene.stamper.token(sha256(listing).digest()))
    own, other = (b64encode(sha256(each).digest()) for each in (TEXT, b"another\n"))
    false = swapped(names.ASIC_MANIFEST, listing.replace(own, other))(sealed)
    changed = swapped("document/a.txt", b"another\n")(sealed)
    fewer = [each for each in sealed if each.entry.name != names.EVENTS]
    more = [*sealed[:2], part("document/b.txt", b""), *sealed[2:]]
    for found, said, spanish in (
        (false, "the list of files is not the one that was sealed, and “document/a.txt”", "no es la que"),
        (changed, "the document inside was changed after it was sealed: “document/a.txt”", "se cambió"),
        (fewer, f"“{names.EVENTS}” was removed after the bundle was sealed", "se quitó"),
        (more, "“document/b.txt” was added after the bundle was sealed", "se añadió"),
    ):
        report = judged(scene, b"".join(write(found)))
        assert said in headline(report).first
        assert spanish in headline(report, "es").first


def test_a_seal_over_another_list_says_so(scene: Scene) -> None:
    """It is not about the document, and the report said that the document is another one."""
    parts = parts_of(scene.bundle())
    report = judged(scene, b"".join(write(assembly.seal(parts, scene.stamper.token(bytes(32))))))
    assert reasons(report) == {("seal", "IMPRINT_MISMATCH")}
    assert headline(report).first.endswith("bundle: the list of files is not the one that was sealed.")
    assert headline(report, "es").first.endswith("paquete: la lista de archivos no es la que se selló.")


def test_a_replaced_document_with_its_digests_computed_anew(scene: Scene) -> None:
    original = scene.bundle()
    container = open_container(io.BytesIO(original))
    parts = swapped("document/a.txt", b"another\n")(parts_of(original))
    old_token = assembly.seal(parts, container.read(names.STAMP))
    assert reasons(judged(scene, b"".join(write(old_token)))) == {
        ("container", "DIGEST_MISMATCH"),
        ("seal", "IMPRINT_MISMATCH"),
    }
    # even stamped anew, it is not the document that the evidence is about
    assert reasons(judged(scene, scene.seal(parts))) == {("container", "DIGEST_MISMATCH")}


def test_a_replaced_document_with_the_manifest_rewritten(scene: Scene) -> None:
    def rewritten(contents: Contents) -> Contents:
        other = part("document/a.txt", b"another\n")
        manifest = replace(contents.manifest, witness_hash=other.sha256)
        return replace(contents, document=other, manifest=manifest)

    assert reasons(judged(scene, scene.changed(rewritten))) == {
        ("ledger", "WITNESS_MISMATCH"),
        ("tsa", "IMPRINT_MISMATCH"),
    }


def test_proofs_swapped_between_two_documents(scene: Scene) -> None:
    foreign = scene.contents(b"other")

    def swap(contents: Contents) -> Contents:
        taken = foreign.manifest.evidence
        return replace(contents, proofs=foreign.proofs, manifest=replace(contents.manifest, evidence=taken))

    assert reasons(judged(scene, scene.changed(swap))) == {
        ("ledger", "EVIDENCE_MISMATCH"),
        ("tsa", "IMPRINT_MISMATCH"),
    }


def test_a_proof_that_no_event_recorded(scene: Scene) -> None:
    def pretend(contents: Contents) -> Contents:
        evidence = tuple(replace(each, seq=0) for each in contents.manifest.evidence)
        return replace(contents, manifest=replace(contents.manifest, evidence=evidence))

    assert reasons(judged(scene, scene.changed(pretend))) == {("ledger", "EVIDENCE_NOT_RECORDED")}


def test_a_proof_lies_where_its_kind_says(scene: Scene) -> None:
    def moved(contents: Contents) -> Contents:
        evidence = tuple(replace(each, path="evidence/tsa/02.tsr") for each in contents.manifest.evidence)
        proofs = [part("evidence/tsa/02.tsr", b"".join(each.chunks())) for each in contents.proofs]
        return replace(contents, proofs=proofs, manifest=replace(contents.manifest, evidence=evidence))

    assert reasons(judged(scene, scene.changed(moved))) == {("container", "NON_CANONICAL")}


def test_an_event_has_one_proof(scene: Scene) -> None:
    """Whoever can get a token could show one timestamp 256 times."""

    def repeated(contents: Contents) -> Contents:
        [proof], [named] = contents.proofs, contents.manifest.evidence
        proofs = [proof, part("evidence/tsa/02.tsr", b"".join(proof.chunks()))]
        evidence = (named, replace(named, path="evidence/tsa/02.tsr"))
        return replace(contents, proofs=proofs, manifest=replace(contents.manifest, evidence=evidence))

    assert reasons(judged(scene, scene.changed(repeated))) == {("container", "NON_CANONICAL")}


def test_headers_in_a_bundle_must_be_headers(scene: Scene) -> None:
    def carrying(data: bytes) -> Callable[[Contents], Contents]:
        header = part("evidence/bitcoin/block-358391.header", data)
        return lambda contents: replace(contents, proofs=[*contents.proofs, header])

    assert judged(scene, scene.changed(carrying(bytes(80)))).verdict is PASSED
    assert reasons(judged(scene, scene.changed(carrying(bytes(79))))) == {("container", "MALFORMED")}


def test_a_revoked_document_is_reported(scene: Scene) -> None:
    revoked: Events = [("document.revoked", {"reason": "a new one"})]
    report = judged(scene, scene.bundle(events=scene.document_events(sha256(TEXT).digest(), revoked)))
    assert report.verdict is PASSED
    assert "revoked" in {each.evidence: each.detail for each in report.evidence}["ledger"]


def test_a_cut_history(scene: Scene) -> None:
    def cut(contents: Contents) -> Contents:
        lines = b"".join(contents.events.chunks()).splitlines(keepends=True)[:-1]
        return replace(contents, events=part(names.EVENTS, b"".join(lines)))

    assert reasons(judged(scene, scene.changed(cut))) == {("ledger", "LEDGER_GAP")}

    def cut_well(contents: Contents) -> Contents:
        """Even if the manifest agrees, the log does not."""
        contents = cut(contents)
        events = stream("document", ENTITY, scene.document_events(sha256(TEXT).digest()))[:-1]
        head = replace(contents.manifest.stream, events=len(events), head=b"?" * 32)
        return replace(contents, manifest=replace(contents.manifest, stream=head))

    assert reasons(judged(scene, scene.changed(cut_well))) == {("ledger", "LEDGER_HEAD")}


def test_a_history_that_is_not_in_the_log(scene: Scene) -> None:
    other = scene.contents(events=scene.document_events(sha256(TEXT).digest()))

    def borrow(contents: Contents) -> Contents:
        checkpoint = other.manifest.checkpoint
        manifest = replace(contents.manifest, checkpoint=checkpoint)
        return replace(contents, log_proof=other.log_proof, manifest=manifest)

    assert reasons(judged(scene, scene.changed(borrow))) == {("ledger", "INCLUSION_INVALID")}


def test_a_checkpoint_with_a_broken_signature(scene: Scene) -> None:
    def forge(contents: Contents) -> Contents:
        text = contents.log_proof or ""
        return replace(contents, log_proof=text[:-12] + ("A" if text[-12] != "A" else "B") + text[-11:])

    assert reasons(judged(scene, scene.changed(forge))) == {("ledger", "CHECKPOINT_UNSIGNED")}


def test_requirements_that_differ_from_the_request(scene: Scene) -> None:
    def lower(contents: Contents) -> Contents:
        return replace(contents, manifest=replace(contents.manifest, required=()))

    assert reasons(judged(scene, scene.changed(lower))) == {("ledger", "REQUIRED_MISMATCH")}


def withheld(contents: Contents, kind: str) -> Contents:
    """Return the contents without the last body of a kind, as if it had been erased."""
    events = list(history.decode("document", ENTITY, history.split(contents.events.chunks())))
    at = max(event.seq for event in events if event.kind == kind)
    events[at] = replace(events[at], payload=None, actor=None, salt=None)
    return replace(contents, events=part(names.EVENTS, b"".join(history.encode(events))))


def test_a_request_cannot_be_withheld(scene: Scene) -> None:
    requested = "document.protected.requested"
    events = scene.document_events(sha256(TEXT).digest(), required=("tsa", "polygon"))
    contents = withheld(scene.contents(events=events), requested)
    contents = replace(contents, manifest=replace(contents.manifest, required=()))
    assert ("ledger", "LEDGER_BODY") in reasons(judged(scene, scene.seal(contents.parts())))
    witness = sha256(TEXT).hexdigest()
    more: Events = [(requested, {"witness_hash": witness, "required_evidence": ["tsa", "polygon"]})]
    events = scene.document_events(sha256(TEXT).digest(), more)
    contents = withheld(scene.contents(events=events), requested)
    contents = replace(contents, manifest=replace(contents.manifest, required=("tsa",)))
    assert ("ledger", "LEDGER_BODY") in reasons(judged(scene, scene.seal(contents.parts())))


def test_only_erasable_bodies_may_be_missing(scene: Scene) -> None:
    job = withheld(scene.contents(), "job.run-tsa.required")
    assert reasons(judged(scene, scene.seal(job.parts()))) == {("ledger", "LEDGER_BODY")}


def test_a_transcript_whose_beginning_is_withheld_is_undecided(scene: Scene) -> None:
    talk = withheld(scene.conversation(), "document.added")
    bare = replace(talk, source_events=None, source_proof=None, manifest=replace(talk.manifest, source=None))
    report = judged(scene, scene.seal(bare.parts()))
    assert report.verdict is UNDECIDED
    assert {each.evidence: each.reason for each in report.evidence}["ledger"] is Reason.BODY_ERASED


def test_a_history_that_never_names_the_document(scene: Scene) -> None:
    for domain in ("conversation", "document"):
        excerpts = stream(domain, ENTITY, [("user_message_sent", {"content": "hi"})])
        proof = scene.prove(excerpts[-1])
        manifest, _ = scene.manifest(sha256(TEXT).digest(), excerpts, proof)
        events = part(names.EVENTS, b"".join(history.encode(excerpts)))
        contents = Contents(manifest, events, part("document/a.txt", TEXT), proof.text())
        report = foja.verify(
            scene.seal(contents.parts()),
            scene.trust,
            LATER,
            proofs=[scene.stamper.reply(sha256(TEXT).digest())],
        )
        assert reasons(report) == {("ledger", "WITNESS_MISMATCH")}


def test_a_renamed_document(scene: Scene) -> None:
    will = "document/Last will of X.pdf"

    def rename(contents: Contents) -> Contents:
        manifest = replace(contents.manifest, document=will)
        return replace(contents, document=part(will, TEXT), manifest=manifest)

    assert reasons(judged(scene, scene.changed(rename))) == {("ledger", "NAME_MISMATCH")}


def test_an_unrecorded_name_is_not_reported(scene: Scene) -> None:
    """If the history has no name, the name in the bundle is not proven; the report does not show it."""
    digest = sha256(TEXT).digest()
    first, *rest = scene.document_events(digest)
    events: Events = [(first[0], {"sha256": digest.hex(), "custody": "stored"}), *rest]
    report = judged(scene, scene.bundle(events=events))
    assert (report.verdict, report.subject.name) == (PASSED, None)
    not_checked = {each.evidence: each.not_checked for each in report.evidence}["ledger"]
    assert any("its name" in each for each in not_checked)


def test_a_document_name_has_no_invisible_characters() -> None:
    assert names.document_name("con\u202etxt\u200b.pdf") == "document/con_txt_.pdf"


def test_a_token_by_another_hash(scene: Scene) -> None:
    """The right bytes under another algorithm's name."""
    digest = sha256(TEXT).digest()
    reply = scene.stamper.reply(digest + bytes(16), algorithm="sha384")
    events = with_token(scene.document_events(digest), reply)
    assert reasons(judged(scene, scene.bundle(events=events))) == {("tsa", "IMPRINT_ALGORITHM")}


def test_a_seal_that_was_made_before_its_authority_existed(scene: Scene) -> None:
    parts = scene.contents().parts()
    listed = sha256(assembly.listing(parts)).digest()
    token = scene.stamper.token(listed, NOW + timedelta(days=10_000))
    data = b"".join(write(assembly.seal(parts, token)))
    assert judged(scene, data, at=NOW + timedelta(days=10_001)).verdict is FAILED


def with_token(events: Events, token: bytes) -> Events:
    """Return the events of a document with another token."""
    kind, payload = events[3]
    assert isinstance(payload, dict)
    return [*events[:3], (kind, {**payload, "token_b64": b64encode(token).decode()}), *events[4:]]


def test_invalid_tokens_in_a_bundle_have_their_own_reasons(scene: Scene) -> None:
    digest = sha256(TEXT).digest()
    lasts: dict[str, Any] = {"begins": NOW - YEAR, "ends": NOW + YEAR}
    ours, other = root(**lasts), root("Other", **lasts)
    trust = replace(scene.trust, roots=(*scene.trust.roots, ours.der))
    good = signer(ours, **lasts)
    old = signer(ours, begins=NOW - YEAR, ends=NOW - timedelta(days=1))
    rogue = signer(other, **lasts)
    cases: list[tuple[dict[str, Any], Status, str | None]] = [
        ({"signer": good}, Status.VERIFIED, None),
        ({"signer": rogue, "embedded": [rogue, other]}, Status.INDETERMINATE, "ROOT_NOT_TRUSTED"),
        ({"signer": good, "identified": old}, Status.INVALID, "ESS_CERT_ID_MISMATCH"),
        ({"signer": old}, Status.INVALID, "CERT_EXPIRED_AT_GENTIME"),
        ({"signer": good, "signers": 2}, Status.INVALID, "SIGNER_COUNT"),
    ]
    for how, status, reason in cases:
        forged = token(Recipe(digest=digest, gen_time=NOW, **how))
        events = with_token(scene.document_events(digest), forged)
        report = judged(scene, scene.bundle(events=events), trust)
        [found] = [each for each in report.evidence if each.evidence == "tsa"]
        assert (found.status, found.reason) == (status, reason), found.detail
        assert (report.verdict is PASSED) == (status is Status.VERIFIED)


def test_a_seal_is_the_bare_token(scene: Scene) -> None:
    parts = scene.contents().parts()
    reply = scene.stamper.reply(sha256(assembly.listing(parts)).digest())
    data = b"".join(write(assembly.seal(parts, reply)))
    assert reasons(judged(scene, data)) == {("seal", "NON_CANONICAL")}


def test_a_renewal_carries_the_bundle_past_the_end_of_its_root(scene: Scene) -> None:
    younger = Stamper(new_root(NOW + timedelta(days=300)))
    trust = replace(scene.trust, roots=(*scene.trust.roots, younger.root.der))
    end = scene.stamper.root.certificate.not_valid_after_utc
    after = end + timedelta(days=1)
    assert judged(scene, scene.bundle(), at=after).verdict is UNDECIDED
    renewed = scene.renewed(300, younger)
    report = judged(scene, renewed, trust, at=after)
    assert [each.name for each in report.evidence if each.evidence == "seal"] == [
        "META-INF/timestamp.tst",
        "META-INF/timestamp001.tst",
    ]
    assert report.verdict is PASSED


def test_a_renewal_by_an_untrusted_authority_does_not_count(scene: Scene) -> None:
    report = judged(scene, scene.renewed(0, Stamper()))
    assert report.verdict is UNDECIDED
    assert Reason.RENEWAL_NOT_VERIFIED in [each.reason for each in report.evidence]


def test_a_renewal_is_younger_than_what_it_renews(scene: Scene) -> None:
    assert reasons(judged(scene, scene.renewed(-1))) == {
        ("seal", "SEAL_ORDER"),
        ("seal", "CERT_NOT_YET_VALID_AT_GENTIME"),
    }


def test_a_time_out_of_range_is_refused(scene: Scene) -> None:
    for at in ("9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+14:00"):
        with pytest.raises(Refused, match="the time to judge at"):
            foja.verify(scene.bundle(), scene.trust, datetime.fromisoformat(at))


def test_an_unreadable_path_is_refused(scene: Scene, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(Refused, match="cannot be read"):
            foja.verify(path, scene.trust)
        with pytest.raises(Refused, match="cannot be read"):
            foja.verify(b"x", scene.trust, proofs=[path])


def test_an_unusable_list_of_revoked_certificates_is_refused() -> None:
    for data in (b"\x30\x03\x02\x01\x00", bytes((1 << 20) + 1)):
        body = b64encode(data).decode()
        with pytest.raises(Refused, match="list of revoked"):
            read([f"-----BEGIN X509 CRL-----\n{body}\n-----END X509 CRL-----\n"])


def test_a_list_of_many_empty_lines_is_refused_quickly(scene: Scene) -> None:
    data = assembly.listing(scene.contents().parts())
    with pytest.raises(BadBundle, match="canonical form"):
        asic.decode(data.replace(b"  <asic:Sig", b"\n" * (1 << 20) + b"  <asic:Sig", 1))


def test_a_conversation_is_derived_from_its_events_again(scene: Scene) -> None:
    report = judged(scene, scene.seal(scene.conversation().parts()))
    assert report.verdict is PASSED


def test_a_transcript_with_other_content(scene: Scene) -> None:
    other = scene.conversation([("user_message_sent", {"content": "bye"})])
    talk = scene.conversation()
    events = replace(talk, source_events=other.source_events, source_proof=other.source_proof)
    assert reasons(judged(scene, scene.seal(events.parts()))) == {("ledger", "LEDGER_HEAD")}
    both = replace(events, manifest=replace(events.manifest, source=other.manifest.source))
    assert reasons(judged(scene, scene.seal(both.parts()))) == {("ledger", "TRANSCRIPT_MISMATCH")}
    bare = replace(talk, source_events=None, source_proof=None, manifest=replace(talk.manifest, source=None))
    assert reasons(judged(scene, scene.seal(bare.parts()))) == {("ledger", "TRANSCRIPT_MISMATCH")}


SWEEPS = [pytest.param(197, id="sample"), pytest.param(1, id="all", marks=pytest.mark.long)]


@pytest.mark.parametrize("step", SWEEPS)
def test_no_flipped_bit_passes_unseen(scene: Scene, step: int) -> None:
    data = scene.bundle()
    container = open_container(io.BytesIO(data))
    start = container.starts[names.STAMP]
    survivors = []
    for bit in range(random.randrange(step), 8 * len(data), step):
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << bit % 8
        if judged(scene, bytes(broken)).verdict is PASSED:
            survivors.append(bit // 8 - start)
    assert survivors == []


PROOF_SWEEPS = [pytest.param(499, id="sample"), pytest.param(1, id="all", marks=pytest.mark.long)]


@pytest.mark.parametrize("step", PROOF_SWEEPS)
def test_no_flipped_bit_of_a_proof_passes_even_with_matching_lists_and_seals(scene: Scene, step: int) -> None:
    contents = scene.contents()
    [proof] = contents.proofs
    original = b"".join(proof.chunks())
    for bit in range(random.randrange(step), 8 * len(original), step):
        broken = bytearray(original)
        broken[bit // 8] ^= 1 << bit % 8
        changed = part(proof.entry.name, bytes(broken))
        evidence = tuple(replace(each, sha256=changed.sha256) for each in contents.manifest.evidence)
        manifest = replace(contents.manifest, evidence=evidence)
        data = scene.seal(replace(contents, proofs=[changed], manifest=manifest).parts())
        assert ("ledger", "EVIDENCE_MISMATCH") in reasons(judged(scene, data))


def test_a_large_document_is_never_held_in_memory(scene: Scene) -> None:
    chunk = bytes(1 << 16)
    contents = scene.contents(chunk * 200)

    class Watched(io.BytesIO):
        most = 0

        def read(self, size: int | None = -1, /) -> bytes:
            data = super().read(size)
            self.most = max(self.most, len(data))
            return data

    file = Watched(scene.seal(contents.parts()))
    assert judge_bundle(file, BundleRequest(scene.trust, LATER)).verdict is PASSED
    assert file.most <= 1 << 20


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_change_to_a_bundle_makes_the_judge_raise(scene: Scene, data: st.DataObject) -> None:
    """Files changed at random under matching lists and checksums: a finding, never an exception."""
    parts = parts_of(scene.bundle())
    at = data.draw(st.integers(1, 7))
    content = bytearray(b"".join(parts[at].chunks()))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, 1 << 16)) % (len(content) + 1)
        content[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    original, parts[at] = parts[at], part(parts[at].entry.name, bytes(content))
    report = judged(scene, scene.seal(parts))
    if original.sha256 != parts[at].sha256 and not original.entry.name.startswith("trust/"):
        assert report.verdict is not PASSED


DIGESTS = Path(str(files("signxml"))) / "schemas" / "xmldsig-core-schema.xsd"
STRUCTURE = f"""<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="{asic.ASIC}"
    xmlns:ds="{asic.DSIG}" xmlns="{asic.ASIC}" elementFormDefault="qualified">
  <xs:import namespace="{asic.DSIG}" schemaLocation="{DIGESTS.as_uri()}"/>
  <xs:element name="ASiCManifest"><xs:complexType><xs:sequence>
    <xs:element name="SigReference"><xs:complexType>
      <xs:attribute name="URI" type="xs:anyURI" use="required"/>
      <xs:attribute name="MimeType" type="xs:string"/>
    </xs:complexType></xs:element>
    <xs:element name="DataObjectReference" maxOccurs="unbounded"><xs:complexType><xs:sequence>
      <xs:element ref="ds:DigestMethod"/>
      <xs:element ref="ds:DigestValue"/>
    </xs:sequence>
      <xs:attribute name="URI" type="xs:anyURI" use="required"/>
      <xs:attribute name="MimeType" type="xs:string"/>
      <xs:attribute name="Rootfile" type="xs:boolean"/>
    </xs:complexType></xs:element>
  </xs:sequence></xs:complexType></xs:element>
</xs:schema>"""


def test_the_list_has_the_structure_of_the_standard(scene: Scene) -> None:
    """STRUCTURE is our own schema of what EN 319 162-1 requires; the official file may not be copied.

    The elements of a digest are those of the official schema of XML signatures, as signxml has it.
    """
    data = open_container(io.BytesIO(scene.renewed(1)))
    schema = etree.XMLSchema(etree.fromstring(STRUCTURE))
    for name in (names.ASIC_MANIFEST, names.seal_names(1)[0]):
        tree = etree.fromstring(data.read(name))
        schema.assertValid(tree)
        tree.find(f".//{{{asic.DSIG}}}DigestValue").text = "not base64"
        assert not schema.validate(tree)
    agreed("lists of bundles: XML", "lxml")
    agreed("lists of bundles: digests, by the schema of XML signatures", "signxml")


def test_verify_recognises_a_bundle(scene: Scene, tmp_path: Path) -> None:
    trust: list[str | bytes] = [scene.stamper.root.pem, scene.key.verifier().vkey()]
    path = tmp_path / "a.asice"
    path.write_bytes(scene.bundle())
    report = foja.verify(path, trust=trust, at=LATER)
    assert report.verdict is PASSED
    assert (
        foja.verify(path.read_bytes(), trust=trust, at=LATER, digest=sha256(TEXT).hexdigest()).verdict
        is PASSED
    )
    assert foja.verify(path.read_bytes(), trust=trust, at=LATER, digest="0" * 64).verdict is FAILED
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as other:
        other.writestr("a.txt", TEXT)
    assert (
        foja.verify(packed.getvalue(), trust=trust, at=LATER).verdict is Verdict.INDETERMINATE
    )  # no evidence
