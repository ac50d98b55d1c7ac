"""What a command prints of the answer to an act, and the exit codes that are not 0."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

from foja.engine.ledger.event import Event
from foja.interfaces.answers.alerts import AlertList, NoticeList
from foja.interfaces.answers.anchors import Disabled, Enabled, Flushed
from foja.interfaces.answers.images import ImageView
from foja.interfaces.answers.maintenance import CandidateList, CleanupReport, DeletedObjects, RestoredObject
from foja.interfaces.answers.streams import DecidedApproval
from foja.interfaces.cli.chat import say
from foja.interfaces.cli.images import gallery
from foja.interfaces.cli.output import field_lines, table
from foja.interfaces.cli.texts import access, alerts, anchors, jobs, orphans, webhooks
from foja.pure.models.access.view import CreatedKey, KeyList, Revoked, RotatedKey, SessionList
from foja.pure.models.anchors.view import BatchPage, CostList, NetworkList
from foja.pure.models.jobs.view import ChangedJobs, JobPage, JobView, PausedType
from foja.pure.models.system.view import RunResult
from foja.pure.models.webhooks.view import (
    CreatedWebhook,
    DeliveryPage,
    DeliveryWithAttempts,
    RemovedWebhook,
    Replayed,
    Webhook,
    WebhookList,
)
from foja.pure.pages import Rows

TEXTS: Mapping[type, Callable[[Any, Namespace], Iterable[str]]] = {
    JobPage: jobs.page,
    JobView: jobs.job,
    ChangedJobs: jobs.changed,
    PausedType: jobs.paused,
    NetworkList: anchors.overview,
    Enabled: anchors.enabled,
    Disabled: anchors.disabled,
    Flushed: anchors.flushed,
    BatchPage: anchors.page,
    CostList: anchors.costs,
    WebhookList: webhooks.listed,
    Webhook: webhooks.webhook,
    CreatedWebhook: webhooks.created,
    RemovedWebhook: webhooks.removed,
    DeliveryPage: webhooks.deliveries,
    DeliveryWithAttempts: webhooks.delivery,
    Replayed: webhooks.replayed,
    CreatedKey: access.created,
    RotatedKey: access.rotated,
    Revoked: access.revoked,
    KeyList: access.keys,
    SessionList: access.sessions,
    AlertList: alerts.listed,
    NoticeList: alerts.history,
    RunResult: orphans.ran,
    CandidateList: orphans.candidates,
    CleanupReport: orphans.report,
    DeletedObjects: orphans.deleted,
    RestoredObject: orphans.restored,
    ImageView: gallery.changed,
    Event: gallery.removed,
    DecidedApproval: say.decided,
}
CODES: Mapping[type, Callable[[Any], int]] = {
    ChangedJobs: lambda found: 0 if found.done else 1,
    Enabled: lambda found: 1 if found.missing else 0,
    DecidedApproval: lambda found: 0 if found.mine else 1,
    AlertList: lambda found: 1 if any(each.state == "firing" for each in found) else 0,
    Replayed: lambda found: 0 if found.replayed else 1,
    RunResult: lambda found: 1 if found.outcome == "aborted" or found.missing else 0,
}


def lines_of(answer: Any, arguments: Namespace) -> Iterable[str]:
    """Return the lines of an answer: its own text, or a table of rows, or a line for each field."""
    if own := TEXTS.get(type(answer)):
        return own(answer, arguments)
    if not isinstance(answer, Rows):
        return field_lines(asdict(answer))
    names = [each.name for each in fields(answer[0])] if answer else []
    return table(names, [[getattr(row, name) for name in names] for row in answer], "there are none")
