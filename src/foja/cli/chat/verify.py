"""`foja chat verify`: one conversation derived again from its rows. 0 if nothing is wrong with it, else 1."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from foja.cli.installation import published, recorded, verifiers
from foja.cli.output import document, say
from foja.conversations.model.events import CONVERSATION
from foja.conversations.model.order import Envelope
from foja.conversations.model.view import ConversationView
from foja.errors import WrongEntity
from foja.observe.fsck import Outside
from foja.observe.fsck.rows import EventRow
from foja.observe.fsck.single import StreamReport, fsck_stream


async def verify(arguments: Namespace) -> int:
    """Say what is proven of a conversation, what is not, and what is wrong."""
    async with recorded(arguments) as url:
        outside = Outside(published(arguments), await verifiers(arguments, url))
        standing = await fsck_stream(url, outside, arguments.talk)
    if standing.domain != CONVERSATION.name:
        raise WrongEntity(f"{arguments.talk} is a {standing.domain}, not a conversation; use `foja fsck`")
    found = standing.report.clean
    proven, open_ends = list(_proven(standing)) if found else [], list(_open_ends(standing))
    if arguments.json:
        document({**standing.report.document(), "proven": proven, "not_proven": open_ends})
    else:
        _tell(standing, proven, open_ends)
    return 0 if found else 1


def _tell(standing: StreamReport, proven: list[str], open_ends: list[str]) -> None:
    for finding in standing.report.findings:
        say(f"✗ {finding}")
    for sentence in proven:
        say(f"✓ {sentence}")
    for sentence in open_ends:
        say(f"· {sentence}")


def _proven(standing: StreamReport) -> Iterator[str]:
    """Yield what the rows, the key and the published files prove together."""
    count, erased = len(standing.sheets), sum(sheet.payload is None for sheet in standing.sheets)
    whole = min(standing.unrecorded, default=standing.next_seq)
    if whole:
        yield f"numbers 0 to {whole - 1}: none is missing, none is there twice"
    rest = f"; {erased} erased, as a later event says" if erased else ""
    yield f"{count - erased} bodies fit their hashes, and their ids fit their keys{rest}"
    if standing.sealed:
        head = standing.head.hex()
        yield f"the chain of events 0 to {standing.sealed - 1}, derived again, ends at the stored head {head}"
    if leaf := standing.included:
        place = f"leaf {leaf.index} of {leaf.log}, signed and published at {leaf.size} leaves"
        yield f"event {leaf.seq} and all before it are in the log: {place}"


def _open_ends(standing: StreamReport) -> Iterator[str]:
    """Yield what nobody can rely on yet, and what is unfinished."""
    covered = standing.included.seq + 1 if standing.included else 0
    if covered < standing.sealed:
        yield f"no published checkpoint covers {_span(covered, standing.sealed)} yet; let `foja worker` run"
    if loose := [str(sheet.seq) for sheet in standing.sheets if sheet.seq >= standing.sealed]:
        yield f"not chained yet, for what is open below or for want of a worker: {', '.join(loose)}"
    if under_way := standing.unrecorded:
        yield f"given by Redis and not recorded yet; written or voided soon: {', '.join(map(str, under_way))}"
    if standing.open:
        yield f"reserved and not filled: {', '.join(map(str, standing.open))}"
    yield from _unfinished(ConversationView(map(_form, standing.sheets)).items())
    yield "whether the published checkpoint is the one others saw: keep one outside (`foja log checkpoint`)"


def _unfinished(items: list[dict[str, Any]]) -> Iterator[str]:
    sentences = {
        "pending": "tools without a result",
        "unpaired": "results that nobody asked for",
        "requested": "approvals without a decision",
    }
    for state, words in sentences.items():
        seqs = [str(item["seq"]) for item in items if item["state"] == state]
        if seqs:
            yield f"{words}: {', '.join(seqs)}"


def _span(low: int, end: int) -> str:
    return f"event {low}" if end == low + 1 else f"events {low} to {end - 1}"


def _form(sheet: EventRow) -> Envelope:
    payload = None if sheet.payload is None else json.loads(sheet.payload)
    return {"seq": sheet.seq, "kind": sheet.kind, "actor": sheet.actor, "payload": payload}
