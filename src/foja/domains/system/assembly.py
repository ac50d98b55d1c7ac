"""The installation's own stream and the orphans of its store, put together for an installation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from foja.domains.system.checkpoints import CheckpointAnchors
from foja.domains.system.keys import KeyRecorder
from foja.domains.system.orphans.service import Orphans, open_orphans
from foja.domains.system.service import System
from foja.engine import sql
from foja.engine.anchors.proofs import AnchorProofs
from foja.engine.driver.database import Database
from foja.engine.embedded.signing_keys import SigningKeys
from foja.engine.jobs.assembly import Assembly, Shared
from foja.engine.jobs.queue import Queue
from foja.engine.jobs.spec import WorkerSpec
from foja.engine.maintenance.loop import throttle
from foja.pure.models.system.events import PURGE, SCAN, SYSTEM

KEY_SECONDS = 60.0  # between two looks at the folder of keys
PLAN_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemAssembly(Assembly):
    """The stream of an installation with what records its keys."""

    service: System
    keys: KeyRecorder


def assemble(shared: Shared, proofs: AnchorProofs) -> SystemAssembly:
    """Return the stream of an installation, and the chores for its checkpoints and keys."""
    settings, seconds = shared.settings, shared.settings.checkpoint_anchor_seconds
    anchors = CheckpointAnchors(shared.sweeper, shared.installation_id, proofs, seconds, settings.own_tenant)
    system = System(shared.ledger, shared.installation_id, shared.reader, proofs)
    keys = KeyRecorder(system, shared.reader, SigningKeys(settings.home))

    def orphans(queue: Queue) -> Orphans:
        return open_orphans(settings, shared.objects.store, queue.database)

    return SystemAssembly(
        service=system,
        workers=[
            WorkerSpec(SYSTEM, SCAN, lambda queue: orphans(queue).scan_jobs, batch=1),
            WorkerSpec(SYSTEM, PURGE, lambda queue: orphans(queue).purge_jobs, batch=1),
        ],
        chores=[
            throttle(keys.attend, KEY_SECONDS),
            throttle(
                partial(plan_scans, shared.sweeper, settings.orphan_scan_seconds, settings.own_tenant),
                PLAN_SECONDS,
            ),
            *([anchors.request, anchors.record] if seconds and proofs.networks else []),
        ],
        keys=keys,
    )


async def plan_scans(database: Database, seconds: float, tenant: str) -> int:
    """Let a job scan for orphans at this interval; return 0, since nothing is done now."""
    await database.rows(sql.query("plan_orphan_scans"), seconds=seconds, tenant=tenant)
    return 0
