"""The commands that do one act. Written by `make generate`; do not edit."""
# ruff: noqa: E501

from __future__ import annotations

from uuid import UUID

from foja.interfaces.cli.parser.commands import ACTOR, Argument, command
from foja.interfaces.cli.parser.values import (
    digest,
    duration,
    expiry,
    hours,
    kinds,
    number,
    positive,
    scopes,
    web_address,
)

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
        "anchors disable",
        "anchors.disable",
        "let no document require a network any more; attempts that are open go on",
        "foja anchors disable polygon",
        Argument(
            "NETWORK", "polygon, bitcoin or rekor", str, "network", choices=("polygon", "bitcoin", "rekor")
        ),
    ),
    command(
        "anchors flush",
        "anchors.flush",
        "send the digests that wait for a batch now, without waiting for more",
        "foja anchors flush polygon",
        Argument(
            "NETWORK", "polygon, bitcoin or rekor", str, "network", choices=("polygon", "bitcoin", "rekor")
        ),
    ),
    command(
        "alerts list",
        "alerts.list",
        "list every alert with its value, its limit and its state",
        "foja alerts list                     exit code 1 if one fires\nfoja alerts list --firing --json",
        Argument("--firing", "only those that fire", bool, "firing"),
    ),
    command(
        "alerts history",
        "alerts.history",
        "list what fired and cleared, newest first",
        "foja alerts history --limit 20",
        Argument("--limit LIMIT", "at most this many (100)", positive, "limit"),
    ),
    command(
        "orphans report",
        "maintenance.report",
        "show candidates for a purge by age, the last runs, and whether the automatic purge is armed",
        "foja orphans report\nfoja orphans report --json",
        Argument("--limit LIMIT", "at most this many (100)", positive, "limit"),
    ),
    command(
        "orphans list",
        "maintenance.candidates",
        "list the candidates that are not purged, oldest first",
        "foja orphans list\nfoja orphans list --limit 10 --json",
        Argument("--limit LIMIT", "at most this many (100)", positive, "limit"),
    ),
    command(
        "orphans restore",
        "maintenance.restore",
        "let a candidate, or an object in quarantine, be live again",
        "foja orphans restore SHA256 --reason 'the import is not finished'",
        Argument("SHA256", "the SHA-256 digest of an object", digest, "sha256"),
        Argument("--reason REASON", "why; recorded", str, "reason", required=True),
        ACTOR,
    ),
    command(
        "webhooks create",
        "webhooks.create",
        "create a webhook and show its secret, once",
        "foja webhooks create https://example.org/hook --kind 'document.*' --kind user_message_sent\nfoja webhooks create https://example.org/hook --payload --from-start",
        Argument("URL", "where messages are sent, https://…", web_address, "url"),
        Argument(
            "--kind KIND...", "a kind, or its beginning and a star; repeat for more (*)", kinds, "kinds"
        ),
        Argument("--[no-]payload", "send the payload of events, too", bool, "include_payload"),
        Argument("--description DESCRIPTION", "what it is for", str, "description"),
        Argument("--from-start", "tell it of all events of the log, too", bool, "from_start"),
        ACTOR,
    ),
    command(
        "webhooks list",
        "webhooks.list",
        "list the webhooks of the tenant, oldest first",
        "foja webhooks list --json",
    ),
    command(
        "webhooks show",
        "webhooks.show",
        "show one webhook as it stands",
        "foja webhooks show ID",
        Argument("WEBHOOK", "the id of the webhook", UUID, "webhook_id"),
    ),
    command(
        "webhooks change",
        "webhooks.change",
        "change a webhook, or switch it on or off. What it missed while it was off is delivered",
        "foja webhooks change ID --kind 'document.*' --no-payload",
        Argument("WEBHOOK", "the id of the webhook", UUID, "webhook_id"),
        Argument("--url URL", "where messages are sent, https://…", web_address, "url"),
        Argument(
            "--kind KIND...", "a kind, or its beginning and a star; repeat for more (*)", kinds, "kinds"
        ),
        Argument("--[no-]payload", "send the payload of events, too", bool, "include_payload"),
        Argument("--description DESCRIPTION", "what it is for", str, "description"),
        Argument(
            "--state", "switch it; nothing is lost while it is off", str, "state", choices=("on", "off")
        ),
        Argument("--reason REASON", "why; recorded", str, "reason"),
        ACTOR,
    ),
    command(
        "webhooks remove",
        "webhooks.remove",
        "remove a webhook with its log; what waits is not delivered",
        "foja webhooks remove ID",
        Argument("WEBHOOK", "the id of the webhook", UUID, "webhook_id"),
        ACTOR,
    ),
    command(
        "webhooks rotate",
        "webhooks.rotate",
        "make a new secret and show it, once; the old one signs as well until the overlap ends",
        "foja webhooks rotate ID\nfoja webhooks rotate ID --overlap 0",
        Argument("WEBHOOK", "the id of the webhook", UUID, "webhook_id"),
        Argument("--overlap HOURS", "how long the old secret signs as well (24)", hours, "overlap_seconds"),
        ACTOR,
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
        "access create",
        "access.create_key",
        "make a key and show it, once; from then on, every HTTP request needs a key or a login",
        "foja access create --scopes read,write --name crm\nfoja access create --scopes admin --installation     for all tenants\nfoja access create --scopes operate --installation --name prometheus --expires 30d --json",
        Argument(
            "--scopes LIST",
            "what it may do: read, write, approve, operate, cleanup, purge, retry, admin; `admin` includes the others (read)",
            scopes,
            "scopes",
        ),
        Argument("--name NAME", "what it is for", str, "name"),
        Argument("--tenant TENANT", "its tenant; your own, if it is left out", str, "tenant"),
        Argument("--installation", "it also covers what all tenants share", bool, "installation"),
        Argument(
            "--expires WHEN", "a time, a duration such as 12h or 90d, or `never` (365d)", expiry, "expires_at"
        ),
        ACTOR,
    ),
    command(
        "access rotate",
        "access.rotate_key",
        "give a key a new secret; the one before stays valid for a while",
        "foja access rotate 3k9x0d2m1q7a --overlap 1h",
        Argument("ID", "as `foja access list` shows it", str, "key_id"),
        Argument("--overlap TIME", "how long (1d)", duration, "overlap_seconds"),
        ACTOR,
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
