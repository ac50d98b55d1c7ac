"""Count the cosigners that vouch for a checkpoint, and apply the policy about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from foja.pure.judge.inclusion import Inclusion
from foja.pure.judge.trust import Trust
from foja.pure.proofs import mldsa
from foja.pure.proofs.cosignature import Cosignature
from foja.pure.proofs.finding import Finding, Reason, Status, TrustItem

UNCHECKED = f"cosignatures by ML-DSA-44: to check them, {mldsa.NEEDED} or later must be installed"
_SKEW = timedelta(minutes=5)  # how far the clock of a cosigner may be ahead of the time to judge at


def count_cosigners(
    found: Finding, inclusions: Sequence[Inclusion], trust: Trust, at: datetime | None
) -> Finding:
    """Return a verified finding with the cosigners that vouch for all its checkpoints.

    It is undecided if they are fewer than the policy requires. Without `at` their times are not compared.
    """
    if found.status is not Status.VERIFIED or not trust.cosigners:
        return found
    own = {each.public_key for each in trust.logs}
    known = {each.public_key for each in trust.cosigners} - own
    vouching = min((_in_time(each.cosignatures, at) for each in inclusions), key=len)
    detail = f"{found.detail}; {len(vouching)} of {len(known)} cosigners vouch for it"
    open_ = () if all(each.can_check() for each in trust.cosigners) else (UNCHECKED,)
    found = replace(found, detail=detail, not_checked=found.not_checked + open_)
    policy = trust.cosigner_policy
    if policy is not None and len(vouching) < policy.required:
        return found.weakened(Reason.COSIGNERS_MISSING, f"but your policy needs {policy}")
    return replace(found, rests_on=found.rests_on + _items(vouching))


def _in_time(cosignatures: Sequence[Cosignature], at: datetime | None) -> list[Cosignature]:
    """Return those that were made by then: a later one does not count yet."""
    return [each for each in cosignatures if at is None or not each.is_after(at + _SKEW)]


def _items(cosignatures: Sequence[Cosignature]) -> tuple[TrustItem, ...]:
    keys = [each.key for each in cosignatures]
    return tuple(TrustItem("cosigner", each.name, f"{each.name}+{each.key_id.hex()}") for each in keys)
