"""Tools about documents that do more than one act: protect and wait, judge, and what needs files."""

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
from foja.interfaces.answers.documents import Digest
from foja.interfaces.mcp.agent import Agent, agent_acting
from foja.interfaces.mcp.answers import shown
from foja.interfaces.mcp.files import Root
from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.operation import Operation
from foja.interfaces.operations.records.documents import add_digest, find
from foja.pure.models.access.principal import Scope
from foja.pure.models.documents.view import ShownDocument

MAX_CONTENT_BYTES = 2 * 1_048_576
POLL_SECONDS = 0.2
Answer = dict[str, Any]
Evidence = Annotated[
    tuple[str, ...],
    "which evidence to request: tsa (a timestamp), and where the installation has them polygon, bitcoin, "
    "rekor",
]
FilePath = Annotated[str, "a path below the root folder of this server"]
Seconds = Annotated[float, Field(ge=0, le=60), "how long to wait for evidence, at most 60 seconds"]
Trust = Annotated[
    list[str] | None, "the roots and keys that you trust, as text; none: those of this installation"
]
Base64 = Annotated[str, "the bytes in Base64, at most 2 MiB"]
Actor = str | None


async def protect_file(
    caller: Caller,
    path: FilePath,
    *,
    required_evidence: Evidence = ("tsa",),
    wait_seconds: Seconds = 0,
    actor: Actor = None,
) -> Answer:
    """Protect a file: record its digest, keep its bytes, and request evidence that it existed now.

    The same file under the same name is the same document. Returns the document and its state.
    """
    with _root().reading(path) as file:
        document = await caller.app.documents.add(file, name=path.rpartition("/")[2], actor=actor)
    return await _protect(document, required_evidence, wait_seconds, actor)


async def protect_content(
    caller: Caller,
    content_base64: Base64,
    *,
    name: Annotated[str | None, "a file name for the document"] = None,
    required_evidence: Evidence = ("tsa",),
    wait_seconds: Seconds = 0,
    actor: Actor = None,
) -> Answer:
    """Protect bytes: record their digest, keep them, and request evidence that they existed now."""
    document = await caller.app.documents.add(_bytes(content_base64), name=name, actor=actor)
    return await _protect(document, required_evidence, wait_seconds, actor)


async def protect_digest(
    caller: Caller,
    sha256: Annotated[str, "the SHA-256 digest of a file, 64 hexadecimal digits"],
    *,
    name: Annotated[str | None, "a name for the document"] = None,
    required_evidence: Evidence = ("tsa",),
    wait_seconds: Seconds = 0,
    actor: Actor = None,
) -> Answer:
    """Protect a file by its digest alone: its bytes stay with you, and nobody else sees them."""
    document = await add_digest(caller, Digest(sha256, name))
    return await _protect(document, required_evidence, wait_seconds, actor)


async def status(document: Document, *, wait_seconds: Seconds = 0) -> ShownDocument:
    """Say how a document stands: its state, its evidence, and in plain words what it waits for."""
    return await _wait(document, wait_seconds)


async def fetch(
    document: Document,
    *,
    save_as: Annotated[str | None, "a new file below the root folder; only where this server has one"] = None,
) -> Answer:
    """Return the evidence of a document as one file, which anyone can check without this server."""
    data = await document.bundle()
    if save_as is not None:
        return {"saved": str(await asyncio.to_thread(_root().write, save_as, data)), "size": len(data)}
    if len(data) > MAX_CONTENT_BYTES:
        raise Refused(f"the bundle has {len(data):,} bytes; fetch it as /v1/documents/{document.id}/bundle")
    return {"content_base64": b64encode(data).decode(), "size": len(data)}


async def verify_document(document: Document) -> Answer:
    """Judge the evidence of a document as a reader would, and say what it waits for, and who does that."""
    found = await _judge(await document.bundle(), await document.trust())
    return {**found, "explain": await document.explain()}


async def verify_content(agent: Agent, content_base64: Base64, *, trust: Trust = None) -> Answer:
    """Judge a bundle that you have. Nothing inside a bundle is trusted; the roots come from outside."""
    return await _judge(_bytes(content_base64), agent.app.trust if trust is None else trust)


async def verify_file(agent: Agent, path: FilePath, *, trust: Trust = None) -> Answer:
    """Judge a bundle below the root folder. Nothing inside it is trusted; the roots come from outside."""
    roots = agent.app.trust if trust is None else trust
    with _root().reading(path) as file:
        return _verdict(await agent.judge(file, roots))


async def _protect(
    document: Document, required_evidence: Sequence[str], wait_seconds: float, actor: Actor
) -> Answer:
    await document.protect(required_evidence, actor=actor)
    view = await _wait(document, wait_seconds)
    return {**shown(view), "sha256": document.sha256, "new": document.new}


async def _wait(document: Document, seconds: float) -> ShownDocument:
    """Return the view once nothing is awaited, or when the time is over."""
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    while True:
        view = await document.view()
        if view.pipeline is None or clock() >= end:
            return view.shown()
        await asyncio.sleep(POLL_SECONDS)


async def _judge(data: bytes, trust: Sequence[str]) -> Answer:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        return _verdict(await agent_acting().judge(cast("BinaryIO", file), trust))


def _verdict(report: Mapping[str, Any]) -> Answer:
    return {
        name: report[name] for name in ("verdict", "headline", "no_later_than", "according_to", "evidence")
    }


def _root() -> Root:
    root = agent_acting().root
    if root is None:
        raise Refused("this server takes no paths; send the content, or its digest")
    return root


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


def _agent(_: Caller) -> Agent:
    return agent_acting()


READ, WRITE = Scope.READ, Scope.WRITE
OPERATIONS = (
    Operation("documents.protect_content", "", protect_content, WRITE, tool="protect_content"),
    Operation("documents.protect_digest", "", protect_digest, WRITE, tool="protect_digest"),
    Operation("document.status", "", status, READ, find, tool="document_status"),
    Operation("document.fetch", "", fetch, READ, find, repeatable=False, tool="fetch_bundle"),
    Operation("document.verify", "", verify_document, READ, find, tool="verify_document"),
    Operation("documents.verify_content", "", verify_content, READ, _agent, tool="verify_content"),
)
WITH_FILES = (
    Operation("documents.protect_file", "", protect_file, WRITE, tool="protect_file"),
    Operation("documents.verify_file", "", verify_file, READ, _agent, tool="verify_file"),
)
