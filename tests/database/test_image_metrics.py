"""The metrics of images: the seed's views with numbers that are true, and its closing criteria."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, LiteralString

import psycopg
import pytest

from tests.database.rows import Admin
from tests.database.shop import Shop

JOB: LiteralString = """
    insert into image_thumbnail_jobs (product_id, product_image_id, status, attempts, duration_ms, created_at,
        updated_at, completed_at, skipped, tenant)
    select gen_random_uuid(), gen_random_uuid(), %(status)s, %(attempts)s, %(ms)s, at, at,
        case when %(status)s in ('success', 'error') then at end, %(skipped)s, 'default'
    from (select now() - %(age)s::interval) t (at)"""
RUN: LiteralString = """insert into foja.orphan_run
    (run, action, outcome, started_at, ended_at, staged, rescued, false_positives)
    values (gen_random_uuid(), %s, %s, now(), now() - make_interval(days => %s), %s, %s, %s)"""


def job(
    admin: Admin, status: str, attempts: int, ms: int | None = None, age: str = "1 hour", **more: Any
) -> None:
    values = {
        "status": status,
        "attempts": attempts,
        "ms": ms,
        "age": age,
        "skipped": None,
    }
    admin.execute(JOB, values | more)


def view(admin: Admin, name: LiteralString) -> dict[str, Any]:
    with admin.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        row = cursor.execute(
            psycopg.sql.SQL("select * from {}").format(psycopg.sql.Identifier(name))
        ).fetchone()
    assert row is not None
    return row


def criteria(admin: Admin) -> dict[str, tuple[Any, Any, bool]]:
    rows = admin.execute("select phase, value, threshold, met from vw_image_closing_criteria").fetchall()
    return {phase: (value, threshold, met) for phase, value, threshold, met in rows}


def test_the_jobs_are_counted_as_they_are(admin: Admin) -> None:
    for ms in range(1, 101):
        job(admin, "success", 1, ms * 10)
    for ms in (5, 5, 5):
        job(admin, "success", 1, ms, age="3 days")
    job(admin, "success", 3, 1000)
    job(admin, "success", 1, 1, skipped="external")
    job(admin, "error", 5)
    job(admin, "error", 2, age="2 days")
    job(admin, "processing", 2, age="10 minutes")
    job(admin, "queued", 0, age="2 minutes")
    found = view(admin, "vw_image_thumbnail_job_metrics")
    assert [found[name] for name in ("queued", "processing", "error", "success")] == [1, 1, 2, 105]
    assert 600 <= found["oldest_pending_age_seconds"] < 700
    assert 120 <= found["last_activity_age_seconds"] < 200
    assert (found["skipped"], found["pending"], found["errors_1d"]) == (1, 3, 1)
    assert found["attempts"] == 103 + 3 + 1 + 5 + 2 + 2
    assert found["failed_attempts"] == 2 + 5 + 2 + 1
    assert float(found["success_rate"]) == pytest.approx(105 / 107, abs=1e-4)
    assert float(found["error_ratio"]) == pytest.approx(10 / 116, abs=1e-4)
    assert (found["p50_ms_7d"], found["p95_ms_7d"]) == (5, 5)
    assert found["p50_ms_1d"] == pytest.approx(510)
    assert 950 <= found["p95_ms_1d"] <= 1000
    assert 3600 <= found["last_success_age_seconds"] < 3700


def test_nothing_measured_is_null_and_not_zero(admin: Admin) -> None:
    found = view(admin, "vw_image_system_overview")
    empty = ("success_rate", "error_ratio", "p95_ms_1d", "false_positive_ratio", "last_scan_age_seconds")
    assert [found[name] for name in empty] == [None] * len(empty)
    assert [found[name] for name in ("queued", "images", "gaps", "duplicates", "orphans_total")] == [0] * 5


def test_the_overview_has_the_columns_of_the_seed_first(admin: Admin) -> None:
    seed = "queued processing error success oldest_pending_age_seconds last_activity_age_seconds"
    assert [*view(admin, "vw_image_thumbnail_job_metrics")][:6] == seed.split()
    orphans = "orphans_total lt_1d d1_3 d3_7 gte_7d"
    assert [*view(admin, "vw_image_system_overview")][:11] == [*seed.split(), *orphans.split()]


def test_gaps_duplicates_and_missing_main_images_are_counted(admin: Admin) -> None:
    shops = [Shop(admin), Shop(admin)]
    for shop in shops:
        shop.create()
        shop.fill(4)
    Shop(admin).create()
    found = view(admin, "vw_image_gallery_metrics")
    assert found == {"products": 3, "images": 8, "gaps": 0, "duplicates": 0, "products_without_main": 0}
    assert criteria(admin)["consistency"] == (0, 0, True)
    admin.execute("alter table product_images drop constraint uniq_product_image_order")
    shift = "update product_images set image_order = image_order + 2 where product_id = %s"
    admin.execute(shift.encode(), (shops[0].product,))
    admin.execute("update product_images set image_order = 0 where product_id = %s", (shops[1].product,))
    found = view(admin, "vw_image_gallery_metrics")
    assert (found["gaps"], found["duplicates"], found["products_without_main"]) == (2, 3, 1)
    assert criteria(admin)["consistency"] == (6, 0, False)


def test_the_phase_of_jobs_closes_below_five_percent(admin: Admin) -> None:
    assert criteria(admin)["observability"] == (None, Decimal("0.05"), False)
    for _ in range(19):
        job(admin, "success", 1, 40)
    value, _, met = criteria(admin)["observability"]
    assert (value, met) == (0, True)
    job(admin, "error", 1)
    assert criteria(admin)["observability"][2] is True
    job(admin, "error", 1)
    assert criteria(admin)["observability"][2] is False


def test_the_phase_of_hygiene_closes_after_seven_days_without_a_false_positive(admin: Admin) -> None:
    for day in range(6):
        admin.execute(RUN, ("scan", "complete", day, 10, 2, 0))
    assert criteria(admin)["hygiene"] == (0, 0, False)
    admin.execute(RUN.replace("make_interval(days => %s)", "interval '6 days 12 hours' * (%s + 1)"),
        ("scan", "complete", 0, 10, 0, 0))  # fmt: skip
    assert criteria(admin)["hygiene"] == (0, 0, True)
    found = view(admin, "vw_image_orphan_run_metrics")
    assert (found["staged_7d"], float(found["rescued_ratio"]), float(found["unstaged_ratio"])) == (
        70,
        0.1714,
        0.1714,
    )
    admin.execute(RUN, ("scan", "complete", 1, 0, 0, 1))
    assert criteria(admin)["hygiene"] == (1, 0, False)
    admin.execute(RUN, ("purge", "aborted", 0, 0, 0, 0))
    overview = view(admin, "vw_image_system_overview")
    assert (overview["aborted_7d"], overview["last_purge_age_seconds"]) == (1, None)
    assert overview["last_scan_age_seconds"] < 100


def test_the_phase_of_security_sees_every_right_too_many(admin: Admin) -> None:
    assert criteria(admin)["security"] == (0, 0, True)
    admin.execute("grant update on product_images to authenticated")
    admin.execute("grant select on image_orphan_candidates to anon")
    admin.execute("alter table image_orphan_candidates disable row level security")
    assert criteria(admin)["security"] == (2, 0, False)


def test_the_views_are_for_the_installation_and_jobs_for_their_tenant(admin: Admin) -> None:
    job(admin, "queued", 0)
    admin.execute("set role authenticated")
    admin.execute("set foja.tenant = 'acme'")
    assert view(admin, "vw_image_thumbnail_job_metrics")["queued"] == 0
    admin.execute("set foja.tenant = 'default'")
    assert view(admin, "vw_image_thumbnail_job_metrics")["queued"] == 1
    for name in ("vw_image_system_overview", "vw_image_closing_criteria", "vw_image_orphan_run_metrics"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            view(admin, name)
    admin.execute("set role foja_api")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        view(admin, "vw_image_system_overview")
    admin.execute("set role service_role")
    assert view(admin, "vw_image_system_overview")["queued"] == 1
    assert len(criteria(admin)) == 4
