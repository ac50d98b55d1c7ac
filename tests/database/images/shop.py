"""A product and its gallery, as SQL sees them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.database.schema.rows import Admin

URL = "https://cdn.example/{}.jpg"
ROWS: LiteralString = "select id, image_order from product_images where product_id = %s order by image_order"


@dataclass
class Shop:
    """One product; every change goes through SQL alone."""

    admin: Admin
    product: UUID = field(default_factory=uuid4)

    def create(self, supplier: UUID | None = None, tenant: str = "default") -> UUID:
        values = (self.product, supplier, tenant)
        self.admin.execute(
            "insert into products (productid, supplier_id, tenant) values (%s, %s, %s)", values
        )
        return self.product

    def insert(self, url: str = "https://cdn.example/1.jpg", supplier: UUID | None = None) -> int:
        values = (self.product, url, supplier)
        row = self.admin.execute("select insert_image_with_order(%s, %s, %s)", values).fetchone()
        assert row is not None
        place: int = row[0]
        return place

    def fill(self, count: int) -> list[UUID]:
        for number in range(count):
            self.insert(URL.format(number))
        return self.order

    def say(self, kind: str, image: UUID | None, source: str = "api", **body: Any) -> Any:
        """Append an event about an image, with a key that names it."""
        payload = body if image is None else {"image_id": str(image), **body}
        key = f"{image}:{uuid4()}"
        return self.append(kind, payload, key, source)

    def append(self, kind: str, payload: dict[str, Any], key: str | None = None, source: str = "api") -> Any:
        values = (self.product, kind, Jsonb(payload), source, key)
        return self.admin.execute(
            "select seq, event_id from foja.append_event(%s, 'image', %s, %s, %s, idempotency_key => %s)",
            values,
        ).fetchone()

    def refusal(self, kind: str, image: UUID | None, **body: Any) -> str:
        return refusal_of(lambda: self.say(kind, image, **body))

    @property
    def order(self) -> list[UUID]:
        """The images in order; the order must be gapless."""
        rows = self.admin.execute(ROWS, (self.product,)).fetchall()
        assert [place for _, place in rows] == list(range(len(rows)))
        return [image for image, _ in rows]

    def row(self, image: UUID) -> dict[str, Any]:
        with self.admin.cursor(row_factory=psycopg.rows.dict_row) as cursor:
            found = cursor.execute("select * from product_images where id = %s", (image,)).fetchone()
        assert found is not None
        return found

    def kinds(self) -> list[str]:
        rows = self.admin.execute(
            "select kind from foja.event where entity_id = %s order by seq", (self.product,)
        )
        return [kind for (kind,) in rows.fetchall()]

    def object(self, letter: str = "a") -> str:
        """Make the row of a live object and return its digest."""
        digest = letter * 64
        self.admin.execute(
            "insert into foja.object (sha256, generation, state, size, tenant) "
            "values (%s, 0, 'live', 1, 'default') on conflict do nothing",
            (digest,),
        )
        return digest


def refusal_of(call: Any) -> str:
    """Return the code with which the database refuses."""
    with pytest.raises(psycopg.Error) as caught:
        call()
    assert caught.value.sqlstate == "FJ001", caught.value
    return caught.value.diag.message_primary or ""
