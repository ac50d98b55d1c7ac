"""Galleries from Python and from the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4
from xml.etree import ElementTree

import psycopg
import pytest

import foja
from foja.app import App
from foja.errors import (
    BadPayload,
    BadPlace,
    GalleryFull,
    IdempotencyConflict,
    ImageRefused,
    ObjectMissing,
    ProductDeleted,
    UnknownImage,
    UnknownProduct,
    WrongExpectedSeq,
    WrongSupplier,
)
from tests.docs.pages import ROOT, blocks
from tests.flow.command import Run, check_refused
from tests.png import png

Admin = psycopg.Connection[Any]
PAGE = ROOT / "docs" / "images.md"


async def ids(app: App, product: UUID) -> list[UUID]:
    return [image.id for image in await app.images.list(product)]


async def test_a_gallery_from_its_first_image_to_its_last(app: App, tmp_path: Path) -> None:
    product = uuid4()
    (tmp_path / "front.png").write_bytes(png(red=1))
    front = await app.images.add(product, tmp_path / "front.png", alt="a chair", name="front.png")
    back = await app.images.add(product, png(red=2))
    assert (front.order, front.main, front.alt, front.metadata["name"]) == (0, True, "a chair", "front.png")
    assert (back.order, back.main, back.object) == (1, False, sha256(png(red=2)).hexdigest())
    assert await app.images.content(product, front.id) == png(red=1)
    assert (await app.images.main(product, back.id)).main
    assert await ids(app, product) == [back.id, front.id]
    side = await app.images.replace(product, front.id, png(red=3))
    assert (side.id, side.order, side.object) == (front.id, 1, sha256(png(red=3)).hexdigest())
    assert (await app.images.describe(product, back.id, "its back")).alt == "its back"
    await app.images.remove(product, back.id, reason="sold")
    assert await ids(app, product) == [front.id]
    with pytest.raises(UnknownImage):
        await app.images.image(product, back.id)
    gallery = await app.images.open(product)
    kinds = [event.kind for event in await gallery.events()]
    assert kinds == [
        f"image.{verb}" for verb in ["added", "added", "moved", "replaced", "described", "removed"]
    ]


async def test_a_gallery_is_shown_as_it_was(app: App) -> None:
    product = uuid4()
    first = await app.images.add(product, png(red=1), alt="one")
    second = await app.images.add(product, png(red=2))
    await app.images.main(product, second.id)
    await app.images.remove(product, first.id)
    now = await app.images.list(product)
    assert ([image.id for image in now], now.next_seq) == ([second.id], 4)
    for length, expected in enumerate(
        [[], [first.id], [first.id, second.id], [second.id, first.id], [second.id]]
    ):
        then = await app.images.list(product, at=length)
        assert ([image.id for image in then], then.next_seq) == (expected, length)
    assert (await app.images.list(product, at=4))[0] == now[0]
    assert (await app.images.list(product, at=1))[0] == first


async def test_a_drag_from_an_older_list_is_refused(app: App) -> None:
    product = uuid4()
    images = [await app.images.add_url(product, f"https://cdn.example/{n}") for n in range(3)]
    view = await app.images.list(product)
    await app.images.move(product, images[2].id, to=0, expected_seq=view.next_seq)
    with pytest.raises(WrongExpectedSeq):
        await app.images.move(product, images[1].id, to=0, expected_seq=view.next_seq)
    with pytest.raises(BadPlace, match="expected 0 to 2"):
        await app.images.move(product, images[1].id, to=3)
    assert [image.id for image in await app.images.list(product)] == [images[n].id for n in (2, 0, 1)]


async def test_a_repeated_call_with_a_key_is_the_same_image(app: App) -> None:
    product = uuid4()
    first = await app.images.add(product, png(), idempotency_key="upload-1")
    again = await app.images.add(product, png(), idempotency_key="upload-1")
    assert again == first
    with pytest.raises(IdempotencyConflict):
        await app.images.add(product, png(red=9), idempotency_key="upload-1")
    for _ in range(2):
        await app.images.replace(product, first.id, png(red=9), idempotency_key="better")
    assert len(await (await app.images.open(product)).events()) == 2


async def test_suppliers_products_and_limits(app: App, admin: Admin) -> None:
    product, ana, ben = uuid4(), uuid4(), uuid4()
    await app.images.add(product, png(), supplier_id=ana)
    await app.images.add(product, png(), supplier_id=str(ana))
    with pytest.raises(WrongSupplier):
        await app.images.add(product, png(), supplier_id=ben)
    assert await app.images.products_with_counts() == [(product, 2, ana)]
    admin.execute("select foja.set_gallery_rule_v1(null, 2)")
    with pytest.raises(GalleryFull, match="FOJA_GALLERY_LIMIT"):
        await app.images.add(product, png())
    admin.execute("delete from products where productid = %s", (product,))
    with pytest.raises(ProductDeleted):
        await app.images.add(product, png())
    assert await app.images.list(product) == []


async def test_a_deleted_product_names_its_reason_and_loses_its_objects(app: App, admin: Admin) -> None:
    product = uuid4()
    images = [await app.images.add(product, png(red=red)) for red in (1, 2)]
    assert await app.images.delete(product, reason="recalled", actor="ana") == 2
    events = (await (await app.images.open(product)).events())[2:]
    assert [(e.kind, e.actor, e.payload) for e in events] == [
        ("image.removed", "ana", {"image_id": str(image.id), "reason": "recalled"}) for image in images[::-1]
    ]
    assert admin.execute("select count(*) from foja.object_reference").fetchone() == (0,)
    assert admin.execute("select count(*) from foja.object where released_at is null").fetchone() == (0,)
    assert await app.images.delete(product) == 0, "a repeated call after a lost answer"
    with pytest.raises(ProductDeleted):
        await app.images.add(product, png(red=3))
    with pytest.raises(UnknownProduct):
        await app.images.delete(uuid4())


async def test_no_tenant_deletes_the_product_of_another(open_app: Callable[..., App]) -> None:
    product = uuid4()
    async with open_app(tenant="acme") as acme, open_app(tenant="other") as other:
        image = await acme.images.add(product, png())
        with pytest.raises(UnknownProduct):
            await other.images.delete(product)
        assert await ids(acme, product) == [image.id]


async def test_settings_become_rules_of_the_database(open_app: Callable[..., App], admin: Admin) -> None:
    rule = "select read, image_limit from foja.gallery_rule"
    async with open_app():
        assert admin.execute(rule).fetchone() == ("tenant", 1000)
    async with open_app(gallery_read="public", gallery_limit=3):
        assert admin.execute(rule).fetchone() == ("public", 3)
    async with open_app():  # a process that says nothing leaves it as it is
        assert admin.execute(rule).fetchone() == ("public", 3)
    async with open_app(gallery_read="tenant"):
        assert admin.execute(rule).fetchone() == ("tenant", 3)


async def test_an_erased_image_keeps_its_place_and_loses_its_bytes(app: App, admin: Admin) -> None:
    product = uuid4()
    first = await app.images.add(product, png(red=1), alt="Ana")
    await app.images.add(product, png(red=2))
    gallery = await app.images.open(product)
    await gallery.erase(0, reason="law")
    [erased, other] = await gallery.list()
    assert (erased.id, erased.order, erased.alt, erased.object) == (first.id, 0, None, None)
    assert (erased.erased, erased.url) == (True, f"foja:erased/{first.id}")
    assert not other.erased
    with pytest.raises(ObjectMissing):
        await gallery.content(first.id)
    assert await gallery.list(at=3) == [erased, other]
    assert admin.execute("select sha256 from foja.object_reference").fetchall() == [(other.object,)]


async def test_nothing_is_recorded_of_an_empty_upload(app: App, admin: Admin) -> None:
    with pytest.raises(ImageRefused):
        await app.images.add(uuid4(), b"")
    assert admin.execute("select count(*) from foja.event").fetchone() == (0,)
    assert admin.execute("select count(*) from foja.object").fetchone() == (0,)


async def test_only_a_regular_file_is_read(app: App, admin: Admin, tmp_path: Path) -> None:
    """A pipe was waited for without end, and a device filled the memory."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(BadPayload, match="not a regular file"):
            await app.images.add(uuid4(), path)
    assert admin.execute("select count(*) from foja.object").fetchone() == (0,)


async def test_another_tenant_sees_neither_gallery_nor_bytes(open_app: Callable[..., App]) -> None:
    product = uuid4()
    async with open_app(tenant="acme") as acme, open_app(tenant="other") as other:
        image = await acme.images.add(product, png())
        assert await other.images.list(product) == []
        with pytest.raises(UnknownImage):
            await other.images.image(product, image.id)
        with pytest.raises(foja.errors.UnknownEntity):
            await other.images.add(product, png())


async def test_a_protected_gallery_is_judged_and_changes_with_a_move(app: App) -> None:
    product = uuid4()
    images = [await app.images.add(product, png(red=n)) for n in range(3)]
    document = await app.images.protect(product)
    await app.work(until_idle=True)
    container = await app.documents.bundle(document.id)
    report = foja.verify(container, trust=app.trust)
    assert report.verdict == foja.Verdict.TOTAL_PASSED
    await app.images.main(product, images[2].id)
    other = await app.images.protect(product)
    assert other.id != document.id
    first, second = [(await app.documents.view(each.id)).witness_hash for each in (document, other)]
    assert first != second


async def test_a_rebuild_mends_rows_that_were_changed(app: App, admin: Admin) -> None:
    product = uuid4()
    for number in range(3):
        await app.images.add(product, png(red=number))
    before = await app.images.list(product)
    admin.execute("update product_images set image_order = image_order + 5, alt = 'forged'")
    assert await app.images.list(product) != before
    rebuilt = await app.images.rebuild()
    assert (rebuilt.products, rebuilt.mended) == (1, 1)
    assert await app.images.list(product) == before
    assert (await app.images.rebuild()).mended == 0


async def test_a_rebuild_keeps_how_long_an_image_took(app: App, admin: Admin) -> None:
    """`foja images rebuild` forgot when a job was started, and with it its time in the metrics."""
    product = uuid4()
    image = await app.images.add(product, png())
    await app.work(until_idle=True)
    before = await app.images.rendering(image)
    assert before.duration_ms is not None
    admin.execute("update product_images set alt = 'forged'")
    assert (await app.images.rebuild()).mended == 1
    assert await app.images.rendering(image) == before


def test_the_command_line_keeps_a_gallery(run: Run, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.png").write_bytes(png(red=ord(name)))
    files = [tmp_path / f"{name}.png" for name in ("a", "b", "c")]
    added = run("images", "add", "new", *files, "--alt", "a chair", "--json").document
    product, first, second, third = added["product_id"], *(image["id"] for image in added["images"])
    assert [image["order"] for image in added["images"]] == [0, 1, 2]

    def order() -> list[str]:
        return [image["id"] for image in run("images", "list", product, "--json").document["images"]]

    assert run("images", "move", product, third, 0).lines[0].startswith(f"image {third} at place 0")
    assert order() == [third, first, second]
    assert run("images", "main", product, 2).code == 0
    assert order() == [second, third, first]
    assert run("images", "describe", product, 0, "its back", "--json").document["alt"] == "its back"
    assert run("images", "remove", product, third, "--reason", "sold").code == 0
    assert order() == [second, first]
    check_refused(run("images", "remove", product, third), 1, "has no image")
    check_refused(run("images", "move", product, first, 0, "--expected-seq", 1), 1, "the next number is")
    assert run("images", "list", product, "--at", 3, "--json").document["next_seq"] == 3
    assert product in run("images").out
    assert run("images", "rebuild", "--json").document == {"products": 1, "mended": 0}
    assert run("images", "delete", product, "--json").document == {"product_id": product, "removed": 2}
    check_refused(run("images", "delete", UUID(int=1)), 1, "there is no product")
    assert run("audit").code == 0


def test_an_address_is_kept_by_the_command_line(run: Run) -> None:
    product = uuid4()
    url = "https://cdn.example/a.jpg"
    assert run("images", "add", product, "--url", url).code == 0
    [image] = run("images", "list", product, "--json").document["images"]
    assert image["url"] == url
    check_refused(run("images", "add", product), 2, "give files")


def test_tables_are_adopted_by_the_command_line(run: Run, admin: Admin, database_url: str) -> None:
    run("images", "add", uuid4(), "--url", "x")
    admin.execute("create schema shop")
    admin.execute("create table shop.products (productid uuid)")
    admin.execute(
        "create table shop.product_images (id uuid, product_id uuid, image_url text, image_order int)"
    )
    product = uuid4()
    admin.execute("insert into shop.products values (%s)", (product,))
    insert = "insert into shop.product_images values (gen_random_uuid(), %s, %s, %s)"
    for url, place in (("b", 4), ("a", 2), (None, 9)):
        admin.execute(insert.encode(), (product, url, place))
    command = ("images", "adopt", "--from", database_url, "--schema", "shop")
    reported = run(*command)
    assert (reported.code, reported.lines[-1]) == (1, "nothing was recorded; repeat with --yes to record it")
    assert run("images", "list", product, "--json").document["images"] == []
    recorded = run(*command, "--yes", "--json")
    assert (recorded.code, recorded.document["adopted"], recorded.document["left"]) == (1, 2, 1)
    images = run("images", "list", product, "--json").document["images"]
    assert [image["url"] for image in images] == ["a", "b"]


def test_the_stress_test_of_the_seed_passes_and_writes_its_page(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "docs" / "stress.md"
    ended = run("stress", "images", "--seconds", 2, "--writers", 16, "--json", "--write", page)
    report = ended.document
    assert ended.code == 0, report
    assert (report["passed"], report["faults"], report["errors"]) == (True, [], {})
    assert report["seed_rounds"] == 20
    assert sum(report["done"].values()) > 10
    text, chart = page.read_text(), ElementTree.parse(page.with_suffix(".svg"))
    assert "20 of 20 rounds of 10 calls are gapless" in text
    assert (
        "passed: every gallery is 0 to n-1 with one main image\n```\n\n![Changes in each second](stress.svg)"
        in text
    )
    assert len(chart.findall(".//{*}rect")) >= 2


def test_the_page_runs_as_written(database_url: str, tmp_path: Path, admin: Admin) -> None:
    [python, text, statements] = blocks(PAGE)
    for number, name in enumerate(("front", "back", "side")):
        (tmp_path / f"{name}.png").write_bytes(png(red=number))
    env = {name: value for name, value in os.environ.items() if not name.startswith("FOJA_")}
    env |= {"FOJA_HOME": str(tmp_path / "home"), "FOJA_DATABASE_URL": database_url}
    ran = subprocess.run(
        [sys.executable, "-c", python.text],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    first, second = ran.stdout.splitlines()
    expected, last = text.text.splitlines()
    assert first == expected
    start, end = last.split("…")
    assert second.startswith(start)
    assert second.endswith(end)
    admin.execute("set role service_role")
    admin.execute(statements.text.encode())
    rows = admin.execute(
        "select image_url, alt from product_images where product_id = '0190e5a4-0000-7000-8000-0000000000f1' "
        "order by image_order"
    ).fetchall()
    assert rows == [("https://cdn.example.com/b.jpg", "a chair"), ("https://cdn.example.com/a.jpg", None)]
