"""Galleries, put together for an installation: who checks uploads, who renders variants."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Sequence
from functools import partial

from foja.domains.images.decoder.pool import Decoders, open_decoders
from foja.domains.images.service import Images
from foja.domains.images.uploads import Uploads
from foja.domains.images.workers import render
from foja.engine import sql
from foja.engine.driver.database import Database
from foja.engine.health.service import Probe
from foja.engine.jobs.assembly import Chore, Shared, TenantAssembly
from foja.engine.jobs.queue import Queue, topic
from foja.engine.jobs.spec import Work, WorkerSpec
from foja.engine.ledger.stream import Document, Protect
from foja.engine.maintenance.loop import throttle
from foja.pure.models.images.events import IMAGE
from foja.pure.models.images.variants import VariantSpec, set_digest, specs_of

SWEEP_SECONDS, ARM_SECONDS = 10.0, 3600.0
DECODER = "decoder"
PIXEL = b64decode(  # the smallest picture that is decoded to its end: a PNG of one pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def assemble(
    shared: Shared, protect_of: Callable[[str], Protect[Document]]
) -> TenantAssembly[Images[Document]]:
    """Return the galleries of an installation; `protect_of` a tenant makes a document of one."""
    settings = shared.settings
    specs = specs_of(settings.thumbnail_sets, settings.thumbnail_formats)
    decoders = open_decoders(settings, partial(shared.health.report, DECODER))
    if decoders.renders:
        probe = partial(decoders.check, PIXEL)
        shared.health.add({DECODER: Probe(probe, foreign=True, reports=True)})
    shared.closing.push_async_callback(decoders.close)
    await _set_rules(shared)
    notify, uploads = partial(shared.notifier.touch, topic(render.TYPE)), Uploads(shared.objects, decoders)
    return TenantAssembly(
        service_of=lambda tenant: Images(shared.ledger.of(tenant), uploads, protect_of(tenant), notify),
        workers=[_renderer(shared, decoders, specs)],
        chores=_chores(shared, decoders, specs),
    )


def _renderer(shared: Shared, decoders: Decoders, specs: Sequence[VariantSpec]) -> WorkerSpec:
    def work(queue: Queue) -> Work:
        return render.RenderWorker(decoders, shared.objects, queue.database, specs).work

    # One job at a time for each decoder: a worker that is killed takes few jobs with it.
    return WorkerSpec(IMAGE, render.TYPE, work, batch=1, count=shared.settings.image_decoders)


def _chores(shared: Shared, decoders: Decoders, specs: Sequence[VariantSpec]) -> list[Chore]:
    chores = [throttle(partial(arm_retries, shared.sweeper), ARM_SECONDS)]
    if decoders.renders and specs:
        sweep = partial(sweep_variants, shared.sweeper, specs, shared.settings.thumbnail_backlog)
        chores.append(throttle(sweep, SWEEP_SECONDS))
    return chores


async def sweep_variants(database: Database, specs: Sequence[VariantSpec], most: int) -> int:
    """Ask for variants that images lack since the set was changed; return how many images."""
    digests = [spec.digest for spec in specs]
    return int(
        await database.value(sql.query("sweep_variants"), set=set_digest(specs), specs=digests, most=most)
    )


async def arm_retries(database: Database) -> int:
    """Allow more than one automatic retry after seven good days; return 1 if that is new."""
    return int(bool(await database.value(sql.query("arm_retries"))))


async def _set_rules(shared: Shared) -> None:
    """Tell the database what the settings allow. What is not set here is left as it is."""
    settings = shared.settings

    def given(name: str) -> object:
        return getattr(settings, name) if name in settings.model_fields_set else None

    read, limit = given("gallery_read"), given("gallery_limit")
    if read is not None or limit is not None:
        await shared.operator.row(sql.query("set_gallery_rule"), read=read, limit=limit)
    attempts, retries = given("thumbnail_max_attempts"), given("thumbnail_retries")
    if attempts is not None or retries is not None:
        await shared.operator.row(sql.query("set_thumbnail_rule"), attempts=attempts, retries=retries)
