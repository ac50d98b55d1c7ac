"""The kinds of the domain `system`.

The stream of the installation has its id and the tenant `system`. Each tenant has a stream of its own for
what was done about its keys, sessions and jobs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from foja.pure.core.fields import SYSTEM_TENANT
from foja.pure.core.registry import API, Domain, JobType, Kind

TENANT: Final = SYSTEM_TENANT
CHECKPOINT_ANCHORED, KEY_ROTATED = "checkpoint.anchored", "key.rotated"
SCAN, PURGE, HYGIENE = "scan_orphans", "purge_orphans", "hygiene"
WEBHOOK_CHANGED, DELIVER, WEBHOOKS = "webhook.changed", "deliver_webhook", "webhooks"
ACCESS_CHANGED, JOB_CHANGED, ACCESS = "access.changed", "job.changed", "access"
_HYGIENE = frozenset({HYGIENE})
_COUNTS = (
    "checked",
    "candidates",
    "staged",
    "strays",
    "missing",
    "rescued",
    "rescued_late",
    "false_positives",
    "quarantined",
    "deleted",
    "bytes",
)
_TEXTS = ("key_id", "name", "expires_at", "overlap_until", "session_id", "subject")
_RUN = {"run": "string", "outcome": "string", "started_at": "string", "ended_at": "string"}

_KINDS = (
    Kind(
        ACCESS_CHANGED,
        frozenset({ACCESS}),
        {"action": "string", "tenant": "string"},
        {**dict.fromkeys(_TEXTS, "string"), "scopes": "array", "installation": "boolean"},
    ),
    Kind(
        JOB_CHANGED,
        API,
        {"action": "string"},
        {"jobs": "array", "type": "string", "count": "number"},
    ),
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
    Kind("object.scanned", _HYGIENE, _RUN, {"detail": "string", **dict.fromkeys(_COUNTS, "number")}),
    Kind("object.purge.ended", _HYGIENE, _RUN, {"detail": "string", **dict.fromkeys(_COUNTS, "number")}),
    Kind("object.unstaged", _HYGIENE, {"run": "string", "objects": "array"}, erasable=True),
    Kind("object.purged", _HYGIENE, {"run": "string", "reason": "string", "objects": "array"}, erasable=True),
    Kind(
        "object.restored",
        _HYGIENE,
        {"sha256": "string", "generation": "number", "reason": "string"},
        digests=("sha256",),
        erasable=True,
    ),
    Kind(
        WEBHOOK_CHANGED,
        frozenset({"api", WEBHOOKS}),
        {
            "webhook_id": "string",
            "change": "string",
            "of_tenant": "string",
            "server": "string",
            "kinds": "array",
        },
        {"reason": "string"},
    ),
)
_JOBS = (
    JobType(SCAN, HYGIENE, lease=60.0),
    JobType(PURGE, HYGIENE, lease=60.0),
    JobType(DELIVER, WEBHOOKS, lease=60.0, max_tries=10_000),  # the attempts of a delivery are its own
)
# The guard lets only the streams of the installation and of its tenants have them.
SYSTEM = Domain("system", [replace(kind, tracked=True) for kind in _KINDS], _JOBS, head_only=True)
