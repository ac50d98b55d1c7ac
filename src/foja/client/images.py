"""Galleries of products over HTTP: add, list, move, describe, replace, remove."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from foja.client.documents import BYTES, Data, Document, Documents, content_of
from foja.client.encoding import event_from
from foja.client.transport import Request, Transport
from foja.core.fields import many
from foja.ledger.event import Event


@dataclass(frozen=True, slots=True)
class Image:
    """One image of a gallery at its place; `raw` is the whole answer."""

    id: UUID
    order: int
    main: bool
    url: str
    alt: str | None
    created_at: datetime
    variants: Mapping[str, str]  # the address of each, below the server's
    raw: Mapping[str, Any]


class Images:
    """The galleries of the tenant's products."""

    def __init__(self, transport: Transport, documents: Documents) -> None:
        self._transport, self._documents = transport, documents

    async def add(
        self,
        product_id: UUID | str,
        data: Data,
        *,
        name: str | None = None,
        alt: str | None = None,
        supplier_id: UUID | str | None = None,
        idempotency_key: str | None = None,
    ) -> Image:
        """Add an image at the end: bytes, or the file at a path."""
        body = data if isinstance(data, bytes) else b"".join([each async for each in _read(data)])
        fields = {"name": name, "alt": alt, "supplier_id": None if supplier_id is None else str(supplier_id)}
        files = [(key, (None, value)) for key, value in fields.items() if value is not None]
        files.append(("file", (name or "image", body, BYTES)))  # type: ignore[arg-type]
        headers = {"Idempotency-Key": idempotency_key or str(uuid4())}
        request = Request("POST", self._path(product_id), files=files, headers=headers)
        return _image((await self._transport.send(request)).json())

    async def add_url(
        self, product_id: UUID | str, url: str, *, alt: str | None = None, supplier_id: UUID | None = None
    ) -> Image:
        """Add an image that is stored elsewhere. Its address is kept and never fetched."""
        body = {"url": url, "alt": alt, "supplier_id": None if supplier_id is None else str(supplier_id)}
        return _image(await self._transport.ask("POST", self._path(product_id), json=body, safe=False))

    async def list(self, product_id: UUID | str) -> Sequence[Image]:
        """Return the images of a product, in order."""
        found = await self._transport.ask("GET", self._path(product_id))
        return [_image(each) for each in found["images"]]

    async def image(self, product_id: UUID | str, image_id: UUID | str) -> Image:
        """Return one image."""
        return _image(await self._transport.ask("GET", self._path(product_id, image_id)))

    async def move(
        self, product_id: UUID | str, image_id: UUID | str, *, to: int, expected_seq: int | None = None
    ) -> Image:
        """Move an image to a place; place 0 makes it the main one."""
        body = {"to": to, "expected_seq": expected_seq}
        found, _ = await self._transport.append(f"{self._path(product_id, image_id)}/move", body, None)
        return _image(found)

    async def describe(self, product_id: UUID | str, image_id: UUID | str, alt: str) -> Image:
        """Set the alternative text of an image."""
        path = f"{self._path(product_id, image_id)}/describe"
        return _image(await self._transport.ask("POST", path, json={"alt": alt}))

    async def replace(self, product_id: UUID | str, image_id: UUID | str, data: Data) -> Image:
        """Give an image another content. Its id and its place stay."""
        path, headers = self._path(product_id, image_id), {"Content-Type": BYTES}
        request = Request("PUT", path, content=content_of(data), headers=headers)
        return _image((await self._transport.send(request)).json())

    async def remove(self, product_id: UUID | str, image_id: UUID | str, *, reason: str = "removed") -> Event:
        """Remove an image; those after it move up."""
        path = self._path(product_id, image_id)
        return event_from(await self._transport.ask("DELETE", path, params={"reason": reason}, safe=False))

    async def content(
        self, product_id: UUID | str, image_id: UUID | str, variant: str | None = None
    ) -> bytes:
        """Return the bytes of a variant, or of the original."""
        part = "original" if variant is None else f"variants/{variant}"
        path = f"{self._path(product_id, image_id)}/{part}"
        return (await self._transport.send(Request("GET", path))).content

    async def protect(
        self, product_id: UUID | str, required_evidence: str | Iterable[str] = ("tsa",)
    ) -> Document:
        """Add the sealed events of a gallery as a document and request evidence of it."""
        body = {"required_evidence": many(required_evidence)}
        path = f"/v1/products/{product_id}/protect"
        return self._documents.added(await self._transport.ask("POST", path, json=body))

    def _path(self, product_id: UUID | str, image_id: UUID | str | None = None) -> str:
        base = f"/v1/products/{product_id}/images"
        return base if image_id is None else f"{base}/{image_id}"


async def _read(data: Data) -> Any:
    content = content_of(data)
    assert callable(content)
    async for piece in content():
        yield piece


def _image(found: Mapping[str, Any]) -> Image:
    fields = {name: found[name] for name in ("order", "main", "url", "alt", "variants")}
    created = datetime.fromisoformat(found["created_at"])
    return Image(id=UUID(found["id"]), created_at=created, raw=found, **fields)
