"""The kinds of the domain `system`. Its stream has the id of the installation and the tenant `system`."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from foja.core.registry import API, Domain, Kind

TENANT: Final = "system"
CHECKPOINT_ANCHORED, KEY_ROTATED = "checkpoint.anchored", "key.rotated"

_KINDS = (
    Kind(
        CHECKPOINT_ANCHORED,
        frozenset({"sweeper"}),
        {"network": "string", "origin": "string", "size": "number", "sha256": "string", "batch": "string"},
        {"confirmed_at": "string", "proof": "object"},
        digests=("sha256",),
    ),
    Kind(
        KEY_ROTATED,
        API,
        {"key_id": "string", "purpose": "string"},
        {"public_key": "string", "previous": "string", "reason": "string"},
    ),
)
# The guard lets only this installation's own stream have them.
SYSTEM = Domain("system", [replace(kind, tracked=True) for kind in _KINDS], head_only=True)
