"""Do lists show what the events say? Every entry is made again from the events it was made of."""

from __future__ import annotations

from uuid import UUID

from foja.documents.history import Fact
from foja.documents.picture import summary
from foja.observe.findings import Findings
from foja.observe.snapshot import Row, Snapshot

CHECK = "summary"
COLUMNS = ("state", "pipeline", "lifecycle_status", "witness_hash")


async def check_summaries(moment: Snapshot, findings: Findings) -> None:
    """Replay every document up to where its entry says it was read, and compare."""
    entry: Row | None = None
    facts: list[Fact] = []
    async for row in moment.rows("audit_summaries"):
        if entry is not None and entry[0] != row[0]:
            _compare(entry, facts, findings)
            facts = []
        entry = row
        facts.append(Fact(*row[6:]))
    if entry is not None:
        _compare(entry, facts, findings)


def _compare(entry: Row, facts: list[Fact], findings: Findings) -> None:
    document: UUID = entry[0]
    made = summary(facts)
    expected = (*(made[name] for name in COLUMNS), made["length"])
    if tuple(entry[1:6]) != expected:
        words, found = (", ".join(map(str, each)) for each in (expected, entry[1:6]))
        findings.add(CHECK, expected=f"a list entry of {words}", found=found, entity_id=document)
