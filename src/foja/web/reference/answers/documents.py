"""Documents: added, listed, viewed."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from foja.web.reference.answers.answer import Answer, Problem

DIGEST = "7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069"


class AddedDocument(Answer):
    """A document, and whether this request added it."""

    id: str
    sha256: str | None = Field(description="null if it was erased", examples=[DIGEST])
    name: str | None
    size: int | None
    custody: Literal["stored", "hash_only"] | None
    new: bool = Field(description="false: it was added before")


class DocumentItem(Answer):
    """A document in a list."""

    id: str
    name: str | None
    state: Literal["none", "protected", "reinforced", "final"]
    pipeline: str | None = Field(description="what it waits for")
    lifecycle: str
    witness_hash: str | None
    began_at: str
    given_up: bool = Field(description="evidence has failed, and no attempt at it follows")
    note: str | None = Field(description="a remark that every report must show")


class DocumentPage(Answer):
    """Documents, newest first."""

    documents: list[DocumentItem]
    next: str | None = Field(description="the address of older ones")


class EvidenceItem(Answer):
    """One evidence of a document, for one digest."""

    evidence: str
    witness_hash: str
    status: str
    since: str | None
    attempt: int
    attempts_left: int
    run_at: str | None
    deadline: str | None
    failure_code: str | None
    reason: str | None
    confirmed_at: str | None
    local: bool
    test_network: str | None


class SignatureItem(Answer):
    """One signature: what was recorded, and what its check shows."""

    seq: int
    at: str | None
    witness_hash: str | None
    format: str
    status: Literal["checked", "unchecked", "invalid"]
    signer: str | None
    claimed_signer: str | None
    reason: str | None
    detail: str


class TimelineItem(Answer):
    """One event of the document, in a few words."""

    seq: int
    at: str | None
    kind: str
    words: str


class DocumentAnswer(Answer):
    """A document, computed from its events."""

    id: str
    name: str | None
    predecessor: str | None
    successors: list[str]
    witness_hash: str | None
    state: Literal["none", "protected", "reinforced", "final"]
    pipeline: str | None
    lifecycle_status: str
    stage: str | None
    required_evidence: list[str]
    evidence: list[EvidenceItem]
    signatures: list[SignatureItem]
    timeline: list[TimelineItem]
    explain: str
    note: str | None


class DocumentResult(Answer):
    """The result for one digest of a batch: its document, or why there is none."""

    document: AddedDocument | None
    problem: Problem | None


class DocumentBatchAnswer(Answer):
    """The result for each digest of a batch, in its order."""

    added: int = Field(description="how many documents are new")
    results: list[DocumentResult]


class ErasureAnswer(Answer):
    """What an erasure did not remove, and why."""

    stays: list[str]


class TrustAnswer(Answer):
    """Trust roots, as `/v1/verify` and `foja.verify` take them. Give them to readers by another way."""

    trust: list[str]


class ProofFile(Answer):
    """A proof in its tool's own format."""

    name: str = Field(examples=["1.tst"])
    content: str = Field(description="Base64", json_schema_extra={"contentEncoding": "base64"})


class ProofList(Answer):
    """The proofs of a document's current digest."""

    witness_hash: str | None
    proofs: list[ProofFile]


class ReportAnswer(Answer):
    """The report of the judge (`foja/report/v1`; docs/verify.md)."""

    form: Literal["foja/report/v1"]
    verdict: Literal["TOTAL_PASSED", "INDETERMINATE", "TOTAL_FAILED"]
    at: str
    headline: list[str]
    subject: dict[str, Any]
    no_later_than: str | None
    according_to: str | None
    required: list[str] | None
    evidence: list[dict[str, Any]]
    policy: dict[str, Any] | None
    history: list[dict[str, Any]]
    revoked: dict[str, Any] | None = None
    contents: dict[str, Any] | None = None
