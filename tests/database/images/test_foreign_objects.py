"""A digest alone gives no bytes of another tenant, and does not show whether anybody has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from foja.app import App
from foja.errors import ObjectMissing
from foja.pure.models.documents.events import DOCUMENT
from tests.database.documents.papers import TOKEN, WITNESS, Paper, later
from tests.database.schema.rows import Admin
from tests.job_domain import ERRAND
from tests.png import png

ACME, OWN, GONE = png(red=11), png(red=22), sha256(b"nobody has it").hexdigest()
HERS, HIS = sha256(ACME).hexdigest(), sha256(OWN).hexdigest()
NAMING = {
    "document.added",
    "artifact.finalized",
    "artifact.renewed",
    "image.added",
    "image.replaced",
    "image.rendered",
}
SAMPLES = {"string": "x", "number": 1, "boolean": True, "array": [], "object": {}, "any": "x", "null": None}
NEW = uuid4()
ROWS: LiteralString = "select sha256, tenant from foja.object_reference"


@contextmanager
def as_beta(admin: Admin, role: str | None = None) -> Iterator[None]:
    """Act for the tenant `beta`, and as a role if one is given; take everything back."""
    with admin.transaction(force_rollback=True):
        admin.execute("set local foja.tenant = 'beta'")
        if role:
            admin.execute(sql.SQL("set local role {}").format(sql.Identifier(role)))
        yield


async def has_image(app: App) -> UUID:
    """Let acme and beta store an image each, and beta show hers in a gallery; return its product."""
    await app.tenant("acme").images.add(uuid4(), ACME)
    product = uuid4()
    await app.tenant("beta").images.add(product, OWN)
    return product


async def test_python_may_not_name_the_bytes_of_another_tenant(app: App) -> None:
    """An appended event named any live object, and its bytes were then read by the other tenant."""
    product = await has_image(app)
    beta = app.tenant("beta")
    gallery, papers = await beta.images.open(product), beta.ledger
    for digest in (HERS, GONE):
        with pytest.raises(ObjectMissing, match=f"the store has no object {digest}; store it again"):
            await gallery.append("image.added", {"object": digest})
        with pytest.raises(ObjectMissing, match=f"the store has no object {digest}; store it again"):
            await papers.append(
                papers.draft(DOCUMENT, uuid4(), "document.added", {"sha256": digest, "custody": "stored"})
            )
        with pytest.raises(ObjectMissing, match=f"there is no object {digest}"):
            await app.objects.get("beta", digest)


async def test_the_same_bytes_are_stored_once_for_tenants_that_both_have_them(app: App, admin: Admin) -> None:
    product = await has_image(app)
    beta = app.tenant("beta")
    image = await beta.images.add(product, ACME)
    assert await beta.images.content(product, image.id) == ACME
    await (await beta.images.open(product)).append("image.added", {"object": HERS})
    assert admin.execute("select count(*) from foja.object where sha256 = %s", [HERS]).fetchone() == (1,)
    # The upload of a tenant that has no reference yet counts, and ends with the generation.
    await app.objects.of("gamma").put(ACME)
    await (await app.tenant("gamma").images.open(uuid4())).append("image.added", {"object": HERS})
    with pytest.raises(ObjectMissing):
        await (await app.tenant("delta").images.open(uuid4())).append("image.added", {"object": HERS})


async def test_sql_may_not_name_the_bytes_of_another_tenant(app: App, admin: Admin) -> None:
    """`insert_image_with_order` took any digest, and a download then gave the bytes."""
    product = await has_image(app)
    answers = []
    for digest in (HERS, GONE):
        for role in ("foja_api", "service_role"):
            with pytest.raises(psycopg.Error) as refused, as_beta(admin, role):
                admin.execute(
                    "select insert_image_with_order(%s, %s, null)", [product, f"foja:sha256/{digest}"]
                )
            answers.append(told(refused.value, digest))
    assert answers == [("FJ001", "object_missing", "the store has no object DIGEST; store it again")] * 4


@pytest.mark.parametrize("role", ["foja_api", "service_role", "foja_worker", "foja_sweeper", "foja_reader"])
async def test_only_the_process_that_hashed_the_bytes_says_who_has_them(
    app: App, admin: Admin, role: str
) -> None:
    await has_image(app)
    with pytest.raises(psycopg.Error) as refused, as_beta(admin, role):
        admin.execute("select foja.begin_object_v1(%s, 1, 'beta')", [HERS])
    assert refused.value.sqlstate in ("42501", "FJ001")
    with pytest.raises(psycopg.Error) as refused, as_beta(admin, role):
        admin.execute("insert into foja.object_upload values (%s, 'beta', 0)", [HERS])
    assert refused.value.sqlstate == "42501"


async def test_no_kind_of_any_domain_refers_to_the_bytes_of_another_tenant(
    open_app: Callable[..., App], admin: Admin
) -> None:
    """Every kind is tried with bytes of its own tenant, with those of another one, and of nobody."""
    async with open_app(domains=[ERRAND]) as app:
        product = await has_image(app)
        await app.objects.of("beta").put(b"not shown yet")
    mine = sha256(b"not shown yet").hexdigest()
    kinds = admin.execute(
        "select domain, kind, v, sources, required from foja.kind where not reserved and not retired"
    ).fetchall()
    assert {domain for domain, *_ in kinds} >= {
        "conversation",
        "document",
        "errand",
        "image",
        "system",
        "thread",
    }
    naming = set()
    for domain, kind, v, sources, required in kinds:
        found = {
            digest: attempt(admin, product, (domain, kind, v, sources[0], required), digest)
            for digest in (mine, HERS, GONE)
        }
        assert (HERS, "beta") not in found[HERS][1]
        assert found[HERS][0] == found[GONE][0], kind
        if (mine, "beta") in found[mine][1]:
            naming.add(kind)
            assert found[HERS][0] == (
                "FJ001",
                "object_missing",
                "the store has no object DIGEST; store it again",
            )
    assert naming == NAMING


def attempt(
    admin: Admin, product: UUID, kind: tuple[str, str, int, str, dict[str, list[str]]], digest: str
) -> tuple[tuple[str, str, str] | None, list[tuple[str, str]]]:
    """Append an event that names this digest wherever it can; return its refusal, and all references then."""
    domain, name, v, source, required = kind
    [image] = admin.execute("select id from product_images where product_id = %s", [product]).fetchone() or [
        None
    ]
    body = {field: SAMPLES[types[0]] for field, types in required.items()}
    body |= {"image_id": str(image), "object": digest, "original": HIS, "variant": "small", "spec": "s"}
    body |= {"verdict": "TOTAL_PASSED"}
    body |= {
        "sha256": digest,
        "excerpt_sha256": digest,
        "custody": "stored",
        "witness_hash": WITNESS,
        "attempt": 1,
    }
    entity = product if domain == "image" else NEW
    refused = None
    with as_beta(admin):
        if name in ("artifact.finalized", "artifact.renewed"):
            entity = built(admin, final=name == "artifact.renewed")
        try:
            with admin.transaction():
                role = sql.Identifier(f"foja_{source.replace('-', '_')}")
                admin.execute(sql.SQL("set local role {}").format(role))
                admin.execute(
                    "select foja.append_event(%s, %s, %s, %s, %s, idempotency_key => %s, v => %s)",
                    [entity, domain, name, Jsonb(body), source, f"{image}:1", v],
                )
        except psycopg.Error as error:
            refused = told(error, digest)
        return refused, admin.execute(ROWS).fetchall()


def built(admin: Admin, *, final: bool) -> UUID:
    """Return a document of the tenant whose artifact is asked for, or final."""
    paper = Paper(admin)
    for kind, body in (
        ("document.protected.requested", {"required_evidence": ["tsa"]}),
        ("job.run-tsa.required", {"attempt": 1, "deadline": later(60)}),
        ("tsa.confirmed", {"attempt": 1, **TOKEN}),
        ("job.build-artifact.required", {"attempt": 1, "deadline": later(60)}),
    ):
        paper.append(kind, {"witness_hash": WITNESS, **body})
    if final:
        digest = sha256(b"the artifact").hexdigest()
        done = {"sha256": digest, "size": 1, "profile": "p", "verdict": "TOTAL_PASSED", "attempt": 1}
        paper.append("artifact.finalized", done)
    return paper.id


def told(error: psycopg.Error, digest: str) -> tuple[str, str, str]:
    """Return what a refusal shows, without the digest."""
    shown = (error.sqlstate, error.diag.message_primary, error.diag.message_detail)
    a, b, c = (str(each).replace(digest, "DIGEST") for each in shown)
    return a, b, c.removeprefix("object_missing: ")
