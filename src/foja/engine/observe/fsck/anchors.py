"""Check the batches of anchors, and the anchored checkpoints against their notes and batches."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from foja.engine.anchors.batch import SALT_BYTES, hash_leaves, root_of, split
from foja.engine.observe.fsck.context import CheckContext
from foja.errors import Refused

CHECK = "anchor"


class AnchoredRow(NamedTuple):
    """A `checkpoint.anchored` with its checkpoint and the batch that it names."""

    entity_id: UUID
    seq: int
    digest: str | None
    note: str | None
    network: str | None
    sent: str | None  # the network of the batch
    status: str | None
    member: bool  # is the digest in that batch?


async def check_anchors(context: CheckContext) -> None:
    """Report each batch that does not have its root, and each checkpoint that is not the one anchored."""
    async for batch, network, root, size in context.moment.rows("fsck_batches"):
        context.meter.tick()
        found = await _root(context, batch, network, size)
        if found != root.hex():
            expected = f"the root {root.hex()} of the {size} digests in batch {batch} of {network}"
            context.findings.add(CHECK, expected=expected, found=found)
    await _check_members(context)
    await _check_events(context)


async def _root(context: CheckContext, batch: UUID, network: str, size: int) -> str:
    """Return the root of the stored digests, or what prevents one."""
    leaves, salts = await context.moment.row("anchor_leaves", batch=batch)
    members = [row async for row in context.moment.rows("fsck_members", batch=batch)]
    if [index for index, _ in members] != list(range(size)):
        return f"{len(members)} digests"
    try:
        digests = [bytes.fromhex(digest) for _, digest in members]
        hashed = hash_leaves(digests, split(salts, SALT_BYTES))
    except (ValueError, Refused) as error:
        return f"digests that have no tree: {error}"
    if b"".join(hashed) != leaves:
        return "leaves of other digests"
    return root_of(network, digests, hashed).hex()


async def _check_members(context: CheckContext) -> None:
    """Compare the digests of checkpoints in batches with the notes that were to be anchored."""
    async for batch, digest, note in context.moment.rows("fsck_anchored_members"):
        context.meter.tick()
        if _digest(note) != digest:
            expected = f"a checkpoint with the digest {digest}, which batch {batch} anchors"
            context.findings.add(CHECK, expected=expected, found=_digest(note) or "none")


async def _check_events(context: CheckContext) -> None:
    """Compare each `checkpoint.anchored` with its checkpoint and its batch."""
    async for row in context.moment.rows("fsck_anchored", AnchoredRow):
        digest, network = row.digest, row.network
        context.meter.tick()
        if _digest(row.note) != digest:
            expected, found = f"a checkpoint with the digest {digest}", _digest(row.note) or "none"
        elif (network, row.member) != (row.sent, True):
            expected, found = f"a batch of {network} with the digest {digest}", f"none, or one of {row.sent}"
        elif row.status == "drafted":
            expected, found = f"a batch of {network} that was sent", "one that was not"
        else:
            continue
        context.findings.add(CHECK, expected=expected, found=found, entity_id=row.entity_id, seq=row.seq)


def _digest(note: str | None) -> str | None:
    return None if note is None else sha256(note.encode()).hexdigest()
