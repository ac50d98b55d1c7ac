"""What a document begins with: its bytes, the words about them, its id."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from foja.blobs.store import Store
from foja.core.bundle.manifest import stream_document
from foja.core.event import derived_id
from foja.core.registry import check_digest
from foja.documents.bundle_facts import Transcript
from foja.errors import BadPayload

Data = bytes | Path | str | BinaryIO


@dataclass(frozen=True, slots=True)
class Document:
    """What was added, and the id it has from now on. The same file under the same name has the same."""

    id: UUID
    sha256: str
    name: str | None
    size: int | None
    custody: str
    new: bool  # False: it was here before


async def kept(store: Store, data: Data) -> dict[str, Any]:
    """Keep the bytes, and return what is said of them."""
    async with _opened(data) as source:
        sha256, size = await store.keep(source)
    return {"sha256": sha256, "custody": "stored", "size": size}


async def transcribed(store: Store, made: Transcript) -> dict[str, Any]:
    """Keep a transcript and the events it was made of, and return what is said of them."""
    return {
        "sha256": await store.put(made.text),
        "custody": "stored",
        "size": len(made.text),
        "transcript_of": stream_document(made.stream),
        "excerpt_sha256": await store.put(made.excerpt),
    }


def elsewhere(sha256: str, size: int | None) -> dict[str, Any]:
    """Return what is said of bytes that stay with whoever has them."""
    return {"sha256": check_digest(sha256), "custody": "hash_only", "size": size}


def described(
    said: Mapping[str, Any], name: str | None, media_type: str | None, predecessor: UUID | None
) -> dict[str, Any]:
    """Return the body of `document.added`; what nobody knows is left out."""
    named = str(predecessor) if predecessor else None
    body = {**said, "name": name, "media_type": media_type, "predecessor": named}
    return {field: value for field, value in body.items() if value is not None}


def identity(namespace: UUID, tenant: str, sha256: str, name: str | None, predecessor: UUID | None) -> UUID:
    """Return the id that these bytes have, or would have, under this name."""
    if not _is_text(name or ""):
        raise BadPayload(f"the name {name!a} is not UTF-8; rename it, or give another name")
    fields = (tenant, sha256, name or "", str(predecessor or ""))
    return derived_id(b"foja/document/v1", namespace.bytes, *(field.encode() for field in fields))


@asynccontextmanager
async def _opened(data: Data) -> AsyncIterator[BinaryIO]:
    if isinstance(data, bytes):
        yield io.BytesIO(data)
    elif isinstance(data, Path | str):
        file = await asyncio.to_thread(Path(data).open, "rb")
        try:
            yield file
        finally:
            await asyncio.to_thread(file.close)
    else:
        yield data


def _is_text(words: str) -> bool:
    """Can this be written as UTF-8? A file name that is none comes with halves of characters."""
    try:
        words.encode()
    except UnicodeEncodeError:
        return False
    return True
