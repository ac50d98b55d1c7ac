"""The workloads, in groups. A new group is a module here and a line in `GROUPS`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bench.harness import Bench
from bench.outcome import Outcome
from bench.workloads import (
    anchors,
    appends,
    galleries,
    history,
    http,
    hygiene,
    images,
    jobs,
    lanes,
    live,
    memory,
    monitor,
    objects,
    pages,
    protect,
    tail,
    timestamps,
    transcripts,
    verify,
)

GROUPS: dict[str, Callable[[Bench], Awaitable[Outcome]]] = {
    "appends": appends.many_entities,
    "hot": appends.hot_entity,
    "bodies": appends.bodies,
    "batches": appends.batches,
    "lanes": lanes.run,
    "history": history.run,
    "tail": tail.run,
    "memory": memory.run,
    "transcripts": transcripts.run,
    "live": live.run,
    "jobs": jobs.run,
    "timestamps": timestamps.run,
    "protect": protect.run,
    "anchors": anchors.run,
    "verify": verify.run,
    "images": images.run,
    "galleries": galleries.run,
    "objects": objects.run,
    "hygiene": hygiene.run,
    "monitor": monitor.run,
    "pages": pages.run,
    "http": http.run,
}
