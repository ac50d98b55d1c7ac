"""What a verdict may be based on. The caller gives it; it is never taken from what is judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias

from foja.pure.core.canonical import Json
from foja.pure.core.note import Verifier
from foja.pure.proofs.algorithms import Sunset
from foja.pure.proofs.cosignature import CosignerKey, Policy
from foja.pure.proofs.monitor_statement import MonitorKey
from foja.pure.proofs.ots.network import MAIN, MAINNET_DIFFICULTY

Growths: TypeAlias = "tuple[tuple[int, str, tuple[bytes, ...]], ...]"


@dataclass(frozen=True, slots=True)
class Identity:
    """The signer that a Sigstore certificate must name, and the issuer that vouches for it."""

    subject: str
    issuer: str


@dataclass(frozen=True, slots=True)
class Trust:
    """Trust anchors and requirements. An empty one trusts nothing, so nothing passes under it.

    `foja.pure.judge.trust_parser.read` makes one from certificates, keys and policies.
    """

    roots: tuple[bytes, ...] = ()  # self-issued certificates of timestamp authorities, DER
    intermediates: tuple[bytes, ...] = ()  # certificates that may help to reach a root, DER; not trusted
    crls: tuple[bytes, ...] = ()  # lists of revoked certificates, DER
    logs: tuple[Verifier, ...] = ()  # Ed25519 keys of logs of ledgers
    rekor_logs: tuple[Verifier, ...] = ()  # Ed25519 keys of Rekor logs of version 2
    cosigners: tuple[CosignerKey, ...] = ()  # who may vouch for the checkpoints of logs
    monitors: tuple[MonitorKey, ...] = ()  # who may vouch for the heads of streams
    names: tuple[tuple[str, str], ...] = ()  # of actors, as the reader knows them; no proof rests on one
    restarts: tuple[str, ...] = ()  # origins of restarted logs that you accept
    cosigner_policy: Policy | None = None  # how many of them must; None: the report only counts
    signers: tuple[bytes, ...] = ()  # public keys of trusted signers, DER
    sigstore: tuple[bytes, ...] = ()  # trusted_root.json of Sigstore instances, as written
    headers: tuple[tuple[int, bytes], ...] = ()  # Bitcoin: height and the header of 80 bytes
    blocks: tuple[bytes, ...] = ()  # EVM: hashes of final blocks
    chains: tuple[int, ...] = ()  # EVM: if any, only these chain ids
    senders: tuple[bytes, ...] = ()  # EVM: if any, only these accounts
    identities: tuple[Identity, ...] = ()  # Sigstore: if any, only these
    growths: Growths = ()  # newer checkpoints of logs: old size, note, consistency proof
    required: tuple[str, ...] | None = None  # evidence that must be verified
    minimum_difficulty: int = MAINNET_DIFFICULTY
    bitcoin_network: str = MAIN  # another one is marked in every report
    timestamp_policies: tuple[str, ...] | None = None  # OIDs of timestamp policies; None: any
    revocation_required: bool = False
    sunsets: tuple[Sunset, ...] = ()  # until when algorithms count, beside the remarks of ETSI TS 119 312
    worst_accuracy_ms: int | None = None  # the worst accuracy of a timestamp; None: any

    def document(self) -> dict[str, Json]:
        """Return the trust as a report shows it: large things by their SHA-256, all in order."""
        return {
            "roots": _digests(self.roots),
            "intermediates": _digests(self.intermediates),
            "crls": _digests(self.crls),
            "logs": _sorted(each.vkey() for each in self.logs),
            "signers": _digests(self.signers),
            "sigstore": _digests(self.sigstore),
            "headers": _sorted(f"{height}:{header.hex()}" for height, header in self.headers),
            "blocks": _sorted(f"0x{each.hex()}" for each in self.blocks),
            "chains": [*sorted(set(self.chains))],
            "senders": _sorted(f"0x{each.hex()}" for each in self.senders),
            "identities": _sorted(f"{each.subject} by {each.issuer}" for each in self.identities),
            "required": None if self.required is None else [*self.required],
            "minimum_difficulty": self.minimum_difficulty,
            "timestamp_policies": None
            if self.timestamp_policies is None
            else _sorted(self.timestamp_policies),
            "revocation_required": self.revocation_required,
            **({} if self.bitcoin_network == MAIN else {"bitcoin_network": self.bitcoin_network}),
            **({"rekor_logs": _sorted(each.vkey() for each in self.rekor_logs)} if self.rekor_logs else {}),
            **({"cosigners": _sorted(each.vkey() for each in self.cosigners)} if self.cosigners else {}),
            **({"monitors": _sorted(each.vkey() for each in self.monitors)} if self.monitors else {}),
            **({"names": dict(sorted(self.names))} if self.names else {}),
            **({"restarts": _sorted(self.restarts)} if self.restarts else {}),
            **({"cosigner_policy": str(self.cosigner_policy)} if self.cosigner_policy else {}),
            **({"algorithms": _sorted(map(str, self.sunsets))} if self.sunsets else {}),
            **({} if self.worst_accuracy_ms is None else {"worst_accuracy_ms": self.worst_accuracy_ms}),
            **(
                {"checkpoints": _digests(note.encode() for _, note, _ in self.growths)}
                if self.growths
                else {}
            ),
        }


def _digests(items: Iterable[bytes]) -> Json:
    return _sorted(sha256(each).hexdigest() for each in items)


def _sorted(texts: Iterable[str]) -> Json:
    return [*sorted(set(texts))]
