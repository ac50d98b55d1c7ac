"""`render_image` makes the variants of one image. Each is stored before the event that names it.

A refused image is a failure for ever; a decoder that died may do better at the next try.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from uuid import UUID

from foja.domains.images.decoder.pool import Decoders, Rendering, Variant
from foja.engine import sql
from foja.engine.blobs.objects import Objects
from foja.engine.driver.database import Database
from foja.engine.jobs.outcome import Done, GiveUp, Job, NewEvent, Outcome, Retry
from foja.errors import (
    DecoderFailed,
    ImageRefused,
    ObjectMissing,
    ProductDeleted,
    Tampered,
    UnknownImage,
    UnknownProduct,
)
from foja.pure.models.images.events import FAILED, RENDERED, SKIPPED
from foja.pure.models.images.gallery import OBJECT
from foja.pure.models.images.variants import VariantSpec

TYPE = "render_image"
EXTERNAL = "external: the image is stored elsewhere, and is never fetched"
NOT_INSTALLED = "not installed: variants need libvips; install foja[images] and run `foja images render`"
MAX_REASON = 500
NO_IMAGE = GiveUp("its job names no image: expected image_id")
REMOVED = (UnknownImage, UnknownProduct, ProductDeleted)  # the image was, while it was rendered


@dataclass(frozen=True, slots=True)
class Target:
    """The content of an image now, and the specifications of the variants that it has."""

    image: UUID
    url: str
    specs: frozenset[str]

    @property
    def original(self) -> str | None:
        """The digest of its bytes; None if they are elsewhere or erased."""
        return self.url.removeprefix(OBJECT) if self.url.startswith(OBJECT) else None


class RenderWorker:
    """Renders what an image lacks of the variants that are set here."""

    def __init__(
        self, decoders: Decoders, objects: Objects, database: Database, specs: Sequence[VariantSpec]
    ) -> None:
        """`database` acts as the source of these jobs."""
        self._decoders, self._objects, self._database, self._specs = decoders, objects, database, specs

    async def work(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Render the images of these jobs, one after the other."""
        return [await self._do(job) for job in jobs]

    async def _do(self, job: Job) -> Outcome:
        try:
            image = UUID(job.payload["image_id"])
        except (KeyError, TypeError, ValueError, AttributeError):
            return NO_IMAGE
        target = await self._target(job, image)
        if target is None or target.url.startswith("foja:erased/"):
            return Done()  # it was removed meanwhile, or its content was erased
        if target.original is None:
            return Done([_skipped(target, EXTERNAL)], needless=REMOVED)
        wanted = [spec for spec in self._specs if job.payload.get("again") or spec.digest not in target.specs]
        if not wanted:
            return Done()
        if not self._decoders.renders:
            return Done([_skipped(target, NOT_INSTALLED)], needless=REMOVED)
        return await self._render(job, target, target.original, wanted)

    async def _target(self, job: Job, image: UUID) -> Target | None:
        rows = await self._database.rows(sql.query("rendering_target"), product=job.entity_id, image=image)
        return Target(image, rows[0][0], frozenset(rows[0][1])) if rows else None

    async def _render(
        self, job: Job, target: Target, original: str, wanted: Sequence[VariantSpec]
    ) -> Outcome:
        began = perf_counter()
        try:
            data = await self._objects.get(job.tenant, original)
            rendering = await self._decoders.render(data, wanted)
        except ImageRefused as error:
            return GiveUp(str(error), [_failed(target, error.code, str(error))], REMOVED)
        except (ObjectMissing, Tampered) as error:
            return GiveUp(str(error), [_failed(target, "original_lost", str(error))], REMOVED)
        except DecoderFailed as error:
            if job.tries < job.max_tries:
                return Retry(str(error))
            return GiveUp(str(error), [_failed(target, error.code, str(error))], REMOVED)
        seconds = perf_counter() - began
        events = []
        for variant in rendering.variants:
            stored = await self._objects.of(job.tenant).put(variant.data)
            events.append(_rendered(target, original, rendering, variant, stored.sha256, seconds))
        return Done(events, needless=REMOVED)


def _rendered(
    target: Target, original: str, rendering: Rendering, variant: Variant, sha256: str, seconds: float
) -> NewEvent:
    return NewEvent(
        RENDERED,
        {
            "image_id": str(target.image),
            "original": original,
            "variant": variant.spec.name,
            "spec": variant.spec.digest,
            "object": sha256,
            "media_type": f"image/{variant.spec.format}",
            "width": variant.width,
            "height": variant.height,
            "size": len(variant.data),
            "thumbhash": b64encode(rendering.thumbhash).decode(),
            "ms": round(seconds * 1000),
        },
    )


def _skipped(target: Target, reason: str) -> NewEvent:
    return NewEvent(SKIPPED, {"image_id": str(target.image), "reason": reason})


def _failed(target: Target, code: str, reason: str) -> NewEvent:
    payload = {"image_id": str(target.image), "failure_code": code, "reason": reason[:MAX_REASON]}
    return NewEvent(FAILED, payload)
