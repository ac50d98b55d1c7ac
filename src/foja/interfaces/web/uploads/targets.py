"""What a finished upload becomes: a document or an image, by its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from foja.engine.blobs.uploads import Upload
from foja.engine.ledger.event import parse_id
from foja.errors import BadPayload
from foja.interfaces.operations.records.images import view_of
from foja.interfaces.operations.requests import added
from foja.interfaces.web.caller import Caller

TARGET = "target"
DOCUMENT = frozenset({TARGET, "name", "filename", "filetype", "type", "media_type", "predecessor", "protect"})
IMAGE = frozenset({TARGET, "name", "filename", "filetype", "type", "product_id", "alt", "supplier_id"})


def check_metadata(metadata: Mapping[str, str], caller: Caller, length: int) -> None:
    """Raise `BadPayload` if an upload with this metadata could not become anything."""
    target = metadata.get(TARGET, "document")
    if target not in ("document", "image"):
        raise BadPayload(f"the target {target[:80]!r} is unknown: expected document or image")
    known = DOCUMENT if target == "document" else IMAGE
    if unknown := sorted(metadata.keys() - known):
        raise BadPayload(f"the metadata {unknown[0][:80]!r} is unknown: expected {', '.join(sorted(known))}")
    for name, what in (("predecessor", "document"), ("product_id", "product"), ("supplier_id", "supplier")):
        if name in metadata:
            parse_id(metadata[name], what)
    if target == "image":
        if "product_id" not in metadata:
            raise BadPayload("an image needs the metadata `product_id`")
        most = int(caller.app.settings.image_max_mb * 1e6)
        if length > most:
            raise BadPayload(f"an image has at most {most:,} bytes (FOJA_IMAGE_MAX_MB); send a smaller one")


async def use(caller: Caller, upload: Upload, part: Path) -> dict[str, Any]:
    """Make a finished upload what its metadata says; repeating it makes nothing twice."""
    about = upload.metadata
    name = about.get("name") or about.get("filename")
    if about.get(TARGET) == "image":
        product = parse_id(about["product_id"], "product")
        image = await caller.app.images.add(
            product,
            part,
            name=name,
            alt=about.get("alt"),
            supplier_id=about.get("supplier_id"),
            idempotency_key=f"upload:{upload.token}",
            actor=upload.actor,
        )
        return {"image": view_of(product, image).raw}
    previous = about.get("predecessor")
    document = await caller.app.documents.add(
        part,
        name=name,
        media_type=about.get("media_type") or about.get("filetype") or about.get("type"),
        predecessor=parse_id(previous, "document") if previous else None,
        actor=upload.actor,
    )
    if evidence := about.get("protect"):
        await document.protect(evidence.replace(" ", ",").split(","), actor=upload.actor)
    return {"document": {**asdict(added(document)), "id": str(document.id)}}
