"""Request bodies about documents."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from foja.web.bodies import RequestBody
from foja.web.reference.answers.documents import DIGEST

MAX_BATCH = 1_000
EVIDENCE = Literal["tsa", "polygon", "bitcoin", "rekor", "artifact"]


class DigestBody(RequestBody):
    """A document by its SHA-256 digest; its bytes stay with you."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"sha256": DIGEST, "name": "contract.pdf"}]})

    sha256: str
    name: str | None = None
    size: Annotated[int, Field(ge=0, lt=2**53)] | None = None
    media_type: str | None = None
    predecessor: str | None = Field(default=None, description="the id of the version before it")


class DigestBatch(RequestBody):
    """Documents to add by their digests, and the evidence to request of each."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"documents": [{"sha256": DIGEST}], "required_evidence": ["tsa"]}]}
    )

    documents: Annotated[list[DigestBody], Field(min_length=1, max_length=MAX_BATCH)]
    required_evidence: list[str] | None = None


class DocumentProtection(RequestBody):
    """The evidence that is requested of a document as it is now."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"required_evidence": ["tsa"]}]})

    required_evidence: list[str] = Field(default_factory=lambda: ["tsa"])
    stage: str | None = None
    witness_hash: str | None = None


class LifecycleEvent(RequestBody):
    """An event of the document's lifecycle."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"kind": "document.witness.required"}]})

    kind: str
    payload: dict[str, Any] = Field(default_factory=dict)


class SignatureBody(RequestBody):
    """A signature over the document; binary values in Base64, DER or PEM."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"format": "unchecked", "signer": "Ana", "reason": "approved"}]}
    )

    signature: str | None = None
    witness_hash: str | None = None
    format: Literal["cms", "jws", "raw", "unchecked"] | None = None
    key: str | None = None
    certificate: str | None = None
    signer: str | None = None
    reason: str | None = None


class ReasonBody(RequestBody):
    """Why it is done; the reason is recorded."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "signed by mistake"}]})

    reason: str


class RetryBody(RequestBody):
    """An evidence that was given up."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"evidence": "tsa"}]})

    evidence: EVIDENCE = "tsa"
    reason: str | None = None
