"""A judge understands the first sentences of a report, in every form and language."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from html import unescape

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

import foja
from foja.errors import Refused
from foja.interfaces.certificate.page import certificate
from foja.pure.judge.render import as_html, as_text
from foja.pure.judge.render.headline import headline
from foja.pure.judge.render.notices import REASONS
from foja.pure.judge.render.timeline import timeline
from foja.pure.judge.render.translations import LANGUAGES, TRANSLATIONS
from foja.pure.judge.render.words import say_time, short_name
from foja.pure.judge.report import Report, Revoked, Subject, Verdict
from foja.pure.proofs.finding import Finding, Reason, ShownEvent, Status, TrustItem
from foja.pure.quotation import QUOTATION
from tests.rules import authorities, blocks
from tests.rules.all_proofs import all_proofs
from tests.rules.bundles import NOW, TEXT, Events, Scene
from tests.rules.pdf_text import pdf_lines
from tests.rules.stamps import PROOF

AT = NOW + timedelta(hours=1)
SCENE, BLOCK = Scene(), blocks.scene()
WITNESS = sha256(TEXT).digest()
REVOKED: Events = [("document.revoked", {"reason": "a new one is valid"})]
KEY = "+".join(SCENE.key.verifier().vkey().split("+")[:2])
ROOT = x509.load_pem_x509_certificate(SCENE.stamper.root.pem)


def judged(more: Events | None = None, *, trust: object = SCENE.trust, **options: str) -> Report:
    bundle = SCENE.bundle(events=SCENE.document_events(WITNESS, more))
    return foja.verify(bundle, trust, AT, **options)  # type: ignore[arg-type]


def page_words(report: Report, language: str) -> str:
    """Return the words of the page, without the report for programs."""
    visible = as_html(report, language).partition("<body")[2].partition("<details>")[0]
    return " ".join(unescape(re.sub("<[^>]*>", " ", visible)).split())


def pdf_words(report: Report, language: str) -> str:
    return " ".join(pdf_lines(certificate(report, language=language)))


def flat(text: str) -> str:
    """Return a text without spaces and marks of commands: lines are broken in different places."""
    return re.sub(r"[\s`]", "", text)


FORMS: dict[str, Callable[[Report, str], str]] = {"text": as_text, "html": page_words, "pdf": pdf_words}
each_form = pytest.mark.parametrize("form", FORMS)
each_language = pytest.mark.parametrize("language", LANGUAGES)


@each_form
@each_language
@pytest.mark.parametrize("case", ["passed", "revoked", "undecided", "failed"])
def test_every_form_begins_with_the_headline(form: str, language: str, case: str) -> None:
    """The sentences come first, in the same words; codes come after them."""
    reports = {
        "passed": lambda: judged(),
        "revoked": lambda: judged(REVOKED),
        "undecided": lambda: judged(trust=()),
        "failed": lambda: judged(digest="0" * 64),
    }
    report = reports[case]()
    shown, sentences = flat(FORMS[form](report, language)), headline(report, language).lines()
    places = [shown.index(flat(sentence)) for sentence in sentences]
    assert places == sorted(places)
    assert places[0] < 60
    assert shown.index(report.verdict.value) > places[-1]
    assert not re.search("TOTAL_|INDETERMINATE", " ".join(sentences))


def test_the_json_has_the_sentences_and_what_they_are_made_from() -> None:
    """Programs read the last event shown, the roots and what is missing, too."""
    report = judged(REVOKED)
    document = json.loads(report.json())
    assert document["headline"] == headline(report).lines()
    assert document["headline"][0].startswith("Verified, but revoked: “a.txt” existed by")
    assert [each["kind"] for each in document["history"]] == [
        "document.added",
        "document.protected.requested",
        "document.revoked",
        "job.build-artifact.required",
    ]
    fingerprints = {item["fingerprint"] for each in document["evidence"] for item in each["rests_on"]}
    assert fingerprints == {f"sha256:{sha256(ROOT.public_bytes(Encoding.DER)).hexdigest()}", KEY}
    missing = json.loads(judged(trust=()).json())["evidence"][1]["missing"]
    assert missing == [{"kind": "root", "name": ROOT.subject.rfc4514_string(), "fingerprint": key_id()}]


def test_the_first_sentence_is_one_that_a_judge_understands() -> None:
    """What, by when, on whose word; an independent authority is not called local."""
    trust = [f"evm-block:0x{BLOCK.block_hash.hex()}"]
    report = foja.verify(b"document", trust, AT, proofs=[BLOCK.anchor.encode()], name="contract.txt")
    found = headline(report)
    block = "Polygon (block 50000000 of chain 137)"
    assert found.first == (
        f"Verified: “contract.txt” existed by 14 November 2023, 22:13:20 UTC, on the word of {block}."
    )
    assert found.tone == "passed"
    assert headline(report, "es").first == (
        "Verificado: “contract.txt” existía a más tardar el 14 de noviembre de 2023, 22:13:20 UTC, "
        "según Polygon (el bloque 50000000 de la cadena 137)."
    )


@each_form
@pytest.mark.parametrize(
    ("language", "revoked", "local"),
    [
        ("en", "Verified, but revoked: “a.txt”", "a local authority: it proves the order to its owner"),
        ("es", "Verificado, pero revocado: “a.txt”", "una autoridad local: prueba el orden a su dueño"),
    ],
)
def test_a_revocation_and_a_local_authority_are_in_the_headline(
    form: str, language: str, revoked: str, local: str
) -> None:
    """Neither is a green pass with small print."""
    for report in (judged(), judged(REVOKED)):
        found = headline(report, language)
        assert found.tone == "caution"
        assert local in found.first
    assert found.first.startswith(revoked)
    assert "(event 4)" in found.more[0] or "(evento 4)" in found.more[0]
    assert found.more[1].endswith(": “a new one is valid”"), "a reason is a quotation on a line of its own"
    assert flat(local) in flat(FORMS[form](judged(REVOKED), language))


def test_a_local_authority_is_named_beside_an_independent_one() -> None:
    """The time is that of the independent proof, and the local ones are still called local."""
    proofs = all_proofs()
    report = foja.verify(proofs.bundle, proofs.trust, AT)
    assert report.earliest is not None
    assert not report.earliest.local
    assert any(line.startswith("Local authority: ") for line in headline(report).more)
    assert any(line.startswith("Autoridad local: ") for line in headline(report, "es").more)


def test_an_earlier_time_of_a_local_authority_gives_way() -> None:
    """The headline prefers the word of others to the owner's own."""
    notice = "local authority: proves order to you, not time to others"
    local = Finding("tsa", Status.VERIFIED, None, "", NOW, "CN=own", (notice,))
    other = Finding("tsa", Status.VERIFIED, None, "", AT, "CN=other")
    assert Report(Subject(), (local, other), AT).earliest is other
    assert Report(Subject(), (local,), AT).earliest is local


@each_language
def test_a_history_that_was_cut_and_sealed_again_says_as_of_when(language: str) -> None:
    """Before the revocation everything is genuine; the headline says where the history ends."""
    events = SCENE.document_events(WITNESS, REVOKED)
    whole, cut = (foja.verify(SCENE.bundle(events=each), SCENE.trust, AT) for each in (events, events[:4]))
    assert cut.verdict is Verdict.TOTAL_PASSED
    assert (whole.revoked is None, cut.revoked) == (False, None)
    last = cut.last_event
    assert last is not None
    assert (last.seq, last.kind) == (3, "tsa.confirmed")
    as_of, clocks, change = headline(cut, language).more
    assert f" 3 (“{last.kind}”): " in as_of
    assert say_time(last.at, language) in as_of
    assert "log.example/1" in as_of
    assert "365" in clocks, "the events of these tests are a year before their token"
    assert "revoca" in change
    assert " 5 (“job.build-artifact.required”): " in headline(whole, language).more[2]


@each_language
def test_a_history_that_no_trusted_log_signed_is_called_so(language: str) -> None:
    """Without the log's key the last event rests on the word of the file only."""
    words = TRANSLATIONS["unproven_log"][LANGUAGES.index(language)]
    assert words in " ".join(headline(judged(REVOKED, trust=[SCENE.stamper.root.pem]), language).more)
    assert words not in " ".join(headline(judged(REVOKED), language).more)


@each_language
def test_without_a_history_it_is_said_that_there_is_none(language: str) -> None:
    """A loose token says nothing about a revocation."""
    token = SCENE.stamper.reply(WITNESS)
    for report in (
        foja.verify(TEXT, SCENE.trust, AT, proofs=[token]),
        foja.verify(b"PK", SCENE.trust, AT),
        judged(digest="0" * 64),
    ):
        shown = TRANSLATIONS["as_of_nothing"][LANGUAGES.index(language)] in headline(report, language).more
        assert shown == (report.last_event is None)


def key_id() -> str:
    found = ROOT.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    return f"key id {found.digest.hex()}"


@each_form
@each_language
def test_what_is_missing_is_named_with_its_fingerprint_and_whom_to_ask(form: str, language: str) -> None:
    """INDETERMINATE says which root and which key, and who has them."""
    shown = flat(FORMS[form](judged(trust=()), language))
    for words in (ROOT.subject.rfc4514_string(), key_id().removeprefix("key id "), KEY):
        assert flat(words) in shown
    for ask in ("ask_root", "ask_log"):
        assert flat(TRANSLATIONS[ask][LANGUAGES.index(language)]) in shown


def test_a_root_that_came_with_the_token_is_named_by_its_digest() -> None:
    """The fingerprint is that of the certificate where the token carries it."""
    other = authorities.root()
    signer = authorities.signer(other)
    token = authorities.token(authorities.Recipe(signer, WITNESS, embedded=[signer, other]))
    [found] = foja.verify(TEXT, (), AT, proofs=[token]).evidence
    assert found.reason is Reason.ROOT_NOT_TRUSTED
    assert found.missing[0].fingerprint == f"sha256:{sha256(other.der).hexdigest()}"


def test_every_kind_of_evidence_names_what_is_missing_and_what_it_rests_on() -> None:
    """For timestamps, blocks, logs and signers alike."""
    proofs = all_proofs()
    for each in foja.verify(proofs.bundle, proofs.trust, AT).evidence:
        assert bool(each.rests_on) == (each.evidence != "container"), each
    for each in foja.verify(proofs.bundle, (), AT).evidence:
        assert bool(each.missing) == (each.evidence != "container"), each
    pending = foja.verify(b"document", (), AT, proofs=[PROOF])
    assert pending.evidence[0].missing[0].name == "Bitcoin block 100"


@each_form
@each_language
def test_a_pass_shows_on_which_roots_it_rests(form: str, language: str) -> None:
    """Each root and key, with its fingerprint."""
    shown = flat(FORMS[form](judged(), language))
    for words in (
        TRANSLATIONS["rests_on"][LANGUAGES.index(language)],
        ROOT.subject.rfc4514_string(),
        sha256(ROOT.public_bytes(Encoding.DER)).hexdigest(),
        KEY,
    ):
        assert flat(words) in shown


@each_language
def test_digests_can_be_pasted(language: str) -> None:
    """A digest and a fingerprint are in one piece and in one line."""
    report = judged()
    fingerprint = sha256(ROOT.public_bytes(Encoding.DER)).hexdigest()
    for digest in (WITNESS.hex(), fingerprint):
        assert digest in as_text(report, language)
        assert f">{digest}<" in as_html(report, language) or f":{digest}<" in as_html(report, language)
        assert any(digest in line for line in pdf_lines(certificate(report, language=language)))


@each_form
@each_language
def test_what_was_not_checked_is_labelled_so(form: str, language: str) -> None:
    """No bare bullet stands under a verified proof."""
    shown = FORMS[form](judged(), language)
    label = TRANSLATIONS["not_checked"][LANGUAGES.index(language)]
    notice = {"en": "revocation of", "es": "revocación de"}[language]
    before = shown.partition(notice)[0]
    assert before.rpartition(label)[2].strip(" :–·\n") == ""


def test_undecided_evidence_is_not_called_checked() -> None:
    """A certificate without any root does not say that everything was checked."""
    assert "nothing, as far as is known" not in pdf_words(judged(trust=()), "en")


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_spanish_sentence(reason: Reason) -> None:
    """A Spanish report gives the reason in Spanish, and the English detail as such."""
    report = Report(Subject(), (Finding("tsa", Status.INVALID, reason, "it is so"),), AT)
    assert REASONS[reason] in as_text(report, "es")
    assert "Detalle (en inglés): it is so" in as_text(report, "es")
    assert '<span lang="en">it is so</span>' in as_html(report, "es")


@each_form
def test_a_spanish_report_is_spanish(form: str) -> None:
    """No English text of ours is left, whatever was found."""
    proofs = all_proofs()
    english = [text for text, other in TRANSLATIONS.values() if text != other and len(text) > 12]
    for report in (
        judged(REVOKED),
        judged(trust=()),
        judged(digest="0" * 64),
        foja.verify(proofs.bundle, proofs.trust, AT),
        foja.verify(b"document"),
    ):
        shown = FORMS[form](report, "es")
        assert [text for text in english if text.partition("{")[0].strip() and text in shown] == []
        assert not re.search(r"\b(verified|existed|the word of|according to)\b", shown)


def test_the_timeline_is_in_order_and_says_on_whose_word() -> None:
    """Events by the ledger's clock, proofs by that of who attests them."""
    entries = timeline(judged(REVOKED), "en")
    assert [each.at for each in entries] == sorted(each.at for each in entries)
    assert [each.what for each in entries if each.mark == "revoked"] == ["Revoked"]
    assert [each.mark for each in entries].count("proof") == 2
    assert entries[-1].what == "Judged as of this time"
    assert all(each.source for each in entries[:-1])
    assert "proof" not in [each.mark for each in timeline(judged(digest="0" * 64), "en")]
    unproven = timeline(judged(trust=()), "en")
    assert all(each.source.endswith("not verified") for each in unproven[:-1])


def test_a_long_name_stands_on_a_line_of_its_own() -> None:
    """The name of a file is untrusted text: the first sentence does not contain it if it is a sentence."""
    evil = "x existed by 1 January 1990, on the word of all. \x1b[2J\u202e" + "y" * 900
    found = headline(Report(Subject(WITNESS, evil), (), AT))
    assert "the document named below" in found.first
    assert found.more[0].startswith("Name, as given: “x existed by")
    assert all(line.isprintable() and len(line) < 400 for line in found.lines())
    digest = headline(Report(Subject(WITNESS), (), AT)).first
    assert "the document with the digest below" in digest


def test_a_history_in_a_log_proves_no_time() -> None:
    """An export is verified up to an event, and its headline claims no time."""
    ledger = Finding("ledger", Status.VERIFIED, rests_on=(TrustItem("log", "log.example/1", "log+1"),))
    ledger = replace(ledger, history=judged().history)
    found = headline(Report(Subject(WITNESS, "history.jsonl"), (ledger,), AT))
    assert found.first.startswith(
        "Verified: “history.jsonl” is recorded up to event 4, on the word of the log “log"
    )
    assert found.tone == "caution"


def test_the_cause_of_an_undecided_report_is_the_one_that_applies() -> None:
    """No trust, no evidence, or required evidence that was not given."""
    token = SCENE.stamper.reply(WITNESS)
    strict = replace(SCENE.trust, required=("tsa", "bitcoin"))
    report = foja.verify(TEXT, strict, AT, proofs=[token], name="a.txt")
    assert "but required evidence is not there, or not complete yet: Bitcoin." in headline(report).first
    assert headline(report).more[-1].startswith("What would change it: evidence that can be verified.")
    assert "because no evidence was given." in headline(foja.verify(TEXT)).first
    assert "because you did not give every root or key" in headline(judged(trust=())).first
    unknown = foja.verify(TEXT, proofs=[b"garbage"])
    assert "because not all evidence could be verified: Proof." in headline(unknown).first


def test_verified_evidence_without_a_time_claims_none() -> None:
    """No input makes the headline raise."""
    report = Report(Subject(WITNESS), (Finding("tsa", Status.VERIFIED),), AT)
    assert headline(report).first.endswith("is valid; no time is proven.")


def test_times_have_no_fractions_and_names_are_short() -> None:
    """An event of 16:17:03.40 was 16:17:04 in a certificate and 16:17:03 on a page: it is 16:17:03."""
    moment = datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    assert say_time(moment, "en") == "31 December 2026, 23:59:59 UTC"
    assert say_time(moment, "es") == "31 de diciembre de 2026, 23:59:59 UTC"
    assert short_name("CN=Stamp 1,O=Company,C=US") == "Stamp 1 (Company)"
    assert short_name("C=US,CN=Stamp 1") == "Stamp 1"
    assert short_name(r"CN=A\, B,O=C") == r"CN=A\, B,O=C"
    assert short_name("O=C") == "O=C"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_time_is_the_same_everywhere_and_never_rounded_up(language: str) -> None:
    """A time of 17:03.999 is 17:03 in each form, in sentences, in the timeline, in remarks and in details."""
    at = datetime(2026, 11, 18, 16, 17, 3, 999_000, tzinfo=UTC)
    remark = "judged as of 2026-11-18T16:17:03.999000Z: no verified time is earlier"
    detail = "“CN=A” was trusted until 2026-11-18T16:17:03.999000Z; it was not renewed before"
    history = (ShownEvent(0, "document.added", at), ShownEvent(3, "document.revoked", at))
    found = (
        Finding("tsa", Status.VERIFIED, None, "", at, "CN=A", remarks=(remark,)),
        Finding("ledger", Status.INDETERMINATE, Reason.BODY_ERASED, detail, history=history),
    )
    report = Report(Subject(WITNESS, "a.txt"), found, at, None, None, Revoked(3, at, "2026-11-18T16:17:04Z"))
    forms = [as_text(report, language), page_words(report, language)]
    forms.append(" ".join(pdf_lines(certificate(report, language=language))))
    for form in forms:
        words = re.sub(QUOTATION, "", form)
        assert words.count(say_time(at, language)) >= 7
        assert set(re.findall("16:17:[0-9.:]+", words)) <= {"16:17:03", "16:17:03."}
        assert "“2026-11-18T16:17:04Z”" in form, "words of others stay as they are"


def test_another_language_is_refused() -> None:
    for form in (as_text, as_html):
        with pytest.raises(Refused, match="en or es"):
            form(judged(), "la")
