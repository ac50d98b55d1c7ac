"""The installation's own stream, put together for an installation."""

from __future__ import annotations

from dataclasses import dataclass

from foja.anchors.proofs import AnchorProofs
from foja.embedded.signing_keys import SigningKeys
from foja.jobs.assembly import Assembly, Shared
from foja.maintenance import sparingly
from foja.system.checkpoints import CheckpointAnchors
from foja.system.keys import KeyRecorder
from foja.system.service import System

KEY_SECONDS = 60.0  # between two looks at the folder of keys


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemAssembly(Assembly[System]):
    """The stream of an installation with what records its keys."""

    keys: KeyRecorder


def assemble(shared: Shared, proofs: AnchorProofs) -> SystemAssembly:
    """Return the stream of an installation, and the chores for its checkpoints and keys."""
    settings, seconds = shared.settings, shared.settings.checkpoint_anchor_seconds
    anchors = CheckpointAnchors(shared.sweeper, shared.installation_id, proofs, seconds, settings.own_tenant)
    system = System(shared.ledger, shared.installation_id, shared.database, proofs)
    keys = KeyRecorder(system, shared.database, SigningKeys(settings.home))
    return SystemAssembly(
        service=system,
        chores=[
            sparingly(keys.attend, KEY_SECONDS),
            *([anchors.request, anchors.record] if seconds and proofs.networks else []),
        ],
        keys=keys,
    )
