"""The token of a timestamp that an event recorded, whichever program recorded it, and what it proves."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from foja.errors import Malformed
from foja.pure.core.bundle.record import RecordedEvent, recorded
from foja.pure.models.documents.track import TOKEN_REFUSED, Track, moment
from foja.pure.proofs.ers import read_record, root_of
from foja.pure.proofs.finding import Finding, Flaw, Reason, Status
from foja.pure.proofs.tsa import Checked, Terms, Timestamp, judge

NEVER = datetime.min.replace(tzinfo=UTC)
WORST = (Status.INVALID, Status.UNSUPPORTED)  # whatever anyone trusts


@dataclass(frozen=True, slots=True)
class RecordedToken:
    """A token, the digest that it must be about, and what its event says of it."""

    data: bytes  # the token, as it was recorded
    digest: bytes  # of the document, or the root of its batch
    nonce: int | None
    gen_time: datetime

    def judge(self, terms: Terms) -> Checked:
        """Return what the token proves under these terms."""
        checked = judge(self.data, self.digest, replace(terms, nonce=self.nonce))
        contradiction = self._contradiction(checked.stamp) if checked.stamp else None
        return replace(checked, finding=contradiction) if contradiction else checked

    def is_about(self, stamp: Timestamp) -> bool:
        """Return whether a timestamp is about the digest and says what the event says."""
        is_answer = self.nonce in (None, stamp.nonce)
        return stamp.imprint == self.digest and is_answer and self._contradiction(stamp) is None

    def _contradiction(self, stamp: Timestamp) -> Finding | None:
        if self.gen_time == stamp.gen_time:
            return None
        detail = f"its time is {stamp.gen_time.isoformat()}, and its event names {self.gen_time.isoformat()}"
        return Finding("tsa", Status.INVALID, Reason.EVIDENCE_MISMATCH, detail)


def read_token(event: RecordedEvent) -> RecordedToken | Finding:
    """Return the token of a `tsa.confirmed`, or a finding that says why it cannot be read."""
    record = recorded(event)
    if record is None or record.data is None or not isinstance(event.payload, dict):
        detail = "the event holds no token that can be read"
        return Finding("tsa", Status.INVALID, Reason.MALFORMED, detail)
    try:
        data, digest = b64decode(event.payload["token_b64"]), bytes.fromhex(record.witness_hash)
        if record.blinding is not None:
            digest = root_of(read_record(record.data).lists)
    except Flaw as flaw:
        return flaw.finding("tsa")
    except (Malformed, ValueError) as error:
        return Finding("tsa", Status.INVALID, Reason.MALFORMED, str(error))
    gen_time = moment(event.payload.get("gen_time"), NEVER)
    return RecordedToken(data, digest, record.nonce, gen_time)


def refuse(track: Track, finding: Finding) -> dict[str, Any]:
    """Return the payload of the `tsa.failed` that takes a timestamp back."""
    return {
        "witness_hash": track.witness,
        "attempt": track.confirmed_by,
        "failure_code": TOKEN_REFUSED,
        "reason": f"{finding.status} {finding.reason or ''} {finding.detail}",
    }


def find_fault(event: RecordedEvent) -> Finding | None:
    """Return why the token of an event proves nothing, whatever anyone trusts, or None."""
    token = read_token(event)
    finding = token if isinstance(token, Finding) else token.judge(Terms(())).finding
    return finding if finding.status in WORST else None
