"""Orphans: staged by rows, taken back by references, purged after their time, recorded as events."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import psycopg
import pytest

from foja import errors
from foja.app import App
from foja.engine.blobs.store import object_key
from foja.engine.observe.audit import audit
from foja.pure.models.system.events import SYSTEM
from foja.pure.models.system.orphans import DAY, FEW, Inventory, OrphanTerms, find_brake, find_jump
from tests.database.documents.papers import acting
from tests.database.images.scans import ZERO, orphans_of, stage_wrongly
from tests.database.schema.rows import Admin, value

NOW = datetime(2026, 11, 17, tzinfo=UTC)


def candidates(admin: Admin) -> list[str]:
    rows = admin.execute(
        "select path from image_orphan_candidates where confirmed_deleted_at is null order by path"
    ).fetchall()
    return [path for (path,) in rows]


def states(admin: Admin) -> list[str]:
    return [state for (state,) in admin.execute("select state from foja.object order by sha256, generation")]


async def told(app: App, kind: str) -> list[Any]:
    return [each for each in await app.system.events() if each.kind == kind]


async def test_an_object_that_nothing_refers_to_is_staged_and_purged_with_a_tombstone(
    app: App, admin: Admin
) -> None:
    kept = await app.documents.add(b"kept")
    orphan = await app.objects.put(b"orphan")
    path = object_key(orphan.sha256, 0)
    hand = orphans_of(app)

    found = await hand.scanner.scan(actor="ana")
    assert (found.outcome, found.checked) == ("complete", 2)
    assert (found.staged, found.strays, found.missing) == (1, 0, 0)
    assert candidates(admin) == [path]
    assert await app.store.get(orphan.sha256) == b"orphan", "a candidate stays live"

    gone = await hand.purger.purge(actor="ana", reason="tidying")
    assert (gone.outcome, gone.quarantined, gone.deleted, gone.bytes) == ("complete", 1, 1, 6)
    assert candidates(admin) == []
    assert sorted(states(admin)) == ["deleted", "live"]
    with pytest.raises(errors.ObjectMissing):
        await app.store.get(orphan.sha256)
    assert kept.sha256 is not None
    assert await app.objects.get("default", kept.sha256) == b"kept"

    [tombstone] = await told(app, "object.purged")
    assert (tombstone.actor, tombstone.payload["reason"]) == ("ana", "tidying")
    assert tombstone.payload["run"] == str(gone.run)
    [named] = tombstone.payload["objects"]
    assert (named["sha256"], named["generation"], named["size"]) == (orphan.sha256, 0, 6)
    [scanned] = await told(app, "object.scanned")
    assert (scanned.payload["candidates"], scanned.payload["outcome"]) == (1, "complete")
    await app.work(until_idle=True)
    report = await audit(app.settings.database_url, max_lag_seconds=60)
    assert report.clean, report.findings


async def test_an_erased_document_goes_with_everything_built_from_it(app: App, admin: Admin) -> None:
    document = await app.documents.add(b"secret", name="secret.txt")
    await document.protect()
    await app.work(until_idle=True)
    hand = orphans_of(app)
    assert (await hand.scanner.scan()).staged == 0
    await document.erase(reason="asked")
    assert (await hand.scanner.scan()).staged == 2
    assert (await hand.purger.purge()).deleted == 2
    assert [page async for page in app.store.objects()] == []
    rows = admin.execute("select last_seen_reference is not null from image_orphan_candidates").fetchall()
    assert rows == [(True,), (True,)]


async def test_a_fresh_object_is_left_alone(app: App, admin: Admin) -> None:
    await app.objects.put(b"its event is on its way")
    assert (await orphans_of(app, OrphanTerms()).scanner.scan()).staged == 0
    assert candidates(admin) == []


async def test_grace_and_quarantine_are_kept_and_a_restored_object_is_live(app: App, admin: Admin) -> None:
    orphan = await app.objects.put(b"orphan")
    terms = OrphanTerms(grace=timedelta(hours=1), quarantine=timedelta(hours=1), fresh=ZERO)
    hand = orphans_of(app, terms)
    await hand.scanner.scan()
    assert (await hand.purger.purge()).quarantined == 0
    admin.execute("update image_orphan_candidates set detected_at = now() - interval '2 hours'")
    first = await hand.purger.purge()
    assert (first.quarantined, first.deleted) == (1, 0)
    assert states(admin) == ["quarantined"]
    with pytest.raises(errors.ObjectMissing):
        await app.objects.get("default", orphan.sha256)

    assert await hand.purger.restore(orphan.sha256, reason="needed", actor="ana")
    assert (states(admin), candidates(admin)) == (["live"], [])
    [restored] = await told(app, "object.restored")
    assert (restored.actor, restored.payload["reason"]) == ("ana", "needed")
    with pytest.raises(errors.Refused, match="neither a candidate nor in quarantine"):
        await hand.purger.restore(orphan.sha256, reason="again")

    await hand.scanner.scan()
    admin.execute("update image_orphan_candidates set detected_at = now() - interval '2 hours'")
    await hand.purger.purge()
    admin.execute("update foja.object set changed_at = now() - interval '2 hours'")
    assert (await hand.purger.purge()).deleted == 1
    with pytest.raises(errors.ObjectMissing, match="deleted"):
        await hand.purger.restore(orphan.sha256, reason="too late")


async def test_bytes_that_were_in_quarantine_get_a_new_generation_and_the_old_one_goes(
    app: App, admin: Admin
) -> None:
    await app.objects.put(b"again")
    hand = orphans_of(app, OrphanTerms(grace=ZERO, quarantine=timedelta(hours=1), fresh=ZERO))
    await hand.scanner.scan()
    await hand.purger.purge()
    document = await app.documents.add(b"again")
    assert states(admin) == ["quarantined", "live"]
    assert (await orphans_of(app).purger.purge()).deleted == 1
    assert document.sha256 is not None
    assert await app.objects.get("default", document.sha256) == b"again"


async def test_a_rescued_candidate_is_told_from_a_false_positive(app: App, admin: Admin) -> None:
    rescued = await app.objects.put(b"rescued")
    wrong = sha256(b"wrong").hexdigest()
    hand = orphans_of(app)
    await stage_wrongly(app, admin, b"wrong")
    await app.documents.add(b"rescued", name="now it is needed")
    assert candidates(admin) == [object_key(wrong, 0)]
    gone = await hand.purger.purge()
    assert (gone.unstaged, gone.quarantined, gone.deleted) == (1, 0, 0)
    [unstaged] = await told(app, "object.unstaged")
    found = {each["path"]: each["false_positive"] for each in unstaged.payload["objects"]}
    assert found == {object_key(rescued.sha256, 0): False, object_key(wrong, 0): True}
    report = await hand.report()
    assert (report.rescued, report.false_positives) == (1, 1)
    assert report.armed_days == 0, "a false positive disarms"


async def test_a_scan_takes_back_what_something_refers_to(app: App, admin: Admin) -> None:
    await stage_wrongly(app, admin, b"referred")
    assert (await orphans_of(app).scanner.scan()).unstaged == 1
    assert candidates(admin) == []


async def test_wrong_and_late_candidates_fire_their_alerts(
    open_app: Callable[..., App], admin: Admin
) -> None:
    """The gauges read a table that each run empties at its end: no scan could make these alerts fire."""

    async def fired() -> set[str]:
        return {each.alert for each in await app.alerts.evaluate() if each.event == "fired"}

    async with open_app(metrics_cache_seconds=0) as app:
        await app.objects.put(b"in time")
        patient = orphans_of(app, OrphanTerms(fresh=ZERO))
        await patient.scanner.scan()
        await app.documents.add(b"in time")
        await patient.scanner.scan()
        assert await fired() == set()
        await app.objects.put(b"late")
        await stage_wrongly(app, admin, b"wrong")
        await app.documents.add(b"late")
        await orphans_of(app).scanner.scan()
        assert await fired() == {"orphan_false_positives", "orphans_rescued_late"}
        [last, *_] = (await app.orphans.report()).runs
        assert (last.rescued, last.rescued_late, last.false_positives) == (1, 1, 1)


async def test_an_installation_that_never_scanned_is_as_old_as_it_is(
    open_app: Callable[..., App], admin: Admin
) -> None:
    """Without any scan the age of the last one was 0, and its alert never fired."""
    async with open_app(metrics_cache_seconds=0, alert_limits="orphan_scan_age=0.001") as app:
        [change] = await app.alerts.evaluate()
        assert (change.event, change.alert) == ("fired", "orphan_scan_age")
        unscanned = value("foja_orphan_scan_age_seconds")
        [began] = admin.execute("select clock_timestamp()").fetchall()
        await orphans_of(app).scanner.scan()
        await app.metrics.read()
        took = admin.execute("select extract(epoch from clock_timestamp() - %s)", began).fetchone()
        assert took is not None
        assert 0 < (value("foja_orphan_scan_age_seconds") or 0) < took[0]
        assert unscanned is not None
        assert unscanned > 0


async def test_strays_are_staged_and_purged_and_nothing_else_is_touched(app: App, admin: Admin) -> None:
    await app.work(until_idle=True)
    stray = object_key(sha256(b"stray").hexdigest(), 3)
    strange = ["objects/notes.txt", "objects/abc/0", f"objects/{'a' * 64}/x"]
    for key in (stray, "log/kept", *strange):
        await app.store.write(key, b"stray")
    hand = orphans_of(app)
    assert (await hand.scanner.scan()).strays == 1
    assert candidates(admin) == [stray]
    assert (await hand.scanner.scan()).strays == 0, "once"
    assert (await hand.purger.purge()).deleted == 1
    assert not await app.store.exists(stray)
    assert await app.store.present(strange) == set(strange)
    assert (await app.store.read("log/kept")).data == b"stray"
    await app.store.write(stray, b"a writer that was very late")
    assert (await hand.scanner.scan()).strays == 1
    assert (await hand.purger.purge()).deleted == 1
    assert len(await told(app, "object.purged")) == 2


async def test_a_stray_that_is_uploaded_properly_is_not_a_stray_any_more(app: App, admin: Admin) -> None:
    data = b"lost by the database"
    digest = sha256(data).hexdigest()
    await app.store.write(object_key(digest, 0), data)
    hand = orphans_of(app)
    await hand.scanner.scan()
    await app.documents.add(data)
    assert candidates(admin) == []
    assert (await hand.purger.purge()).deleted == 0
    assert await app.objects.get("default", digest) == data


async def test_an_intent_that_was_never_finished_goes_too(app: App, admin: Admin) -> None:
    admin.execute("select foja.begin_object_v1(%s, 1)", ["e" * 64])
    hand = orphans_of(app)
    await hand.scanner.scan()
    assert (await hand.purger.purge()).deleted == 1
    assert states(admin) == ["deleted"]


async def test_a_reference_without_its_object_is_an_alarm(app: App, admin: Admin) -> None:
    document = await app.documents.add(b"lost")
    assert document.sha256 is not None
    path = object_key(document.sha256, 0)
    await app.store.delete([path])
    found = await orphans_of(app).scanner.scan()
    assert (found.missing, found.missing_objects) == (1, (path,))
    [scanned] = await told(app, "object.scanned")
    assert scanned.payload["missing"] == 1


async def test_a_dry_run_changes_nothing(app: App, admin: Admin) -> None:
    await app.objects.put(b"orphan")
    await app.store.write(object_key("d" * 64, 0), b"stray")
    hand = orphans_of(app)
    found = await hand.scanner.scan(dry=True)
    assert (found.staged, found.strays) == (1, 1)
    assert candidates(admin) == []
    await hand.scanner.scan()
    before = admin.execute("select count(*) from foja.event").fetchone()
    assert (await hand.purger.purge(dry=True)).quarantined == 2
    assert states(admin) == ["live"]
    assert admin.execute("select count(*) from foja.event").fetchone() == before


async def test_a_run_purges_no_more_than_its_limit(app: App, admin: Admin) -> None:
    for n in range(7):
        await app.objects.put(f"orphan {n}".encode())
    hand = orphans_of(app, OrphanTerms(grace=ZERO, quarantine=ZERO, fresh=ZERO, max_objects=5))
    await hand.scanner.scan()
    assert (await hand.purger.purge()).deleted == 5
    assert (await hand.purger.purge()).deleted == 2


async def test_one_object_can_be_purged_at_once_if_nothing_refers_to_it(app: App, admin: Admin) -> None:
    document = await app.documents.add(b"secret", name="a.txt")
    again = await app.documents.add(b"secret", name="b.txt")
    assert document.sha256 is not None
    purger = orphans_of(app, OrphanTerms()).purger
    with pytest.raises(errors.Refused, match="2 events refer to the object"):
        await purger.purge_object(document.sha256, reason="asked")
    await document.erase(reason="asked")
    with pytest.raises(errors.Refused, match="1 events refer to the object"):
        await purger.purge_object(document.sha256, reason="asked")
    await again.erase(reason="asked")
    assert await purger.purge_object(document.sha256, reason="request 17", actor="ana") == [
        object_key(document.sha256, 0)
    ]
    assert not await app.store.exists(object_key(document.sha256, 0))
    [tombstone] = await told(app, "object.purged")
    assert (tombstone.actor, tombstone.payload["reason"]) == ("ana", "request 17")
    with pytest.raises(errors.ObjectMissing):
        await purger.purge_object(document.sha256, reason="again")
    await app.ledger.of("system").erase(  # the digest in the tombstone can go, too
        SYSTEM, app.system.id, tombstone.seq, reason="asked"
    )
    assert (await told(app, "object.purged"))[0].payload is None


async def test_a_purge_by_itself_is_armed_by_seven_good_days(app: App, admin: Admin) -> None:
    await app.objects.put(b"orphan")
    hand = orphans_of(app)
    await hand.scanner.scan()

    async def days() -> int:
        return (await hand.purger.inventory()).days

    def past(day: int, **more: Any) -> None:
        values = {"candidates": 1, "false_positives": 0, "outcome": "complete", **more}
        admin.execute(
            """insert into foja.orphan_run
                (run, action, outcome, started_at, ended_at, candidates, false_positives)
            select gen_random_uuid(), 'scan', %s, t, t, %s, %s
            from (select now() - make_interval(days => %s)) x(t)""",
            [values["outcome"], values["candidates"], values["false_positives"], day],
        )

    assert await days() == 1
    for day in range(1, 6):
        past(day)
    past(6, candidates=0)
    past(7, outcome="aborted")
    assert await days() == 6
    assert not (await hand.purger.inventory()).armed
    past(8)
    assert (await hand.purger.inventory()).armed
    past(3, false_positives=1)
    assert await days() == 3


async def test_the_job_scans_every_day_and_purges_when_armed(
    open_app: Callable[..., App], admin: Admin
) -> None:
    settings = {"orphan_grace_seconds": 0, "orphan_quarantine_seconds": 0, "orphan_fresh_seconds": 0}
    async with open_app(**settings) as app:
        await app.objects.put(b"orphan")
        await app.work(until_idle=True)
        assert await told(app, "object.scanned") == [], "the first one comes after a day"
        row = admin.execute(
            "select every, due > now() + interval '23 hours' from foja.tick where name = 'scan_orphans'"
        ).fetchone()
        assert row == (DAY, True)
        admin.execute("update foja.tick set due = now() where name = 'scan_orphans'")
        await app.work(until_idle=True)
        assert len(await told(app, "object.scanned")) == 1
        assert states(admin) == ["live"], "not armed"
        admin.execute(
            """insert into foja.orphan_run (run, action, outcome, started_at, ended_at, candidates)
            select gen_random_uuid(), 'scan', 'complete', t, t, 1
            from (select now() - make_interval(days => d) from generate_series(1, 7) d) x(t)"""
        )
        admin.execute("update foja.tick set due = now(), every = '1 second' where name = 'scan_orphans'")
        await app.work(until_idle=True)
        assert states(admin) == ["deleted"]
        assert len(await told(app, "object.purged")) == 1
    async with open_app(orphan_scan_seconds=0) as app:
        await app.work(until_idle=True)
        assert admin.execute("select count(*) from foja.tick where name = 'scan_orphans'").fetchone() == (0,)


def test_the_brakes() -> None:
    terms = OrphanTerms()
    good = Inventory(NOW, 1000, 100, 0, 7, NOW - DAY, NOW - DAY)
    assert find_brake(good, terms) is None
    assert good.armed

    def brake(**changed: Any) -> str:
        fields = {name: getattr(good, name) for name in good.__slots__}
        return find_brake(Inventory(**{**fields, **changed}), terms) or ""

    assert "101 of 1,000 objects are due" in brake(due=101)
    assert not brake(due=FEW, objects=FEW), "so few may always go"
    assert "scan first" in brake(last_scan=NOW - 3 * DAY)
    assert "scan first" in brake(last_scan=None)
    assert "the clock went back" in brake(last_run=NOW + DAY)
    assert find_jump(timedelta(seconds=5), timedelta(seconds=6)) is None
    assert "jumped" in (find_jump(timedelta(seconds=5), DAY) or "")
    assert "jumped" in (find_jump(timedelta(seconds=5), -DAY) or "")


async def test_a_candidate_needs_days_with_scans_too(app: App, admin: Admin) -> None:
    """A clock that jumped a week ahead ends no grace period."""
    await app.objects.put(b"orphan")
    hand = orphans_of(app, OrphanTerms(fresh=ZERO, quarantine=ZERO))
    await hand.scanner.scan()
    admin.execute("update image_orphan_candidates set detected_at = now() - interval '8 days'")
    assert (await hand.purger.inventory()).due == 0
    assert (await hand.purger.purge()).quarantined == 0
    for day in range(1, 6):
        admin.execute(
            """insert into foja.orphan_run (run, action, outcome, started_at, ended_at)
            select gen_random_uuid(), 'scan', 'complete', t, t
            from (select now() - make_interval(days => %s)) x(t)""",
            [day],
        )
    assert (await hand.purger.purge()).deleted == 1


async def test_the_view_of_the_seed_counts_by_age(admin: Admin) -> None:
    for n, age in enumerate(["1 hour", "2 days", "4 days", "6 days", "8 days", "30 days"]):
        admin.execute(
            "insert into image_orphan_candidates (path, detected_at) values (%s, now() - %s::interval)",
            [f"p{n}", age],
        )
    admin.execute("insert into image_orphan_candidates (path, confirmed_deleted_at) values ('gone', now())")
    view = admin.execute("select * from vw_image_orphan_candidates_metrics")
    assert [column.name for column in view.description or ()] == [
        "total_staged",
        "lt_1d",
        "d1_3",
        "d3_7",
        "gte_7d",
    ]
    assert view.fetchone() == (6, 1, 1, 2, 2)
    columns = admin.execute(
        """select column_name, data_type, is_nullable from information_schema.columns
        where table_name = 'image_orphan_candidates' order by ordinal_position"""
    ).fetchall()
    assert columns == [
        ("path", "text", "NO"),
        ("detected_at", "timestamp with time zone", "YES"),
        ("confirmed_deleted_at", "timestamp with time zone", "YES"),
        ("last_seen_reference", "timestamp with time zone", "YES"),
    ]


async def test_only_the_role_of_orphans_may_purge(admin: Admin) -> None:
    for role in ("foja_api", "service_role", "foja_sweeper", "foja_run_tsa"):
        with acting(admin, role), pytest.raises(psycopg.Error, match=r"permission denied|wrong_source"):
            admin.execute("select foja.claim_orphans_v1(0, 1)")
