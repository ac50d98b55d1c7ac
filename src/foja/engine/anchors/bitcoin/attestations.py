"""What the attestations of calendars are worth against the chain of our own nodes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from foja.engine.anchors.bitcoin.headers import Chain
from foja.pure.proofs.finding import Finding, Reason, Status
from foja.pure.proofs.ots import check
from foja.pure.proofs.ots.batch import write_stamp
from foja.pure.proofs.ots.header import Header
from foja.pure.proofs.ots.network import MINIMUM_DIFFICULTY, block_name
from foja.pure.proofs.ots.timestamp import Branch, Timestamp


@dataclass(frozen=True, slots=True)
class Wait:
    """A block that is not deep enough yet."""

    missing: int  # confirmations
    detail: str


@dataclass(slots=True)
class Assessment:
    """The attestations, sorted by what they are worth."""

    proven: list[Branch] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)  # of another root, or of a block without work
    unsound: list[str] = field(default_factory=list)  # the block is right, but the path to it proves nothing


def assess(stamp: Timestamp, chain: Chain, network: str, confirmations: int) -> Assessment:
    """Return what each Bitcoin attestation of a root shows."""
    found = Assessment()
    for branch in stamp.of_kind("bitcoin"):
        height = branch.attestation.height
        block, missing = block_name(network, height), confirmations - chain.depth(height)
        header = chain.headers.get(height)
        if header is None:
            found.waits.append(Wait(missing, f"our node does not have {block} yet"))
        elif header.merkle_root != branch.attestation.message:
            found.foreign.append(f"an attestation leads to another root than that of {block} ({header.name})")
        elif missing > 0:
            found.waits.append(Wait(missing, f"{block} needs {missing} more confirmations"))
        else:
            _judge(found, Timestamp(stamp.message, (branch,)), header, network)
    return found


def judge(stamp: Timestamp, headers: Sequence[Header], network: str) -> Finding:
    """Return what a timestamp proves about its root, by the same check that everybody runs."""
    return check(
        write_stamp(stamp.message, stamp.encode()),
        stamp.message,
        trusted=headers,
        minimum_difficulty=MINIMUM_DIFFICULTY[network],
        network=network,
    )


def _judge(found: Assessment, stamp: Timestamp, header: Header, network: str) -> None:
    finding = judge(stamp, [header], network)
    if finding.status is Status.VERIFIED:
        found.proven += stamp.branches
    elif finding.reason is Reason.POW_INVALID:
        found.foreign.append(f"our node gave a header without work: {finding.detail}")
    else:
        block = block_name(network, header.height)
        found.unsound.append(f"the path to {block} proves nothing: {finding.detail}")
