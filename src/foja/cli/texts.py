"""What a command prints of the answer to an act, and the exit codes that are not 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from foja.anchors.model.view import BatchPage, BatchView, CostList, NetworkList
from foja.answers.anchors import Enabled
from foja.cli import jobs
from foja.cli.anchors import batches, networks
from foja.jobs.model.view import ChangedJobs, JobPage, JobView, PausedType

TEXTS: Mapping[type, Callable[[Any, str], Iterable[str]]] = {
    JobPage: jobs.page,
    JobView: jobs.job,
    ChangedJobs: jobs.changed,
    PausedType: jobs.paused,
    NetworkList: networks.overview,
    Enabled: networks.enabled,
    BatchPage: batches.page,
    BatchView: batches.batch,
    CostList: batches.costs,
}
CODES: Mapping[type, Callable[[Any], int]] = {
    ChangedJobs: lambda found: 0 if found.done else 1,
    Enabled: lambda found: 1 if found.missing else 0,
}
