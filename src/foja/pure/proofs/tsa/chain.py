"""The chain from the signer to a trusted root. Certificates in a token only help to find it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from foja.pure.proofs.algorithms import Use
from foja.pure.proofs.finding import Flaw, Reason, Status, TrustItem
from foja.pure.proofs.tsa.certificate import Certificate, is_issued_by

TIME_STAMPING, ANY_PURPOSE = "1.3.6.1.5.5.7.3.8", "2.5.29.37.0"
TIMESTAMPS = frozenset({TIME_STAMPING, ANY_PURPOSE})
MAX_CHAIN = 8
MAX_STEPS = 32
CACHE_ENTRIES = 32  # signers; the certificates of one may be large


def check_signer(signer: Certificate) -> None:
    """T6: a critical extension restricts the key to timestamps, or raise `Flaw`."""
    if signer.purposes != frozenset({TIME_STAMPING}) or not signer.purposes_critical:
        detail = f"{signer.name} is not restricted to timestamps by a critical extension"
        raise Flaw(Reason.EKU_INVALID, detail)
    if signer.unknown_critical:
        raise Flaw(Reason.CHAIN_INVALID, f"{signer.name} has a critical extension that is not supported")
    if not signer.signs_data_only:
        raise Flaw(Reason.KEY_USAGE_INVALID, f"the key of {signer.name} is not for signing data alone")


@lru_cache(maxsize=CACHE_ENTRIES)
def check_related(signer: Certificate, embedded: tuple[Certificate, ...]) -> None:
    """Raise `Flaw` for a certificate outside the signer's chain, or a changed copy of a root."""
    related = {signer}
    while (
        more := {each for each in embedded if each.subject in {other.issuer for other in related}} - related
    ):
        related |= more
    for each in embedded:
        if each not in related:
            detail = f"it carries the certificate of {each.name}, which is not part of its chain"
            raise Flaw(Reason.UNRELATED_CERTIFICATE, detail)
        if each.is_self_issued and not is_issued_by(each, each):
            raise Flaw(Reason.CHAIN_INVALID, f"it carries a changed copy of {each.name}")


def find_path(
    signer: Certificate,
    others: Sequence[Certificate],
    roots: Sequence[Certificate],
    at: datetime,
    purposes: frozenset[str] = TIMESTAMPS,
) -> tuple[Certificate, ...]:
    """T7: return the certificates from the signer to a root, all valid at that time, or raise `Flaw`.

    An issuer that is restricted to some purposes must be allowed one of these.
    """
    second = at.replace(microsecond=0)
    if all(each.not_before <= second <= each.not_after for each in (signer, *others, *roots)):
        return _path_while_all_valid(signer, tuple(others), tuple(roots), purposes)
    return _Search(others, roots, at, purposes).run(signer)


@lru_cache(maxsize=CACHE_ENTRIES)
def _path_while_all_valid(
    signer: Certificate,
    others: tuple[Certificate, ...],
    roots: tuple[Certificate, ...],
    purposes: frozenset[str],
) -> tuple[Certificate, ...]:
    """Return the path for any time at which all of them are valid: it is always the same."""
    at = max(each.not_before for each in (signer, *others, *roots))
    return _Search(others, roots, at, purposes).run(signer)


class _Search:
    """A depth-first search without cycles and with a limited number of steps."""

    def __init__(
        self,
        others: Sequence[Certificate],
        roots: Sequence[Certificate],
        at: datetime,
        purposes: frozenset[str],
    ) -> None:
        self._roots, self._at, self._steps, self._purposes = roots, at, MAX_STEPS, purposes
        by_end = sorted(roots, key=lambda each: each.not_after, reverse=True)
        self._pool = [*by_end, *(each for each in others if each not in roots)]
        self._flaw: Flaw | None = None

    def run(self, signer: Certificate) -> tuple[Certificate, ...]:
        check_valid(signer, self._at)
        found = next(self._paths((signer,)), None)
        if found is None:
            detail, missing = f"no certificate you trust leads to {signer.name}", self._missing(signer)
            raise self._flaw or Flaw(Reason.NO_TRUST_ANCHOR, detail, Status.INDETERMINATE, (missing,))
        return found

    def _missing(self, signer: Certificate) -> TrustItem:
        """Return the root that the last known certificate of the chain names as its issuer."""
        last, seen = signer, {signer}
        for _ in range(MAX_CHAIN):
            last = next((each for each in self._pool if _names(last, each) and each not in seen), last)
            seen.add(last)
        name, key_id = last.x509.issuer.rfc4514_string(), last.issuer_key_id
        return TrustItem("root", name, f"key id {key_id.hex()}" if key_id else None)

    def _paths(self, begun: tuple[Certificate, ...]) -> Iterator[tuple[Certificate, ...]]:
        """Yield the chains that end in a root, the longest first: a trusted one may have an issuer too."""
        last = begun[-1]
        if not last.is_self_issued or len(begun) == 1:
            for issuer in self._pool:
                if _names(last, issuer) and issuer not in begun and self._may_issue(issuer, begun):
                    yield from self._paths((*begun, issuer))
        elif last not in self._roots:
            detail = f"its chain ends in {last.name}, which the token carries and you do not trust"
            self._note(Flaw(Reason.ROOT_NOT_TRUSTED, detail, Status.INDETERMINATE, (root_item(last),)))
        if last in self._roots:
            yield begun

    def _may_issue(self, issuer: Certificate, begun: tuple[Certificate, ...]) -> bool:
        self._steps -= 1
        if self._steps < 0 or len(begun) >= MAX_CHAIN:
            self._note(Flaw(Reason.CHAIN_INVALID, f"its chain is longer than {MAX_CHAIN}, or too complex"))
            return False
        try:
            check_issuer(issuer, begun, self._at, self._purposes)
        except Flaw as flaw:
            self._note(flaw)
            return False
        return True

    def _note(self, flaw: Flaw) -> None:
        """Keep the first flaw, to report it if the whole search fails."""
        self._flaw = self._flaw or flaw


@lru_cache(maxsize=CACHE_ENTRIES)
def uses_of(chain: tuple[Certificate, ...], hashes: tuple[str | None, ...]) -> frozenset[Use]:
    """Return the algorithms of a signature by these hashes, and of the certificates below its root."""
    below = [each for each in chain if len(chain) == 1 or each is not chain[-1]]
    signed_by = (each.x509.signature_hash_algorithm for each in chain[:-1])
    names = (*hashes, *(each.name for each in signed_by if each))
    return frozenset({*(Use(each) for each in names if each), *(use_of(each.key) for each in below)})


def use_of(key: object) -> Use:
    """Return the algorithm of a key, and its size."""
    if isinstance(key, RSAPublicKey):
        return Use("rsa", key.key_size)
    if isinstance(key, EllipticCurvePublicKey):
        return Use("ecdsa", key.curve.key_size)
    return Use("ed448" if isinstance(key, Ed448PublicKey) else "ed25519")


def root_item(root: Certificate) -> TrustItem:
    """Return a root as a report names it."""
    return TrustItem("root", root.name, f"sha256:{root.sha256}")


def check_issuer(
    issuer: Certificate, begun: tuple[Certificate, ...], at: datetime, purposes: frozenset[str]
) -> None:
    """Raise `Flaw` if the issuer did not issue the last certificate of a chain, or may not."""
    last = begun[-1]
    _check_key(last)
    if last.weak or not is_issued_by(last, issuer):
        detail = f"{last.name} is not validly signed by {issuer.name}, which it names as its issuer"
        raise Flaw(Reason.CHAIN_INVALID, detail)
    check_valid(issuer, at)
    _check_key(issuer)
    if issuer.constrains_names:
        detail = f"{issuer.name} may issue only for certain names, which is not supported"
        raise Flaw(Reason.NAME_CONSTRAINTS, detail, Status.UNSUPPORTED)
    if not issuer.is_ca or issuer.unknown_critical:
        raise Flaw(Reason.CHAIN_INVALID, f"{issuer.name} may not issue certificates")
    below = sum(not each.is_self_issued for each in begun[1:])
    if issuer.path_length is not None and below > issuer.path_length:
        raise Flaw(Reason.CHAIN_INVALID, f"{issuer.name} may not have so many issuers below it")
    if issuer.purposes is not None and not issuer.purposes & purposes:
        raise Flaw(Reason.CHAIN_INVALID, f"{issuer.name} may not issue certificates for this purpose")


def _check_key(each: Certificate) -> None:
    if each.short_key:
        detail = f"the key of {each.name} is too short, or of a type that is not supported"
        raise Flaw(Reason.WEAK_KEY, detail, Status.INDETERMINATE)


def check_valid(each: Certificate, at: datetime) -> None:
    """Raise `Flaw` if a certificate was not valid at that time."""
    if at < each.not_before:
        detail = f"{each.name} is valid from {each.not_before:%Y-%m-%dT%H:%M:%SZ}, after the signature"
        raise Flaw(Reason.CERT_NOT_YET_VALID_AT_GENTIME, detail)
    if at.replace(microsecond=0) > each.not_after:
        detail = f"{each.name} was valid until {each.not_after:%Y-%m-%dT%H:%M:%SZ}, before the signature"
        raise Flaw(Reason.CERT_EXPIRED_AT_GENTIME, detail)


def _names(child: Certificate, issuer: Certificate) -> bool:
    """Return whether a certificate names that issuer, and its key where both state a key id."""
    same_key = None in (child.issuer_key_id, issuer.key_id) or child.issuer_key_id == issuer.key_id
    return child.issuer == issuer.subject and same_key
