"""What is given and answered about documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal
from uuid import UUID

from foja.interfaces.answers.problem import Problem
from foja.pure.models.documents.view import DocumentRow
from foja.pure.pages import Rows


@dataclass(frozen=True, slots=True)
class Digest:
    """A document by its SHA-256 digest; its bytes stay with you."""

    sha256: str
    name: str | None = None
    size: int | None = None
    media_type: str | None = None
    predecessor: Annotated[str | None, "the id of the version before it"] = None


@dataclass(frozen=True, slots=True)
class AddedDocument:
    """A document, and whether this request added it."""

    id: UUID
    sha256: Annotated[str | None, "null if it was erased"]
    name: str | None
    size: int | None
    custody: Literal["stored", "hash_only"] | None
    new: Annotated[bool, "false: it was added before"]


@dataclass(frozen=True, slots=True)
class DocumentPage(Rows[DocumentRow]):
    """Documents, newest first."""

    documents: list[DocumentRow]
    next: UUID | None


@dataclass(frozen=True, slots=True)
class BatchedDocument:
    """The result for one digest of a batch: its document, or why there is none."""

    document: AddedDocument | None
    problem: Problem | None


@dataclass(frozen=True, slots=True)
class AddedBatch:
    """The result for each digest of a batch, in its order."""

    added: Annotated[int, "how many documents are new"]
    results: list[BatchedDocument]


@dataclass(frozen=True, slots=True)
class DocumentTrust(Rows[str]):
    """Trust roots, as `/v1/verify` and `foja.verify` take them. Give them to readers by another way."""

    trust: list[str]


@dataclass(frozen=True, slots=True)
class ProofFile:
    """A proof in its tool's own format."""

    name: Annotated[str, "such as `1.tst`"]
    content: Annotated[str, "Base64"]


@dataclass(frozen=True, slots=True)
class ProofList:
    """The proofs of a document's current digest."""

    witness_hash: str | None
    proofs: list[ProofFile]
