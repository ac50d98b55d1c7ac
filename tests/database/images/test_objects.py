"""Objects and their references: written with events, ended with bodies, derived again from the events."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import psycopg
import pytest

from foja import errors
from foja.app import App
from foja.engine.blobs.objects import SMALL_BYTES, TOGETHER, Objects, until_referred
from foja.engine.blobs.store import object_key
from foja.engine.observe.audit import audit
from foja.engine.sql.migrate import migrate
from tests.database.documents.papers import Paper, have_object
from tests.database.schema.rows import Admin

TEXT = b"Kept for as long as something refers to it.\n"
DIGEST = sha256(TEXT).hexdigest()


def objects(admin: Admin) -> list[tuple[Any, ...]]:
    return admin.execute(
        "select sha256, generation, state, size from foja.object order by sha256, generation"
    ).fetchall()


def references(admin: Admin) -> list[tuple[Any, ...]]:
    return admin.execute(
        "select role, sha256, generation, tenant, seq from foja.object_reference order by seq, role, sha256"
    ).fetchall()


def roles(admin: Admin) -> list[str]:
    return [row[0] for row in references(admin)]


def let_go(admin: Admin, digest: str = DIGEST, state: str = "quarantined") -> None:
    admin.execute("update foja.object set state = %s where sha256 = %s and state = 'live'", [state, digest])


async def clean(app: App) -> bool:
    report = await audit(app.settings.database_url, max_lag_seconds=3600)
    assert report.findings == ()
    return report.clean


async def test_an_object_is_live_after_its_bytes_and_its_row(app: App, admin: Admin) -> None:
    stored = await app.objects.put(TEXT)
    assert (stored.sha256, stored.size, stored.generation) == (DIGEST, len(TEXT), 0)
    assert objects(admin) == [(DIGEST, 0, "live", len(TEXT))]
    assert await app.objects.keep(io.BytesIO(TEXT)) == stored
    assert await app.store.get(DIGEST) == TEXT
    assert references(admin) == []


async def test_a_batch_is_stored_as_each_of_it_would_be(app: App, admin: Admin) -> None:
    texts = [b"%d\n" % number for number in range(9)]
    await app.objects.put(texts[3])
    stored = await app.objects.put_many(texts)
    assert stored == [await app.objects.put(text) for text in texts]
    assert {row[2] for row in objects(admin)} == {"live"}
    assert [await app.store.get(each.sha256) for each in stored] == texts
    assert await app.objects.put_many([]) == []


async def test_a_batch_gives_what_was_purged_another_generation(app: App, admin: Admin) -> None:
    other = b"another\n"
    await app.objects.put_many([TEXT, other])
    let_go(admin, state="deleted")
    again, kept = await app.objects.put_many([TEXT, other])
    assert (again.generation, kept.generation) == (1, 0)
    assert await app.store.get(DIGEST, 1) == TEXT


@pytest.mark.parametrize("way", ["many", "together"])
async def test_a_purge_in_the_middle_of_a_batch_takes_one_generation_more(
    app: App, admin: Admin, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    if way == "together" and not app.store.is_batched:
        pytest.skip("this store gains nothing by batches")
    original = type(app.store).write_many

    async def purged(store: Any, contents: Any) -> None:
        await original(store, contents)
        admin.execute(
            "update foja.object set state = 'deleted' where sha256 = %s and generation = 0", [DIGEST]
        )

    monkeypatch.setattr(type(app.store), "write_many", purged)
    together = [TEXT, *(b"%d\n" % number for number in range(2 * TOGETHER))]
    many = (
        app.objects.put_many(together) if way == "many" else asyncio.gather(*map(app.objects.put, together))
    )
    async with asyncio.timeout(60):
        again, *others = await many
    assert (again.generation, {each.generation for each in others}) == (1, {0})
    assert await app.store.get(DIGEST, 1) == TEXT


async def test_what_is_stored_at_the_same_time_is_written_together(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    original = type(app.store).write_many

    async def counted(store: Any, contents: Any) -> None:
        written.append(len(contents))
        await original(store, contents)

    monkeypatch.setattr(type(app.store), "write_many", counted)
    texts = [b"%d\n" % number for number in range(2 * TOGETHER)]
    large = b"x" * (SMALL_BYTES + 1)  # by itself: others would wait for it
    stored = await asyncio.gather(*map(app.objects.put, [*texts, large]))
    assert written == ([TOGETHER, TOGETHER] if app.store.is_batched else [])
    assert [await app.store.get(each.sha256) for each in stored] == [*texts, large]
    await app.objects.put(TEXT)
    assert len(written) <= 2


async def test_an_object_that_was_purged_gets_another_generation(app: App, admin: Admin) -> None:
    await app.objects.put(TEXT)
    for generation, state in enumerate(["quarantined", "deleted"], 1):
        let_go(admin, state=state)
        for again in (await app.objects.put(TEXT), await app.objects.keep(io.BytesIO(TEXT))):
            assert again.generation == generation
        assert await app.store.get(DIGEST, generation) == TEXT
    assert [row[1:3] for row in objects(admin)] == [(0, "quarantined"), (1, "deleted"), (2, "live")]


async def test_a_stored_document_refers_to_its_bytes_and_one_by_digest_to_nothing(
    app: App, admin: Admin
) -> None:
    await app.documents.add_digest("a" * 64)
    assert (objects(admin), references(admin)) == ([], [])
    await app.documents.add(TEXT, name="a.txt")
    assert references(admin) == [("document", DIGEST, 0, "default", 0)]
    await app.documents.add(TEXT, name="b.txt")
    assert len(references(admin)) == 2
    assert objects(admin) == [(DIGEST, 0, "live", len(TEXT))]
    assert await clean(app)


async def test_a_final_document_refers_to_its_artifact_and_a_transcript_to_its_excerpt(
    app: App, admin: Admin
) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", {"content": "hello"})
    await app.work(until_idle=True)
    document = await app.conversations.protect(talk.id)
    await app.work(until_idle=True)
    assert (await document.view()).state == "final"
    assert roles(admin) == ["excerpt", "transcript", "artifact"]
    assert {row[2] for row in objects(admin)} == {"live"}
    assert await clean(app)


async def test_an_event_is_refused_if_its_object_is_not_live(admin: Admin) -> None:
    paper = Paper(admin)
    added = {"sha256": DIGEST, "custody": "stored"}
    assert paper.refusal("document.added", added) == "object_missing"
    have_object(admin, DIGEST)
    let_go(admin)
    assert paper.refusal("document.added", added) == "object_missing"
    have_object(admin, DIGEST)
    paper.append("document.added", added)
    assert references(admin) == [("document", DIGEST, 1, "default", 0)]


async def test_what_is_purged_before_its_event_is_stored_again(
    app: App, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, purged = Objects.put, 0

    async def overtaken(self: Objects, data: bytes) -> Any:
        nonlocal purged
        stored = await put(self, data)
        if purged < 2:
            purged += 1
            let_go(admin)
        return stored

    monkeypatch.setattr(Objects, "put", overtaken)
    document = await app.documents.add(TEXT, name="a.txt")
    assert document.new
    assert references(admin) == [("document", DIGEST, 2, "default", 0)]
    assert await app.objects.get("default", DIGEST) == TEXT


async def test_a_stream_that_is_purged_before_its_event_is_read_again(app: App, admin: Admin) -> None:
    source, calls = io.BytesIO(b"header" + TEXT), 0
    source.seek(6)

    async def attempt() -> int:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise errors.ObjectMissing("purged")
        return calls

    assert await until_referred(attempt) == 3
    document = await app.documents.add(source, name="a.txt")
    assert document.sha256 == DIGEST


async def test_without_a_reference_there_is_no_object_whoever_else_has_it(app: App, admin: Admin) -> None:
    """The same words and the same one query, whether another tenant has it or no one."""
    await app.documents.add(TEXT)
    asked: list[str] = []
    rows = type(app.database).rows

    async def counted(self: Any, query: str, **values: Any) -> Any:
        asked.append(query)
        return await rows(self, query, **values)

    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(app.database), "rows", counted)
        patch.setattr(type(app.store), "get", None)  # the store is not asked
        for digest in (DIGEST, "0" * 64):
            asked.clear()
            with pytest.raises(errors.ObjectMissing) as missing:
                await app.objects.get("other", digest)
            told.append((str(missing.value).replace(digest, "*"), len(asked)))
        with pytest.raises(errors.ObjectMissing):
            await app.objects.fetch("other", DIGEST, io.BytesIO())
    assert told[0] == told[1]
    assert await app.objects.get("default", DIGEST) == TEXT


async def test_a_reference_takes_a_candidate_back(app: App, admin: Admin) -> None:
    await app.objects.put(TEXT)
    path = object_key(DIGEST, 0)
    admin.execute("insert into image_orphan_candidates (path) values (%s)", [path])
    await app.documents.add(TEXT)
    assert admin.execute("select count(*) from image_orphan_candidates").fetchone() == (0,)
    assert admin.execute("select path, false_positive from foja.unstaged").fetchall() == [(path, False)]


async def test_an_erasure_ends_the_references_of_everything_built_from_the_body(
    app: App, admin: Admin
) -> None:
    document = await app.documents.add(TEXT, name="secret.txt")
    await document.protect()
    await app.work(until_idle=True)
    other = await app.documents.add(b"other")
    assert sorted(roles(admin)) == ["artifact", "document", "document"]
    await document.erase(reason="asked")
    assert references(admin) == [("document", other.sha256, 0, "default", 0)]
    released = admin.execute("select count(*) from foja.object where released_at is not null").fetchone()
    assert released == (2,)
    assert await clean(app)
    with pytest.raises(errors.ObjectMissing):
        await app.objects.get("default", DIGEST)
    again = await app.documents.add(TEXT, name="secret.txt")
    assert (again.id, again.new) == (document.id, False)
    assert len(references(admin)) == 1, "what was erased does not come back by itself"


async def test_an_erased_message_ends_the_references_of_the_transcripts_that_hold_it(
    app: App, admin: Admin
) -> None:
    talk = await app.conversations.open()
    for text in ("public", "secret"):
        await talk.append("user_message_sent", {"content": text})
    await app.work(until_idle=True)
    await app.conversations.protect(talk.id)
    await app.work(until_idle=True)
    await talk.append("user_message_sent", {"content": "later"})
    await talk.erase(1, reason="asked")
    assert references(admin) == []
    assert await clean(app)
    await app.work(until_idle=True)
    later = await app.conversations.protect(talk.id)
    await app.work(until_idle=True)
    assert roles(admin)[:2] == ["excerpt", "transcript"], "it was made after the erasure and does not hold it"
    assert later.sha256 is not None
    assert b"secret" not in await app.objects.get("default", later.sha256)
    assert await clean(app)


async def test_a_transcript_of_a_body_that_is_erased_meanwhile_is_made_again(
    app: App, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", {"content": "secret"})
    await app.work(until_idle=True)
    store_transcript, erased = type(app.bundles).store_transcript, False

    async def overtaken(self: Any, entity_id: Any) -> Any:
        nonlocal erased
        content = await store_transcript(self, entity_id)
        if not erased:
            erased = True
            await talk.erase(0, reason="asked")
            await app.work(until_idle=True)
        return content

    monkeypatch.setattr(type(app.bundles), "store_transcript", overtaken)
    document = await app.documents.add_transcript(talk.id)
    assert document.sha256 is not None
    assert b"secret" not in await app.objects.get("default", document.sha256)


async def test_the_audit_names_each_reference_that_differs_and_a_rebuild_mends_them(
    app: App, admin: Admin
) -> None:
    document = await app.documents.add(TEXT)
    spoilt = [
        "delete from foja.object_reference",
        "update foja.object_reference set role = 'artifact'",
        "update foja.object_reference set tenant = 'other'",
        "delete from foja.object_reference; delete from foja.object",
    ]
    for change in spoilt[:2] + spoilt[3:]:
        admin.execute(change)
        found = (await audit(app.settings.database_url, max_lag_seconds=3600)).findings
        assert {(each.check, each.entity_id) for each in found} == {("object", document.id)}
        assert (await app.rebuild()).guards == 1
        assert await clean(app)
    let_go(admin)
    [one] = (await audit(app.settings.database_url, max_lag_seconds=3600)).findings
    assert one.check == "object"
    assert "quarantined" in one.found


async def test_the_references_of_everything_stored_before_are_derived_from_the_events(
    open_app: Callable[..., App], admin: Admin, database_url: str
) -> None:
    """Migrate a ledger in use back to step 10, as if it had been written there, and on again."""
    async with open_app() as app:
        talk = await app.conversations.open()
        await talk.append("user_message_sent", {"content": "hello"})
        await app.work(until_idle=True)
        await app.conversations.protect(talk.id)
        kept = await app.documents.add(TEXT, name="kept.txt")
        await kept.protect()
        erased = await app.documents.add(b"erased", name="erased.txt")
        await app.documents.add_digest("a" * 64)
        await app.work(until_idle=True)
        await erased.erase(reason="asked")
        before = references(admin), [row for row in objects(admin) if row[0] != erased.sha256]
    assert len(before[0]) == 5
    await migrate(database_url, to=10)
    admin.execute(
        "delete from foja.kept where relation = 'foja.object'"
    )  # as of a ledger that never had them
    assert admin.execute("select to_regclass('foja.object')").fetchone() == (None,)
    async with open_app() as app:
        derived = references(admin), objects(admin)
        assert derived[0] == before[0]
        # The size of an excerpt is in no event.
        assert [row[:3] for row in derived[1]] == [row[:3] for row in before[1]]
        assert await clean(app)
        assert await app.objects.get("default", DIGEST) == TEXT


async def test_only_the_installation_sees_objects_and_only_functions_change_them(admin: Admin) -> None:
    tables = ("foja.object", "foja.object_reference", "public.image_orphan_candidates")
    for role in ("anon", "authenticated"):
        for table in tables:
            row = admin.execute("select has_table_privilege(%s, %s, 'select')", [role, table]).fetchone()
            assert row == (False,)
    for role in ("foja_api", "foja_worker", "service_role", "foja_sweeper"):
        for table in tables:
            row = admin.execute(
                "select has_table_privilege(%s, %s, 'insert, update, delete, truncate')", [role, table]
            ).fetchone()
            assert row == (False,)
    with pytest.raises(psycopg.Error):
        admin.execute("set role foja_api; select foja.refer_objects('{}', '{}', '{}', '{}', '{}')")
