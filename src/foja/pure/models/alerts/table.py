"""The table of alerts. The Prometheus rules, the Grafana dashboard and the runbooks follow it.

A rule: name, what is compared, limit, how many seconds it has to be over it, severity, unit, what is wrong,
and the parts of the metrics that it needs here.
"""

from __future__ import annotations

from foja.pure.models.alerts.alert import Alert, Severity, Unit
from foja.pure.models.alerts.expression import Absent, Ratio, Sum

CRITICAL, WARNING = Severity.CRITICAL, Severity.WARNING
COUNT, SECONDS, SHARE, FLAG = Unit.COUNT, Unit.SECONDS, Unit.SHARE, Unit.FLAG
FAILED = ("dead", "retry_scheduled")
LITTLE = 20  # a share of fewer says nothing

JOBS_BY_TYPE = Sum("foja_jobs_recent", "type")
FAILED_BY_TYPE = Sum("foja_jobs_recent", "type", {"state": FAILED})
RENDERINGS = Sum("foja_thumbnail_jobs")
FAILED_RENDERINGS = Sum("foja_thumbnail_jobs", where={"status": ("error",)})
OPEN_RENDERINGS = Sum("foja_thumbnail_jobs", where={"status": ("queued", "error")})
SLOW_RENDERINGS = Sum("foja_thumbnail_seconds", where={"percentile": ("95",), "window": ("1d",)})
ATTEMPTS, FAILED_ATTEMPTS = Sum("foja_thumbnail_attempts"), Sum("foja_thumbnail_failed_attempts")
BATCH_AGE, WINDOW = (
    Sum("foja_anchor_pending_seconds", "network"),
    Sum("foja_anchor_window_seconds", "network"),
)
CONNECTIONS, CONNECTION_LIMIT = Sum("foja_database_connections"), Sum("foja_database_connections_limit")
NO_ANSWER = Sum("foja_metrics_part_failed", where={"part": ("database",)})
STORE_FREE, STORE_SIZE = Sum("foja_store_free_bytes"), Sum("foja_store_bytes")
FAILING = "foja_health_failing_seconds"
# Parts without an alert of their own, and parts that are tried now and then.
OTHERS = ("alert_webhook", "decoder", "job", "mail", "network", "redis", "schema", "store", "webhooks")
TRIED = ("alert_webhook", "authority", "decoder", "log", "mail", "network", "redis", "schema", "store")
FREE, DISK = Sum("foja_disk_free_bytes"), Sum("foja_disk_bytes")

# fmt: off
LEDGER = (
    Alert("log_halted", Sum("foja_log_halted"), 0, 0, CRITICAL, COUNT,
          "The log is halted: new events get no proof.", ("log",)),
    Alert("log_lag", Sum("foja_log_lag_seconds"), 60, 60, CRITICAL, SECONDS,
          "An event waits too long to be sealed, numbered or published.", ("log",)),
    Alert("cosigner_policy", Sum("foja_cosigner_policy_unmet_seconds"), 300, 60, WARNING, SECONDS,
          "Published checkpoints lack the cosigners that the policy requires.", ("log",)),
)
DOCUMENTS = (
    Alert("timestamps_failing", Sum(FAILING, "part", {"kind": ("authority",)}), 0, 0, WARNING, SECONDS,
          "The timestamp authority {label} gives no valid token.", ("health",)),
    Alert("documents_given_up", Sum("foja_documents_given_up"), 0, 0, WARNING, COUNT,
          "Evidence of a document was given up: no attempt follows by itself.", ("documents",)),
)
JOBS = (
    Alert("job_errors", Ratio(FAILED_BY_TYPE, JOBS_BY_TYPE, LITTLE), 0.05, 300, WARNING, SHARE,
          "Too many jobs of the type {label} fail.", ("jobs",)),
    Alert("jobs_waiting", Sum("foja_jobs_waiting", "type"), 5_000, 600, WARNING, COUNT,
          "Too many jobs of the type {label} wait.", ("jobs",)),
    Alert("job_age", Sum("foja_job_oldest_ready_seconds", "type"), 300, 60, CRITICAL, SECONDS,
          "A job of the type {label} is ready and no worker takes it.", ("jobs",)),
    Alert("worker_missing", Sum("foja_jobs_unhandled", "type"), 0, 60, CRITICAL, COUNT,
          "Jobs of the type {label} are ready and no running worker does this type.", ("jobs",)),
    Alert("jobs_past_lease", Sum("foja_jobs_past_lease", "type"), 0, 300, WARNING, COUNT,
          "A job of the type {label} lost its worker and no other took it over.", ("jobs",)),
    Alert("jobs_dead", Sum("foja_jobs_dead", "type"), 0, 0, WARNING, COUNT,
          "A job of the type {label} died and its stream does not say so.", ("jobs",)),
)
IMAGES = (
    Alert("thumbnail_errors", Ratio(FAILED_RENDERINGS, RENDERINGS, LITTLE), 0.05, 300, WARNING, SHARE,
          "Too many images have no variants because their job failed.", ("thumbnails",)),
    Alert("thumbnails_pending", OPEN_RENDERINGS, 1_000, 600, WARNING, COUNT,
          "Too many images wait for their variants.", ("thumbnails",)),
    Alert("thumbnail_attempts", Ratio(FAILED_ATTEMPTS, ATTEMPTS, LITTLE), 0.05, 300, WARNING, SHARE,
          "Too many attempts to render variants fail.", ("thumbnails",)),
    Alert("thumbnail_p95", SLOW_RENDERINGS, 10, 900, WARNING, SECONDS,
          "Rendering the variants of an image takes too long (95th percentile of a day).", ("thumbnails",)),
    Alert("gallery_order", Sum("foja_gallery_violations"), 0, 0, CRITICAL, COUNT,
          "A gallery has a gap, a double place or no main image.", ("galleries",)),
)
STORE = (
    Alert("objects_missing", Sum("foja_objects_missing"), 0, 0, CRITICAL, COUNT,
          "The store does not have an object that something refers to.", ("objects",)),
    Alert("orphans_rescued_late", Sum("foja_orphans_rescued_late"), 0, 0, WARNING, COUNT,
          "An orphan was rescued after its grace period: a purge would have deleted it.", ("objects",)),
    Alert("orphan_false_positives", Sum("foja_orphan_false_positives"), 0, 0, WARNING, COUNT,
          "An object was staged as an orphan although something referred to it.", ("objects",)),
    Alert("orphan_scan_age", Sum("foja_orphan_scan_age_seconds"), 172_800, 0, WARNING, SECONDS,
          "The last complete scan for orphans is too old.", ("objects",)),
    Alert("store_full", Ratio(STORE_FREE, STORE_SIZE), 0.05, 0, CRITICAL, SHARE,
          "The disk or bucket of the store is full: nothing can be stored.", ("store",), below=True),
    Alert("disk_space", Ratio(FREE, DISK), 0.1, 300, CRITICAL, SHARE,
          "The disk that has the home is nearly full.", ("disk",), below=True),
)
ANCHORS = (
    Alert("anchors_held", Sum("foja_anchors_held", "network"), 0, 600, WARNING, COUNT,
          "No new batch is sent to the network {label}.", ("anchors",)),
    Alert("anchor_pending", Ratio(BATCH_AGE, WINDOW), 0.5, 300, WARNING, SHARE,
          "A batch on the network {label} has used up half its time without a confirmation.", ("anchors",)),
    Alert("anchor_balance", Sum("foja_anchor_balance_batches", "network"), 20, 0, WARNING, COUNT,
          "The account on the network {label} pays for few more batches.", ("anchors",), below=True),
)
SERVERS = (
    Alert("database_down", NO_ANSWER, 0, 60, CRITICAL, COUNT,
          "The database does not answer: nothing can be recorded.", ("disk",)),
    Alert("part_failing", Sum(FAILING, "part", {"kind": OTHERS}), 0, 0, WARNING, SECONDS,
          "The part {label} fails or is paused.", ("health",)),
    Alert("webhook_failing", Sum("foja_webhook_failing_seconds", "webhook"), 300, 0, WARNING, SECONDS,
          "The webhook {label} takes no messages.", ("webhooks",)),
    Alert("health_stale", Sum("foja_health_untried", "part", {"kind": TRIED}), 0, 60, WARNING, FLAG,
          "Nothing is known about the part {label}: no process has tried it for long.", ("health",)),
    Alert("http_failures", Sum("foja_http_failures_day"), 20, 0, WARNING, COUNT,
          "Too many requests failed within a day (status 500 or more).", ("http",)),
    Alert("database_connections", Ratio(CONNECTIONS, CONNECTION_LIMIT), 0.8, 300, WARNING, SHARE,
          "The database server has few connections left.", ("database",)),
    Alert("idle_in_transaction", Sum("foja_database_idle_in_transaction_seconds"), 300, 0, WARNING, SECONDS,
          "A session is idle in an open transaction: it holds locks and keeps old rows.", ("database",)),
    Alert("transaction_age", Sum("foja_database_transaction_age"), 1_000_000_000, 3_600, CRITICAL, COUNT,
          "Autovacuum does not keep up: the database stops before two thousand million.", ("database",)),
    Alert("metrics_failed", Sum("foja_metrics_part_failed", "part"), 0, 300, WARNING, COUNT,
          "The metrics of the part {label} cannot be read: its alerts are blind.", ("disk",)),
    Alert("scrape_absent", Absent("foja_build_info"), 0, 300, CRITICAL, FLAG,
          "Prometheus gets no metrics of Foja."),
)
# fmt: on
GROUPS = {
    "ledger": LEDGER,
    "documents": DOCUMENTS,
    "jobs": JOBS,
    "images": IMAGES,
    "store": STORE,
    "anchors": ANCHORS,
    "servers": SERVERS,
}
ALERTS = {alert.name: alert for group in GROUPS.values() for alert in group}
