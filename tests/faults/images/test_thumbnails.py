"""Rendering under faults: dying decoders, lost originals, killed workers. Attempts are counted once."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from foja.app import App
from foja.domains.images.decoder.pool import Decoders, Rendering
from foja.errors import DecoderFailed, ImageRefused
from foja.pure.models.images.variants import VariantSpec, specs_of
from tests import pictures
from tests.png import png

OpenApp = Callable[..., App]
Admin = psycopg.Connection[Any]
NAMES = {spec.name for spec in specs_of("catalog", "jpeg webp")}
ENDS = {"image.rendered", "image.skipped", "image.failed"}


def hurry(admin: Admin) -> None:
    """Let every retry run now."""
    admin.execute("update foja.job set run_at = clock_timestamp() where state = 'retry_scheduled'")


def failing(error: Exception) -> Callable[..., Any]:
    async def render(self: Decoders, data: bytes, specs: Sequence[VariantSpec]) -> Rendering:
        raise error

    return render


async def kinds(app: App, product: UUID) -> list[str]:
    return [event.kind for event in await (await app.images.open(product)).events()]


@pytest.mark.parametrize(("retries", "tries"), [("single", 2), ("armed", 5), ("auto", 2)])
async def test_a_decoder_that_always_dies_is_tried_as_often_as_allowed(
    open_app: OpenApp, admin: Admin, monkeypatch: pytest.MonkeyPatch, retries: str, tries: int
) -> None:
    async with open_app(thumbnail_retries=retries) as app:
        product = uuid4()
        image = await app.images.add(product, png())
        monkeypatch.setattr(Decoders, "render", failing(DecoderFailed("decoder_died", "it died")))
        for attempt in range(1, tries + 1):
            await app.work(until_idle=True)
            state = await app.images.rendering(image)
            assert (state.status, state.attempts, state.last_error) == ("error", attempt, "it died")
            hurry(admin)
        await app.work(until_idle=True)
        state = await app.images.rendering(image)
        assert (state.attempts, state.error_code) == (tries, "decoder_died")
        assert await kinds(app, product) == ["image.added", "image.failed"]
        monkeypatch.undo()
        assert await app.images.render(force=tries == 5) == 1
        await app.work(until_idle=True)
        state = await app.images.rendering(image)
        assert (state.status, state.last_error, state.error_code) == ("success", None, None)
        assert state.attempts == 1 + tries % 5, "force counts from 0 again"


async def test_the_limit_of_attempts_is_a_setting(
    open_app: OpenApp, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(thumbnail_retries="armed", thumbnail_max_attempts=3) as app:
        image = await app.images.add(uuid4(), png())
        monkeypatch.setattr(Decoders, "render", failing(DecoderFailed("decoder_timeout", "too slow")))
        for _ in range(5):
            await app.work(until_idle=True)
            hurry(admin)
        assert (await app.images.rendering(image)).attempts == 3


async def test_a_refused_image_fails_at_once_and_for_ever(
    app: App, monkeypatch: pytest.MonkeyPatch, admin: Admin
) -> None:
    product = uuid4()
    image = await app.images.add(product, png())
    monkeypatch.setattr(Decoders, "render", failing(ImageRefused("image_damaged", "it is damaged")))
    await app.work(until_idle=True)
    hurry(admin)
    await app.work(until_idle=True)
    state = await app.images.rendering(image)
    assert (state.status, state.attempts, state.error_code) == ("error", 1, "image_damaged")
    assert await kinds(app, product) == ["image.added", "image.failed"]


@pytest.mark.usefixtures("on_disk")
async def test_a_lost_original_is_a_failure_with_its_reason(app: App) -> None:
    product = uuid4()
    image = await app.images.add(product, png())
    for path in Path(app.settings.store_url.removeprefix("file://")).rglob(f"{image.object}/*"):
        path.unlink()
    await app.work(until_idle=True)
    state = await app.images.rendering(image)
    assert (state.status, state.error_code) == ("error", "original_lost")


@pytest.mark.parametrize("dies", [False, True], ids=["rendered", "decoder dies"])
@pytest.mark.parametrize("last", [False, True], ids=["first try", "last try"])
async def test_an_image_that_is_removed_while_it_is_rendered_leaves_no_dead_job(
    app: App, admin: Admin, monkeypatch: pytest.MonkeyPatch, *, last: bool, dies: bool
) -> None:
    """The result was refused, then the on_death event too: an alert that anyone who may write could cause."""
    product = uuid4()
    image = await app.images.add(product, png())
    render = Decoders.render

    async def removing(self: Decoders, data: bytes, specs: Sequence[VariantSpec]) -> Rendering:
        await (await app.images.open(product)).remove(image.id)
        if dies:
            raise DecoderFailed("decoder_died", "it died")
        return await render(self, data, specs)

    monkeypatch.setattr(Decoders, "render", removing)
    if last:
        admin.execute("update foja.job set tries = max_tries - 1 where type = 'render_image'")
    await app.work(until_idle=True)
    hurry(admin)
    await app.work(until_idle=True)
    states = admin.execute("select state from foja.job where type = 'render_image'").fetchall()
    assert states == [("succeeded",)]
    assert await kinds(app, product) == ["image.added", "image.removed"]


@pytest.mark.parametrize("saved", [False, True])
async def test_a_worker_that_lost_its_lease_overwrites_nothing(
    app: App, admin: Admin, monkeypatch: pytest.MonkeyPatch, saved: bool
) -> None:
    """Its lease goes to another worker while it renders; the other one is done before, or not yet."""
    product = uuid4()
    image = await app.images.add(product, png())
    render, first = Decoders.render, True

    async def slow(self: Decoders, data: bytes, specs: Sequence[VariantSpec]) -> Rendering:
        nonlocal first
        if first:
            first = False
            admin.execute("update foja.job set lease_until = clock_timestamp() - interval '1 second'")
            if saved:
                await app.work(until_idle=True, only=["render_image"])
            raise DecoderFailed("decoder_died", "late")
        return await render(self, data, specs)

    monkeypatch.setattr(Decoders, "render", slow)
    await app.work(until_idle=True)
    for _ in range(100):
        if (await app.images.rendering(image)).status == "success":
            break
        hurry(admin)
        await app.work(until_idle=True)
        await asyncio.sleep(0.05)
    state = await app.images.rendering(image)
    assert (state.status, state.last_error) == ("success", None)
    assert sorted(await kinds(app, product)) == ["image.added", *["image.rendered"] * len(NAMES)]


async def test_seven_good_days_arm_more_retries(app: App, admin: Admin) -> None:
    image = await app.images.add(uuid4(), png())
    await app.work(until_idle=True)

    def tries() -> int:
        row = admin.execute("select tries from foja.thumbnail_rule").fetchone()
        assert row is not None
        return int(row[0])

    async def arm(days: Sequence[int], state: str = "succeeded") -> int:
        admin.execute("delete from foja.job where type = 'render_image'")
        admin.execute("update foja.thumbnail_rule set armed_at = null")
        for day in days:
            admin.execute(
                "insert into foja.job (type, entity_id, correlation_id, tenant, dedupe_key, max_tries, "
                "state, finished_at) select 'render_image', gen_random_uuid(), gen_random_uuid(), 'default', "
                "'x', 2, %s, current_date - %s + interval '1 hour'",
                [state, day],
            )
        await app.sweeper.row("select foja.arm_retries_v1()")
        return tries()

    assert tries() == 2
    assert await arm(range(1, 7)) == 2  # six days
    assert await arm(range(7)) == 2  # today is not over
    assert await arm(range(1, 8)) == 5
    assert await arm(range(1, 8), "dead") == 2
    assert image.order == 0


WORKER = """
import asyncio, sys
import foja
async def main():
    async with foja.connect(database_url=sys.argv[1], home=sys.argv[2], image_decoders=2) as app:
        print("up", flush=True)
        await app.work(only=["render_image"])
asyncio.run(main())
"""


def start_worker(app: App) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", WORKER, app.settings.database_url, str(app.settings.home)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


async def kill_workers(app: App, admin: Admin, images: int, kills: int) -> None:
    """Render while workers are killed with -9 at random moments; then let one finish."""
    chosen, products = random.Random(7), [uuid4() for _ in range(images)]
    for number, product in enumerate(products):
        data = pictures.encoded(pictures.photo(900 + number, 700), "JPEG")
        await app.images.add(product, data)
        if number % 5 == 0:
            await app.images.add_url(product, "https://cdn.example/front.jpg")
    for _ in range(kills):
        worker = start_worker(app)
        assert worker.stdout is not None
        await asyncio.to_thread(worker.stdout.readline)
        await asyncio.sleep(chosen.uniform(0.0, 1.5))
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
        worker.stdout.close()
        admin.execute("update foja.job set lease_until = clock_timestamp() where state = 'running'")
    deadline = time.monotonic() + 120
    open_states = "select count(*) from foja.job where type = 'render_image' and finished_at is null"
    while admin.execute(open_states).fetchone() != (0,):
        assert time.monotonic() < deadline
        admin.execute("update foja.job set lease_until = clock_timestamp() where state = 'running'")
        hurry(admin)
        await app.work(until_idle=True)


async def check_ends(app: App, admin: Admin) -> None:
    """Every image ended rendered, failed or skipped with a reason, and its attempts are those of its job."""
    rows = admin.execute(
        "select i.product_id, i.id, t.status, t.attempts, t.last_error, t.skipped, t.error_code, j.tries, "
        "j.max_tries from product_images i left join image_thumbnail_jobs t on t.product_image_id = i.id "
        "left join foja.job j on j.job_id = t.job_id"
    ).fetchall()
    assert rows
    for product, image, status, attempts, last_error, skipped, code, tries, most in rows:
        assert status in {"success", "error"}
        assert attempts == tries
        assert 1 <= tries <= most + 1  # a job whose worker died is claimed once more, alone
        assert (last_error is None) == (status == "success")
        events = await (await app.images.open(product)).events()
        told = [e.kind for e in events if e.kind in ENDS and e.payload["image_id"] == str(image)]
        if status == "error":
            assert code == "job_died"
            assert told == ["image.failed"]
        elif skipped:
            assert told == ["image.skipped"]
        else:
            assert told == ["image.rendered"] * len(NAMES)
    assert (await app.images.rebuild()).mended == 0


async def test_killed_workers_leave_no_image_without_an_end(open_app: OpenApp, admin: Admin) -> None:
    async with open_app() as app:
        await kill_workers(app, admin, images=4, kills=3)
        await check_ends(app, admin)


@pytest.mark.long
async def test_many_killed_workers_leave_no_image_without_an_end(open_app: OpenApp, admin: Admin) -> None:
    async with open_app(thumbnail_retries="armed") as app:
        await kill_workers(app, admin, images=30, kills=25)
        await check_ends(app, admin)
