"""What a command prints of the answer to an act, and the exit codes that are not 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from foja.access.model.view import KeyList, SessionList
from foja.cli import jobs
from foja.cli.access import access
from foja.cli.webhooks import webhooks
from foja.jobs.model.view import ChangedJobs, JobPage, JobView, PausedType
from foja.webhooks.model.view import WebhookList

TEXTS: Mapping[type, Callable[[Any, str], Iterable[str]]] = {
    JobPage: jobs.page,
    JobView: jobs.job,
    ChangedJobs: jobs.changed,
    PausedType: jobs.paused,
    WebhookList: webhooks.listed,
    KeyList: access.keys,
    SessionList: access.sessions,
}
CODES: Mapping[type, Callable[[Any], int]] = {ChangedJobs: lambda found: 0 if found.done else 1}
