"""Trust, converted to the form that each kind of proof needs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache

from foja.pure.judge.existence import Proven
from foja.pure.judge.trust import Trust
from foja.pure.proofs.budget import Budget
from foja.pure.proofs.rekor import Anchors
from foja.pure.proofs.rekor.certificate import SignerIdentity
from foja.pure.proofs.rekor.log import Growth
from foja.pure.proofs.rekor.trusted_root import parse_trusted_root
from foja.pure.proofs.tsa import Terms, trusted


def terms_of(trust: Trust, at: datetime, proven: Proven | None, budget: Budget) -> Terms:
    """Return the requirements for a timestamp, at the time by which it is proven to have existed."""
    moment = min(proven.at, at) if proven else at
    return replace(_terms(trust, moment), proven=proven.at if proven else None, budget=budget)


def anchors_of(trust: Trust, at: datetime, proven: Proven | None, budget: Budget) -> Anchors:
    """Return the trusted logs, signers and authorities."""
    return replace(_anchors(trust), terms=terms_of(trust, at, proven, budget))


@lru_cache(maxsize=64)
def _terms(trust: Trust, at: datetime) -> Terms:
    worst = trust.worst_accuracy_ms
    return Terms(
        roots=trusted(*trust.roots),
        intermediates=trusted(*trust.intermediates),
        policies=trust.timestamp_policies,
        at=at,
        sunsets=trust.sunsets,
        crls=trust.crls,
        require_revocation=trust.revocation_required,
        worst_accuracy=None if worst is None else timedelta(milliseconds=worst),
    )


@lru_cache(maxsize=64)
def _anchors(trust: Trust) -> Anchors:
    return Anchors(
        roots=tuple(map(parse_trusted_root, trust.sigstore)),
        logs=trust.rekor_logs,
        ledgers=trust.logs,
        signers=trust.signers,
        identities=tuple(SignerIdentity(each.subject, each.issuer) for each in trust.identities),
        growths=[Growth(*each) for each in trust.growths],
    )
