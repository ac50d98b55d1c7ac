"""Galleries of products over HTTP: what is bytes, and the documents that galleries become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from foja.client.acts import ImagesActs
from foja.client.documents import BYTES, Data, Document, content_of, document_of
from foja.client.encoding import decode
from foja.client.transport import Request, new_key
from foja.interfaces.answers.images import ImageView

Image = ImageView


class Images(ImagesActs):
    """The galleries of the tenant's products."""

    async def add(
        self,
        product_id: UUID | str,
        data: Data,
        *,
        name: str | None = None,
        alt: str | None = None,
        supplier_id: UUID | str | None = None,
        idempotency_key: str | None = None,
        expected_seq: int | None = None,
    ) -> Image:
        """Add an image at the end: bytes, or the file at a path."""
        body = data if isinstance(data, bytes) else b"".join([each async for each in _read(data)])
        fields = {"name": name, "alt": alt, "supplier_id": None if supplier_id is None else str(supplier_id)}
        files = [(key, (None, value)) for key, value in fields.items() if value is not None]
        files.append(("file", (name or "image", body, BYTES)))  # type: ignore[arg-type]
        return await self._change(
            "POST", _path(product_id), idempotency_key, files=files, params={"expected_seq": expected_seq}
        )

    async def add_url(
        self,
        product_id: UUID | str,
        url: str,
        *,
        alt: str | None = None,
        supplier_id: UUID | str | None = None,
        idempotency_key: str | None = None,
        expected_seq: int | None = None,
    ) -> Image:
        """Add an image that is stored elsewhere. Its address is kept and never fetched."""
        body = {"url": url, "alt": alt, "supplier_id": None if supplier_id is None else str(supplier_id)}
        return await self._change(
            "POST", _path(product_id), idempotency_key, json=body | {"expected_seq": expected_seq}
        )

    async def replace(
        self,
        product_id: UUID | str,
        image_id: UUID | str,
        data: Data,
        *,
        name: str | None = None,
        idempotency_key: str | None = None,
        expected_seq: int | None = None,
    ) -> Image:
        """Give an image another content. Its id and its place stay."""
        return await self._change(
            "PUT",
            f"{_path(product_id)}/{image_id}",
            idempotency_key,
            content=content_of(data),
            params={"name": name, "expected_seq": expected_seq},
            headers={"Content-Type": BYTES},
        )

    async def content(
        self, product_id: UUID | str, image_id: UUID | str, variant: str | None = None
    ) -> bytes:
        """Return the bytes of a variant, or of the original."""
        part = "original" if variant is None else f"variants/{variant}"
        path = f"{_path(product_id)}/{image_id}/{part}"
        return (await self._transport.send(Request("GET", path))).content

    async def protect(  # type: ignore[override]
        self, product_id: UUID | str, required_evidence: str | Sequence[str] = ("tsa",)
    ) -> Document:
        """Add the sealed events of a gallery as a document and request evidence of it."""
        return document_of(self._transport, await super().protect(product_id, required_evidence))

    async def _change(
        self, method: str, path: str, key: str | None, headers: Mapping[str, str] | None = None, **more: Any
    ) -> Image:
        """Return the image of a change, which is recorded once however often it is sent."""
        headers = {**(headers or {}), "Idempotency-Key": key or new_key()}
        found: Image = decode(Image, await self._transport.ask(method, path, headers=headers, **more))
        return found


def _path(product_id: UUID | str) -> str:
    return f"/v1/products/{product_id}/images"


async def _read(data: Data) -> Any:
    content = content_of(data)
    assert callable(content)
    async for piece in content():
        yield piece
