"""Which gallery follows from rows of another shop's tables, and what has to be repaired for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from foja.pure.models.images.address import has_other_form

MAX_URL: Final = 8192


@dataclass(frozen=True, slots=True)
class Repair:
    """One difference between a row and what becomes of it; `lost` if nothing does."""

    code: str
    product_id: str
    image_id: str | None
    detail: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class AdoptedImage:
    """A row that becomes an image. Without an id of its own it gets one from its key."""

    url: str
    row: Mapping[str, Any]
    id: UUID | None
    key: str | None


@dataclass(frozen=True, slots=True)
class Adopted:
    """What becomes of one product. `product_id` is None if nothing can."""

    product_id: UUID | None
    supplier_id: UUID | None
    images: Sequence[AdoptedImage] = ()
    repairs: Sequence[Repair] = ()


@dataclass(slots=True)
class Adopter:
    """Plans product by product. It remembers the ids that were used: an id may be used once."""

    used: set[UUID] = field(default_factory=set)

    def plan(
        self, product: str | None, supplier: str | None, rows: Sequence[Mapping[str, Any]], *, known: bool
    ) -> Adopted:
        """Return the gallery of one product; `known`: the table of products has it."""
        product_id, name = as_uuid(product), str(product)
        if product_id is None:
            detail = f"the product id {product!r} is not a UUID"
            return Adopted(None, None, (), [_lost("no_product_id", name, row, detail) for row in rows])
        repairs = [] if known else [Repair("no_product", name, None, "products has no row; it is created")]
        supplier_id = as_uuid(supplier)
        if supplier is not None and supplier_id is None:
            repairs.append(Repair("no_supplier", name, None, f"the supplier {supplier!r} is not a UUID"))
        kept = [row for row in rows if _url_problem(row) is None]
        repairs += [_lost("no_url", name, row, problem) for row in rows if (problem := _url_problem(row))]
        kept.sort(key=_sort_key)
        repairs += _repairs_of_order(name, kept)
        images = [self._image(name, row, place, repairs) for place, row in enumerate(kept)]
        return Adopted(product_id, supplier_id, images, repairs)

    def _image(self, product: str, row: Mapping[str, Any], place: int, repairs: list[Repair]) -> AdoptedImage:
        image_id = as_uuid(row.get("id"))
        if image_id is not None and image_id not in self.used:
            self.used.add(image_id)
            return AdoptedImage(row["image_url"], row, image_id, None)
        detail = "its id is used twice" if image_id else "it has no UUID as its id"
        repairs.append(Repair("no_id", product, _name(row), f"{detail}; it gets another"))
        return AdoptedImage(row["image_url"], row, None, f"adopted:{_name(row)}:{place}")


def as_uuid(value: object) -> UUID | None:
    """Return a UUID in its usual form, or None."""
    try:
        found = UUID(str(value))
    except ValueError:
        return None
    return found if str(found) == str(value).lower() else None


def _order(row: Mapping[str, Any]) -> int | None:
    order = row.get("image_order")
    return order if type(order) is int and order >= 0 else None


def _sort_key(row: Mapping[str, Any]) -> tuple[bool, int, str, str]:
    """Rows without an order last; of two with the same order, the older one first."""
    order = _order(row)
    return order is None, order or 0, str(row.get("created_at") or ""), str(row.get("id"))


def _repairs_of_order(product: str, rows: Sequence[Mapping[str, Any]]) -> list[Repair]:
    """Return a repair for every row that gets another place than its order."""
    orders = Counter(_order(row) for row in rows)
    found = []
    for place, row in enumerate(rows):
        order = _order(row)
        if order != place:
            code = "no_order" if order is None else "duplicate" if orders[order] > 1 else "gap"
            detail = f"order {row.get('image_order')} becomes place {place}"
            found.append(Repair(code, product, _name(row), detail))
    return found


def _url_problem(row: Mapping[str, Any]) -> str | None:
    url = row.get("image_url")
    if not isinstance(url, str) or not url:
        return "it has no image_url"
    if url.startswith("foja:"):
        return f"its image_url {url!r:.80} names an object of another installation"
    if has_other_form(url):
        return f"its image_url {url!r:.80} is neither a path nor an address of http or https"
    return "its image_url is longer than 8,192 bytes" if len(url.encode()) > MAX_URL else None


def _lost(code: str, product: str, row: Mapping[str, Any], detail: str) -> Repair:
    return Repair(code, product, _name(row), f"{detail}; it is left where it is", lost=True)


def _name(row: Mapping[str, Any]) -> str:
    return str(row.get("id"))
