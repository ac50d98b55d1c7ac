"""Galleries from SQL: the seed's names, the order after every event, and what the guard refuses."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest

from foja.app import App
from foja.engine.observe.audit import audit
from foja.errors import BadPayload
from foja.pure.core.canonical import canonical
from foja.pure.models.images.address import has_other_form
from tests.cases import all_cases
from tests.database.images.shop import URL, Shop, refusal_of
from tests.database.schema.rows import Admin
from tests.png import png

OTHER_FORMS = (
    "javascript:alert(1)",
    " \tJaVa\nScript:alert(1)",
    "\x01\x1fjavascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "s3://bucket/key.jpg",
    "https:javascript",
    "https:/evil.example",
    "https:\\\\evil.example",
    "//evil.example/a",
    "/\\evil.example/a",
    " \n\\/evil.example/a",
    "/\t/evil.example/a",
)
ADDRESSES = (
    "HTTPS://cdn.example/a.jpg",
    "http://cdn.example/a:b",
    "/a/b:c",
    "a/b:c.jpg",
    "x y:z",
)


@pytest.fixture
def shop(admin: Admin) -> Shop:
    shop = Shop(admin)
    shop.create()
    return shop


def together(admin: Admin, *statements: str) -> None:
    """Run statements in one transaction."""
    with admin.transaction():
        for statement in statements:
            admin.execute(statement.encode())


def test_the_seed_calls_give_consecutive_places(shop: Shop) -> None:
    assert [shop.insert(URL.format(n)) for n in range(10)] == list(range(10))
    rows = shop.admin.execute(
        "select image_url, image_order from product_images order by image_order"
    ).fetchall()
    assert rows == [(URL.format(n), n) for n in range(10)]
    assert shop.kinds() == ["image.added"] * 10


def test_the_id_of_an_image_is_that_of_its_event(shop: Shop) -> None:
    [image] = shop.fill(1)
    assert shop.admin.execute(
        "select event_id from foja.event where entity_id = %s", (shop.product,)
    ).fetchone() == (image,)


def test_moves_removals_and_main_images(shop: Shop) -> None:
    a, b, c, d = shop.fill(4)
    shop.say("image.moved", d, to=0)
    assert shop.order == [d, a, b, c]
    shop.say("image.moved", d, to=3)
    assert shop.order == [a, b, c, d]
    shop.say("image.moved", b, to=2)
    assert shop.order == [a, c, b, d]
    shop.say("image.moved", b, to=2)
    assert shop.order == [a, c, b, d]
    shop.say("image.removed", a, reason="sold")
    assert shop.order == [c, b, d]
    shop.say("image.removed", d, reason="sold")
    assert shop.order == [c, b]
    assert shop.insert() == 2


@all_cases("to", [4, -1, 1.5, 10**12])
def test_a_place_outside_of_the_gallery_is_refused(shop: Shop, to: Any) -> None:
    images = shop.fill(4)
    assert shop.refusal("image.moved", images[0], to=to) == "bad_place"
    assert shop.order == images


@all_cases("kind", ["image.moved", "image.removed", "image.replaced", "image.described"])
def test_an_image_of_another_product_is_unknown(admin: Admin, shop: Shop, kind: str) -> None:
    shop.fill(1)
    other = Shop(admin)
    other.create()
    [image] = other.fill(1)
    body = {"to": 0, "reason": "x", "object": shop.object(), "alt": "x"}
    assert shop.refusal(kind, image, **body) == "unknown_image"
    assert shop.refusal(kind, uuid4(), **body) == "unknown_image"


def test_the_content_of_an_object_is_named_by_its_digest(shop: Shop) -> None:
    first, second = shop.object("a"), shop.object("b")
    assert shop.insert(f"foja:sha256/{first}") == 0
    [image] = shop.order
    assert shop.row(image)["image_url"] == f"foja:sha256/{first}"
    shop.say("image.replaced", image, object=second)
    assert shop.row(image)["image_url"] == f"foja:sha256/{second}"
    assert shop.row(image)["content_seq"] == 1
    references = "select seq, sha256, role from foja.object_reference where entity_id = %s"
    assert shop.admin.execute(references, (shop.product,)).fetchall() == [(1, second, "original")]
    shop.say("image.removed", image, reason="sold")
    assert shop.admin.execute(references, (shop.product,)).fetchall() == []


def test_an_object_that_is_not_stored_is_refused(shop: Shop) -> None:
    assert refusal_of(lambda: shop.insert(f"foja:sha256/{'e' * 64}")) == "object_missing"
    assert shop.kinds() == []


@all_cases(
    "body",
    [
        {},
        {"url": ""},
        {"url": "https://a", "object": "a" * 64},
        {"url": f"foja:sha256/{'a' * 64}"},
        {"url": "foja:erased/x"},
        {"url": "x" * 8193},
        {"object": "A" * 64},
        *({"url": url} for url in OTHER_FORMS),
    ],
)
def test_an_image_without_a_valid_content_is_refused(shop: Shop, body: dict[str, Any]) -> None:
    shop.object("a")
    assert shop.refusal("image.added", None, **body) == "bad_payload"


async def test_an_address_of_another_form_is_refused_and_a_path_is_kept(app: App, shop: Shop) -> None:
    """`//evil`, `/\\evil` and `https:javascript` were kept: a browser takes them to another server."""
    for url in OTHER_FORMS:
        assert has_other_form(url), url
        with pytest.raises(BadPayload, match="begins with https"):
            await app.images.add_url(shop.product, url)
        assert refusal_of(lambda url=url: shop.insert(url)) == "bad_payload"
    for place, url in enumerate(ADDRESSES):
        assert not has_other_form(url), url
        assert shop.insert(url) == place


@all_cases("url", [None, "", "foja:sha256/xyz", "foja:erased/1"])
def test_the_seed_call_refuses_what_is_not_an_address(shop: Shop, url: Any) -> None:
    assert refusal_of(lambda: shop.insert(url)) == "bad_payload"


def test_the_seed_call_needs_a_product_of_the_tenant(admin: Admin) -> None:
    shop = Shop(admin)
    assert refusal_of(shop.insert) == "unknown_product"
    shop.create(tenant="acme")
    assert refusal_of(shop.insert) == "unknown_product"
    admin.execute("set foja.tenant = 'acme'")
    assert shop.insert() == 0


def test_a_supplier_that_is_given_must_own_the_product(admin: Admin) -> None:
    ana, ben = uuid4(), uuid4()
    shop = Shop(admin)
    shop.create(supplier=ana)
    assert shop.insert(supplier=ana) == 0
    assert shop.insert(supplier=None) == 1
    assert refusal_of(lambda: shop.insert(supplier=ben)) == "wrong_supplier"
    assert shop.refusal("image.added", None, url="x", supplier_id=str(ben)) == "wrong_supplier"
    free = Shop(admin)
    free.create(supplier=None)
    assert refusal_of(lambda: free.insert(supplier=ana)) == "wrong_supplier"


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_other_isolation_levels_are_refused_with_words(shop: Shop, level: str) -> None:
    def insert() -> None:
        with shop.admin.transaction():
            shop.admin.execute(f"set transaction isolation level {level}".encode())
            shop.insert()

    with pytest.raises(psycopg.Error, match="wrong_isolation") as caught:
        insert()
    assert "read committed" in str(caught.value.diag.message_detail)


def test_the_first_image_of_an_unknown_product_creates_it(admin: Admin) -> None:
    shop, ana = Shop(admin), uuid4()
    shop.say("image.added", None, url=URL, supplier_id=str(ana))
    rows = admin.execute("select productid, supplier_id, tenant from products").fetchall()
    assert rows == [(shop.product, ana, "default")]
    other = Shop(admin)
    assert other.refusal("image.moved", uuid4(), to=0) == "unknown_product"


def test_a_deleted_product_leaves_its_removals_and_takes_no_more_images(shop: Shop) -> None:
    digest = shop.object()
    shop.fill(2)
    shop.insert(f"foja:sha256/{digest}")
    images = shop.order
    shop.admin.execute("delete from products where productid = %s", (shop.product,))
    assert shop.order == []
    removals = shop.admin.execute(
        "select payload from foja.event where entity_id = %s and kind = 'image.removed' order by seq",
        (shop.product,),
    ).fetchall()
    assert [UUID(body["image_id"]) for (body,) in removals] == images[::-1]
    assert {body["reason"] for (body,) in removals} == {"product deleted"}
    assert shop.admin.execute("select count(*) from foja.object_reference").fetchone() == (0,)
    assert shop.refusal("image.added", None, url="x") == "product_deleted"
    assert refusal_of(shop.insert) == "unknown_product"


def test_a_product_is_deleted_in_read_committed_only(shop: Shop) -> None:
    shop.fill(1)
    with pytest.raises(psycopg.Error, match="wrong_isolation"):
        together(shop.admin, "set transaction isolation level repeatable read", "delete from products")
    assert len(shop.order) == 1


def test_a_deletion_that_is_rolled_back_leaves_everything(shop: Shop) -> None:
    images = shop.fill(3)
    with shop.admin.transaction(force_rollback=True):
        shop.admin.execute("delete from products where productid = %s", (shop.product,))
    assert shop.order == images
    assert shop.kinds() == ["image.added"] * 3


def test_a_product_keeps_its_id_and_tenant(shop: Shop) -> None:
    shop.fill(1)
    assert refusal_of(lambda: shop.admin.execute("update products set tenant = 'acme'")) == "wrong_entity"
    with pytest.raises(psycopg.Error, match="append_only"):
        shop.admin.execute("truncate products cascade")


def test_an_event_whose_body_can_be_erased_names_its_image_in_the_key(shop: Shop) -> None:
    [image] = shop.fill(1)
    body = {"image_id": str(image), "alt": "a chair"}
    assert refusal_of(lambda: shop.append("image.described", body)) == "bad_payload"
    assert refusal_of(lambda: shop.append("image.described", body, f"{uuid4()}:1")) == "bad_payload"
    shop.append("image.described", body, f"{image}:1")
    assert shop.row(image)["alt"] == "a chair"


def erase(shop: Shop, seq: int) -> None:
    shop.admin.execute(
        "select foja.erase(%s, 'image', 'default', %s, 'api', null, 'law')", (shop.product, seq)
    )


def test_an_erased_image_keeps_its_place(shop: Shop) -> None:
    images = shop.fill(3)
    erase(shop, 1)
    assert shop.order == images
    assert shop.row(images[1])["image_url"] == f"foja:erased/{images[1]}"
    shop.say("image.moved", images[1], to=0)
    assert shop.order == [images[1], images[0], images[2]]


def test_an_erased_replacement_and_text_keep_their_image(shop: Shop) -> None:
    [image] = shop.fill(1)
    seq, replaced = shop.say("image.replaced", image, object=shop.object())
    described, _ = shop.say("image.described", image, alt="Ana")
    erase(shop, 0)
    assert shop.row(image)["image_url"].startswith("foja:sha256/")
    erase(shop, seq)
    erase(shop, described)
    assert shop.row(image)["image_url"] == f"foja:erased/{replaced}"
    assert shop.row(image)["alt"] is None
    assert shop.admin.execute("select count(*) from foja.object_reference").fetchone() == (0,)
    assert not rebuilt(shop)


def rebuilt(shop: Shop) -> bool:
    row = shop.admin.execute("select foja.rebuild_gallery(%s)", (shop.product,)).fetchone()
    assert row is not None
    return bool(row[0])


def test_the_limit_of_images_is_a_rule_of_the_database(shop: Shop) -> None:
    shop.admin.execute("select foja.set_gallery_rule_v1(null, 3)")
    shop.fill(3)
    assert refusal_of(shop.insert) == "gallery_full"
    shop.say("image.removed", shop.order[0], reason="sold")
    assert shop.insert() == 2


async def test_an_image_is_born_with_one_time_and_every_change_is_later(app: App, shop: Shop) -> None:
    """`updated_at` was 7 ms earlier than `created_at`, and 2 s in a long transaction."""
    stored = await app.documents.add(b"an image, as far as SQL knows")
    with shop.admin.transaction():
        shop.admin.execute("select pg_sleep(0.05)")
        shop.insert()
        shop.insert(f"foja:sha256/{stored.sha256}")
        for image in shop.order:
            assert shop.row(image)["updated_at"] == shop.row(image)["created_at"]
        shop.say("image.described", image, alt="a chair")
        assert shop.row(image)["updated_at"] > shop.row(image)["created_at"]
    added = await app.images.add(shop.product, png())
    assert shop.row(added.id)["updated_at"] == shop.row(added.id)["created_at"]
    before = shop.row(added.id)
    shop.admin.execute("update product_images set alt = 'by the owner' where id = %s", [added.id])
    after = shop.row(added.id)
    assert (after["created_at"], after["updated_at"] > before["updated_at"]) == (before["created_at"], True)


def test_the_seed_call_takes_the_lock_of_the_seed(admin: Admin, shop: Shop, database_url: str) -> None:
    """Programs that take the same lock around statements of their own were not serialised with the call."""
    with psycopg.connect(database_url) as other:
        other.execute("select pg_advisory_xact_lock(hashtext(%s))", [str(shop.product)])
        admin.execute("set lock_timeout = '50ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            shop.insert()
        other.rollback()
        assert shop.insert() == 0


@all_cases("role", ["foja_api", "service_role", "authenticated", "anon", "foja_sweeper", "foja_worker"])
@all_cases(
    "change",
    [
        "update product_images set image_order = 7",
        "delete from product_images",
        "insert into product_images select * from product_images",
        "truncate product_images",
    ],
)
def test_no_role_changes_the_rows(shop: Shop, role: str, change: str) -> None:
    shop.fill(2)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        together(shop.admin, f"set local role {role}", change)


@all_cases("role", ["authenticated", "anon", "foja_sweeper", "foja_worker"])
def test_only_the_application_calls_the_functions(shop: Shop, role: str) -> None:
    calls = (
        "select insert_image_with_order(gen_random_uuid(), 'x', null)",
        *(["select foja.set_gallery_rule_v1('public', 1)"] if role != "foja_sweeper" else []),
        "select foja.rebuild_galleries_v1('{}')",
        "delete from products",
        "insert into products default values",
    )
    for call in calls:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            together(shop.admin, f"set local role {role}", call)


def visible(admin: Admin, role: str, tenant: str) -> int:
    with admin.transaction():
        admin.execute(f"set local role {role}".encode())
        admin.execute("select set_config('foja.tenant', %s, true)", (tenant,))
        found = admin.execute(
            "select (select count(*) from product_images) + (select count(*) from products)"
        )
        [(count,)] = found.fetchall()
    return int(count)


@pytest.mark.parametrize(
    ("read", "own", "other", "anonymous"),
    [("tenant", 3, 0, 0), ("authenticated", 3, 3, 0), ("public", 3, 3, 3)],
)
def test_who_reads_galleries_is_a_rule(shop: Shop, read: str, own: int, other: int, anonymous: int) -> None:
    shop.fill(2)
    shop.admin.execute("select foja.set_gallery_rule_v1(%s, null)", (read,))
    assert visible(shop.admin, "authenticated", "default") == own
    assert visible(shop.admin, "authenticated", "acme") == other
    assert visible(shop.admin, "authenticated", "") == other
    assert visible(shop.admin, "anon", "default") == anonymous
    assert visible(shop.admin, "foja_api", "default") == 3
    assert visible(shop.admin, "foja_api", "acme") == 0  # a rule for readers, not for requests
    assert visible(shop.admin, "foja_api", "") == 0


def test_the_catalogue_has_the_names_of_the_seed(admin: Admin) -> None:
    constraints = dict(
        admin.execute(
            "select conname, pg_get_constraintdef(oid) from pg_constraint "
            "where conrelid = 'product_images'::regclass"
        ).fetchall()
    )
    assert constraints["chk_image_order_nonneg"] == "CHECK ((image_order >= 0))"
    assert constraints["uniq_product_image_order"] == "UNIQUE (product_id, image_order) DEFERRABLE"
    assert constraints["product_images_product_id_fkey"] == (
        "FOREIGN KEY (product_id) REFERENCES products(productid) ON DELETE CASCADE"
    )
    triggers = admin.execute(
        "select t.tgname, p.proname from pg_trigger t join pg_proc p on p.oid = t.tgfoid "
        "where t.tgrelid = 'product_images'::regclass and t.tgname = 'trg_product_images_updated_at'"
    ).fetchall()
    assert triggers == [("trg_product_images_updated_at", "set_product_images_updated_at")]
    columns = admin.execute(
        "select string_agg(column_name, ' ' order by ordinal_position) from information_schema.columns "
        "where table_name = 'product_images' and table_schema = 'public'"
    ).fetchone()
    seed = "id product_id image_url thumbnail_url thumbnails image_order thumbnail_signature"
    assert str((columns or [""])[0]).startswith(f"{seed} created_at updated_at")


async def test_the_audit_compares_rows_and_events(shop: Shop, database_url: str) -> None:
    images = shop.fill(4)
    shop.say("image.moved", images[3], to=0)
    shop.say("image.described", images[1], alt="a chair")
    assert (await audit(database_url, max_lag_seconds=60)).clean
    shop.admin.execute(
        "update product_images set image_order = image_order + 10, alt = 'x' where id = %s", (images[0],)
    )
    shop.admin.execute("delete from product_images where id = %s", (images[2],))
    found = (await audit(database_url, max_lag_seconds=60)).findings
    assert {each.check for each in found} == {"gallery"}
    assert {each.entity_id for each in found} == {shop.product}
    texts = " ".join(map(str, found))
    assert f"image {images[2]}: a row at place 3" in texts
    assert f"image {images[0]}: alt None" in texts
    assert f"image {images[0]}: image_order 1" in texts
    assert rebuilt(shop)
    assert (await audit(database_url, max_lag_seconds=60)).clean


async def test_a_lost_product_comes_back_and_a_deleted_one_does_not(shop: Shop, database_url: str) -> None:
    images = shop.fill(2)
    deleted = Shop(shop.admin)
    deleted.create()
    deleted.fill(2)
    shop.admin.execute("delete from products where productid = %s", (deleted.product,))
    shop.admin.execute("alter table products disable trigger product_deleted")
    shop.admin.execute("delete from products where productid = %s", (shop.product,))
    found = (await audit(database_url, max_lag_seconds=60)).findings
    assert "expected a row in products, found none" in " ".join(map(str, found))
    shop.admin.execute("alter table products enable always trigger product_deleted")
    assert rebuilt(shop)
    assert not rebuilt(deleted)
    assert shop.order == images
    assert shop.admin.execute("select productid from products").fetchall() == [(shop.product,)]
    assert (await audit(database_url, max_lag_seconds=60)).clean


def test_a_rebuild_of_what_is_right_writes_nothing(shop: Shop) -> None:
    [image] = shop.fill(1)
    before = shop.row(image)
    assert not rebuilt(shop)
    assert shop.row(image) == before


async def test_a_lost_reference_is_found_and_written_again(shop: Shop, database_url: str) -> None:
    shop.insert(f"foja:sha256/{shop.object()}")
    assert (await audit(database_url, max_lag_seconds=60)).clean
    shop.admin.execute("delete from foja.object_reference")
    [found] = (await audit(database_url, max_lag_seconds=60)).findings
    assert (found.check, found.entity_id, found.seq) == ("object", shop.product, 0)
    assert rebuilt(shop)
    assert not rebuilt(shop)
    assert (await audit(database_url, max_lag_seconds=60)).clean


def queued(shop: Shop) -> list[tuple[Any, ...]]:
    """Return the image, the key and the shown state of each job that renders an image of this product."""
    return shop.admin.execute(
        "select (j.payload ->> 'image_id')::uuid, j.dedupe_key, t.status "
        "from foja.job j left join image_thumbnail_jobs t using (job_id) "
        "where j.type = 'render_image' and j.entity_id = %s order by j.job_id",
        (shop.product,),
    ).fetchall()


def test_every_way_in_queues_one_job_with_the_same_key(shop: Shop) -> None:
    digest = shop.object()
    shop.insert(f"foja:sha256/{digest}")
    shop.insert(URL.format(1))
    shop.say("image.added", None, object=digest)
    many(shop, {"object": digest}, {"object": digest})
    assert queued(shop) == [(image, str(image), "queued") for image in shop.order]


def test_a_refused_seed_call_leaves_no_job(shop: Shop) -> None:
    assert refusal_of(lambda: shop.insert(f"foja:sha256/{'e' * 64}")) == "object_missing"
    digest = shop.object()
    assert refusal_of(lambda: shop.insert(f"foja:sha256/{digest}", supplier=uuid4())) == "wrong_supplier"
    shop.admin.execute("select foja.set_gallery_rule_v1(null, 1)")
    assert shop.insert(f"foja:sha256/{digest}") == 0
    assert refusal_of(lambda: shop.insert(f"foja:sha256/{digest}")) == "gallery_full"
    assert [image for image, *_ in queued(shop)] == shop.order
    assert shop.kinds() == ["image.added"]


def test_the_seed_call_refuses_a_kind_that_is_retired(shop: Shop) -> None:
    digest = shop.object()
    shop.admin.execute("update foja.kind set retired = true where kind = 'image.added'")
    assert refusal_of(lambda: shop.insert(f"foja:sha256/{digest}")) == "unknown_kind"
    assert refusal_of(shop.insert) == "unknown_kind"


async def test_the_seed_call_takes_back_a_candidate_for_deletion(shop: Shop, database_url: str) -> None:
    shop.fill(1)
    digest = shop.object()
    shop.admin.execute("insert into image_orphan_candidates (path) values (%s)", (f"objects/{digest}/0",))
    assert shop.insert(f"foja:sha256/{digest}") == 1
    assert shop.admin.execute("select count(*) from image_orphan_candidates").fetchone() == (0,)
    assert shop.admin.execute("select seq, sha256 from foja.object_reference").fetchall() == [(1, digest)]
    assert queued(shop) == [(image, str(image), "queued") for image in shop.order]
    assert (await audit(database_url, max_lag_seconds=60)).clean


def test_a_caller_that_waits_for_the_product_has_done_what_needs_no_number(
    shop: Shop, database_url: str
) -> None:
    """The lock is held for the number, the event and the place only: callers do the rest side by side."""
    url = f"foja:sha256/{shop.object()}"
    for _ in range(2):
        shop.insert(url)
    call: LiteralString = "select insert_image_with_order(%s, %s, null)"
    with psycopg.connect(database_url) as holder, psycopg.connect(database_url) as caller:
        holder.execute("select from products where productid = %s for update", (shop.product,))
        with ThreadPoolExecutor(1) as thread:
            waiting = thread.submit(caller.execute, call, (shop.product, url))
            try:
                written = until_waiting(shop.admin, caller.info.backend_pid)
            finally:
                holder.rollback()
            assert waiting.result().fetchone() == (2,)
    assert written == ["image_thumbnail_jobs", "job"]


def until_waiting(admin: Admin, pid: int) -> list[str]:
    """Return the tables that a session writes to, once it waits for a lock."""
    waits: LiteralString = "select from pg_stat_activity where pid = %s and wait_event_type = 'Lock'"
    ends = time.monotonic() + 30  # bounds a hang, not a speed
    while not admin.execute(waits, (pid,)).fetchall():
        assert time.monotonic() < ends
        time.sleep(0.01)
    return [
        name
        for (name,) in admin.execute(
            "select c.relname from pg_locks l join pg_class c on c.oid = l.relation "
            "where l.pid = %s and l.mode = 'RowExclusiveLock' and c.relkind = 'r' order by 1",
            (pid,),
        ).fetchall()
    ]


def many(shop: Shop, *payloads: dict[str, Any], atomic: bool = True) -> None:
    """Append images in one batch, as Python does."""
    drafts = [
        f"foja.new_draft('{shop.product}', 'image', 'default', 'image.added', '{text}', 'api')"
        for text in (canonical(each).decode() for each in payloads)
    ]
    shop.admin.execute(f"select foja.append_drafts(array[{', '.join(drafts)}], {atomic}, false)".encode())


async def test_a_batch_of_images_is_as_one_by_one(shop: Shop, database_url: str) -> None:
    shop.fill(2)
    digests = [shop.object(letter) for letter in "abc"]
    many(
        shop, *({"object": digest} for digest in digests), {"url": "https://cdn.example/9", "alt": "a chair"}
    )
    images = shop.order
    assert [shop.row(image)["image_url"] for image in images[2:5]] == [
        f"foja:sha256/{each}" for each in digests
    ]
    assert shop.row(images[5])["alt"] == "a chair"
    references = shop.admin.execute("select seq, sha256 from foja.object_reference order by seq").fetchall()
    assert references == [(2 + n, digest) for n, digest in enumerate(digests)]
    jobs = shop.admin.execute(
        "select product_image_id, status from image_thumbnail_jobs order by job_id"
    ).fetchall()
    assert jobs == [(image, "queued") for image in images]
    assert shop.admin.execute("select count(*) from foja.job where type = 'render_image'").fetchone() == (6,)
    assert not rebuilt(shop)
    assert (await audit(database_url, max_lag_seconds=60)).clean


def test_a_batch_creates_its_product_and_keeps_its_rules(admin: Admin) -> None:
    shop = Shop(admin)
    many(shop, {"url": "a"}, {"url": "b"})
    assert len(shop.order) == 2
    assert admin.execute("select productid from products").fetchall() == [(shop.product,)]
    digest = shop.object()
    assert refusal_of(lambda: many(shop, {"object": digest}, {"object": "e" * 64})) == "object_missing"
    assert refusal_of(lambda: many(shop, {"url": "c"}, {"url": ""})) == "bad_payload"
    admin.execute("select foja.set_gallery_rule_v1(null, 4)")
    assert refusal_of(lambda: many(shop, {"url": "c"}, {"url": "d"}, {"url": "e"})) == "gallery_full"
    many(shop, {"url": "c"}, {"url": "d"})
    assert len(shop.order) == 4
    admin.execute("delete from products")
    assert refusal_of(lambda: many(shop, {"url": "c"}, {"url": "d"})) == "product_deleted"


def test_a_batch_takes_back_a_candidate_for_deletion(shop: Shop) -> None:
    digest = shop.object()
    shop.admin.execute("insert into image_orphan_candidates (path) values (%s)", (f"objects/{digest}/0",))
    many(shop, {"object": digest}, {"object": shop.object("b")})
    assert shop.admin.execute("select count(*) from image_orphan_candidates").fetchone() == (0,)
    assert shop.admin.execute("select count(*) from foja.object_reference").fetchone() == (2,)
