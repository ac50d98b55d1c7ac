"""Proofs that an event is in the log, and a document as the answer to what added it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path

from foja.documents.document import Document
from foja.ledger.event import MAX_SEQ
from foja.ledger.excerpts import EventProof
from foja.ledger.stream import Stream

Seq = Annotated[int, Path(ge=0, lt=MAX_SEQ, description="the number of an event")]


async def proof_of(stream: Stream | Document, seq: int, key: str) -> dict[str, Any]:
    """Return an event and its proof as `foja log prove --json` prints them; `key` is that of the log."""
    return describe_proof(await stream.prove(seq), key)


def describe_proof(proven: EventProof, key: str) -> dict[str, Any]:
    """Return an event and its proof as texts, with the public key of the log."""
    return {
        "proof": proven.proof_text(),
        "event": proven.event_text(),
        "arguments": proven.arguments_text(),
        "index": proven.index,
        "size": proven.size,
        "key": key,
    }


def protected(document: Document) -> dict[str, Any]:
    """Return the document that a stream became."""
    return {
        "id": str(document.id),
        "sha256": document.sha256,
        "name": document.name,
        "size": document.size,
        "custody": document.custody,
        "new": document.new,
    }
