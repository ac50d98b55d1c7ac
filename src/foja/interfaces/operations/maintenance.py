"""What callers can do about the store, which all tenants share, and about failed work of their tenant."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from foja.domains.system.orphans.purge import ORPHAN
from foja.domains.system.orphans.service import Orphans
from foja.interfaces.answers.maintenance import (
    CandidateList,
    CleanupReport,
    DeletedObjects,
    RestoredObject,
    Retried,
)
from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.operation import Operation, Option
from foja.interfaces.operations.records.streams import Limit
from foja.pure.core.registry import check_digest
from foja.pure.models.access.principal import Scope
from foja.pure.models.system.view import RunResult
from foja.tenant import TenantApp

MAX_JOBS = 1_000
What = Literal["documents", "images", "jobs"]
ALL: tuple[What, ...] = ("documents", "images", "jobs")
DryRun = Annotated[bool, "only count; change and record nothing"]
Digest = Annotated[str, "the SHA-256 digest of an object"]
Why = Annotated[str, "why; recorded"]


async def report(orphans: Orphans, *, limit: Limit = 100) -> CleanupReport:
    """Return candidates for a purge by age, the last runs, and whether the automatic purge is armed."""
    found = await orphans.report()
    values = {each.name: getattr(found, each.name) for each in fields(found)}
    return CleanupReport(**values, candidates=await orphans.list(limit))


async def candidates(orphans: Orphans, *, limit: Limit = 100) -> CandidateList:
    """List the candidates that are not purged, oldest first."""
    return CandidateList(await orphans.list(limit))


async def cleanup(caller: Caller, *, dry_run: DryRun = True, actor: str | None = None) -> RunResult:
    """Look for objects that nothing refers to, and stage them unless it is a dry run. Delete nothing."""
    return await _orphans(caller).scanner.scan(dry=dry_run, actor=actor, progress=caller.progress)


async def purge(
    caller: Caller, *, dry_run: DryRun = True, reason: Why | None = None, actor: str | None = None
) -> RunResult:
    """Delete what has been a candidate for long enough; a dry run only counts it."""
    return await _orphans(caller).purger.purge(
        dry=dry_run, actor=actor, reason=reason or ORPHAN, progress=caller.progress
    )


async def purge_object(
    orphans: Orphans, sha256: Digest, *, reason: Why, actor: str | None = None
) -> DeletedObjects:
    """Delete one object now, past the grace period. Refused while anything refers to it."""
    paths = await orphans.purger.purge_object(check_digest(sha256), reason=reason, actor=actor)
    return DeletedObjects([*paths])


async def restore(
    orphans: Orphans, sha256: Digest, *, reason: Why, actor: str | None = None
) -> RestoredObject:
    """Let a candidate, or an object in quarantine, be live again."""
    return RestoredObject(await orphans.purger.restore(check_digest(sha256), reason=reason, actor=actor))


async def retry(
    app: TenantApp,
    *,
    what: Annotated[Annotated[list[What], Field(min_length=1)] | None, "null: all"] = None,
    reason: str | None = None,
    force: Annotated[bool, "also variants that failed as often as they may be tried"] = False,
    actor: str | None = None,
) -> Retried:
    """Start failed work of the tenant again: evidence that was given up, variants, dead jobs.

    Variants that failed as often as they may be tried are left out, unless it is forced.
    """
    wanted = what or ALL
    granted = await _grant(app, reason, actor) if "documents" in wanted else 0
    rendered = await app.images.render(force=force) if "images" in wanted else 0
    queued = await _queue_dead(app, actor) if "jobs" in wanted else 0
    return Retried(granted, rendered, queued)


async def _grant(app: TenantApp, reason: str | None, actor: str | None) -> int:
    count, after = 0, UUID(int=0)
    while page := await app.documents.failed(after=after):
        for document in page:
            count += len(await app.documents.grant(document, reason=reason, actor=actor))
        after = page[-1]
    return count


async def _queue_dead(app: TenantApp, actor: str | None) -> int:
    """Queue dead jobs again, the newest first; those that their stream knows as failed are left alone."""
    dead = await app.jobs.list(state="dead", limit=MAX_JOBS)
    return (await app.jobs.retry([job.id for job in dead], actor=actor)).done if dead else 0


def _app(caller: Caller) -> TenantApp:
    return caller.app


def _orphans(caller: Caller) -> Orphans:
    return caller.installation.orphans


CLEANUP, PURGE, ROOT = Scope.CLEANUP, Scope.PURGE, "/v1/maintenance"
OPERATIONS = (
    Operation(
        *("maintenance.report", f"GET {ROOT}/cleanup", report, CLEANUP, _orphans, True),
        verb="orphans report",
        examples="foja orphans report\nfoja orphans report --json",
    ),
    Operation(
        *("maintenance.candidates", f"GET {ROOT}/candidates", candidates, CLEANUP, _orphans, True),
        verb="orphans list",
        examples="foja orphans list\nfoja orphans list --limit 10 --json",
    ),
    Operation(*("maintenance.cleanup", f"POST {ROOT}/cleanup", cleanup, CLEANUP), installation=True),
    Operation("maintenance.purge", f"POST {ROOT}/purge", purge, PURGE, installation=True),
    Operation("maintenance.purge_object", f"POST {ROOT}/purge/object", purge_object, PURGE, _orphans, True),
    Operation(
        *("maintenance.restore", f"POST {ROOT}/restore", restore, PURGE, _orphans, True),
        verb="orphans restore",
        options=(Option("sha256", "SHA256", "digest"),),
        examples="foja orphans restore SHA256 --reason 'the import is not finished'",
    ),
    Operation("maintenance.retry", f"POST {ROOT}/retry", retry, Scope.RETRY, _app),
)
