"""`foja chat verify`: derive one conversation again from its rows; exit code 1 if anything is found."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from foja.engine.observe.fsck import Outside
from foja.engine.observe.fsck.rows import EventRow
from foja.engine.observe.fsck.single import StreamReport, fsck_stream
from foja.errors import WrongEntity
from foja.interfaces.cli.installation import open_database, open_object_store, read_settings, read_verifiers
from foja.interfaces.cli.output import print_result
from foja.pure.models.conversations.events import CONVERSATION
from foja.pure.models.conversations.order import Envelope
from foja.pure.models.conversations.view import ConversationView


async def verify(arguments: Namespace) -> int:
    """Print what is proven about a conversation, what is not proven, and what is wrong."""
    settings = read_settings(arguments)
    async with open_database(arguments) as url:
        outside = Outside(open_object_store(arguments), await read_verifiers(arguments, url))
        stream = await fsck_stream(url, outside, arguments.conversation, settings.own_tenant)
    if stream.domain != CONVERSATION.name:
        raise WrongEntity(f"the stream is a {stream.domain}, not a conversation; use `foja fsck`")
    clean = stream.report.clean
    proven, not_proven = list(_proven(stream)) if clean else [], list(_not_proven(stream))
    print_result(
        arguments,
        {**stream.report.document(), "proven": proven, "not_proven": not_proven},
        *(f"✗ {finding}" for finding in stream.report.findings),
        *(f"✓ {sentence}" for sentence in proven),
        *(f"· {sentence}" for sentence in not_proven),
    )
    return 0 if clean else 1


def _proven(stream: StreamReport) -> Iterator[str]:
    """Yield what the rows, the key and the published files prove together."""
    count, erased = len(stream.events), sum(row.payload is None for row in stream.events)
    whole = min(stream.unrecorded, default=stream.next_seq)
    if whole:
        yield f"numbers 0 to {whole - 1}: none is missing, none is duplicated"
    rest = f"; {erased} erased by a later event" if erased else ""
    yield f"{count - erased} bodies match their hashes, and their ids match their keys{rest}"
    if stream.sealed:
        head = stream.head.hex()
        yield f"the chain of events 0 to {stream.sealed - 1}, derived again, ends at the stored head {head}"
    if leaf := stream.included:
        place = f"leaf {leaf.index} of {leaf.log}, signed and published at {leaf.size} leaves"
        yield f"event {leaf.seq} and all before it are in the log: {place}"


def _not_proven(stream: StreamReport) -> Iterator[str]:
    """Yield what is not proven yet, and what is unfinished."""
    covered = stream.included.seq + 1 if stream.included else 0
    if covered < stream.sealed:
        yield f"no published checkpoint covers {_span(covered, stream.sealed)} yet; run `foja worker`"
    if unchained := [str(row.seq) for row in stream.events if row.seq >= stream.sealed]:
        yield f"not chained yet, because a lower number is open or no worker runs: {', '.join(unchained)}"
    if unrecorded := stream.unrecorded:
        yield f"numbered by Redis, to be recorded or voided soon: {', '.join(map(str, unrecorded))}"
    if stream.open:
        yield f"reserved and not filled: {', '.join(map(str, stream.open))}"
    yield from _unfinished(ConversationView(map(_envelope, stream.events)).items())
    yield "that others saw the same checkpoint: save one elsewhere with `foja log checkpoint`"


def _unfinished(items: list[dict[str, Any]]) -> Iterator[str]:
    labels = {
        "pending": "tools without a result",
        "unpaired": "results without a request",
        "requested": "approvals without a decision",
    }
    for state, label in labels.items():
        seqs = [str(item["seq"]) for item in items if item["state"] == state]
        if seqs:
            yield f"{label}: {', '.join(seqs)}"


def _span(low: int, end: int) -> str:
    return f"event {low}" if end == low + 1 else f"events {low} to {end - 1}"


def _envelope(row: EventRow) -> Envelope:
    payload = None if row.payload is None else json.loads(row.payload)
    return {"seq": row.seq, "kind": row.kind, "actor": row.actor, "payload": payload}
