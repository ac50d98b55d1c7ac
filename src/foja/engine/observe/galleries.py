"""Fold every gallery and compare its events with the rows of `product_images`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

from foja.engine.driver.snapshot import Snapshot
from foja.engine.observe.findings import Anomalies
from foja.pure.models.images.events import Fact
from foja.pure.models.images.gallery import fold

GALLERY = "gallery"


class GalleryRow(NamedTuple):
    """An event of a gallery, or its product if it has none; only the first has what is recorded of both."""

    product: UUID
    seq: int | None
    id: UUID
    kind: str
    at: datetime
    key: str | None
    payload: Mapping[str, Any] | None
    known: bool | None  # has the product a row?
    images: Sequence[Mapping[str, Any]] | None


async def check_galleries(moment: Snapshot, findings: Anomalies) -> None:
    """Fold every gallery and add every difference to the findings."""
    async for rows in moment.groups("audit_galleries", attrgetter("product"), GalleryRow):
        facts = [
            Fact(row.seq, row.id, row.kind, row.at, row.key, row.payload)
            for row in rows
            if row.seq is not None
        ]
        _compare(rows[0], facts, findings)


def _compare(first: GalleryRow, facts: Sequence[Fact], findings: Anomalies) -> None:
    product = first.product
    if facts and facts[0].seq != 0:
        return  # a gap, which the audit reports as such
    expected = {str(image.id): image.columns() for image in fold(facts)}
    found = {row["id"]: row for row in first.images or []}
    if expected and not first.known:
        findings.add(GALLERY, expected="a row in products", found="none", entity_id=product)
    for image in sorted(expected.keys() | found.keys()):
        _compare_image(product, image, expected.get(image), found.get(image), findings)


def _compare_image(
    product: UUID,
    image: str,
    expected: Mapping[str, Any] | None,
    found: Mapping[str, Any] | None,
    findings: Anomalies,
) -> None:
    if expected is None or found is None:
        rows = [
            "no row" if row is None else f"a row at place {row['image_order']}" for row in (expected, found)
        ]
        findings.add(GALLERY, expected=f"image {image}: {rows[0]}", found=rows[1], entity_id=product)
        return
    for name, value in expected.items():
        shown = datetime.fromisoformat(found[name]) if name == "created_at" else found[name]
        if shown != value:
            findings.add(
                GALLERY,
                expected=f"image {image}: {name} {value} in product_images",
                found=str(shown),
                entity_id=product,
                seq=expected["content_seq"],
            )
