"""`/v1/maintenance`: cleanup and purge of the store, which all tenants share, and retry of failed work."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Query, Response

from foja.access.model.principal import Scope
from foja.core.registry import check_digest
from foja.system.hygiene.purge import ORPHAN
from foja.tenants.app import TenantApp
from foja.web.bodies import body_of, describe_body
from foja.web.caller import Caller, Retrier, needs
from foja.web.maintenance.bodies import CleanupBody, ObjectBody, PurgeBody, RetryFailedBody
from foja.web.reference.answers.maintenance import (
    CleanupReport,
    DeletedObjects,
    RestoredObject,
    RetryAnswer,
    RunAnswer,
)
from foja.web.routers import api_router
from foja.web.transfer.encoder import JsonAnswer

routes = api_router("/v1/maintenance", "maintenance")
MAX_JOBS = 1_000
ALL = ("documents", "images", "jobs")
Cleaner = Annotated[Caller, Depends(needs(Scope.CLEANUP, installation=True))]
Purger = Annotated[Caller, Depends(needs(Scope.PURGE, installation=True))]


@routes.get("/cleanup", response_model=CleanupReport)
async def report(caller: Cleaner, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> Response:
    """Return how the hygiene of the store stands, and the candidates for a purge."""
    found = await caller.ctx.app.orphans.report()
    candidates = [
        {name: getattr(each, name) for name in each.__slots__}
        for each in await caller.ctx.app.orphans.list(limit)
    ]
    return JsonAnswer({**found.document(), "candidates": candidates})


@routes.post("/cleanup", response_model=RunAnswer, openapi_extra=describe_body(CleanupBody))
async def cleanup(caller: Cleaner, body: Annotated[CleanupBody, body_of(CleanupBody)]) -> Response:
    """Look for objects that nothing refers to, and stage them unless it is a dry run. Nothing is deleted."""
    result = await caller.ctx.app.orphans.scanner.scan(dry=body.dry_run, actor=caller.principal.actor)
    return JsonAnswer(result.document())


@routes.post("/purge", response_model=RunAnswer, openapi_extra=describe_body(PurgeBody))
async def purge(caller: Purger, body: Annotated[PurgeBody, body_of(PurgeBody)]) -> Response:
    """Delete what has been a candidate for long enough; a dry run only counts it."""
    result = await caller.ctx.app.orphans.purger.purge(
        dry=body.dry_run, actor=caller.principal.actor, reason=body.reason or ORPHAN
    )
    return JsonAnswer(result.document())


@routes.post("/purge/object", response_model=DeletedObjects, openapi_extra=describe_body(ObjectBody))
async def purge_object(caller: Purger, body: Annotated[ObjectBody, body_of(ObjectBody)]) -> Response:
    """Delete one object now, past the grace period. Refused while anything refers to it."""
    paths = await caller.ctx.app.orphans.purger.purge_object(
        check_digest(body.sha256), reason=body.reason, actor=caller.principal.actor
    )
    return JsonAnswer({"deleted": list(paths)})


@routes.post("/restore", response_model=RestoredObject, openapi_extra=describe_body(ObjectBody))
async def restore(caller: Purger, body: Annotated[ObjectBody, body_of(ObjectBody)]) -> Response:
    """Let a candidate or an object in quarantine be live again."""
    path = await caller.ctx.app.orphans.purger.restore(
        check_digest(body.sha256), reason=body.reason, actor=caller.principal.actor
    )
    return JsonAnswer({"restored": path})


@routes.post("/retry", response_model=RetryAnswer, openapi_extra=describe_body(RetryFailedBody))
async def retry(caller: Retrier, body: Annotated[RetryFailedBody, body_of(RetryFailedBody)]) -> Response:
    """Start failed work of the tenant again: evidence that was given up, variants, dead jobs.

    Variants that failed as often as they may be tried are left out, unless it is forced.
    """
    app, what = caller.app, body.what or ALL
    granted = await _grant(app, body.reason, caller.principal.actor) if "documents" in what else 0
    rendered = await app.images.render(force=body.force) if "images" in what else 0
    queued = await _queue_dead(app, caller.principal.actor) if "jobs" in what else 0
    return JsonAnswer({"evidence": granted, "images": rendered, "jobs": queued})


async def _grant(app: TenantApp, reason: str | None, actor: str) -> int:
    count, after = 0, UUID(int=0)
    while page := await app.documents.failed(after=after):
        for document in page:
            count += len(await app.documents.grant(document, reason=reason, actor=actor))
        after = page[-1]
    return count


async def _queue_dead(app: TenantApp, actor: str) -> int:
    """Queue dead jobs again, the newest first; those that their stream knows as failed are left alone."""
    dead = await app.jobs.list(state="dead", limit=MAX_JOBS)
    return (await app.jobs.retry([job.id for job in dead], actor=actor)).done if dead else 0
