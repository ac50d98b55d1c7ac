"""Tables of another shop, with every fault that they have in practice, become galleries."""

from __future__ import annotations

from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from foja.app import App
from foja.domains.images.adoption import Adoption
from foja.domains.registration import prepare
from foja.engine.driver.snapshot import open_foreign
from foja.engine.observe.audit import audit
from foja.errors import FojaError, MigrationFailed, SetupFailed
from tests.database.schema.rows import Admin

SCHEMA = """Shop "o'Brien" """
TABLES: LiteralString = """
    create schema {shop};
    create table {shop}.products (productid uuid primary key, supplier_id uuid, price numeric, name text);
    create table {shop}.product_images (id uuid, product_id uuid, image_url text, thumbnail_url text,
        thumbnails jsonb, image_order integer, thumbnail_signature text, created_at timestamptz default now(),
        weight numeric default 0.1)
"""
PRODUCT: LiteralString = "insert into {shop}.products values (%s, %s, 1.10, 'chair')"
IMAGE: LiteralString = """
    insert into {shop}.product_images (id, product_id, image_url, image_order, thumbnails)
    values (%s, %s, %s, %s, jsonb_build_object('mobile', 'm'))"""
SAME: LiteralString = """select count(*) from {shop}.product_images o
    join product_images i using (id, created_at)"""
A, B, C, D, SUPPLIER = (UUID(int=n) for n in (1, 2, 3, 4, 9))


def execute(admin: Admin, statement: LiteralString, *values: object) -> list[tuple[Any, ...]]:
    cursor = admin.execute(sql.SQL(statement).format(shop=sql.Identifier(SCHEMA)), values or None)
    return cursor.fetchall() if cursor.description else []


def fill(admin: Admin) -> None:
    """Write a gallery with gaps, one with duplicates, a product without images, and an image without one."""
    for statement in TABLES.split(";"):
        execute(admin, statement)
    for product in (A, B, C):
        execute(admin, PRODUCT, product, SUPPLIER if product == A else None)
    for order in (0, 2, 5):
        execute(admin, IMAGE, uuid4(), A, f"a{order}", order)
    for order in (0, 0, 1):
        execute(admin, IMAGE, uuid4(), B, f"b{order}", order)
    execute(admin, IMAGE, uuid4(), D, "orphan", 0)
    execute(admin, IMAGE, uuid4(), A, None, 6)


async def adopt(app: App, url: str, *, dry_run: bool, schema: str = SCHEMA) -> Adoption:
    async with open_foreign(url, schema) as tables:
        return await app.images.adopt(tables, dry_run=dry_run)


def codes(report: Adoption) -> list[str]:
    return sorted(repair.code for repair in report.repairs)


REPAIRS = ["duplicate", "gap", "gap", "gap", "no_cascade", "no_product", "no_url"]


async def test_a_dry_run_reports_and_records_nothing(app: App, admin: Admin, database_url: str) -> None:
    fill(admin)
    report = await adopt(app, database_url, dry_run=True)
    assert (report.products, report.images, report.adopted, report.lost) == (4, 7, 0, 1)
    assert codes(report) == REPAIRS
    assert admin.execute("select count(*) from products").fetchone() == (0,)
    assert admin.execute("select count(*) from foja.event").fetchone() == (0,)


async def test_every_row_becomes_an_image_with_its_id(app: App, admin: Admin, database_url: str) -> None:
    fill(admin)
    report = await adopt(app, database_url, dry_run=False)
    assert (report.adopted, report.present, codes(report)) == (7, 0, REPAIRS)
    galleries: dict[Any, list[Any]] = {}
    for product, place, url, thumbnails in admin.execute(
        "select product_id, image_order, image_url, thumbnails from product_images order by 1, 2"
    ).fetchall():
        galleries.setdefault(product, []).append(url)
        assert place == len(galleries[product]) - 1
        assert thumbnails == {"mobile": "m"}
    assert galleries == {A: ["a0", "a2", "a5"], B: ["b0", "b0", "b1"], D: ["orphan"]}
    owners = dict(admin.execute("select productid, supplier_id from products").fetchall())
    assert owners == {A: SUPPLIER, B: None, C: None, D: None}
    there: LiteralString = (
        "select count(*) from {shop}.product_images o join product_images i using (id, created_at)"
    )
    assert execute(admin, there) == [(7,)]
    weights = admin.execute("select distinct payload -> 'adopted' ->> 'weight' from foja.event").fetchall()
    assert weights == [("0.1",)]
    assert (await audit(database_url, max_lag_seconds=60)).clean


async def test_a_second_run_records_nothing_twice(app: App, admin: Admin, database_url: str) -> None:
    fill(admin)
    await adopt(app, database_url, dry_run=False)
    events = admin.execute("select count(*) from foja.event").fetchone()
    report = await adopt(app, database_url, dry_run=False)
    assert (report.adopted, report.present) == (0, 7)
    assert admin.execute("select count(*) from foja.event").fetchone() == events


async def test_a_gallery_over_the_limit_is_left_whole(app: App, admin: Admin, database_url: str) -> None:
    fill(admin)
    admin.execute("select foja.set_gallery_rule_v1(null, 2)")
    assert codes(await adopt(app, database_url, dry_run=True)).count("gallery_full") == 2
    report = await adopt(app, database_url, dry_run=False)
    assert (report.adopted, codes(report).count("gallery_full")) == (1, 2)
    assert admin.execute("select count(*) from product_images").fetchone() == (1,)


async def test_a_schema_without_the_tables_is_named(app: App, database_url: str) -> None:
    with pytest.raises(SetupFailed, match="has no table products"):
        await adopt(app, database_url, dry_run=True, schema="nowhere'")


async def test_the_other_database_is_only_read(admin: Admin, database_url: str) -> None:
    fill(admin)
    with pytest.raises(FojaError, match="read-only transaction"):
        async with open_foreign(database_url, SCHEMA) as tables:
            await tables.snapshot._connection.execute("create table x ()")


FOREIGN: LiteralString = """
    create table public.products (productid uuid primary key);
    create table public.product_images (id uuid);
    create function public.insert_image_with_order(uuid, text, uuid) returns integer language sql return 1;
"""


async def test_migrate_changes_nothing_where_such_tables_are(empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url, autocommit=True) as conn:
        conn.execute(FOREIGN)
        with pytest.raises(MigrationFailed) as caught:
            await prepare(empty_database_url)
        for name in (
            "table public.products",
            "table public.product_images",
            "function public.insert_image_with_order",
        ):
            assert name in str(caught.value)
        assert "foja images adopt" in str(caught.value)
        assert conn.execute("select to_regnamespace('foja')").fetchone() == (None,)
        conn.execute("create schema shop")
        for statement in str(caught.value).partition("create schema shop; ")[2].partition(")")[0].split(";"):
            if statement.startswith((" alter table", "alter table")):
                conn.execute(statement.encode())
        conn.execute("alter function public.insert_image_with_order(uuid, text, uuid) set schema shop")
        await prepare(empty_database_url)
        assert conn.execute("select count(*) from product_images").fetchone() == (0,)
