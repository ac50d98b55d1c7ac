"""Check one stream: derive it again from its rows, and prove its last published event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from foja.engine.driver.snapshot import Snapshot
from foja.engine.observe.findings import MAX_SHOWN, Anomalies, CheckReport
from foja.engine.observe.fsck.context import CheckContext, Claim, Claims, Meter, Outside, read_published
from foja.engine.observe.fsck.rows import EventRow, PlaceRow, StreamRow
from foja.engine.observe.fsck.stream import read_rules
from foja.engine.observe.fsck.streams import check_streams
from foja.engine.observe.logs import LogState, read_logs
from foja.engine.observe.snapshot import snapshot
from foja.errors import ObjectMissing, Tampered, UnknownEntity
from foja.pure.core import tiles
from foja.pure.core.chain import leaf_entry
from foja.pure.core.merkle import check_inclusion, leaf_hash


@dataclass(frozen=True, slots=True)
class Included:
    """The last event that a published checkpoint covers, and its leaf."""

    seq: int
    index: int
    log: str
    size: int


@dataclass(slots=True)
class StreamReport:
    """One stream: its events, its open slots, its last proven event, and the findings."""

    domain: str
    tenant: str
    next_seq: int
    sealed: int
    head: bytes
    events: list[EventRow] = field(default_factory=list)
    open: list[int] = field(default_factory=list)
    included: Included | None = None
    report: CheckReport = field(default_factory=lambda: CheckReport((), 0, {}))

    @property
    def unrecorded(self) -> list[int]:
        """Numbers that were given but are not recorded yet: pending writes on the Redis lane."""
        recorded = {event.seq for event in self.events} | set(self.open)
        return [seq for seq in range(self.next_seq) if seq not in recorded]

    def add(self, seq: int, events: Sequence[EventRow], places: Sequence[PlaceRow]) -> None:
        """Add one number of the stream."""
        self.events.extend(events[:1])
        if not events and any(place.what == "open" for place in places):
            self.open.append(seq)


async def fsck_stream(url: str, outside: Outside, entity_id: UUID, tenant: str) -> StreamReport:
    """Check the numbers, bodies, chain and leaves of one stream of a tenant, and its last published leaf."""
    findings = Anomalies(MAX_SHOWN, counts=Counter({"events": 0}))
    published = await read_published(url, outside, findings)
    async with snapshot(url) as moment:
        stream = await _read_stream(moment, entity_id, tenant)
        logs = await read_logs(moment)
        context = CheckContext(moment, outside, findings, Meter(stream.next_seq, None))
        await check_streams(context, await read_rules(moment, logs), only=entity_id, visit=stream.add)
        if not findings.total:
            stream.included = await _prove_last(context, entity_id, logs, published)
    stream.report = findings.report()
    return stream


async def _read_stream(moment: Snapshot, entity_id: UUID, tenant: str) -> StreamReport:
    """Return the stream; one of another tenant is unknown, as for every other command."""
    rows = [row async for row in moment.rows("fsck_entities", StreamRow, only=entity_id)]
    if not rows or rows[0].tenant != tenant:
        raise UnknownEntity(f"{entity_id} has no events; check the id and FOJA_TENANT")
    row = rows[0]
    return StreamReport(row.domain, tenant, row.next_seq, row.sealed, row.head)


async def _prove_last(
    context: CheckContext, entity_id: UUID, logs: Sequence[LogState], published: Claims
) -> Included | None:
    """Return the last event that a checkpoint covers, in the newest log first."""
    for log in reversed(logs):
        seen = published.get(log.origin)
        if seen and seen.size <= log.proven:
            found = await _prove_in(context, entity_id, log, seen)
            if found or context.findings.total:
                return found
        elif seen and log.closed_size is None:
            context.findings.add("log", expected=f"{seen.size} leaves, as published", found=f"{log.size}")
    return None


async def _prove_in(context: CheckContext, entity_id: UUID, log: LogState, seen: Claim) -> Included | None:
    values = {"origin": log.origin, "entity": entity_id, "size": seen.size}
    rows = [row async for row in context.moment.rows("fsck_last_leaf", **values)]
    if not rows:
        return None
    seq, index, chain_hash = rows[0]
    try:
        needed = tiles.inclusion_tiles(index, seen.size)
        files = {tile: (await context.outside.store.read(log.path(tile.path))).data for tile in needed}
        path = tiles.prove_inclusion(index, seen.size, files)
        check_inclusion(leaf_hash(leaf_entry(entity_id, seq, chain_hash)), index, seen.size, path, seen.root)
    except (ObjectMissing, Tampered) as error:
        expected = f"leaf {index} in the published tree of {seen.size} leaves"
        context.findings.add("root", expected=expected, found=str(error), entity_id=entity_id, seq=seq)
        return None
    return Included(seq, index, log.name, seen.size)
