"""Batches as they are stored. Every change is one function of the schema, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

from foja.engine import sql
from foja.engine.anchors.network import Batch, State
from foja.engine.driver import encoding
from foja.engine.driver.database import Database
from foja.engine.ledger.event import Draft
from foja.engine.ledger.receipts import draft_array

ACCOUNT_SECONDS = 120.0  # of a draft
LOOK_SECONDS = 120.0  # of one question to a network
Status: TypeAlias = Literal["drafted", "sent", "confirmed", "reorged", "refused"]


class Submission(NamedTuple):
    """A digest that a job asks to anchor, and the lease of that job."""

    job: int
    token: UUID
    entity_id: UUID
    witness: str
    attempt: int  # 0: a checkpoint, which has no attempts
    tenant: str


class Candidate(NamedTuple):
    """What the database knows about a submission."""

    state: str | None  # of its attempt
    submitted: bool
    confirmed: bool
    batch: UUID | None  # one that may still confirm it
    starts: str | None  # when its attempt was to start, as the event says

    @property
    def run_at(self) -> datetime | None:
        """When its attempt was to start."""
        return None if self.starts is None else datetime.fromisoformat(self.starts)


class Gathering(NamedTuple):
    """When digests wait for others."""

    now: datetime
    flushed_at: datetime | None


class Lease(NamedTuple):
    """The right to draft one batch of an account."""

    token: UUID
    nonce: int | None


@dataclass(frozen=True, slots=True)
class NewBatch:
    """A batch as it is about to be created."""

    id: UUID
    root: bytes
    leaves: bytes
    salts: bytes
    state: State
    max_fee: int
    submissions: Sequence[Submission]
    drafts: Sequence[Draft]  # one for each submission of a document, in order


Verdict: TypeAlias = Literal["created", "already", "lost", "held", "unfit", "stale", "cap"]


class CreatedRow(NamedTuple):
    """What the database answers to a new batch."""

    verdict: Verdict
    jobs: Sequence[int] | None


class Created(NamedTuple):
    """Whether a batch was created, or why not, and because of which jobs."""

    verdict: Verdict
    jobs: frozenset[int]


class ClaimedRow(NamedTuple):
    """A batch as it is stored, and its lease."""

    batch: UUID
    root: bytes
    size: int
    account: str
    nonce: int | None
    state: State
    created_at: datetime
    status: Status
    told: int | None
    outcome: Mapping[str, Any]
    confirmed_at: datetime | None
    token: UUID


@dataclass(frozen=True, slots=True)
class Claimed:
    """A batch that is leased to this worker."""

    batch: Batch
    status: Status
    told: int | None  # members that have the event about its end; None: nothing is to be told
    outcome: Mapping[str, Any]
    confirmed_at: datetime | None
    token: UUID


class Ending(NamedTuple):
    """The event that a member of a batch still needs."""

    place: int  # of its leaf
    entity_id: UUID
    tenant: str
    witness: str
    attempt: int
    late: bool


class Note(NamedTuple):
    """What was found about a batch; None leaves what is stored."""

    status: Status
    state: State | None = None
    seconds: float | None = None  # until the next look; None: no more
    detail: str | None = None
    outcome: Mapping[str, Any] | None = None
    confirmed_at: datetime | None = None
    trust: Sequence[str] | None = None
    fee: int | None = None
    spent: bool | None = None
    max_fee: int | None = None  # if more than is stored, `state` is stored only below the daily cap
    cap: int | None = None


class AnchorStore:
    """The batches of one network, as one role sees them."""

    def __init__(self, database: Database, network: str) -> None:
        self.network, self._database = network, database
        self._draft_type: int | None = None

    async def candidates(self, submissions: Sequence[Submission]) -> list[Candidate]:
        """Return what is known about each submission, in order."""
        return await self._database.rows(
            sql.query("anchor_candidates"),
            Candidate,
            network=self.network,
            entities=[each.entity_id for each in submissions],
            witnesses=[each.witness for each in submissions],
            attempts=[each.attempt for each in submissions],
        )

    async def gathering(self) -> Gathering:
        """Return the moment, and when the network was flushed last."""
        return await self._database.one(sql.query("anchor_gathering"), Gathering, network=self.network)

    async def close_gathering(self, size: int, seconds: float) -> int:
        """Let all that waits be claimed now, if one job is due or so many wait; return how many waited."""
        values = {"network": self.network, "size": size, "seconds": float(seconds)}
        return int(await self._database.value(sql.query("close_gathering"), **values))

    async def knows(self, account: str | None) -> bool:
        """Return whether the next nonce of an account is known without asking the nodes."""
        values = {"network": self.network, "account": account or ""}
        return await self._database.row(sql.query("known_anchor_account"), **values) is not None

    async def lease(self, account: str | None, nonce: int | None, final: int | None = None) -> Lease | None:
        """Lease an account for one draft, or return None.

        `nonce` and `final` count its transactions in all blocks and in final ones, if the nodes agree.
        """
        return await self._database.row(
            sql.query("lease_anchor_account"),
            Lease,
            network=self.network,
            account=account or "",
            nonce=nonce,
            final=final,
            seconds=ACCOUNT_SECONDS,
        )

    async def release(self, account: str | None, lease: Lease) -> None:
        """Give the account back; the nonce goes to the next draft."""
        values = {"network": self.network, "account": account or "", "token": lease.token}
        await self._database.row(sql.query("release_anchor_account"), **values)

    async def hold(self, reason: str | None) -> None:
        """Store why no new batch is made."""
        await self._database.row(sql.query("hold_anchors"), network=self.network, reason=reason)

    async def create(
        self, new: NewBatch, account: str | None, lease: Lease, *, cap: int | None, tenant: str, every: float
    ) -> Created:
        """Create a batch. It can be repeated after a lost answer."""
        created = await self._database.one(
            sql.query("create_anchor_batch"),
            CreatedRow,
            batch=new.id,
            network=self.network,
            account=account or "",
            lease=lease.token,
            nonce=lease.nonce,
            root=new.root,
            leaves=new.leaves,
            salts=new.salts,
            state=json.dumps(new.state),
            max_fee=new.max_fee,
            cap=cap,
            tenant=tenant,
            every=float(every),
            jobs=[each.job for each in new.submissions],
            tokens=[each.token for each in new.submissions],
            entities=[each.entity_id for each in new.submissions],
            witnesses=[each.witness for each in new.submissions],
            attempts=[each.attempt for each in new.submissions],
            drafts=await self._drafts(new.drafts),
        )
        return Created(created.verdict, frozenset(created.jobs or ()))

    async def claim(self, *, batch: UUID | None = None, limit: int = 1) -> list[Claimed]:
        """Lease batches that are due, or this one unless another worker has it."""
        values = {"network": self.network, "limit": limit, "seconds": LOOK_SECONDS, "batch": batch}
        rows = await self._database.rows(sql.query("claim_anchors"), ClaimedRow, **values)
        return [self._claimed(row) for row in rows]

    async def note(self, claimed: Claimed, note: Note) -> bool:
        """Store what was found about a batch; return whether it was still ours."""
        values = {
            **note._asdict(),
            "batch": claimed.batch.id,
            "token": claimed.token,
            "state": None if note.state is None else json.dumps(note.state),
            "outcome": None if note.outcome is None else json.dumps(note.outcome),
            "trust": None if note.trust is None else list(note.trust),
        }
        return bool(await self._database.value(sql.query("note_anchor"), **values))

    async def leaves(self, batch: UUID) -> tuple[list[bytes], bytes, bytes]:
        """Return the digests, the leaves and the salts of a batch."""
        leaves, salts = await self._database.one(sql.query("anchor_leaves"), batch=batch)
        digests = await self._database.many(sql.query("anchor_members"), batch=batch)
        return [digest for (digest,) in digests], leaves, salts

    async def endings(self, batch: UUID, start: int, stop: int) -> list[Ending]:
        """Return the events that these members still need."""
        return await self._database.many(
            sql.query("anchor_endings"), Ending, **{"batch": batch, "from": start, "to": stop}
        )

    async def tell(
        self, claimed: Claimed, start: int, stop: int, drafts: Sequence[Draft], seconds: float
    ) -> Literal["told", "changed", "stale"]:
        """Append the events of these members; `changed` if they need others by now."""
        values = {"batch": claimed.batch.id, "token": claimed.token, "from": start, "to": stop}
        verdict: Literal["told", "changed", "stale"] = await self._database.value(
            sql.query("tell_anchor"), **values, drafts=await self._drafts(drafts), seconds=float(seconds)
        )
        return verdict

    async def plan(self) -> None:
        """Let the network be looked at when its next batch is due."""
        await self._database.row(sql.query("plan_anchors"), network=self.network)

    async def _drafts(self, drafts: Sequence[Draft]) -> encoding.Packed | None:
        if self._draft_type is None:
            self._draft_type = int(await self._database.value(sql.query("draft_number")))
        return encoding.packed(draft_array(drafts, self._draft_type))

    def _claimed(self, row: ClaimedRow) -> Claimed:
        stored = Batch(
            row.batch,
            self.network,
            row.root,
            row.size,
            row.account or None,
            row.nonce,
            row.state,
            row.created_at,
        )
        return Claimed(stored, row.status, row.told, row.outcome, row.confirmed_at, row.token)
