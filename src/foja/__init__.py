"""One ordered, append-only, tamper-evident ledger per entity, and evidence anyone can check offline."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal

from foja import errors
from foja.extras import needs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from typing import Never

    from foja.app import App
    from foja.conversations.service import Conversation
    from foja.core.registry import Domain, JobType, Kind
    from foja.documents.document import Document
    from foja.documents.model.events import Evidence
    from foja.images.gallery import Gallery
    from foja.images.model.gallery import Image
    from foja.jobs.outcome import Done, GiveUp, Job, NewEvent, NewJob, Retry, Snooze
    from foja.judge.report import Report, Verdict
    from foja.ledger.event import Event
    from foja.verification import verify

__version__ = "0.1.0"
__all__ = ["App", "Conversation", "Document", "Domain", "Event", "Evidence", "Gallery", "Image", "Kind"]
__all__ += ["Done", "GiveUp", "Job", "JobType", "NewEvent", "NewJob", "Retry", "Snooze"]
__all__ += ["Report", "Verdict", "connect", "errors", "verify"]

# Each public name is imported from its module on first use: `foja verify` needs no server package.
_MODULES = {
    "foja.app": {"App"},
    "foja.conversations.service": {"Conversation"},
    "foja.core.registry": {"Domain", "JobType", "Kind"},
    "foja.documents.document": {"Document"},
    "foja.documents.model.events": {"Evidence"},
    "foja.images.gallery": {"Gallery"},
    "foja.images.model.gallery": {"Image"},
    "foja.jobs.outcome": {"Done", "GiveUp", "Job", "NewEvent", "NewJob", "Retry", "Snooze"},
    "foja.judge.report": {"Report", "Verdict"},
    "foja.ledger.event": {"Event"},
    "foja.verification": {"verify"},
}


def connect(
    *,
    domains: Sequence[Domain] | None = None,
    home: str | PathLike[str] | None = None,
    database_url: str | None = None,
    redis_url: str | None = None,
    sequence_lane: Literal["auto", "postgres", "redis"] | None = None,
    lane_return_seconds: float | None = None,
    redis_timeout_seconds: float | None = None,
    storage_url: str | None = None,
    tenant: str | None = None,
    log_name: str | None = None,
    log_public: Literal["entries", "checkpoints", "none"] | None = None,
    micro_batch: bool | None = None,
    writers: int | None = None,
    connections: int | None = None,
    retry_seconds: float | None = None,
    answer_seconds: float | None = None,
    checkpoint_seconds: float | None = None,
    max_lag_seconds: float | None = None,
    cosigners: str | None = None,
    cosigner_policy: str | None = None,
    cosigner_timeout_seconds: float | None = None,
    bitcoin_rpc_url: str | None = None,
    polygon_rpc_url: str | None = None,
    rekor_url: str | None = None,
    tsa_urls: str | None = None,
    tsa_roots: str | None = None,
    tsa_crls: str | None = None,
    tsa_policies: str | None = None,
    tsa_worst_accuracy_seconds: float | None = None,
    tsa_require_revocation: bool | None = None,
    tsa_timeout_seconds: float | None = None,
    tsa_window_seconds: float | None = None,
    tsa_batch: int | None = None,
    clock_tolerance_seconds: float | None = None,
    anchor_batch_size: int | None = None,
    anchor_batch_seconds: float | None = None,
    anchor_poll_seconds: float | None = None,
    anchor_watch_seconds: float | None = None,
    checkpoint_anchor_seconds: float | None = None,
    polygon_private_key: str | None = None,
    polygon_key_file: str | None = None,
    polygon_keystore: str | None = None,
    polygon_keystore_password_file: str | None = None,
    polygon_signer_url: str | None = None,
    polygon_account: str | None = None,
    polygon_max_fee_gwei: float | None = None,
    polygon_priority_fee_gwei: float | None = None,
    polygon_depth: int | None = None,
    polygon_replace_after_seconds: float | None = None,
    polygon_attempts: int | None = None,
    polygon_pause_seconds: float | None = None,
    polygon_window_seconds: float | None = None,
    polygon_polls: int | None = None,
    polygon_daily_cap: float | None = None,
    ots_calendars: str | None = None,
    bitcoin_header_urls: str | None = None,
    bitcoin_network: Literal["main", "testnet", "signet", "regtest"] | None = None,
    bitcoin_confirmations: int | None = None,
    bitcoin_attempts: int | None = None,
    bitcoin_pause_seconds: float | None = None,
    bitcoin_window_seconds: float | None = None,
    bitcoin_polls: int | None = None,
    rekor_read_url: str | None = None,
    rekor_key: str | None = None,
    rekor_attempts: int | None = None,
    rekor_pause_seconds: float | None = None,
    rekor_window_seconds: float | None = None,
    rekor_polls: int | None = None,
    orphan_scan_seconds: float | None = None,
    orphan_grace_seconds: float | None = None,
    orphan_quarantine_seconds: float | None = None,
    orphan_fresh_seconds: float | None = None,
    orphan_purge_limit: int | None = None,
    orphan_max_share: float | None = None,
    webhook_networks: str | None = None,
    webhook_timeout_seconds: float | None = None,
    webhook_attempts: int | None = None,
    webhook_off_seconds: float | None = None,
    webhook_log_seconds: float | None = None,
    protect_attempts: int | None = None,
    protect_pause_seconds: float | None = None,
    image_max_mb: float | None = None,
    image_max_megapixels: float | None = None,
    image_max_side: int | None = None,
    image_max_frames: int | None = None,
    image_decoders: int | None = None,
    image_seconds: float | None = None,
    image_memory_mb: int | None = None,
    thumbnail_sets: str | None = None,
    thumbnail_formats: str | None = None,
    thumbnail_max_attempts: int | None = None,
    thumbnail_retries: Literal["auto", "armed", "single"] | None = None,
    thumbnail_backlog: int | None = None,
    gallery_read: Literal["tenant", "authenticated", "public"] | None = None,
    gallery_limit: int | None = None,
    log_format: Literal["text", "json"] | None = None,
    log_level: Literal["debug", "info", "warning", "error"] | None = None,
    health_seconds: float | None = None,
    health_remote_seconds: float | None = None,
    alert_seconds: float | None = None,
    alert_limits: str | None = None,
    alert_webhook_url: str | None = None,
    alert_mail_to: str | None = None,
    alert_mail_from: str | None = None,
    smtp_url: str | None = None,
    runbook_url: str | None = None,
    web_host: str | None = None,
    web_port: int | None = None,
    web_url: str | None = None,
    trusted_proxies: str | None = None,
    cors_origins: str | None = None,
    metrics_port: int | None = None,
    metrics_cache_seconds: float | None = None,
    metrics_timeout_seconds: float | None = None,
    heartbeat_seconds: float | None = None,
    max_connections: int | None = None,
    max_streams: int | None = None,
    session_idle_seconds: float | None = None,
    session_seconds: float | None = None,
    jwt_issuer: str | None = None,
    jwt_audience: str | None = None,
    jwt_jwks_url: str | None = None,
    jwt_algorithms: str | None = None,
    jwt_tenant_claim: str | None = None,
    jwt_scopes_claim: str | None = None,
    oidc_issuer: str | None = None,
    oidc_client_id: str | None = None,
    oidc_client_secret: str | None = None,
    oidc_default_scopes: str | None = None,
    upload_max_mb: float | None = None,
    upload_seconds: float | None = None,
    upload_space_mb: float | None = None,
    verify_seconds: float | None = None,
    verify_memory_mb: int | None = None,
    verify_processes: int | None = None,
    rate_limit: float | None = None,
    rate_burst: int | None = None,
    **unknown: Never,
) -> App:
    """Return an installation, to be used as `async with foja.connect() as app`.

    An argument that is None comes from its environment variable (`database_url`: `FOJA_DATABASE_URL`)
    or else has its default. Raise `SetupFailed` if a value is not valid.

    domains: domains of your own, registered at start; besides those of `FOJA_DOMAINS`.
    home: folder of the embedded database, the objects and the keys.
    database_url: PostgreSQL 15 or later, as its administrator; empty: the embedded server.
    redis_url: Redis that numbers conversations; `embedded` starts one; empty: none.
    sequence_lane: what numbers conversations; `auto` is Redis if `redis_url` is set.
    lane_return_seconds, redis_timeout_seconds: shortest time before Redis is used again; longest wait for it.
    storage_url: store of objects and log tiles; empty: `store` in `home`.
    tenant: tenant that this process writes and works for; empty: writes `default`, works for all.
    log_name: origin line of the log's checkpoints; empty: derived from the installation's id.
    log_public: what a stranger reads of the log over HTTP; `entries` shows stream ids and activity.
    micro_batch: send appends that wait at the same time in one call.
    writers, connections: most connections for micro-batches, and for everything else.
    retry_seconds: how long an append is retried while the database is unavailable.
    answer_seconds: longest wait for the database's answer to an append; other statements: twice as long.
    checkpoint_seconds, max_lag_seconds: least time between checkpoints, and lag that `foja audit` reports.
    cosigners: address and public key of each cosigner of the log, separated by spaces; empty: none.
    cosigner_policy: how many must have signed the checkpoint of a proof, if there is one: `2 of 3`.
    cosigner_timeout_seconds: longest wait for one answer of a cosigner.
    bitcoin_rpc_url, polygon_rpc_url, rekor_url: your nodes and log, for anchors and `foja verify --online`.
    tsa_urls: timestamp authorities in order, separated by spaces; empty: the local one.
    tsa_roots, tsa_crls: file or folder of trusted root certificates, and of revocation lists.
    tsa_policies, tsa_worst_accuracy_seconds: accepted policy OIDs (empty: any), and worst stated accuracy.
    tsa_require_revocation: refuse a token without revocation data for its certificates.
    tsa_timeout_seconds, tsa_window_seconds: longest wait for one authority, and for one attempt.
    tsa_batch: largest number of documents under one token; 0 is a token for each.
    clock_tolerance_seconds: most that a token's time may differ from the database's clock, up to 300.
    anchor_batch_size, anchor_batch_seconds: digests of a full batch, and how long one waits for others.
    anchor_poll_seconds, anchor_watch_seconds: pause between looks, and how long confirmations are watched.
    checkpoint_anchor_seconds: pause between two anchored checkpoints of the log; 0: none.
    polygon_private_key, polygon_key_file, polygon_keystore, polygon_signer_url: what signs; give one of them.
    polygon_keystore_password_file, polygon_account: password of the keystore, and account of what signs.
    polygon_max_fee_gwei, polygon_priority_fee_gwei: most for a unit of gas, and least for its priority.
    polygon_depth, polygon_replace_after_seconds: blocks that confirm, and when a waiting one pays more.
    ots_calendars: OpenTimestamps calendars, two or more, separated by spaces.
    bitcoin_header_urls: servers of block headers (Esplora), if there is no node; two must agree.
    bitcoin_network, bitcoin_confirmations: network of the calendars, and blocks that confirm.
    rekor_read_url, rekor_key: where the log serves its tiles, and its key.
    polygon_attempts, bitcoin_attempts, rekor_attempts: attempts at each anchor before it is given up.
    polygon_pause_seconds, bitcoin_pause_seconds, rekor_pause_seconds: pause before the second one.
    polygon_window_seconds, bitcoin_window_seconds, rekor_window_seconds: how long one may stay open.
    polygon_polls, bitcoin_polls, rekor_polls: looks at a batch within one window, at least.
    polygon_daily_cap: POL that batches may cost within 24 hours.
    orphan_scan_seconds: pause between two scans for objects that nothing refers to; 0: none.
    orphan_grace_seconds, orphan_quarantine_seconds: how long an orphan waits, and can then be restored.
    orphan_fresh_seconds: younger objects are not staged: their event may be on its way.
    orphan_purge_limit, orphan_max_share: most objects of one purge, and most of all objects that may be due.
    webhook_networks: networks that are not public and that webhooks may be in, as 10.1.0.0/16.
    webhook_timeout_seconds, webhook_attempts: time for one attempt to deliver, and how many there are.
    webhook_off_seconds, webhook_log_seconds: failing for how long switches one off; how long its log is kept.
    protect_attempts, protect_pause_seconds: attempts at a timestamp or artifact, and the first pause.
    image_max_mb, image_max_megapixels, image_max_side, image_max_frames: the largest image that is accepted.
    image_decoders, image_seconds, image_memory_mb: decoders at the same time, and limits of each.
    thumbnail_sets, thumbnail_formats: the sizes of variants of images, and their formats.
    thumbnail_max_attempts, thumbnail_retries: tries of a job, and when more than one retry is allowed.
    thumbnail_backlog: how many images wait at most because the variants were changed.
    gallery_read, gallery_limit: who may read galleries with SQL, and most images of one product.
    log_format, log_level: how commands write their log to stderr; a library leaves that to its program.
    health_seconds, health_remote_seconds: pause between probes of our parts, and of those of others.
    alert_seconds, alert_limits: pause between evaluations (0: none), and limits: `log_lag=120 …`.
    alert_webhook_url: where a notification is posted when an alert fires or clears.
    alert_mail_to, alert_mail_from, smtp_url: who gets it by e-mail, its sender, and the mail server.
    runbook_url: where the runbooks are published; empty: `docs/runbooks/`.
    web_host, web_port: address of `foja web`; other machines can reach it once there is an access key.
    web_url, trusted_proxies: its public address, and the proxies whose forwarded headers are believed.
    cors_origins: the origins whose pages may use the API.
    metrics_port: port of `foja worker` for `/metrics` and `/healthz`; None: no port.
    metrics_cache_seconds, metrics_timeout_seconds: how long a part of `/metrics` is kept, and may take.
    max_connections, max_streams, heartbeat_seconds: most HTTP connections and event streams; their silence.
    session_idle_seconds, session_seconds: how long a login lasts without a request, and at most.
    jwt_issuer, jwt_audience: whose bearer tokens are accepted, and the name of this service in them.
    jwt_jwks_url, jwt_algorithms: the keys of the issuer, if it does not say where, and its signatures.
    jwt_tenant_claim, jwt_scopes_claim: the claims of a token with the tenant and the scopes.
    oidc_issuer, oidc_client_id, oidc_client_secret: OpenID Connect provider with which people log in.
    oidc_default_scopes: scopes of a person whose token names none; empty: such a person is refused.
    upload_max_mb, upload_seconds, upload_space_mb: largest upload; how long and how many MB are kept open.
    verify_seconds, verify_memory_mb, verify_processes: limits of the processes that verify over HTTP.
    rate_limit, rate_burst: HTTP requests of one principal, per second and at once.
    """
    settings = {name: value for name, value in {**locals()}.items() if value is not None}
    settings.pop("domains", None)
    if settings.pop("unknown"):
        raise _no_setting(next(iter(unknown)))
    with needs("foja.connect"):
        from foja.app import App
        from foja.settings import load, warn_about_unknown_names
    app = App(load(**settings), () if domains is None else domains)
    warn_about_unknown_names()
    return app


def _no_setting(name: str) -> errors.SetupFailed:
    """Return the error for an argument that `connect` does not have, with the closest one."""
    from difflib import get_close_matches
    from inspect import signature

    close = get_close_matches(name, signature(connect).parameters, 1)
    advice = f"did you mean {close[0]}?" if close else "docs/settings.md lists the settings"
    return errors.SetupFailed(f"connect() has no argument {name!r}; {advice}")


if not TYPE_CHECKING:  # type checkers read the imports above, and report any other name

    def __getattr__(name: str) -> object:
        """Import a public name on first use (PEP 562)."""
        module = next((module for module, names in _MODULES.items() if name in names), None)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        with needs(f"foja.{name}"):
            found: object = getattr(import_module(module), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
