"""The report of the judge, and the rule that derives its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from foja.pure.core.canonical import Json, canonical
from foja.pure.proofs.contents import Contents, Statement
from foja.pure.proofs.finding import Finding, Reason, ShownEvent, Status, TrustItem
from foja.pure.quotation import visible

FORM = "foja/report/v1"
_CONTAINER, _SEAL = "container", "seal"
_NOT_JUDGED = {Reason.TOO_LARGE, Reason.TOO_COSTLY, Reason.NOT_JUDGED}


class Verdict(StrEnum):
    """The overall result, named as in EN 319 102-1."""

    TOTAL_PASSED = "TOTAL_PASSED"
    INDETERMINATE = "INDETERMINATE"
    TOTAL_FAILED = "TOTAL_FAILED"

    @property
    def exit_code(self) -> int:
        """The exit code of a command: 0, 2 or 1."""
        return _EXIT_CODES[self]


_EXIT_CODES = {Verdict.TOTAL_PASSED: 0, Verdict.INDETERMINATE: 2, Verdict.TOTAL_FAILED: 1}


@dataclass(frozen=True, slots=True)
class Subject:
    """What the evidence is about: a digest, and a name if it has one."""

    sha256: bytes | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Revoked:
    """The event that revoked a document. Its proofs stay valid: they are about the bytes."""

    seq: int
    at: datetime
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """A verdict and everything that it is based on."""

    subject: Subject
    evidence: tuple[Finding, ...]
    at: datetime
    required: tuple[str, ...] | None = None  # None or empty: all that was given, unless it is only pending
    policy: dict[str, Json] | None = None
    revoked: Revoked | None = None  # according to the history in the bundle, as far as it goes

    @property
    def verdict(self) -> Verdict:
        """The overall result."""
        return decide(self.evidence, self.required)

    @property
    def earliest(self) -> Finding | None:
        """The verified proof with the earliest time, the first of equals; None if any proof is invalid.

        The time of a local authority or of a test network is used only if there is no other.
        """
        if self.verdict is Verdict.TOTAL_FAILED:
            return None
        proven = [each for each in self.evidence if each.status is Status.VERIFIED and each.no_later_than]
        return min(proven, key=lambda each: (each.reserved, each.no_later_than), default=None)

    @property
    def history(self) -> tuple[ShownEvent, ...]:
        """Some events of the history that was judged: always the first and the last; empty without one."""
        return next((each.history for each in self.evidence if each.history), ())

    @property
    def last_event(self) -> ShownEvent | None:
        """The event up to which the history is shown."""
        return self.history[-1] if self.history else None

    @property
    def contents(self) -> Contents | None:
        """What the events say that were judged as an event, an export or a conversation."""
        return next((each.contents for each in self.evidence if each.contents), None)

    @property
    def about_events(self) -> bool:
        """Whether it is about events themselves, and not about a document that has a history."""
        judged = {each.evidence for each in self.evidence}
        return self.contents is not None and judged <= {"ledger", "monitor"}

    @property
    def names(self) -> Mapping[str, str]:
        """The names that the reader's trust gives to actors; the ledger has only the actors."""
        names = (self.policy or {}).get("names")
        return {actor: str(name) for actor, name in names.items()} if isinstance(names, dict) else {}

    @property
    def event_alone(self) -> Contents | None:
        """The one event that was judged without those before and after it; None for a whole history."""
        return self.contents if self.contents and self.contents.alone else None

    @property
    def proves_history(self) -> bool:
        """Whether a history is shown that a trusted log vouches for."""
        return any(each.history and each.status is Status.VERIFIED for each in self.evidence)

    @property
    def rests_on(self) -> tuple[TrustItem, ...]:
        """The roots, keys and blocks that verified evidence rests on, each once."""
        return tuple(dict.fromkeys(item for each in self.evidence for item in each.rests_on))

    @property
    def headline(self) -> list[str]:
        """The sentences to read first, in English."""
        from foja.pure.judge.render.headline import headline  # late: it reads reports

        return headline(self).lines()

    def document(self) -> dict[str, Json]:
        """Return the report as a JSON object; the same report gives the same object."""
        sha256, earliest = self.subject.sha256, self.earliest
        name, according_to = plain(self.subject.name), plain(earliest.according_to if earliest else None)
        return {
            "form": FORM,
            "verdict": self.verdict.value,
            "at": instant(self.at),
            "headline": [*self.headline],
            "subject": {"name": name, "sha256": sha256.hex() if sha256 else None},
            "no_later_than": instant(earliest.no_later_than) if earliest else None,
            "according_to": according_to,
            "required": None if self.required is None else list(self.required),
            "evidence": [_document(each) for each in self.evidence],
            "policy": self.policy,
            "history": [_event(each) for each in self.history],
            **({"contents": _contents(self.contents)} if self.contents else {}),
            **({"revoked": _revoked(self.revoked)} if self.revoked else {}),
        }

    def json(self) -> bytes:
        """Return `document` as canonical JSON, with a newline at its end."""
        return canonical(self.document()) + b"\n"


def decide(evidence: Iterable[Finding], required: Sequence[str] | None) -> Verdict:
    """Return the verdict. One invalid finding fails all; required evidence must be verified.

    If nothing is required by name, everything that was given is required, unless it is only pending.
    Nothing passes without a verified proof, and a valid container alone proves nothing. What was not judged
    because of a limit could be invalid, so nothing passes beside it, nor beside a seal of an unknown form.
    """
    findings = list(evidence)
    if any(each.status is Status.INVALID for each in findings):
        return Verdict.TOTAL_FAILED
    if any(map(_not_judged, findings)):
        return Verdict.INDETERMINATE
    verified = {each.evidence for each in findings if each.status is Status.VERIFIED}
    if not required:
        complete = all(each.status in (Status.VERIFIED, Status.PENDING) for each in findings)
    else:
        complete = verified.issuperset(required)
    return Verdict.TOTAL_PASSED if verified - {_CONTAINER} and complete else Verdict.INDETERMINATE


def _not_judged(finding: Finding) -> bool:
    """Return whether a finding may hide an invalid proof."""
    unknown_seal = finding.evidence == _SEAL and finding.status is Status.UNSUPPORTED
    return unknown_seal or finding.reason in _NOT_JUDGED


def instant(moment: datetime | None) -> str | None:
    """Return a time as reports write it: UTC, to the second or to the microsecond."""
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _document(finding: Finding) -> Json:
    return {
        "evidence": plain(finding.evidence),
        "name": plain(finding.name),
        "status": finding.status.value,
        "reason": finding.reason.value if finding.reason else None,
        "detail": plain(finding.detail),
        "no_later_than": instant(finding.no_later_than),
        "according_to": plain(finding.according_to),
        "not_checked": [plain(each) for each in finding.not_checked],
        "rests_on": [_item(each) for each in finding.rests_on],
        "missing": [_item(each) for each in finding.missing],
        **({"remarks": [plain(each) for each in finding.remarks]} if finding.remarks else {}),
    }


def _item(item: TrustItem) -> Json:
    return {"kind": item.kind, "name": plain(item.name), "fingerprint": plain(item.fingerprint)}


def _event(event: ShownEvent) -> Json:
    return {"seq": event.seq, "kind": plain(event.kind), "at": instant(event.at)}


def _contents(contents: Contents) -> Json:
    whole = contents.whole
    return {
        "entity_id": str(contents.entity_id),
        "domain": plain(contents.domain),
        "events": contents.events,
        "statements": [_statement(each) for each in contents.statements],
        "complete": None
        if whole is None
        else {
            "requests": list(whole.requests),
            "approvals": list(whole.approvals),
            "expired": list(whole.expired),
            "voided": [{"seq": seq, "reason": plain(reason)} for seq, reason in whole.voided],
            "hidden": list(whole.hidden),
        },
    }


def _statement(each: Statement) -> Json:
    return {
        "seq": each.seq,
        "kind": plain(each.kind),
        "at": instant(each.at),
        "act": each.act.value,
        "actor": plain(each.actor),
        "what": plain(each.what),
        "content": plain(each.content),
        "digest": plain(each.digest),
        "reason": plain(each.reason),
        "about": each.about,
    }


def _revoked(revoked: Revoked) -> Json:
    return {"seq": revoked.seq, "at": instant(revoked.at), "reason": plain(revoked.reason)}


def plain(text: str | None) -> str | None:
    """Return a text without control characters; parts of it may come from untrusted input."""
    return None if text is None else visible(text)
