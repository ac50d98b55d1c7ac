"""The commands that do one act. Written by `make generate`; do not edit."""

from __future__ import annotations

from uuid import UUID

from foja.interfaces.cli.parser.commands import ACTOR, Argument, command
from foja.interfaces.cli.parser.values import number, positive

ACTS = (
    command(
        "jobs list",
        "jobs.list",
        "list jobs, newest first",
        "foja jobs list --state dead\nfoja jobs list --type run_tsa --entity ENTITY --json",
        Argument(
            "--state",
            "only jobs in this state",
            str,
            "state",
            choices=("queued", "running", "succeeded", "retry_scheduled", "dead", "cancelled"),
        ),
        Argument("--type TYPE", "only jobs of this type", str, "job_type"),
        Argument("--entity ENTITY", "only jobs of this stream", UUID, "entity_id"),
        Argument("--before BEFORE", "the last id of the page before", number, "before"),
        Argument("--limit LIMIT", "at most this many (100)", positive, "limit"),
    ),
    command(
        "jobs show",
        "jobs.show",
        "show one job as it stands",
        "foja jobs show 41",
        Argument("ID", "the id of a job", number, "job_id"),
    ),
    command(
        "jobs unhandled",
        "jobs.unhandled",
        "list the types of which jobs are ready and that no running worker does",
        "foja jobs unhandled --json",
    ),
    command(
        "jobs retry",
        "jobs.retry",
        "queue dead jobs anew with fresh tries, and waiting ones at once: these, or all that match",
        "foja jobs retry 41 42\nfoja jobs retry --type run_tsa --state dead",
        Argument("[ID...]", None, number, "jobs"),
        Argument(
            "--state",
            "only jobs in this state",
            str,
            "state",
            choices=("queued", "running", "succeeded", "retry_scheduled", "dead", "cancelled"),
        ),
        Argument("--type TYPE", "only jobs of this type", str, "job_type"),
        Argument("--entity ENTITY", "only jobs of this stream", UUID, "entity_id"),
        ACTOR,
    ),
    command(
        "jobs cancel",
        "jobs.cancel",
        "end jobs that are not over, and put dead ones away: these, or all that match",
        "foja jobs cancel 41 42\nfoja jobs cancel --type run_tsa --state dead",
        Argument("[ID...]", None, number, "jobs"),
        Argument(
            "--state",
            "only jobs in this state",
            str,
            "state",
            choices=("queued", "running", "succeeded", "retry_scheduled", "dead", "cancelled"),
        ),
        Argument("--type TYPE", "only jobs of this type", str, "job_type"),
        Argument("--entity ENTITY", "only jobs of this stream", UUID, "entity_id"),
        ACTOR,
    ),
    command(
        "jobs pause",
        "jobs.pause",
        "stop claims of this type, for all tenants, until it is resumed; running jobs finish",
        "foja jobs pause run_tsa",
        Argument("TYPE", None, str, "job_type"),
        ACTOR,
    ),
    command(
        "jobs resume",
        "jobs.resume",
        "let this type be claimed again",
        "foja jobs resume run_tsa",
        Argument("TYPE", None, str, "job_type"),
        ACTOR,
    ),
    command(
        "anchors",
        "anchors.overview",
        "list the networks: whether each is enabled, what waits, and what was spent",
        "foja anchors\nfoja anchors enable bitcoin",
    ),
    command(
        "anchors list",
        "anchors.list",
        "list batches, newest first",
        "foja anchors list\nfoja anchors list --network polygon --status sent --json",
        Argument("--network", "only this network", str, "network", choices=("polygon", "bitcoin", "rekor")),
        Argument(
            "--status",
            "only batches that are in this state",
            str,
            "status",
            choices=("drafted", "sent", "confirmed", "reorged", "refused"),
        ),
        Argument("--before BEFORE", "the last id of the page before", UUID, "before"),
        Argument("--limit LIMIT", "at most this many (100)", positive, "limit"),
    ),
    command(
        "anchors show",
        "anchors.show",
        "show one batch as it stands",
        "foja anchors show 0190…-…",
        Argument("BATCH", None, UUID, "batch_id"),
    ),
    command(
        "anchors cost",
        "anchors.cost",
        "show what batches cost, by day and network, newest first",
        "foja anchors cost\nfoja anchors cost --network polygon --days 7",
        Argument("--network", "only this network", str, "network", choices=("polygon", "bitcoin", "rekor")),
        Argument("--days DAYS", "so many days back (30)", positive, "days"),
    ),
    command(
        "anchors enable",
        "anchors.enable",
        "check a network and let documents require it, unless something is missing; see what was found",
        "foja anchors enable polygon",
        Argument(
            "NETWORK", "polygon, bitcoin or rekor", str, "network", choices=("polygon", "bitcoin", "rekor")
        ),
    ),
    command(
        "webhooks list",
        "webhooks.list",
        "list the webhooks of the tenant, oldest first",
        "foja webhooks list --json",
    ),
    command(
        "access list",
        "access.keys",
        "list the newest keys of the tenant; of all tenants for a key of the installation",
        "foja access list --json",
        Argument("--tenant TENANT", "only of this tenant", str, "tenant"),
        Argument("--limit LIMIT", "at most this many (100)", positive, "limit"),
    ),
    command(
        "access sessions",
        "access.sessions",
        "list the newest sessions that are not over",
        "foja access sessions\nfoja access revoke SESSION",
        Argument("--tenant TENANT", "only of this tenant", str, "tenant"),
        Argument("--limit LIMIT", "at most this many (100)", positive, "limit"),
    ),
)
