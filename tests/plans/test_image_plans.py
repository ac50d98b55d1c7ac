"""Galleries among 20,000 others: a change and a list read the rows of their own product only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, LiteralString
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from foja.engine.sql import query
from tests.plans.filled import Admin, rows_read

ROUNDS = 7  # a plan made for one call may become a plan for all calls after the fifth
OWN = UUID(int=7)
FILL: LiteralString = """
    create temp table shape as select n, md5('product' || n)::uuid as p from generate_series(1, 20000) n;
    insert into products (productid, tenant) select p, 'default' from shape;
    insert into product_images (id, product_id, image_url, image_order, tenant, content_seq)
        select md5(p::text || place)::uuid, p, 'https://cdn.example/x', place, 'default', place
        from shape cross join generate_series(0, 4) place;
    insert into products (productid, tenant) values ('00000000-0000-0000-0000-000000000007', 'default');
"""
TABLES = ("products", "product_images")


def fill(conn: Admin) -> None:
    conn.execute(FILL)


def reads(conn: Admin, statement: LiteralString, values: Any) -> int:
    """Return how many rows a statement read, a scan as far too many."""
    before = rows_read(conn, *TABLES)
    conn.execute(statement, values)
    return rows_read(conn, *TABLES) - before


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)


@pytest.mark.parametrize(
    "condition", ["product_id = %s and image_order = 0", "product_id = %s order by image_order"]
)
def test_the_order_is_read_by_its_index(full: Admin, condition: str) -> None:
    statement = f"explain (format json) select * from product_images where {condition}"
    [(plan,)] = full.execute(statement.encode(), (OWN,)).fetchall()
    assert {node.get("Index Name") for node in nodes(plan[0]["Plan"])} - {None} == {
        "uniq_product_image_order"
    }


def test_inserts_moves_and_lists_read_their_own_product(full: Admin) -> None:
    insert: LiteralString = "select insert_image_with_order(%s, 'https://cdn.example/x', null)"
    assert max(reads(full, insert, (OWN,)) for _ in range(ROUNDS)) < 40
    [(image,)] = full.execute(
        "select id from product_images where product_id = %s limit 1", (OWN,)
    ).fetchall()
    move: LiteralString = "select foja.append_event(%s, 'image', 'image.moved', %s)"
    for to in range(ROUNDS):
        assert reads(full, move, (OWN, Jsonb({"image_id": str(image), "to": to}))) < 80
    values = {"entity": OWN, "tenant": "default", "images": [image]}
    for name in ("gallery", "gallery_images"):
        assert max(reads(full, query(name), values) for _ in range(ROUNDS)) < 40
    remove: LiteralString = "select foja.append_event(%s, 'image', 'image.removed', %s)"
    assert reads(full, remove, (OWN, Jsonb({"image_id": str(image), "reason": "x"}))) < 80


def test_a_deleted_product_reads_its_own_images(full: Admin) -> None:
    insert: LiteralString = "select insert_image_with_order(%s, 'https://cdn.example/x', null)"
    for _ in range(5):
        full.execute(insert, (OWN,))
    assert reads(full, "delete from products where productid = %s", (OWN,)) < 300
