"""The first sentences of a report: what is proven, on whose word, as of when, and what would change it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from foja.pure.core.bundle.names import META
from foja.pure.judge.render.notices import WRONG, WRONG_SEAL, explain
from foja.pure.judge.render.statements import say_briefly
from foja.pure.judge.render.translations import index_of, text
from foja.pure.judge.render.words import (
    kind_name,
    say_item,
    say_limit,
    say_name,
    say_source,
    say_time,
    say_times,
    subject,
)
from foja.pure.judge.report import Report, Verdict
from foja.pure.proofs.finding import Finding, Reason, Status, TrustItem
from foja.pure.quotation import LONGEST_LINE, quoted

MISSING_NAMED = 12
_LEDGER, _SEAL = "ledger", "seal"
_NO_PROOFS = {"container", _LEDGER, _SEAL, "signature"}  # what a bundle has without any proof
_REQUESTED = "document.protected.requested"
_NO_PROOF = ("document", Reason.UNKNOWN_PROOF)
_NOT_THERE = (Status.ABSENT, Status.PENDING)
_FAR = timedelta(days=1)  # clocks that differ by more are worth a remark
_SKEW = timedelta(minutes=5)
_OWN_FILES = ("evidence/", META)
_WRONG_NAMED = 3
# What another copy of the same evidence would not mend.
_NOT_OF_THE_COPY = {
    Reason.ACCURACY_NOT_ALLOWED,
    Reason.ALGORITHM_UNSUPPORTED,
    Reason.CERT_EXPIRED_AT_GENTIME,
    Reason.IMPRINT_ALGORITHM,
    Reason.POLICY_NOT_ALLOWED,
    Reason.REVOKED,
    Reason.STATUS_NOT_GRANTED,
    Reason.WEAK_KEY,
}
# On whose word a history rests that is not verified: what the judge saw of its log.
_LEDGERS = {
    Reason.NO_CHECKPOINT: "unlogged",
    Reason.UNKNOWN_DOMAIN: "log_of_unknown_domain",
    Reason.BODY_ERASED: "log_without_body",
    Reason.COSIGNERS_MISSING: "log_without_cosigners",
}
PASSED, CAUTION, UNDECIDED, FAILED = "passed", "caution", "undecided", "failed"


@dataclass(frozen=True, slots=True)
class Headline:
    """The sentence to read first, the sentences after it, and how they are coloured."""

    tone: str  # passed | caution | undecided | failed
    first: str
    more: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return all sentences."""
        return [self.first, *self.more]


def headline(report: Report, language: str = "en") -> Headline:
    """Return the headline of a report in this language."""
    return Headline(tone(report), _first(report, language), tuple(_more(report, language)))


def tone(report: Report) -> str:
    """Return how the headline is coloured: a pass that needs a reservation is not green."""
    if report.verdict is not Verdict.TOTAL_PASSED:
        return FAILED if report.verdict is Verdict.TOTAL_FAILED else UNDECIDED
    earliest = report.earliest
    return CAUTION if report.revoked or earliest is None or earliest.reserved or _old(report) else PASSED


def _old(report: Report) -> list[Finding]:
    """Return the verified evidence whose certificate has ended or was revoked, without a renewal before."""
    return [each for each in report.evidence if each.status is Status.VERIFIED and each.outlived]


def missing_items(report: Report) -> list[TrustItem]:
    """Return each root or key that is missing, once."""
    return [*dict.fromkeys(item for each in report.evidence for item in each.missing)]


def word_of_ledger(report: Report, language: str) -> str:
    """Return the log that vouches for the history, or what is known of it."""
    ledger = next((each for each in report.evidence if each.history), None)
    if ledger is None or ledger.status is not Status.VERIFIED:
        known = _LEDGERS.get(ledger.reason) if ledger and ledger.reason else None
        return text(known or "unproven_log", language)
    logs = [quoted(item.name) for item in ledger.rests_on if item.kind == "log"]
    return text("the_log", language, log=", ".join(logs))


def _first(report: Report, language: str) -> str:
    if report.verdict is Verdict.TOTAL_FAILED:
        invalid = [each for each in report.evidence if each.status is Status.INVALID]
        return _sentence("failed", report, language, wrong=_wrong(invalid, language))
    passed = report.verdict is Verdict.TOTAL_PASSED
    earliest = report.earliest
    if earliest is None and not passed:
        undecided = "undecided_recorded" if report.about_events else "undecided"
        return _sentence(undecided, report, language, why=_why(report, language))
    if earliest is None:
        return _timeless(report, language)
    name = _verified_name(report) if passed else "undecided_time"
    time, source = say_limit(earliest, language), say_source(earliest, language)
    if earliest.local:
        source = source.removesuffix(text("local_short", language)) + text("local", language)
    if earliest.of_test_network:
        source = source.removesuffix(text("test_short", language)) + text("test", language)
    why = "" if passed else _why(report, language)
    return _sentence(name, report, language, time=time, source=source, why=why)


def _verified_name(report: Report) -> str:
    """A revocation is a fact in the first sentence only if the history that records it is verified."""
    if report.revoked is None:
        return "verified"
    return "verified_revoked" if report.proves_history else "verified_claimed"


def _wrong(invalid: Sequence[Finding], language: str) -> str:
    """Return what is wrong, in words."""
    found = dict.fromkeys(_fault(each, language) for each in invalid)
    return "; ".join([*found][:_WRONG_NAMED])


def _fault(finding: Finding, language: str) -> str:
    sentence = say_times(explain(finding, language)[0], language)
    if finding.reason in WRONG and finding.evidence != _LEDGER:
        wrong = WRONG_SEAL if finding.evidence == _SEAL else WRONG[finding.reason]
        sentence = wrong[index_of(language)]
    plain = finding.evidence == "container" and bool(sentence)
    return sentence if plain else f"{kind_name(finding, language)}: {sentence}".removesuffix(": ")


def _timeless(report: Report, language: str) -> str:
    """Return the first sentence about verified evidence that proves no time, as that of a log."""
    if not (last := report.last_event):
        return _sentence("timeless", report, language)
    if event := report.event_alone:
        said = say_briefly(event, report.names, language)
        return text("event_alone", language, said=said, log=word_of_ledger(report, language)) + "."
    name = "recorded_events" if report.about_events else "recorded"
    return _sentence(name, report, language, seq=last.seq, log=word_of_ledger(report, language))


def _sentence(name: str, report: Report, language: str, **values: object) -> str:
    return text(name, language, subject=subject(report, language), **values) + "."


def _why(report: Report, language: str) -> str:
    """Return why the report is undecided, in a few words."""
    name, chosen = _undecided(report)
    return text(name, language, titles=_titles(chosen, language))


def _lacks(report: Report, language: str) -> Iterator[str]:
    """Yield what keeps evidence from being verified that is there."""
    name, chosen = _undecided(report)
    if name == "not_verified":
        faults = dict.fromkeys(_fault(each, language) for each in chosen)
        yield from (text("lacks", language, fault=each) for each in [*faults][:_WRONG_NAMED])


def _undecided(report: Report) -> tuple[str, list[Finding]]:
    """Return the first of the causes that apply why a report is undecided, and the findings of it."""
    open_ones = [each for each in report.evidence if each.status is not Status.VERIFIED]
    # A document without proofs is not evidence, and was not given as evidence.
    open_ones = [each for each in open_ones if (each.evidence, each.reason) != _NO_PROOF]
    if report.required:
        open_ones = [each for each in open_ones if each.evidence in report.required] or open_ones
    given = {each.evidence for each in report.evidence}
    absent = [Finding(each, Status.ABSENT) for each in report.required or () if each not in given]
    if not [*open_ones, *absent]:
        return "no_evidence", []
    for name, chosen in (
        ("not_trusted", [each for each in open_ones if each.missing]),
        ("not_there", [*absent, *(each for each in open_ones if each.status in _NOT_THERE)]),
        ("not_verified", open_ones),
    ):
        if chosen:
            return name, chosen
    raise AssertionError("unreachable")


def _titles(findings: list[Finding], language: str) -> str:
    return ", ".join(dict.fromkeys(kind_name(each, language) for each in findings))


def _more(report: Report, language: str) -> Iterator[str]:
    if name := say_name(report, language):
        yield name
    yield from _revocation(report, language)
    yield from _reservations(report, language)
    if event := report.event_alone:
        yield text("as_of_alone", language, seq=event.statements[0].seq)
    elif last := report.last_event:
        time, kind, log = say_time(last.at, language), quoted(last.kind), word_of_ledger(report, language)
        yield text("as_of", language, seq=last.seq, kind=kind, time=time, log=log)
        yield from _clocks(report, language)
    else:
        yield text("as_of_nothing", language)
    if report.verdict is Verdict.INDETERMINATE:
        yield from _lacks(report, language)
        for item in missing_items(report)[:MISSING_NAMED]:
            ask = text(f"ask_{item.kind}", language)
            yield text("missing", language, item=say_item(item, language), ask=ask)
    unproven = _unproven(report, language)
    if not unproven or missing_items(report):
        yield _change(report, language)
    if unproven:
        yield unproven


def _unproven(report: Report, language: str) -> str | None:
    """Return what to do where no proof of the document is given: it was not requested, or not made yet."""
    absent = all(
        each.evidence in _NO_PROOFS
        or each.status is Status.ABSENT
        or (each.evidence, each.reason) == _NO_PROOF
        for each in report.evidence
    )
    if report.verdict is not Verdict.INDETERMINATE or report.contents or not absent:
        return None
    if not report.history:
        alone = not any(each.evidence in _NO_PROOFS for each in report.evidence)
        return text("unproven", language) if alone else None
    asked = next((each for each in reversed(report.history) if each.kind == _REQUESTED), None)
    if asked is None:
        return text("unprotected", language)
    return text("unworked", language, time=say_time(asked.at, language))


def _revocation(report: Report, language: str) -> Iterator[str]:
    """Yield who revoked the document and when, then the reason on a line of its own."""
    if (revoked := report.revoked) is None:
        return
    name, log = "revoked" if report.proves_history else "claimed", word_of_ledger(report, language)
    yield _sentence(name, report, language, time=say_time(revoked.at, language), seq=revoked.seq, log=log)
    reason = quoted(revoked.reason, LONGEST_LINE) if revoked.reason else text("no_reason", language)
    yield text("reason", language, reason=reason)


def _reservations(report: Report, language: str) -> Iterator[str]:
    """Yield which verified proofs count only with a reservation, unless the first sentence says so."""
    verified, earliest = [each for each in report.evidence if each.status is Status.VERIFIED], report.earliest
    local = [each for each in verified if each.local]
    if local and earliest and not earliest.local:
        yield text("local_note", language, titles=_titles(local, language))
    of_test = [each for each in verified if each.of_test_network]
    if of_test and earliest and not earliest.of_test_network:
        yield text("test_note", language, titles=_titles(of_test, language))
    seals = [each for each in verified if each.evidence == _SEAL and each.no_later_than]
    if len(seals) > 1 and earliest:
        newest = max(seals, key=lambda each: each.no_later_than or report.at)
        time, source = say_limit(newest, language), say_source(newest, language)
        yield text("renewed_note", language, time=time, source=source)
    if old := _old(report):
        yield text("outlived_note", language, titles=_titles(old, language))


def _clocks(report: Report, language: str) -> Iterator[str]:
    """Yield where the times of the ledger's clock and of its proofs do not fit."""
    first, last = report.history[0], report.history[-1]
    if last.at > report.at + _SKEW:
        yield text("late_clock", language, time=say_time(last.at, language))
    own = [
        (each, each.no_later_than)
        for each in report.evidence
        if each.status is Status.VERIFIED
        and each.no_later_than
        and each.evidence != _SEAL
        and (each.name or "").startswith(_OWN_FILES)
    ]
    for name, event, far in (
        ("early_clock", last, [(each, at - last.at) for each, at in own if at > last.at + _FAR]),
        ("late_ledger", first, [(each, first.at - at) for each, at in own if first.at > at + _FAR]),
    ):
        if far:
            titles, days = _titles([each for each, _ in far], language), max(by for _, by in far).days
            yield text(name, language, time=say_time(event.at, language), days=days, titles=titles)


def _change(report: Report, language: str) -> str:
    if report.verdict is Verdict.TOTAL_FAILED:
        invalid = {each.reason for each in report.evidence if each.status is Status.INVALID}
        return text("change_other" if invalid <= _NOT_OF_THE_COPY else "change_nothing", language)
    if report.verdict is Verdict.INDETERMINATE:
        return text("change_missing" if missing_items(report) else "change_evidence", language)
    *others, last = (text(each, language) for each in _changes(report))
    what = text("change_or", language, others="; ".join(others), last=last) if others else last
    return text("change", language, what=what)


def _changes(report: Report) -> Iterator[str]:
    """Yield what would change a pass."""
    if not report.event_alone:
        yield "change_events" if report.about_events or report.revoked else "change_event"
    yield "change_trust"
    if any(each.kind == "root" for each in report.rests_on):
        yield "change_certificate"
