"""One stream derived again from its rows, up to what the world has seen of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from foja.core import tiles
from foja.core.chain import leaf_entry
from foja.core.merkle import check_inclusion, leaf_hash
from foja.errors import ObjectMissing, Tampered, UnknownEntity
from foja.observe.findings import MAX_SHOWN, Anomalies, CheckReport
from foja.observe.fsck.context import CheckContext, Meter, Outside
from foja.observe.fsck.published import Claims, read_published
from foja.observe.fsck.rows import EventRow, PlaceRow
from foja.observe.fsck.stream import read_rules
from foja.observe.fsck.streams import check_streams
from foja.observe.fsck.tree import Claim
from foja.observe.logs import LogState, read_logs
from foja.observe.snapshot import Snapshot, snapshot


@dataclass(frozen=True, slots=True)
class Included:
    """The last event that a published checkpoint covers: its leaf is in that tree."""

    seq: int
    index: int
    log: str
    size: int


@dataclass(slots=True)
class StreamReport:
    """How one stream was found: its events and open numbers, and how far its proof goes."""

    domain: str
    tenant: str
    next_seq: int
    sealed: int
    head: bytes
    sheets: list[EventRow] = field(default_factory=list)
    open: list[int] = field(default_factory=list)
    included: Included | None = None
    report: CheckReport = field(default_factory=lambda: CheckReport((), 0, {}))

    @property
    def unrecorded(self) -> list[int]:
        """Numbers that were given and hold nothing yet: writes under way on the Redis lane."""
        recorded = {sheet.seq for sheet in self.sheets} | set(self.open)
        return [seq for seq in range(self.next_seq) if seq not in recorded]

    def look(self, seq: int, sheets: Sequence[EventRow], places: Sequence[PlaceRow]) -> None:
        """Take one number of the stream."""
        self.sheets.extend(sheets[:1])
        if not sheets and any(place.what == "open" for place in places):
            self.open.append(seq)


async def fsck_stream(url: str, outside: Outside, entity_id: UUID) -> StreamReport:
    """Check one stream: numbers, bodies, chain, places, and its last leaf in the published tree."""
    findings = Anomalies(MAX_SHOWN, counts=Counter({"events": 0}))
    published = await read_published(url, outside, findings)
    async with snapshot(url) as moment:
        standing = await _standing(moment, entity_id)
        logs = await read_logs(moment)
        case = CheckContext(moment, outside, findings, Meter(standing.next_seq, None))
        await check_streams(case, await read_rules(moment, logs), only=entity_id, look=standing.look)
        if not findings.total:
            standing.included = await _include(case, entity_id, logs, published)
    standing.report = findings.report()
    return standing


async def _standing(moment: Snapshot, entity_id: UUID) -> StreamReport:
    rows = [row async for row in moment.rows("fsck_entities", only=entity_id)]
    if not rows:
        raise UnknownEntity(f"nothing was ever written to {entity_id}; check the id and FOJA_DATABASE_URL")
    _, domain, tenant, _, next_seq, sealed, head = rows[0]
    return StreamReport(domain, tenant, next_seq, sealed, head)


async def _include(
    case: CheckContext, entity_id: UUID, logs: Sequence[LogState], published: Claims
) -> Included | None:
    """Return the last event covered by a checkpoint, newest log first."""
    for log in reversed(logs):
        seen = published.get(log.origin)
        if seen and seen.size <= log.proven:
            found = await _include_in(case, entity_id, log, seen)
            if found or case.findings.total:
                return found
        elif seen and log.closed_size is None:
            case.findings.add("log", expected=f"{seen.size} leaves, as was published", found=f"{log.size}")
    return None


async def _include_in(case: CheckContext, entity_id: UUID, log: LogState, seen: Claim) -> Included | None:
    values = {"origin": log.origin, "entity": entity_id, "size": seen.size}
    rows = [row async for row in case.moment.rows("fsck_last_leaf", **values)]
    if not rows:
        return None
    seq, index, chain_hash = rows[0]
    try:
        needed = tiles.inclusion_tiles(index, seen.size)
        files = {tile: (await case.outside.store.read(log.path(tile.path))).data for tile in needed}
        path = tiles.prove_inclusion(index, seen.size, files)
        check_inclusion(leaf_hash(leaf_entry(entity_id, seq, chain_hash)), index, seen.size, path, seen.root)
    except (ObjectMissing, Tampered) as error:
        expected = f"leaf {index} in the published tree of {seen.size} leaves"
        case.findings.add("root", expected=expected, found=str(error), entity_id=entity_id, seq=seq)
        return None
    return Included(seq, index, log.name, seen.size)
