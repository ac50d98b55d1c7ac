"""Take the galleries of another shop's tables: read in one transaction, written product by product.

A product is adopted whole or not at all, and again without effect: an image keeps the id of its row.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final

from foja.engine.driver.snapshot import ForeignTables
from foja.engine.ledger.event import Draft
from foja.engine.ledger.ledger import Ledger
from foja.errors import FojaError, SetupFailed, Unavailable
from foja.pure.core.serializer import MAX_INTEGER
from foja.pure.models.images.adoption import Adopted, AdoptedImage, Adopter, Repair
from foja.pure.models.images.events import ADDED, IMAGE

TABLES: Final = {"products": {"productid"}, "product_images": {"product_id", "image_url", "image_order"}}
Progress = Callable[[int, int], None]


@dataclass(slots=True)
class Adoption:
    """The report: what was read, what was adopted, and every repair."""

    dry_run: bool
    products: int = 0
    images: int = 0
    adopted: int = 0  # images that were recorded now
    present: int = 0  # images that were recorded before
    repairs: list[Repair] = field(default_factory=list)

    @property
    def lost(self) -> int:
        """The number of rows that nothing was made of."""
        return sum(repair.lost for repair in self.repairs)


@dataclass(frozen=True, slots=True)
class GalleryAdopter:
    """Writes the galleries of foreign tables as events of this installation."""

    ledger: Ledger
    limit: int
    actor: str | None = None

    async def adopt(
        self, tables: ForeignTables, *, dry_run: bool, progress: Progress | None = None
    ) -> Adoption:
        """Adopt every product; with `dry_run` only report what would happen."""
        await _check_tables(tables)
        report = Adoption(dry_run)
        await _note_constraint(tables, report)
        [total] = await tables.snapshot.row("foreign_count")
        async for product in _products(tables):
            report.products += 1
            report.images += len(product.images)
            report.repairs += product.repairs
            if not dry_run:
                await self._adopt(product, report)
            elif len(product.images) > self.limit:
                report.repairs.append(self._over_limit(product))
            if progress:
                progress(report.products, total)
        return report

    async def _adopt(self, product: Adopted, report: Adoption) -> None:
        if product.product_id is None:
            return
        await self.ledger.ask("create_product", product=product.product_id, supplier=product.supplier_id)
        drafts = [self._draft(product, image) for image in product.images]
        try:
            events = await self.ledger.append_many(drafts)
        except Unavailable:
            raise
        except FojaError as error:
            detail = f"{error}; its {len(drafts)} images are left where they are"
            report.repairs.append(Repair(error.code, str(product.product_id), None, detail, lost=True))
            return
        replayed = sum(event.replayed for event in events)
        report.adopted, report.present = report.adopted + len(events) - replayed, report.present + replayed

    def _draft(self, product: Adopted, image: AdoptedImage) -> Draft:
        body: dict[str, Any] = {"url": image.url, "adopted": dict(image.row)}
        if product.supplier_id is not None:
            body["supplier_id"] = str(product.supplier_id)
        assert product.product_id is not None
        return self.ledger.draft(
            IMAGE,
            product.product_id,
            ADDED,
            body,
            actor=self.actor,
            event_id=image.id,
            idempotency_key=image.key,
        )

    def _over_limit(self, product: Adopted) -> Repair:
        detail = f"it has {len(product.images):,} images; raise FOJA_GALLERY_LIMIT, now {self.limit:,}"
        return Repair("gallery_full", str(product.product_id), None, detail, lost=True)


async def _check_tables(tables: ForeignTables) -> None:
    for table, needed in TABLES.items():
        found = {
            name
            async for (name,) in tables.snapshot.rows("foreign_columns", schema=tables.schema, table=table)
        }
        if missing := sorted(needed - found):
            what = f"no column {missing[0]}" if found else f"no table {table}"
            raise SetupFailed(
                f"the schema {tables.schema} has {what}; expected products(productid) and "
                "product_images(product_id, image_url, image_order)"
            )


async def _note_constraint(tables: ForeignTables, report: Adoption) -> None:
    """Report a foreign key without cascade: here a deleted product takes its images with it."""
    [cascades] = await tables.snapshot.row("foreign_cascade", schema=tables.schema)
    if not cascades:
        detail = "product_images has no foreign key with on delete cascade; here it has one"
        report.repairs.append(Repair("no_cascade", "-", None, detail))


async def _products(tables: ForeignTables) -> AsyncIterator[Adopted]:
    """Yield the plan of every product, in the order of their ids."""
    adopter = Adopter()
    async for rows in tables.snapshot.groups("foreign_images", itemgetter(0, 1, 2), schema=tables.schema):
        product, supplier, known, _ = rows[0]
        images = [_exact(row) for *_, row in rows if row is not None]
        yield adopter.plan(product, supplier, images, known=known)


def _exact(text: str) -> Mapping[str, Any]:
    """Return a row with the numbers that JSON readers do not keep exactly as texts."""
    row: Mapping[str, Any] = json.loads(text, parse_float=str, parse_int=_integer)
    return row


def _integer(text: str) -> int | str:
    return int(text) if abs(int(text)) <= MAX_INTEGER else text
