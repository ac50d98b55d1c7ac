"""Read excerpts: events with everything needed to check them without the database, and prove one.

Checking a proof needs the log's public key.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from foja.engine.ledger.ledger import Ledger
from foja.errors import NotCovered, Refused, Tampered, UnknownEntity
from foja.pure.core.bundle.history import link
from foja.pure.core.bundle.proof_file import proof_file
from foja.pure.core.canonical import Json, canonical, parse
from foja.pure.core.chain import genesis
from foja.pure.core.event import microseconds
from foja.pure.core.excerpt import Excerpt
from foja.pure.core.note import Signer, number_of, open_note, parse_checkpoint, split_note
from foja.pure.core.proof import Proof
from foja.pure.judge.contents import arguments_match
from foja.pure.judge.report import Report
from foja.pure.proofs.cose import write_consistency, write_receipt
from foja.verification import verify

PAGE_EVENTS = 1000


@dataclass(frozen=True, slots=True)
class EventProof:
    """An event and the proof that it is in the log."""

    excerpt: Excerpt
    proof: Proof
    arguments: Json = None  # those that the event decided, if it names their digest

    @property
    def index(self) -> int:
        """Position of the event in the log, from 0."""
        return self.proof.index

    @property
    def size(self) -> int:
        """Number of events that the signed checkpoint covers."""
        return parse_checkpoint(split_note(self.proof.note)[0]).size

    def event_text(self) -> str:
        """Return the event as `foja log prove` writes it to an `.event.json` file."""
        return self.excerpt.text()

    def proof_text(self) -> str:
        """Return the proof as `foja log prove` writes it to a `.tlog-proof` file."""
        return self.proof.text()

    def arguments_text(self) -> str | None:
        """Return the arguments whose SHA-256 the event names, as they are in the file; None without any."""
        return None if self.arguments is None else canonical(self.arguments).decode()

    def file(self) -> bytes:
        """Return event, proof and checkpoint as one file, which `foja verify` and other tools check."""
        return proof_file(self.event_text(), self.proof_text(), self.arguments_text())

    def save(self, path: str | PathLike[str]) -> None:
        """Write `file` to a path, which usually ends in `.foja-proof`."""
        Path(path).write_bytes(self.file())

    def receipt(self, signer: Signer) -> bytes:
        """Return a COSE receipt of its place in the log, by the key of the log (`app.signer`)."""
        checkpoint = self.proof.check(self.excerpt.check(), [signer.verifier()])  # it signed this root before
        subject = f"{self.excerpt.entity_id}/{self.excerpt.seq}"
        return write_receipt(signer, checkpoint, self.proof, subject).encode()

    def verify(self, trust: str | Sequence[str]) -> Report:
        """Return the report of `foja.verify` on this event, without database or network."""
        return verify(self.file(), trust)


class StoredEvent(NamedTuple):
    """A sealed event as it is stored, with what only some questions ask for."""

    domain: str
    seq: int
    id: UUID
    kind: str
    v: int
    at: datetime
    actor: str | None
    source: str
    payload: str | None
    salt: bytes | None
    body_hash: bytes
    place: int = 1  # of its stream in the question
    previous: bytes | None = None  # the chain hash before it; None at the first event
    chain_hash: bytes = b""


async def prove_event(ledger: Ledger, entity_id: UUID, seq: int) -> EventProof:
    """Return the proof of an event against the newest published checkpoint.

    Raise `UnknownEntity` if the stream has no such event, `NotCovered` if no checkpoint covers it yet.
    """
    if not 0 <= seq < (await ledger.state(entity_id)).next_seq:
        raise UnknownEntity(f"{entity_id} has no event {seq}; check the id, the number and FOJA_TENANT")
    proof = await ledger.log.prove(entity_id, seq)
    event = await excerpt(ledger, entity_id, seq)
    return EventProof(event, proof, await _arguments(ledger, event))


async def growth_receipt(ledger: Ledger, signer: Signer, note: str) -> bytes:
    """Return a COSE receipt that the newest checkpoint of a log continues this one, by the key of the log.

    Raise `Refused` if the log did not sign this one, `NotCovered` if it did not grow, `Tampered` if it does
    not continue this one.
    """
    try:
        old = parse_checkpoint(open_note(note, [signer.verifier()]))
    except Tampered as error:
        raise Refused(f"not a checkpoint of this log: {error}") from None
    origin = number_of(signer.name, old.origin)
    if origin is None:
        raise Refused(f"{old.origin!a} is not a log of this installation; ask the one whose log it is")
    new = parse_checkpoint(open_note(await ledger.log.checkpoint_of(origin), [signer.verifier()]))
    if not 0 < old.size < new.size:
        raise NotCovered(f"the log has {new.size} entries, and no newer checkpoint than that of {old.size}")
    path = await ledger.log.prove_growth(origin, old.size, new.size)
    return write_consistency(signer, old, new, path).encode()


async def _arguments(ledger: Ledger, event: Excerpt) -> Json:
    """Return the arguments that an approval was about; None if they were erased, or if it names none."""
    asked = event.payload.get("request_seq") if isinstance(event.payload, dict) else None
    if type(asked) is not int or not 0 <= asked < event.seq:
        return None
    request = (await excerpt(ledger, event.entity_id, asked)).payload
    arguments = request.get("tool_args") if isinstance(request, dict) else None
    return arguments if arguments_match(event, arguments) else None


async def excerpt(ledger: Ledger, entity_id: UUID, seq: int) -> Excerpt:
    """Return one sealed event with everything needed to check it."""
    rows = await ledger.ask("read_excerpt", StoredEvent, entity=entity_id, seq=seq)
    if not rows:
        raise UnknownEntity(f"stream {entity_id} has no sealed event {seq}; see `foja events`")
    [row] = rows
    previous = row.previous or genesis(row.domain, entity_id)
    return replace(_unlinked(entity_id, row), previous=previous, chain_hash=row.chain_hash)


async def domain_of(ledger: Ledger, entity_id: UUID) -> str:
    """Return the domain of a stream that has sealed events."""
    rows = await ledger.ask("stream_domain", entity=entity_id)
    if not rows or not rows[0][1]:
        raise UnknownEntity(f"stream {entity_id} has no sealed events; check the id and FOJA_TENANT")
    return str(rows[0][0])


async def covered(ledger: Ledger, entity_id: UUID) -> int:
    """Return how many events of a stream are covered by a published checkpoint."""
    return int((await ledger.ask("covered_events", entity=entity_id))[0][0])


async def excerpts(ledger: Ledger, entity_id: UUID, high: int | None = None) -> AsyncIterator[Excerpt]:
    """Yield the sealed events of a stream below `high`, with their chain hashes."""
    domain = await domain_of(ledger, entity_id)
    head, seq = genesis(domain, entity_id), 0
    values = {"entity": entity_id, "high": high, "limit": PAGE_EVENTS}
    while page := await ledger.ask("read_excerpts", StoredEvent, low=seq, **values):
        for row in page:
            event = link(_unlinked(entity_id, row), head)
            head, seq = event.chain_hash, event.seq + 1
            yield event


async def histories(ledger: Ledger, wanted: Sequence[tuple[UUID, int]]) -> list[list[Excerpt]]:
    """Return the first sealed events of several streams, as many of each as asked for.

    Short histories are read together; a long one is read alone, page by page.
    """
    short = [each for each in wanted if each[1] <= PAGE_EVENTS]
    ids, lengths = [each[0] for each in short], [each[1] for each in short]
    found: dict[tuple[UUID, int], list[Excerpt]] = {each: [] for each in wanted}
    for row in await ledger.ask_many("read_histories", StoredEvent, entities=ids, lengths=lengths):
        events, entity_id = found[short[row.place - 1]], ids[row.place - 1]
        head = events[-1].chain_hash if events else genesis(row.domain, entity_id)
        events.append(link(_unlinked(entity_id, row), head))
    for entity_id, length in found.keys() - short:
        found[entity_id, length] = [event async for event in excerpts(ledger, entity_id, length)]
    return [found[each] for each in wanted]


def _unlinked(entity_id: UUID, row: StoredEvent) -> Excerpt:
    """Return an event as it was recorded, without its chain hashes."""
    return Excerpt(
        row.domain,
        entity_id,
        row.seq,
        row.id,
        row.kind,
        row.v,
        microseconds(row.at),
        row.actor,
        row.source,
        None if row.payload is None else parse(row.payload),
        row.salt,
        body_hash=row.body_hash,
        previous=b"",
        chain_hash=b"",
    )
