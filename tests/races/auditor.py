"""Re-derive a whole ledger from its rows, as its administrator.

Shares nothing with the code under test but `foja.pure.core`: what it reads, it reads with its own SQL.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

import psycopg

from foja.pure.core import chain
from foja.pure.core.event import body_bytes, body_hash, microseconds
from foja.pure.core.merkle import Frontier, leaf_hash

# A stream that Redis numbers ends where its last event or slot stands.
STREAM: LiteralString = """
    select entity_id, domain, case lane when 'postgres' then next_seq else greatest(next_seq,
        (select max(seq) + 1 from foja.event v where v.entity_id = e.entity_id),
        (select max(seq) + 1 from foja.slot s where s.entity_id = e.entity_id)) end, sealed, head
    from foja.entity e"""
WAITING: LiteralString = """
    select u.entity_id, u.seq, u.chain_hash from foja.pending p
    cross join lateral unnest(p.entity_id, p.seq, p.chain_hash) with ordinality
        u(entity_id, seq, chain_hash, place) order by p.id, u.place"""


@dataclass(frozen=True, slots=True)
class Sheet:
    """One event as it is stored."""

    seq: int
    id: UUID
    kind: str
    at: datetime
    payload: str | None
    body_hash: bytes
    key: str | None

    def link(self) -> chain.Link:
        return chain.Link(self.seq, self.id, self.kind, microseconds(self.at), self.body_hash)


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream: its counters, its events, and the numbers that wait for one."""

    id: UUID
    domain: str
    next_seq: int
    sealed: int
    head: bytes
    sheets: dict[int, Sheet] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)

    def events(self) -> list[Sheet]:
        """Return its events in order."""
        return [self.sheets[seq] for seq in sorted(self.sheets)]


@dataclass(frozen=True, slots=True)
class Log:
    """One log: its leaves in order, as (stream, number, chain hash)."""

    origin: int
    name: str
    size: int
    closed: int | None
    halted: str | None
    leaves: list[tuple[UUID, int, bytes]] = field(default_factory=list)

    def proven(self) -> list[tuple[UUID, int, bytes]]:
        """Return the leaves this log answers for."""
        return self.leaves[: self.closed]


@dataclass(frozen=True, slots=True)
class Books:
    """Everything a database holds."""

    epoch: str
    streams: dict[UUID, Stream]
    logs: list[Log]
    pending: list[tuple[UUID, int, bytes]]

    def order(self) -> list[tuple[UUID, int]]:
        """Return every sealed event in the order of the logs, then of the outbox."""
        placed = [leaf for log in self.logs for leaf in log.proven()] + self.pending
        return [(stream, seq) for stream, seq, _ in placed]

    def numbers(self, stream: UUID) -> list[int]:
        """Return the numbers that hold an event."""
        return sorted(self.streams[stream].sheets) if stream in self.streams else []


def audit(url: str) -> Books:
    """Return the books of a database in which nothing is missing, doubled, moved or half there."""
    with psycopg.connect(url) as conn:
        conn.execute("set transaction isolation level repeatable read, read only")
        books = _read(conn)
        hashes = {stream.id: _check_stream(conn, stream) for stream in books.streams.values()}
        _check_order(books, hashes)
        for log in books.logs:
            _check_log(conn, log)
    return books


def audit_idle(url: str) -> Books:
    """Do the same where the sequencer has nothing left to do."""
    books = audit(url)
    assert not books.pending
    for stream in books.streams.values():
        assert stream.sealed == min(stream.open, default=stream.next_seq)
    return books


def audit_stream(conn: psycopg.Connection[Any], name: UUID) -> Stream | None:
    """Do the same for one stream alone."""
    with conn.transaction():
        conn.execute("set transaction isolation level repeatable read, read only")
        rows = conn.execute(
            STREAM + " where entity_id = %s",
            (name,),
        )
        for row in rows.fetchall():
            stream = Stream(*row)
            _check_stream(conn, stream)
            return stream
    return None


def _read(conn: psycopg.Connection[Any]) -> Books:
    (epoch,) = conn.execute("select epoch from foja.installation").fetchall()[0]
    streams = {row[0]: Stream(*row) for row in conn.execute(STREAM)}
    logs = [
        Log(*row)
        for row in conn.execute(
            "select origin, name, next_idx, closed_size, halted from foja.log order by origin"
        )
    ]
    for log in logs:
        _read_leaves(conn, log)
    pending: Any = conn.execute(WAITING).fetchall()
    return Books(epoch, streams, logs, pending)


def _read_leaves(conn: psycopg.Connection[Any], log: Log) -> None:
    rows = conn.execute(
        "select idx, entity_id, seq, chain_hash from foja.leaf where origin = %s order by idx", (log.origin,)
    )
    for place, (idx, *leaf) in enumerate(rows):
        assert idx == place, f"log {log.origin} has no leaf {place}"
        log.leaves.append((leaf[0], leaf[1], leaf[2]))
    assert len(log.leaves) == log.size


def _check_stream(conn: psycopg.Connection[Any], stream: Stream) -> list[bytes]:
    """Check one stream and return its chain hashes."""
    _read_stream(conn, stream)
    assert not stream.sheets.keys() & stream.open
    assert sorted(stream.sheets.keys() | stream.open) == list(range(stream.next_seq)), "a gap"
    assert all(seq in stream.sheets for seq in range(stream.sealed))
    sealed = [stream.sheets[seq].link() for seq in range(stream.sealed)]
    chain.check(stream.domain, stream.id, sealed, stream.head)
    waiting = {
        row[0] for row in conn.execute("select seq from foja.unsealed where entity_id = %s", (stream.id,))
    }
    assert waiting == {seq for seq in stream.sheets if seq >= stream.sealed}
    return _hashes(stream, sealed)


def _read_stream(conn: psycopg.Connection[Any], stream: Stream) -> None:
    rows = conn.execute(
        "select seq, event_id, kind, at, payload::text, body_hash, idempotency_key, salt, actor, source, v"
        " from foja.event where entity_id = %s order by seq",
        (stream.id,),
    )
    for *fields, salt, actor, source, v in rows:
        sheet = Sheet(*fields)
        stream.sheets[sheet.seq] = sheet
        if sheet.payload is not None:
            body = body_bytes(actor, sheet.payload.encode(), source, v)
            assert body_hash(salt, body) == sheet.body_hash, f"body of {sheet.seq}"
    slots = conn.execute("select seq, state from foja.slot where entity_id = %s", (stream.id,))
    for seq, state in slots:
        assert seq >= stream.sealed, "a slot outlived its seal"
        assert (state == "open") == (seq not in stream.sheets)
        if state == "open":
            stream.open.add(seq)


def _hashes(stream: Stream, links: list[chain.Link]) -> list[bytes]:
    hashes, head = [], chain.genesis(stream.domain, stream.id)
    for link in links:
        head = chain.step(head, stream.id, link.seq, link.event_id, link.kind, link.at_us, link.body_hash)
        hashes.append(head)
    return hashes


def _check_order(books: Books, hashes: dict[UUID, list[bytes]]) -> None:
    """Check that the logs and the outbox hold every sealed event once, no stream's order inverted."""
    placed = [leaf for log in books.logs for leaf in log.proven()] + books.pending
    seen: defaultdict[UUID, int] = defaultdict(int)
    for name, seq, chain_hash in placed:
        assert seq == seen[name], f"{name}: {seq} stands where {seen[name]} belongs"
        assert chain_hash == hashes[name][seq]
        seen[name] += 1
    assert {name: count for name, count in seen.items() if count} == {
        stream.id: stream.sealed for stream in books.streams.values() if stream.sealed
    }


def _check_log(conn: psycopg.Connection[Any], log: Log) -> None:
    """Check that every checkpoint of a log is the root of its leaves."""
    frontier = Frontier()
    checkpoints = conn.execute(
        "select size, root, frontier from foja.checkpoint where origin = %s order by size", (log.origin,)
    )
    for size, root, stored in checkpoints.fetchall():
        entries = log.leaves[frontier.size : size]
        frontier = frontier.extend(leaf_hash(chain.leaf_entry(*leaf)) for leaf in entries)
        assert (frontier.size, frontier.root(), frontier.encode()) == (size, root, stored)
