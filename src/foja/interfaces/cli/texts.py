"""What a command prints of the answer to an act, and the exit codes that are not 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

from foja.engine.ledger.event import Event
from foja.interfaces.answers.anchors import Enabled
from foja.interfaces.answers.images import ImageView
from foja.interfaces.answers.streams import DecidedApproval
from foja.interfaces.cli import jobs
from foja.interfaces.cli.access import access
from foja.interfaces.cli.anchors import batches, networks
from foja.interfaces.cli.chat import say
from foja.interfaces.cli.images import gallery
from foja.interfaces.cli.output import field_lines, table
from foja.interfaces.cli.webhooks import webhooks
from foja.pure.models.access.view import KeyList, SessionList
from foja.pure.models.anchors.view import BatchPage, BatchView, CostList, NetworkList
from foja.pure.models.jobs.view import ChangedJobs, JobPage, JobView, PausedType
from foja.pure.models.webhooks.view import WebhookList
from foja.pure.pages import Rows

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
    WebhookList: webhooks.listed,
    KeyList: access.keys,
    SessionList: access.sessions,
    ImageView: gallery.changed,
    Event: gallery.removed,
    DecidedApproval: say.decided,
}
CODES: Mapping[type, Callable[[Any], int]] = {
    ChangedJobs: lambda found: 0 if found.done else 1,
    Enabled: lambda found: 1 if found.missing else 0,
    DecidedApproval: lambda found: 0 if found.mine else 1,
}


def lines_of(answer: Any, operation: str) -> Iterable[str]:
    """Return the lines of an answer: its own text, or a table of rows, or a line for each field."""
    if own := TEXTS.get(type(answer)):
        return own(answer, operation)
    if not isinstance(answer, Rows):
        return field_lines(asdict(answer))
    if not answer:
        return ["there are none"]
    names = [each.name for each in fields(answer[0])]
    return table(names, [[getattr(row, name) for name in names] for row in answer])
