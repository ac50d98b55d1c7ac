"""Trust, converted to the form that each kind of proof needs."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from foja.judge.trust import Trust
from foja.proofs.rekor import Anchors
from foja.proofs.rekor.certificate import SignerIdentity
from foja.proofs.rekor.log import Growth
from foja.proofs.rekor.trusted_root import parse_trusted_root
from foja.proofs.tsa import Terms, trusted


@lru_cache(maxsize=64)
def terms_of(trust: Trust, at: datetime) -> Terms:
    """Return the requirements for a timestamp."""
    worst = trust.worst_accuracy_ms
    return Terms(
        roots=trusted(*trust.roots),
        intermediates=trusted(*trust.intermediates),
        policies=trust.timestamp_policies,
        at=at,
        crls=trust.crls,
        require_revocation=trust.revocation_required,
        worst_accuracy=None if worst is None else timedelta(milliseconds=worst),
    )


@lru_cache(maxsize=64)
def anchors_of(trust: Trust, at: datetime) -> Anchors:
    """Return the trusted logs, signers and authorities."""
    return Anchors(
        roots=tuple(map(parse_trusted_root, trust.sigstore)),
        logs=trust.logs,
        signers=trust.signers,
        identities=tuple(SignerIdentity(each.subject, each.issuer) for each in trust.identities),
        terms=terms_of(trust, at),
        growths=[Growth(*each) for each in trust.growths],
    )
