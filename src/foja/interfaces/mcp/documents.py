"""Tools about documents: protect, status, bundle, verify."""

from __future__ import annotations

import asyncio
import tempfile
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, BinaryIO, cast

from pydantic import Field

from foja.domains.documents.document import Document
from foja.errors import BadPayload, Refused
from foja.interfaces.mcp.agent import Agent, agent_with
from foja.interfaces.mcp.files import Root
from foja.pure.models.access.principal import Scope
from foja.pure.models.documents.view import DocumentView

MAX_CONTENT_BYTES = 2 * 1_048_576
POLL_SECONDS = 0.2
Evidence = Annotated[
    tuple[str, ...],
    Field(
        description="which evidence to request: tsa (a timestamp), and where the installation has them "
        "polygon, bitcoin, rekor"
    ),
]
DocumentId = Annotated[str, Field(description="the id of a document, a UUID")]
FilePath = Annotated[str, Field(description="a path below the root folder of this server")]
Seconds = Annotated[
    float, Field(ge=0, le=60, description="how long to wait for evidence, at most 60 seconds")
]
Trust = Annotated[
    list[str] | None,
    Field(description="the roots and keys that you trust, as text; none: those of this installation"),
]
Base64 = Annotated[str, Field(description="the bytes in Base64, at most 2 MiB")]


async def protect_file(
    path: FilePath,
    required_evidence: Evidence = ("tsa",),
    wait_seconds: Seconds = 0,
) -> dict[str, Any]:
    """Protect a file: record its digest, keep its bytes, and request evidence that it existed now.

    The same file under the same name is the same document. Returns the document and its state.
    """
    agent = agent_with(Scope.WRITE)
    with _root(agent).reading(path) as file:
        document = await agent.app.documents.add(file, name=path.rpartition("/")[2], actor=agent.actor)
    return await _protect(agent, document, required_evidence, wait_seconds)


async def protect_content(
    content_base64: Base64,
    name: Annotated[str | None, Field(description="a file name for the document")] = None,
    required_evidence: Evidence = ("tsa",),
    wait_seconds: Seconds = 0,
) -> dict[str, Any]:
    """Protect bytes: record their digest, keep them, and request evidence that they existed now."""
    agent = agent_with(Scope.WRITE)
    document = await agent.app.documents.add(_bytes(content_base64), name=name, actor=agent.actor)
    return await _protect(agent, document, required_evidence, wait_seconds)


async def protect_digest(
    sha256: Annotated[str, Field(description="the SHA-256 digest of a file, 64 hexadecimal digits")],
    name: Annotated[str | None, Field(description="a name for the document")] = None,
    required_evidence: Evidence = ("tsa",),
    wait_seconds: Seconds = 0,
) -> dict[str, Any]:
    """Protect a file by its digest alone: its bytes stay with you, and nobody else sees them."""
    agent = agent_with(Scope.WRITE)
    document = await agent.app.documents.add_digest(sha256, name=name, actor=agent.actor)
    return await _protect(agent, document, required_evidence, wait_seconds)


async def document_status(document_id: DocumentId, wait_seconds: Seconds = 0) -> dict[str, Any]:
    """Say how a document stands: its state, its evidence, and in plain words what it waits for."""
    agent = agent_with(Scope.READ)
    document = await agent.app.documents.open(document_id)
    return _status(await _wait(document, wait_seconds))


async def fetch_bundle(
    document_id: DocumentId,
    save_as: Annotated[
        str | None, Field(description="a new file below the root folder; only where this server has one")
    ] = None,
) -> dict[str, Any]:
    """Return the evidence of a document as one file, which anyone can check without this server."""
    agent = agent_with(Scope.READ)
    document = await agent.app.documents.open(document_id)
    data = await document.bundle()
    if save_as is not None:
        return {"saved": str(await asyncio.to_thread(_root(agent).write, save_as, data)), "size": len(data)}
    if len(data) > MAX_CONTENT_BYTES:
        raise Refused(f"the bundle has {len(data):,} bytes; fetch it as /v1/documents/{document.id}/bundle")
    return {"content_base64": b64encode(data).decode(), "size": len(data)}


async def verify_document(document_id: DocumentId) -> dict[str, Any]:
    """Judge the evidence of a document as a reader would, and say what it waits for, and who does that."""
    agent = agent_with(Scope.READ)
    document = await agent.app.documents.open(document_id)
    found = await _judge(agent, await document.bundle(), await document.trust())
    return {**found, "explain": await document.explain()}


async def verify_content(content_base64: Base64, trust: Trust = None) -> dict[str, Any]:
    """Judge a bundle that you have. Nothing inside a bundle is trusted; the roots come from outside."""
    agent = agent_with(Scope.READ)
    return await _judge(agent, _bytes(content_base64), agent.app.trust if trust is None else trust)


async def verify_file(path: FilePath, trust: Trust = None) -> dict[str, Any]:
    """Judge a bundle below the root folder. Nothing inside it is trusted; the roots come from outside."""
    agent = agent_with(Scope.READ)
    roots = agent.app.trust if trust is None else trust
    with _root(agent).reading(path) as file:
        return _verdict(await agent.judge(file, roots))


ANYWHERE = (protect_content, protect_digest, document_status, fetch_bundle, verify_document, verify_content)
WITH_FILES = (protect_file, verify_file)


async def _protect(
    agent: Agent, document: Document, required_evidence: Sequence[str], wait_seconds: float
) -> dict[str, Any]:
    await document.protect(required_evidence, actor=agent.actor)
    view = await _wait(document, wait_seconds)
    return {**_status(view), "sha256": document.sha256, "new": document.new}


async def _wait(document: Document, seconds: float) -> DocumentView:
    """Return the view once nothing is awaited, or when the time is over."""
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    while True:
        view = await document.view()
        if view.pipeline is None or clock() >= end:
            return view
        await asyncio.sleep(POLL_SECONDS)


def _status(view: DocumentView) -> dict[str, Any]:
    found = view.document()
    names = ("id", "name", "state", "pipeline", "witness_hash", "required_evidence", "explain", "note")
    evidence = [
        {name: each[name] for name in ("evidence", "status", "confirmed_at", "reason")}
        for each in found["evidence"]
    ]
    return {**{name: found[name] for name in names}, "evidence": evidence}


async def _judge(agent: Agent, data: bytes, trust: Sequence[str]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        return _verdict(await agent.judge(cast("BinaryIO", file), trust))


def _verdict(report: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: report[name] for name in ("verdict", "headline", "no_later_than", "according_to", "evidence")
    }


def _root(agent: Agent) -> Root:
    if agent.root is None:
        raise Refused("this server takes no paths; send the content, or its digest")
    return agent.root


def _bytes(text: str) -> bytes:
    try:
        data = b64decode(text, validate=True)
    except (NotBase64, ValueError):
        raise BadPayload("the content is not Base64; encode the bytes") from None
    if len(data) > MAX_CONTENT_BYTES:
        raise BadPayload(
            f"the content is over {MAX_CONTENT_BYTES:,} bytes; use its digest, or upload it to /v1/documents"
        )
    return data
