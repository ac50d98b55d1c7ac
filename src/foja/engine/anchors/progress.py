"""The next step of a stored batch, and what is stored of the network's answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from foja.engine.anchors.network import Confirmed, Network, Progress, Refused, Waiting
from foja.engine.anchors.networks import REKOR
from foja.engine.anchors.store import Claimed, Note
from foja.engine.anchors.terms import AnchorTerms

REORGED = "reorged"
LONGEST_REASON = 2_000  # characters
ENTRY = ("txid", "block_height", "block_hash", "log_index")  # what a confirmation is in
WATCH_SHARE = 0.1  # of the time since a confirmation, until the next look


async def ask(network: Network, claimed: Claimed) -> Progress:
    """Send what was drafted, look at what was sent, watch what was confirmed."""
    if claimed.status == "drafted":
        return await network.send(claimed.batch)
    if claimed.status == "sent":
        return await network.look(claimed.batch)
    return await network.watch(claimed.batch)


def note_of(claimed: Claimed, progress: Progress, terms: AnchorTerms) -> Note:
    """Return what to store. A confirmation by another block takes the first one back: it comes again."""
    if isinstance(progress, Waiting):
        pause = min(max(progress.seconds, 0.0), terms.longest_pause)
        most, cap = progress.max_fee or None, terms.daily_cap
        return Note("sent", progress.state, pause, progress.detail, max_fee=most, cap=cap)
    if isinstance(progress, Refused):
        outcome = {"failure_code": progress.code, "reason": progress.detail[:LONGEST_REASON]}
        if claimed.status == "confirmed":
            outcome["failure_code"] = REORGED
            return Note("reorged", progress.state, detail=progress.detail, outcome=outcome)
        return Note(
            "refused", progress.state, detail=progress.detail, outcome=outcome, fee=progress.fee,
            spent=progress.spent,
        )  # fmt: skip
    outcome = _outcome(claimed, progress)
    if claimed.status == "confirmed" and _is_same_block(claimed.outcome, outcome):
        # Its state stays, too: the proofs that were named are made of it.
        return Note("confirmed", None, _watch_pause(progress.confirmed_at, terms))
    if claimed.status == "confirmed":
        moved = {"failure_code": REORGED, "reason": "the anchor moved to another block"}
        return Note("reorged", progress.state, detail=moved["reason"], outcome=moved)
    return Note(
        "confirmed", progress.state, outcome=outcome, confirmed_at=progress.confirmed_at,
        trust=progress.trust, fee=progress.fee, spent=True,
    )  # fmt: skip


def _outcome(claimed: Claimed, progress: Confirmed) -> dict[str, Any]:
    fields = {name: value for name, value in progress.payload.items() if value is not None}
    if claimed.batch.network == REKOR:
        return fields
    return {**fields, "confirmed_at": progress.confirmed_at.isoformat()}


def _watch_pause(confirmed_at: datetime, terms: AnchorTerms) -> float | None:
    """Return the time until the next look at a confirmed batch: the older, the longer; then none."""
    age = datetime.now(UTC) - confirmed_at
    if age > terms.watch:
        return None
    return max(terms.every, WATCH_SHARE * age.total_seconds())


def _is_same_block(stored: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Return whether two confirmations are by the same entry of the network."""
    return all(stored.get(name) == found.get(name) for name in ENTRY)
