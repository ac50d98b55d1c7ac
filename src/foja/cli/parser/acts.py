"""The commands that do one act. Written by `make generate`; do not edit."""

from __future__ import annotations

from foja.cli.parser.verbs import Act, Argument

ACTS = (
    Act(
        "jobs list",
        "jobs.list",
        "list jobs, newest first; `next` says where older ones begin",
        "foja jobs list --state dead\nfoja jobs list --type run_tsa --entity ENTITY --json",
        (
            Argument(
                "state",
                "--state",
                "text",
                choices=("queued", "running", "succeeded", "retry_scheduled", "dead", "cancelled"),
                help="only jobs in this state",
            ),
            Argument("job_type", "--type", "text", help="only jobs of this type"),
            Argument("entity_id", "--entity", "id", help="only jobs of this stream"),
            Argument("before", "--before", "number", help="the last id of the page before"),
            Argument("limit", "--limit", "positive", default=100),
        ),
        False,
    ),
    Act(
        "jobs show",
        "jobs.show",
        "return one job as it stands",
        "foja jobs show 41",
        (Argument("job_id", "ID", "number", help="the id of a job"),),
        False,
    ),
    Act(
        "jobs retry",
        "jobs.retry",
        "queue dead jobs anew with fresh tries, and waiting ones at once: these, or all that match",
        "foja jobs retry 41 42\nfoja jobs retry --type run_tsa --state dead",
        (
            Argument("jobs", "ID", "number", several=True),
            Argument(
                "state",
                "--state",
                "text",
                choices=("queued", "running", "succeeded", "retry_scheduled", "dead", "cancelled"),
                help="only jobs in this state",
            ),
            Argument("job_type", "--type", "text", help="only jobs of this type"),
            Argument("entity_id", "--entity", "id", help="only jobs of this stream"),
        ),
        True,
    ),
    Act(
        "jobs cancel",
        "jobs.cancel",
        "end jobs that are not over, and put dead ones away: these, or all that match",
        "foja jobs cancel 41 42\nfoja jobs cancel --type run_tsa --state dead",
        (
            Argument("jobs", "ID", "number", several=True),
            Argument(
                "state",
                "--state",
                "text",
                choices=("queued", "running", "succeeded", "retry_scheduled", "dead", "cancelled"),
                help="only jobs in this state",
            ),
            Argument("job_type", "--type", "text", help="only jobs of this type"),
            Argument("entity_id", "--entity", "id", help="only jobs of this stream"),
        ),
        True,
    ),
    Act(
        "jobs pause",
        "jobs.pause",
        "stop claims of this type, for all tenants, until it is resumed; running jobs finish",
        "foja jobs pause run_tsa",
        (Argument("job_type", "TYPE", "text"),),
        True,
    ),
    Act(
        "jobs resume",
        "jobs.resume",
        "let this type be claimed again",
        "foja jobs resume run_tsa",
        (Argument("job_type", "TYPE", "text"),),
        True,
    ),
    Act(
        "webhooks list",
        "webhooks.list",
        "list the webhooks of the tenant, oldest first",
        "foja webhooks list --json",
        (),
        False,
    ),
    Act(
        "access list",
        "access.keys",
        "list the newest keys of the tenant; of all tenants for a key of the installation",
        "foja access list --json",
        (
            Argument("tenant", "--tenant", "text", help="only of this tenant"),
            Argument("limit", "--limit", "positive", default=100),
        ),
        False,
    ),
    Act(
        "access sessions",
        "access.sessions",
        "list the newest sessions that are not over",
        "foja access sessions\nfoja access revoke SESSION",
        (
            Argument("tenant", "--tenant", "text", help="only of this tenant"),
            Argument("limit", "--limit", "positive", default=100),
        ),
        False,
    ),
)
