"""The event kinds of threads, and the ids of their events.

The state of a program is not a message, so threads have a domain of their own. All events of
one checkpoint have ids with the same prefix: one range of the index on event ids finds them.
"""

from __future__ import annotations

from hashlib import sha256
from uuid import UUID

from foja.pure.core.event import lp, utf8
from foja.pure.core.registry import API, Domain, Kind

PLACE = {"ns": "string", "checkpoint_id": "string"}
TASK = {"task_id": "string", "path": "string", "writes": "array"}
SAVED, WRITTEN, VALUES = "checkpoint.saved", "writes.saved", "values.saved"
# The bits of each half that a UUIDv8 (RFC 9562: custom format) leaves free.
_FIRST, _SECOND = 0xFFFF_FFFF_FFFF_0FFF, 0x3FFF_FFFF_FFFF_FFFF
_VERSION, _VARIANT = 0x8000, 1 << 63

THREAD = Domain(
    "thread",
    [
        Kind(
            SAVED,
            API,
            {
                "thread_id": "string",
                **PLACE,
                "parent_id": "string|null",
                "checkpoint": "object",
                "metadata": "object",
                "values": "object",
                "held": "object",
            },
            erasable=True,
        ),
        Kind(WRITTEN, API, {**PLACE, **TASK}, erasable=True),
        Kind(VALUES, API, {**PLACE, "values": "object"}, erasable=True),
    ],
)


def event_id(ns: str, checkpoint_id: str, rest: bytes) -> UUID:
    """Return an id with the prefix of this checkpoint; an equal rest gives an equal id."""
    second = int.from_bytes(sha256(rest).digest()[:8]) & _SECOND
    return UUID(int=_first_half(ns, checkpoint_id) << 64 | _VARIANT | second)


def ids_about(ns: str, checkpoint_id: str) -> tuple[UUID, UUID]:
    """Return the lowest and the highest event id of a checkpoint."""
    first = _first_half(ns, checkpoint_id) << 64
    return UUID(int=first | _VARIANT), UUID(int=first | _VARIANT | _SECOND)


def _first_half(ns: str, checkpoint_id: str) -> int:
    digest = sha256(lp(utf8(ns), utf8(checkpoint_id))).digest()
    return int.from_bytes(digest[:8]) & _FIRST | _VERSION
