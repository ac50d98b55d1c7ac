"""The checks T1 to T9 of a reply. They return a finding; no input makes them raise."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from foja.errors import Malformed
from foja.pure.proofs.algorithms import Sunset, check_algorithms
from foja.pure.proofs.budget import Budget
from foja.pure.proofs.finding import Finding, Flaw, Reason, Status
from foja.pure.proofs.notices import LOCAL_NOTICE, OLD_CERTIFICATE
from foja.pure.proofs.tsa.authority import check_authority_name
from foja.pure.proofs.tsa.certificate import Certificate, parse_certificates
from foja.pure.proofs.tsa.chain import check_related, check_signer, find_path, root_item, uses_of
from foja.pure.proofs.tsa.oids import LOCAL_POLICY
from foja.pure.proofs.tsa.revocation import Existence, Revocations, check_revocation
from foja.pure.proofs.tsa.signature import check_identified, check_signature, signer_of
from foja.pure.proofs.tsa.token import Info, Token, read_token

EVIDENCE = "tsa"
CLOCK_TOLERANCE = timedelta(minutes=5)  # allowed difference between an authority's clock and ours


class Timestamp(NamedTuple):
    """The fields of a token, and its authority. Trust it only if the finding beside it is verified."""

    token: bytes
    algorithm: str | None
    imprint: bytes
    gen_time: datetime
    accuracy: timedelta | None
    serial: int
    policy: str
    nonce: int | None
    authority: str | None = None
    certificate_sha256: str | None = None
    chain: tuple[str, ...] = ()  # SHA-256 of every certificate from the signer to the root
    chain_ends: datetime | None = None  # the earliest end of their validity; renew before

    @property
    def local(self) -> bool:
        """Whether it comes from the local authority of a Foja installation."""
        return self.policy == LOCAL_POLICY


@dataclass(frozen=True, slots=True)
class Checked:
    """A finding, and the timestamp if it could be read."""

    finding: Finding
    stamp: Timestamp | None = None

    @property
    def verified(self) -> bool:
        """Whether the token was verified."""
        return self.finding.status is Status.VERIFIED


@dataclass(frozen=True, slots=True)
class Terms:
    """The requirements for a token, and data that helps to judge it. Nothing in it comes from the token."""

    roots: Sequence[Certificate]
    intermediates: Sequence[Certificate] = ()
    algorithm: str = "sha256"
    nonce: int | None = None  # None: the nonce that was sent is not known
    policies: Collection[str] | None = None  # None: any
    worst_accuracy: timedelta | None = None
    at: datetime | None = None  # the validation time; None: that of the token
    crls: Sequence[bytes] = ()
    ocsps: Sequence[bytes] = ()
    require_revocation: bool = False
    since: datetime | None = None  # when its nonce was sent; None: not known
    tolerance: timedelta = CLOCK_TOLERANCE  # of the token's time, before `since` and after `at`
    require_accuracy: bool = True  # with `worst_accuracy`: refuse a token that states no accuracy
    proven: datetime | None = None  # by when it existed, as a newer token over it proves; None: not proven
    sunsets: Sequence[Sunset] | None = None  # until when algorithms count; None: any algorithm, at any time
    budget: Budget | None = None  # None: any cost


def judge(reply: bytes, digest: bytes, terms: Terms) -> Checked:
    """Return what a TimeStampResp or TimeStampToken proves about a digest, under these terms."""
    try:
        token = read_token(reply)
    except (Flaw, Malformed) as flaw:
        return Checked(_refusal(flaw))
    try:
        return _check(token, digest, terms)
    except (Flaw, Malformed) as flaw:
        return Checked(_refusal(flaw), _stamp(token))


def _check(token: Token, digest: bytes, terms: Terms) -> Checked:
    info = token.info
    _spend(terms, 2)
    _check_imprint(info, digest, terms.algorithm)
    _check_nonce(info, terms.nonce)
    embedded = parse_certificates(token.certificates)
    _spend(terms, sum(each.cost for each in embedded))
    signer = signer_of(token.signature, (*embedded, *terms.intermediates, *terms.roots))
    check_related(signer, embedded)
    check_signer(signer)
    check_signature(token, signer)
    check_authority_name(info.authority, signer)
    chain = find_path(signer, (*embedded, *terms.intermediates), terms.roots, info.gen_time)
    check_identified(token.signature, chain)
    _check_moment(info, chain[-1], terms)
    _check_since(info, terms)
    _check_policy(info, terms)
    _spend(terms, sum(each.cost for each in chain[1:]) * len(token.crls + token.ocsps))
    revocations = Revocations((*token.crls, *terms.crls), (*token.ocsps, *terms.ocsps))
    required, existence = terms.require_revocation, Existence(info.gen_time, terms.proven)
    standing = check_revocation(chain, existence, revocations, at=terms.at, required=required)
    revoked = () if terms.proven else standing.revoked
    remarks = (*_ended(chain, terms), *revoked, *_old_algorithms(token, chain, terms))
    return Checked(_verified(info, chain, terms, standing.unknown, remarks), _stamp(token, chain))


def _spend(terms: Terms, units: int) -> None:
    if terms.budget is not None:
        terms.budget.spend(units)


def _ended(chain: Sequence[Certificate], terms: Terms) -> Iterator[str]:
    """Yield which certificates had ended when the token was last proven to exist, or is judged."""
    moment = terms.proven or terms.at
    for each in chain[:-1]:
        if moment and moment > each.not_after:
            yield f"{OLD_CERTIFICATE} {each.name} ended on {each.not_after:%Y-%m-%d}"


def _old_algorithms(token: Token, chain: tuple[Certificate, ...], terms: Terms) -> tuple[str, ...]:
    moment = terms.proven or terms.at
    if moment is None or terms.sunsets is None:
        return ()
    hashes = (token.info.algorithm, token.signature.digest_algorithm)
    return check_algorithms(uses_of(chain, hashes), moment, terms.sunsets)


def _check_imprint(info: Info, digest: bytes, algorithm: str) -> None:
    """T3: it is about this digest."""
    if info.algorithm != algorithm:
        used = info.algorithm or "an algorithm that is not supported"
        detail = f"it is about a digest by {used}, not by {algorithm}"
        raise Flaw(Reason.IMPRINT_ALGORITHM, detail, Status.INVALID if info.algorithm else Status.UNSUPPORTED)
    if not hmac.compare_digest(info.imprint, digest):
        raise Flaw(Reason.IMPRINT_MISMATCH, f"it is about another digest: {info.imprint.hex()}")


def _check_nonce(info: Info, nonce: int | None) -> None:
    """T4: it has the nonce that was sent."""
    if nonce is not None and info.nonce != nonce:
        raise Flaw(Reason.NONCE_MISMATCH, "it answers another request: its nonce is not the one sent")


def _check_moment(info: Info, root: Certificate, terms: Terms) -> None:
    """Without a renewal, a token is valid after its signer's certificate ends, but not after its root's."""
    at = terms.at
    if at is None:
        return
    if info.gen_time > at + terms.tolerance:
        detail = (
            f"its time is {info.gen_time:%Y-%m-%dT%H:%M:%SZ}, after the time it is judged at, "
            f"{at:%Y-%m-%dT%H:%M:%SZ}"
        )
        raise Flaw(Reason.AFTER_VALIDATION_TIME, detail, Status.INDETERMINATE)
    if at > root.not_after:
        until = f"{root.not_after:%Y-%m-%dT%H:%M:%SZ}"
        detail = f"{root.name} was trusted until {until}; it was not renewed before"
        raise Flaw(Reason.TRUST_ANCHOR_EXPIRED, detail, Status.INDETERMINATE)


def _check_since(info: Info, terms: Terms) -> None:
    """The reply to our nonce was made after the request: an older time in it is false."""
    since = terms.since
    if since is not None and _latest(info) < since - terms.tolerance:
        raise Flaw(
            Reason.BACKDATED,
            f"its time is {info.gen_time:%Y-%m-%dT%H:%M:%SZ}, but it was requested at "
            f"{since:%Y-%m-%dT%H:%M:%SZ}: it is backdated, or one of the two clocks is wrong",
        )


def _latest(info: Info) -> datetime:
    return info.gen_time + (info.accuracy or timedelta())


def _check_policy(info: Info, terms: Terms) -> None:
    """T8: policy and accuracy are allowed."""
    if terms.policies is not None and info.policy not in terms.policies:
        detail = f"it was made under the policy {info.policy}, which you do not allow"
        raise Flaw(Reason.POLICY_NOT_ALLOWED, detail, Status.INDETERMINATE)
    worst = terms.worst_accuracy
    if worst is None or (info.accuracy is None and not terms.require_accuracy):
        return
    if info.accuracy is None or info.accuracy > worst:
        detail = f"its accuracy is {info.accuracy or 'not stated'}, and you allow {worst}"
        raise Flaw(Reason.ACCURACY_NOT_ALLOWED, detail, Status.INDETERMINATE)


def _verified(
    info: Info,
    chain: Sequence[Certificate],
    terms: Terms,
    unknown: Sequence[str],
    remarks: tuple[str, ...],
) -> Finding:
    not_checked = [f"revocation of {name}" for name in unknown]
    if terms.nonce is None:
        not_checked.append("nonce: which one was sent is not known")
    if info.accuracy is None:
        not_checked.append("accuracy: the authority does not state it")
    if info.policy == LOCAL_POLICY:
        not_checked.append(LOCAL_NOTICE)
    latest, name = _latest(info), chain[0].name
    detail = f"the token is signed by {name}, under your root {chain[-1].name}"
    return Finding(
        EVIDENCE,
        Status.VERIFIED,
        None,
        detail,
        latest,
        name,
        tuple(not_checked),
        rests_on=(root_item(chain[-1]),),
        remarks=remarks,
    )


def _refusal(flaw: Flaw | Malformed) -> Finding:
    if isinstance(flaw, Flaw):
        return flaw.finding(EVIDENCE)
    return Finding(EVIDENCE, Status.INVALID, Reason.MALFORMED, str(flaw))


def _stamp(token: Token, chain: Sequence[Certificate] = ()) -> Timestamp:
    info = token.info
    return Timestamp(
        token.der,
        info.algorithm,
        info.imprint,
        info.gen_time,
        info.accuracy,
        info.serial,
        info.policy,
        info.nonce,
        chain[0].name if chain else None,
        chain[0].sha256 if chain else None,
        tuple(each.sha256 for each in chain),
        min((each.not_after for each in chain), default=None),
    )
