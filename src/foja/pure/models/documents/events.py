"""The events of a document: their kinds and sources, and the names of evidence, stages and jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol

from foja.pure.core.registry import API, Domain, JobType, Kind

EXECUTOR = frozenset({"protect-document-v2"})
SWEEPER = frozenset({"sweeper"})
SUBMITTERS = frozenset({"submit-anchor-polygon", "submit-anchor-bitcoin", "submit-anchor-rekor"})
PROCESSORS = frozenset({"process-polygon-anchors", "process-bitcoin-anchors"})

WITNESS = {"witness_hash": "string"}
ATTEMPT = {"attempt": "number"}
FAILURE = {"failure_code": "string"}
ANCHOR = {"network": "string", **WITNESS, **ATTEMPT}
JOB = {**WITNESS, **ATTEMPT, "deadline": "string"}
REASON = {"reason": "string"}
SIGNATURE = {
    "signature_b64": "string",
    "key_b64": "string",
    "certificate_b64": "string",
    "signer": "string",
}
BLOCK = {"txid": "string", "block_height": "number", "block_hash": "string", "batch": "string"}
STAMP = {
    **ATTEMPT,
    "authority": "string",
    "serial": "string",
    "nonce": "string",
    "policy": "string",
    "accuracy_ms": "number",
    "tsa_cert_sha256": "string",
    "local": "boolean",
    "late": "boolean",
    "blinding_b64": "string",  # with these two the token is over the root of a batch (RFC 4998)
    "path_b64": "string",
}

# Why an attempt at an anchor failed. The guard in SQL has the same list.
ANCHOR_FAILURES = frozenset(
    {
        "calendars_refused",  # no calendar takes the digest
        "dropped",  # the network has forgotten it
        "job_died",
        "log_refused",  # the log does not accept the entry
        "max_attempts",
        "missing_tx_hash",  # nothing was stored that could be sent
        "nonce_spent",  # by another transaction of the account
        "proof_invalid",  # our own judge does not accept the proof
        "receipt_status",  # the transaction was reverted
        "refused",
        "reorged",  # the block of a confirmation is gone
        "timeout",  # of the provider; our own deadline is `anchor.timeout`
    }
)


class Evidence(StrEnum):
    """What can be required, and the artifact that comes after it."""

    TSA = "tsa"
    POLYGON = "polygon"
    BITCOIN = "bitcoin"
    REKOR = "rekor"
    ARTIFACT = "artifact"


class Stage(StrEnum):
    """How far a flow has come; a request without a stage is final."""

    INITIAL = "initial"
    INTERMEDIATE = "intermediate"
    FINAL = "final"


class WitnessStatus(StrEnum):
    """Whether the digest is known that the evidence will be about."""

    MISSING = "missing"  # nothing was added, and no event names a digest
    REQUIRED = "required"  # by `document.witness.required`: nothing goes on until it is ready
    READY = "ready"


class EventLike(Protocol):
    """The part of an event that rules read."""

    @property
    def seq(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def at(self) -> datetime | None: ...
    @property
    def payload(self) -> Any: ...


class Fact(NamedTuple):
    """An event as it is read for a decision, or for a row of a list."""

    seq: int
    kind: str
    at: datetime
    payload: Any


NETWORKS: Final = (Evidence.POLYGON, Evidence.BITCOIN, Evidence.REKOR)
REQUIRABLE: Final = (Evidence.TSA, *NETWORKS)
JOBS: Final[Mapping[Evidence, str]] = {
    Evidence.TSA: "run_tsa",
    **{network: f"submit_anchor_{network}" for network in NETWORKS},
    Evidence.ARTIFACT: "build_artifact",
}
JOB_KINDS: Final[Mapping[Evidence, str]] = {
    evidence: f"job.{job.replace('_', '-')}.required" for evidence, job in JOBS.items()
}
JOB_EVIDENCE: Final[Mapping[str, Evidence]] = {kind: evidence for evidence, kind in JOB_KINDS.items()}
DIGESTS: Final = ("witness_hash", "sha256")


def _guarded(*kinds: Kind) -> Sequence[Kind]:
    """Return these kinds with a guard and their digest fields marked.

    Every kind wakes the executor, except its own events and `anchor.submitted`.
    """
    return [
        replace(
            kind,
            tracked=True,
            wakes=kind.name not in JOB_EVIDENCE and kind.name != "anchor.submitted",
            digests=tuple(name for name in DIGESTS if name in {*kind.required, *kind.optional}),
        )
        for kind in kinds
    ]


DOCUMENT = Domain(
    "document",
    _guarded(
        Kind(
            "document.added",
            API,
            {"sha256": "string", "custody": "string"},
            {
                "name": "string",
                "size": "number",
                "media_type": "string",
                "predecessor": "string",
                "transcript_of": "object",
                "excerpt_sha256": "string",
            },
            {"custody": frozenset({"stored", "hash_only"})},
            erasable=True,
        ),
        Kind("document.witness.required", API, {}, REASON),
        Kind("document.witness.ready", API, WITNESS),
        Kind("document.signature.started", API, {}, {"signers": "array"}),
        Kind(
            "document.signed",
            API,
            {},
            {**WITNESS, "signer": "string", "signature_b64": "string"},
            retired=True,
        ),
        Kind(
            "document.signed",
            API,
            {**WITNESS, "format": "string"},
            {**SIGNATURE, **REASON},
            {"format": frozenset({"cms", "jws", "raw", "unchecked"})},
            v=2,
        ),
        Kind("document.revoked", API, REASON),
        Kind("document.archived", API, REASON),
        Kind(
            "document.protected.requested",
            API,
            {**WITNESS, "required_evidence": "array"},
            {"stage": "string"},
        ),
        *(Kind(kind, EXECUTOR, JOB, {"run_at": "string"}) for kind in JOB_KINDS.values()),
        Kind(
            "tsa.confirmed",
            frozenset({"run-tsa"}),
            {**WITNESS, "token_b64": "string", "gen_time": "string"},
            STAMP,
        ),
        Kind(
            "tsa.failed",
            SWEEPER | EXECUTOR | {"run-tsa", "build-artifact"},
            {**WITNESS, **ATTEMPT, **FAILURE},
            REASON,
        ),
        Kind("anchor.submitted", SUBMITTERS, ANCHOR, {**BLOCK, "deadline": "string"}),
        Kind(
            "anchor.confirmed",
            SUBMITTERS | PROCESSORS,
            {**ANCHOR, "confirmed_at": "string"},
            {**BLOCK, "proof": "object|string", "late": "boolean", "test_network": "string"},
        ),
        Kind("anchor.timeout", SUBMITTERS | PROCESSORS | SWEEPER, {**ANCHOR, "limit": "string"}, REASON),
        Kind(
            "anchor.failed",
            SUBMITTERS | PROCESSORS | SWEEPER,
            {**ANCHOR, **FAILURE},
            REASON,
            {"failure_code": ANCHOR_FAILURES},
        ),
        Kind(
            "rekor.confirmed",
            frozenset({"submit-anchor-rekor"}),
            {**WITNESS, **ATTEMPT, "log_index": "number"},
            {"proof": "object|string", "integrated_time": "string", "batch": "string", "late": "boolean"},
        ),
        Kind(
            "artifact.finalized",
            frozenset({"build-artifact"}),
            {"sha256": "string", "size": "number", "profile": "string", "verdict": "string"},
            {**ATTEMPT, **WITNESS, "renew_before": "string"},
        ),
        Kind("artifact.failed", SWEEPER | {"build-artifact"}, {**ATTEMPT, **FAILURE}, {**REASON, **WITNESS}),
        Kind(
            "artifact.renewed",
            frozenset({"build-artifact"}),
            {"sha256": "string", "size": "number"},
            {"gen_time": "string", "renew_before": "string", **REASON},
        ),
        Kind("protection.retry.requested", API, {"evidence": "string", **WITNESS}, REASON),
    ),
    jobs=[
        JobType("protect_document_v2", "protect-document-v2", lease=30, max_tries=10, level=True),
        JobType("run_tsa", "run-tsa", lease=60, asked_by=JOB_KINDS[Evidence.TSA]),
        *(
            JobType(
                f"submit_anchor_{network}", f"submit-anchor-{network}", lease=60, asked_by=JOB_KINDS[network]
            )
            for network in NETWORKS
        ),
        *(JobType(f"broadcast_anchor_{each}", f"submit-anchor-{each}", lease=120) for each in NETWORKS),
        JobType("process_polygon_anchors", "process-polygon-anchors", lease=300),
        JobType("process_bitcoin_anchors", "process-bitcoin-anchors", lease=300),
        JobType("process_rekor_anchors", "submit-anchor-rekor", lease=300),
        JobType("build_artifact", "build-artifact", lease=60, asked_by=JOB_KINDS[Evidence.ARTIFACT]),
        JobType("renew_artifacts", "build-artifact", lease=300),
    ],
    executor="protect_document_v2",
    head_only=True,
)
