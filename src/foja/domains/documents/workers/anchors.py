"""`submit_anchor_<network>`: collect digests, draft a batch outside any transaction, store it in one.

Nothing is sent here. What fails before the batch is stored costs nothing: the next draft has the same nonce.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from time import monotonic
from typing import Any, Final, TypeAlias, cast
from uuid import UUID

from foja.engine.anchors.batch import SALT_BYTES, hash_leaves, root_of, split
from foja.engine.anchors.network import Network, nonce_doubt
from foja.engine.anchors.progress import LONGEST_REASON
from foja.engine.anchors.store import AnchorStore, Candidate, Created, Lease, NewBatch, Submission
from foja.engine.anchors.terms import AnchorTerms
from foja.engine.jobs.outcome import Done, GiveUp, Job, NewEvent, Outcome, Retry, Snooze
from foja.engine.ledger.event import draft, new_id
from foja.errors import FojaError, OutOfTurn, Unavailable, redact
from foja.pure.core.registry import DIGEST
from foja.pure.models.documents.events import DOCUMENT

SUBMITTED, FAILED = "anchor.submitted", "anchor.failed"
HELD_SECONDS = 60.0  # until a network that is held is asked again
BUSY_SECONDS = 1.0  # until the account is asked for again
CREATE_TRIES = 3
HELD_STREAM_SECONDS = 5.0  # for streams that another session holds; then the batch leaves them out
BUSY_PAUSE_SECONDS = 0.1
UNFIT: Final = Retry("its attempt cannot be submitted now")
HELD: Final = Snooze(5.0, "another session holds its stream; end its transaction (see pg_stat_activity)")
LEFT_OUT: Final[Mapping[str, Outcome]] = {"unfit": UNFIT, "held": HELD}
MALFORMED: Final = GiveUp("its payload names no digest: expected witness_hash, and attempt or requested_at")
NONE: Final[Mapping[int, Outcome]] = {}
Ended: TypeAlias = tuple[Outcome, Mapping[int, Outcome]]  # of all jobs, and of those that were left out
log = logging.getLogger("foja.anchors")


class Submitter:
    """Makes batches of one network. Waiting for other digests is a snooze, and no try."""

    def __init__(self, network: Network, store: AnchorStore, terms: AnchorTerms) -> None:
        self._network, self._store, self._terms = network, store, terms

    async def work(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Return the outcome of each job: in a batch, in an earlier one, or later."""
        if jobs[0].alone:  # a worker died with it: it goes into the next batch, not alone
            return [Snooze(0.0) for _ in jobs]
        outcomes: dict[int, Outcome] = {job.id: MALFORMED for job in jobs if not _is_sound(job.payload)}
        sound = [job for job in jobs if job.id not in outcomes]
        submissions = [_submission(job) for job in sound]
        fresh: dict[int, datetime] = {}  # since when each waits
        for job, candidate in zip(sound, await self._store.candidates(submissions), strict=True):
            if (known := self._known(job, candidate)) is None:
                fresh[job.id] = candidate.run_at or datetime.fromisoformat(job.payload["requested_at"])
            else:
                outcomes[job.id] = known
        if fresh:
            outcomes |= await self._gather([each for each in submissions if each.job in fresh], fresh)
        return [self._ended(job, outcomes[job.id]) for job in jobs]

    def _ended(self, job: Job, outcome: Outcome) -> Outcome:
        """Return the outcome of a job. If its last try failed, its attempt has failed too."""
        if not isinstance(outcome, Retry) or job.tries < job.max_tries or "attempt" not in job.payload:
            return outcome
        names = {name: job.payload[name] for name in ("witness_hash", "attempt")}
        failure = {"failure_code": "max_attempts", "reason": outcome.error[:LONGEST_REASON]}
        payload = {"network": self._network.name, **names, **failure}
        return GiveUp(outcome.error, [NewEvent(FAILED, payload)], [OutOfTurn])  # which ended meanwhile

    def _known(self, job: Job, candidate: Candidate) -> Outcome | None:
        """Return the outcome of a job that needs no new batch, or None."""
        if not _submission(job).attempt:  # a checkpoint: the batch itself has the result
            return Done() if candidate.batch else None
        if candidate.confirmed or candidate.state != "open" or candidate.submitted:
            return Done()
        if candidate.batch:  # it may still confirm: nothing is paid twice
            return Done([NewEvent(SUBMITTED, self._payload(_submission(job), candidate.batch))])
        return None

    async def _gather(
        self, wanted: Sequence[Submission], fresh: Mapping[int, datetime]
    ) -> Mapping[int, Outcome]:
        """Make a batch, or wait for more digests; return the outcome of each job."""
        pause = await self._pause(wanted, fresh)
        end, left_out = cast(Ended, (Snooze(pause or 0.0), NONE))
        if pause is None:
            end, left_out = await self._draft(wanted)
        return {each.job: left_out.get(each.job, end) for each in wanted}

    async def _pause(self, wanted: Sequence[Submission], fresh: Mapping[int, datetime]) -> float | None:
        """Return how long to wait for more digests, or None if the batch is full, old enough or flushed."""
        terms = self._terms
        if len(wanted) >= terms.size or not terms.seconds:
            return None
        gathering = await self._store.gathering()
        since = min(fresh.values())
        # All digests of one period wait for the same moment, so that they are claimed together.
        passed = gathering.now.timestamp() % terms.seconds
        if (gathering.now - since).total_seconds() > passed:
            return None  # requested in an earlier period
        if gathering.flushed_at and since <= gathering.flushed_at:
            return None
        return terms.seconds - passed

    async def _draft(self, wanted: Sequence[Submission]) -> Ended:
        """Draft and store a batch. Never raise: alone, each job would become a batch of its own."""
        try:
            return await self._lease(wanted)
        except Unavailable as error:
            return Snooze(HELD_SECONDS, str(error)), NONE
        except FojaError as error:
            log.warning("no batch for %s: %s", self._network.name, error)
            return Retry(str(error), HELD_SECONDS), NONE
        except Exception as error:
            log.exception("no batch for %s", self._network.name)
            return Retry(redact(f"{error.__class__.__name__}: {error}"), HELD_SECONDS), NONE

    async def _lease(self, wanted: Sequence[Submission]) -> Ended:
        account = self._network.account
        ready = await self._network.check()
        if ready.missing:
            return await self._hold("; ".join(ready.missing)), NONE
        doubt = nonce_doubt(self._network, ready)
        if doubt and not await self._store.knows(account):
            return await self._hold(doubt), NONE
        found = ready.found
        lease = await self._store.lease(account, found.get("nonce"), found.get("final_nonce"))
        if lease is None:
            return Snooze(BUSY_SECONDS), NONE
        try:
            created = await self._create(wanted, account, lease)
        except BaseException:
            await self._store.release(account, lease)
            raise
        if created.verdict in ("created", "already"):
            return Done(), NONE
        await self._store.release(account, lease)
        if created.verdict == "cap":
            return await self._hold(
                f"the daily cap of {self._network.name} is reached; see docs/settings.md"
            ), NONE
        # Another worker has the lost jobs, and the unfit ones need no batch: the next batch leaves them out.
        return Snooze(0.0), {
            job: LEFT_OUT[created.verdict] for job in created.jobs if created.verdict in LEFT_OUT
        }

    async def _create(self, wanted: Sequence[Submission], account: str | None, lease: Lease) -> Created:
        digests = [bytes.fromhex(each.witness) for each in wanted]
        salts = os.urandom(SALT_BYTES * len(digests))
        leaves = hash_leaves(digests, split(salts, SALT_BYTES))
        root = root_of(self._network.name, digests, leaves)
        drafted = await self._network.draft(root, lease.nonce)
        batch = new_id()
        source = f"submit-anchor-{self._network.name}"
        drafts = [
            draft(
                DOCUMENT,
                each.entity_id,
                SUBMITTED,
                self._payload(each, batch),
                tenant=each.tenant,
                source=source,
            )
            for each in wanted
            if each.attempt
        ]
        new = NewBatch(batch, root, b"".join(leaves), salts, drafted.state, drafted.max_fee, wanted, drafts)
        return await self._create_with_retries(new, account, lease)

    async def _create_with_retries(self, new: NewBatch, account: str | None, lease: Lease) -> Created:
        """Create a batch, and repeat it if the answer was lost: it is created once.

        Batches of several networks have the same documents, and one is created after the other.
        """
        tries, deadline = 0, monotonic() + HELD_STREAM_SECONDS
        while True:
            began = monotonic()
            try:
                created = await self._store_batch(new, account, lease)
            except Unavailable:
                tries += 1
                if tries == CREATE_TRIES:
                    raise
                continue
            if created.verdict != "held" or monotonic() > deadline:
                return created
            # A large batch takes long to send: it leaves the machine to the one that it waits for.
            await asyncio.sleep(max(BUSY_PAUSE_SECONDS, monotonic() - began))

    async def _store_batch(self, new: NewBatch, account: str | None, lease: Lease) -> Created:
        terms, tenant = self._terms, new.submissions[0].tenant  # its workers look after the batch
        return await self._store.create(
            new, account, lease, cap=terms.daily_cap, tenant=tenant, every=terms.every
        )

    async def _hold(self, reason: str) -> Outcome:
        """Make no batch until the reason is gone; `foja anchors` and `foja explain` show it."""
        await self._store.hold(reason)
        return Snooze(HELD_SECONDS, reason)

    def _payload(self, each: Submission, batch: UUID) -> dict[str, object]:
        return {
            "network": self._network.name,
            "witness_hash": each.witness,
            "attempt": each.attempt,
            "batch": str(batch),
        }


def _submission(job: Job) -> Submission:
    witness, attempt = job.payload["witness_hash"], job.payload.get("attempt", 0)
    return Submission(job.id, job.token, job.entity_id, witness, attempt, job.tenant)


def _is_sound(payload: Mapping[str, Any]) -> bool:
    """Return whether a payload names the digest of a document or of a checkpoint."""
    witness, attempt = payload.get("witness_hash"), payload.get("attempt")
    if not isinstance(witness, str) or not DIGEST.fullmatch(witness):
        return False
    return type(attempt) is int and attempt > 0 if attempt is not None else "requested_at" in payload
