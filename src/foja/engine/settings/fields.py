"""The settings as arguments of `foja.connect`. Written by `make generate`; do not edit."""

from __future__ import annotations

from os import PathLike
from typing import Literal, TypedDict


class SettingsFields(TypedDict, total=False):
    """Every setting. One that is None comes from its environment variable, or has its default.

    Installation and database:
        home: folder of the embedded database, the objects and the keys
        database_url: PostgreSQL 15 or later, as its administrator; empty: the embedded one
        storage_url: where objects and log tiles are stored (`file:///folder`, `s3://`, `gs://`, `az://`);
            empty: the folder `store` under the home
        tenant: the tenant that this process writes and works for; empty: it writes as `default` and works for
            all. `app.tenant(name)` and requests of other tenants are served in any case
        log_name: origin line of the log's checkpoints; empty: made from the installation's id
        log_public: what of the log is readable over HTTP without a key, below `/v1/log/NUMBER`: `checkpoints`
            (checkpoint and hashes), `entries` (also the entries, which a monitor needs: **the id of every
            stream and when it grows become public**, never a content), or `none`
        connections: maximum number of connections, micro-batches excluded
        retry_seconds: how long an append is retried while the database is unreachable; a failover takes about
            20 s
        answer_seconds: longest wait for the database's answer to an append; then the connection is closed and
            the append retried, on another server if the URL names several. Other statements may take twice as
            long; migrations, audit, fsck, rebuild, backup and the orphan scan as long as they need
        checkpoint_seconds: shortest time between two signed checkpoints
        max_lag_seconds: lag of the sequencer that `foja audit` reports

    Cosigners:
        cosigners: address and public key of each cosigner (`https://a.example name+id+key …`), separated by
            spaces; empty: none is asked
        cosigner_policy: how many of them must have signed the checkpoint that proofs and bundles use, if
            there is one, such as `2 of 3`; empty: proofs use any checkpoint
        cosigner_timeout_seconds: how long to wait for the answer of a cosigner

    Appends and sequence lanes:
        micro_batch: send appends that wait at the same moment in one call
        writers: connections that send micro-batches
        redis_url: Redis that numbers conversations (`redis://`, `rediss://`, `unix://`); `embedded` starts
            one; empty: PostgreSQL numbers them
        sequence_lane: what numbers conversations: `auto` (Redis if its URL is set), `postgres` or `redis`
        lane_return_seconds: shortest time before a conversation returns to Redis
        redis_timeout_seconds: how long to wait for an answer of Redis

    Timestamps and protection:
        tsa_urls: timestamp authorities (RFC 3161), separated by spaces, in the order in which they are asked;
            empty: the local one, which proves order to you, not time to others
        tsa_roots: file or folder of the root certificates to trust in tokens, PEM or DER; required with
            `FOJA_TSA_URLS`
        tsa_crls: file or folder of certificate revocation lists, PEM or DER
        tsa_policies: policies (OIDs) that tokens may be issued under, separated by spaces; empty: any
        tsa_worst_accuracy_seconds: largest inaccuracy that a token may state; a token that states none
            passes, and reports say so
        tsa_require_revocation: refuse a token without evidence that its certificates were not revoked
        tsa_timeout_seconds: how long to wait for one authority before the next is asked
        tsa_window_seconds: how long one attempt at a timestamp may stay open
        tsa_batch: the largest number of documents under one token, up to 10,000, by evidence records (RFC
            4998); bundles are then sealed in batches too; `0`: a token for each (documents.md)
        clock_tolerance_seconds: most that the time of a new token may differ from the database's clock; a
            token further off is refused. Also how far ahead a time must be for `foja audit` to report it. At
            most 300, which is what `foja verify` allows
        protect_attempts: attempts at a timestamp or an artifact before it is given up (anchors have their
            own); if it is raised, the next worker continues with what was given up
        protect_pause_seconds: pause before the second attempt, in seconds; each later pause is four times
            longer

    Orphans:
        orphan_scan_seconds: time between two scans for orphans; `0`: only `foja orphans scan`
        orphan_grace_seconds: how long an object is a candidate before it may be purged; in whole days, so
            many scans less one must have followed, too
        orphan_quarantine_seconds: how long a purged object can still be restored
        orphan_fresh_seconds: a younger object is not staged: its event may be on its way
        orphan_purge_limit: the most objects that one purge puts in quarantine, and deletes
        orphan_max_share: if a larger share of all objects is due, and more than ten, the purge is aborted

    Webhooks:
        webhook_networks: networks that are not public and that webhooks may be in, as `10.1.0.0/16 fd00::/8`;
            plain `http://` is allowed to these alone
        webhook_timeout_seconds: time for one attempt, from the lookup of the name to the end of the answer
        webhook_attempts: attempts at one delivery before it has failed; the pauses between them grow from 5
            seconds to 8 hours
        webhook_off_seconds: a webhook whose attempts all failed for so long, at least ten of them, is
            switched off
        webhook_log_seconds: how long deliveries that ended are listed and can be replayed

    Galleries:
        gallery_read: who may read `products` and `product_images` with SQL: `tenant` (role `authenticated`,
            rows of its tenant), `authenticated` (the rows of all tenants), `public` (`anon` too)
        gallery_limit: the most images that one product may have

    Anchors:
        anchor_batch_size: digests of a full batch; it is sent at once, at most 10,000
        anchor_batch_seconds: how long a digest waits for others, at most, up to 900; `0`: not at all
        anchor_poll_seconds: pause between two looks at the batches that are due, at least 1
        anchor_watch_seconds: how long a confirmed batch is watched for reorganisations of its chain
        checkpoint_anchor_seconds: pause between two anchored checkpoints of the log, on each enabled network;
            only if there are new entries other than those of the installation itself. `0`: none is anchored
        polygon_private_key: the key of the account: `0x` and 64 hexadecimal digits
        polygon_key_file: or a regular file of mode 600 with it
        polygon_keystore: or an encrypted keystore (version 3)
        polygon_keystore_password_file: a file of mode 600 with the password of the keystore
        polygon_signer_url: or a signer that speaks `eth_signTransaction`; `FOJA_POLYGON_ACCOUNT` names its
            account
        polygon_account: the account that pays; with a key it must be the account of the key
        polygon_max_fee_gwei: the most for one unit of gas; no transaction is made while it costs more
        polygon_priority_fee_gwei: the least priority fee for one unit of gas; a higher one that nodes suggest
            is followed up to ten times this
        polygon_depth: blocks above that of a transaction before it is confirmed
        polygon_replace_after_seconds: a transaction that is in no block after this time is replaced at a
            higher fee
        polygon_attempts: attempts at an anchor on Polygon
        polygon_pause_seconds: pause before the second attempt; each later one is four times longer
        polygon_window_seconds: how long one attempt may stay open
        polygon_polls: looks at a batch within one window, at least
        polygon_daily_cap: POL that batches may cost within 24 hours, with all replacements (polygon.md); no
            batch is made and no replacement sent beyond it, `0`: none at all
        ots_calendars: OpenTimestamps calendars, two or more, separated by spaces; only these are asked
        bitcoin_header_urls: servers of block headers (Esplora), if you have no node; two must agree
        bitcoin_network: `testnet`, `signet` or `regtest` are marked in every report
        bitcoin_confirmations: blocks that confirm an anchor, its own included
        bitcoin_attempts: attempts at an anchor on Bitcoin
        bitcoin_pause_seconds: pause before the second attempt; each later one is four times longer
        bitcoin_window_seconds: how long one attempt may stay open
        bitcoin_polls: looks at a batch within one window, at least
        rekor_read_url: where the log serves checkpoint and tiles, if not below `FOJA_REKOR_URL`
        rekor_key: the key of the log: `name+id+key`, PEM, or a file with one
        rekor_attempts: attempts at an entry in Rekor
        rekor_pause_seconds: pause before the second attempt; each later one is four times longer
        rekor_window_seconds: how long one attempt may stay open
        rekor_polls: looks at a batch within one window, at least

    Nodes and logs:
        bitcoin_rpc_url: your own Bitcoin node (`http://user:password@host:8332`), for anchors too
        polygon_rpc_url: your own Polygon node; several, separated by commas, must agree
        rekor_url: address of a Rekor log (version 2): entries are added there, and its tiles show whether it
            still begins with the tree of a proof

    Images:
        image_max_mb: the largest file, in millions of bytes
        image_max_megapixels: the most pixels, of all frames together, in millions
        image_max_side: the longest side, in pixels
        image_max_frames: the most frames of an animation
        image_decoders: how many decoders may run at the same time
        image_seconds: how long a decoder may work on one image
        image_memory_mb: the address space of one decoder, in megabytes
        thumbnail_sets: the sizes of variants, separated by spaces: `catalog`, `responsive`
        thumbnail_formats: the formats of variants, separated by spaces: `jpeg`, `webp`, `avif`
        thumbnail_max_attempts: how often the rendering of an image is tried
        thumbnail_retries: when more than one automatic retry is allowed: `auto` (after seven good days),
            `armed` (now) or `single` (never)
        thumbnail_backlog: how many images wait at the same time to be rendered again because sets or formats
            were changed

    Logs:
        log_format: `text`, or `json`: one object per line with `time`, `level`, `logger`, `message` and
            further fields
        log_level: the lowest level that is written: `debug`, `info`, `warning` or `error`

    Alerts:
        health_seconds: after how long without use a part of ours (store, schema) is probed; after three times
            as long nothing is known of it
        health_remote_seconds: the same for what costs more or belongs to others: timestamp authorities,
            networks, the channels of the alerts, image decoders; `0`: only what is used is known
        alert_seconds: pause between two evaluations of the alerts, by one worker or web process at a time;
            `0`: none, for those who use Prometheus
        alert_limits: limits other than the defaults (`log_lag=120 disk_space=off`), separated by spaces
        alert_webhook_url: where a notice is posted when an alert fires or clears; empty: nowhere
        alert_mail_to: who gets it by e-mail, separated by commas; needs `FOJA_SMTP_URL`
        alert_mail_from: the sender of those e-mails; empty: the first recipient
        smtp_url: the mail server (`smtp://user:password@host:587`, `smtps://host`)
        runbook_url: where the runbooks are published, for the links in notices and rules; empty: their path
            in the source

    HTTP:
        web_host: address to listen on
        web_port: port to listen on; 0: any free one
        web_url: the public address of the server, such as `https://foja.example.org`; empty: as requests name
            it
        trusted_proxies: addresses or networks of proxies whose `X-Forwarded-*` headers are believed,
            separated by spaces
        cors_origins: origins whose pages may use the API from a browser, such as `https://app.example.org`,
            separated by spaces; empty: none (http.md)
        metrics_port: port on which `foja worker` serves `/metrics`, `/healthz` and `/readyz`, at
            `FOJA_WEB_HOST`; empty: none
        metrics_cache_seconds: how long what `/metrics` read from the database is kept; a part that takes long
            is kept for twenty times as long as it took; `0`: not at all
        metrics_timeout_seconds: how long a statement of `/metrics` may take
        heartbeat_seconds: longest silence of an event stream
        max_connections: maximum number of HTTP connections of one process; fewer if the limit of open files
            (`ulimit -n`) is below it
        max_streams: maximum number of event streams that one process keeps open
        upload_max_mb: largest document, file or upload that is sent over HTTP
        upload_seconds: how long an unfinished upload (`/v1/uploads`) is kept
        upload_space_mb: room for the unfinished uploads of one tenant, below `FOJA_HOME`; more are answered
            with 429
        verify_seconds: time limit of one verification over HTTP
        verify_memory_mb: memory of a process that verifies
        verify_processes: verifications at the same time, one less for callers without a key; four times as
            many wait, more are answered with 429
        rate_limit: HTTP requests per second of one principal below `/v1` and at `/mcp`; 0: no limit. Shared
            by all processes through Redis if `FOJA_REDIS_URL` is set, else each process counts alone
        rate_burst: requests that a principal may send at once

    Access:
        session_idle_seconds: how long a login lasts without a request
        session_seconds: how long a login lasts at most
        jwt_issuer: the issuer whose bearer tokens are accepted, exactly as it calls itself; empty: none
        jwt_audience: the name of this service in those tokens; required with an issuer
        jwt_jwks_url: where the issuer has its keys; empty: where its metadata says
        jwt_algorithms: the accepted signatures, separated by spaces; only those of a key pair
        jwt_tenant_claim: the claim with the tenant; empty: every token is of `FOJA_TENANT`
        jwt_scopes_claim: the claim with the scopes
        oidc_issuer: the OpenID Connect provider with which people log in; empty: with keys only
        oidc_client_id: the name of this service there; required with a provider
        oidc_client_secret: its secret there; empty: a public client
        oidc_default_scopes: the scopes of a person whose token names none, separated by spaces; empty:
            refused
    """

    home: str | PathLike[str] | None
    database_url: str | None
    storage_url: str | None
    tenant: str | None
    log_name: str | None
    log_public: Literal["entries", "checkpoints", "none"] | None
    connections: int | None
    retry_seconds: float | None
    answer_seconds: float | None
    checkpoint_seconds: float | None
    max_lag_seconds: float | None
    cosigners: str | None
    cosigner_policy: str | None
    cosigner_timeout_seconds: float | None
    micro_batch: bool | None
    writers: int | None
    redis_url: str | None
    sequence_lane: Literal["auto", "postgres", "redis"] | None
    lane_return_seconds: float | None
    redis_timeout_seconds: float | None
    tsa_urls: str | None
    tsa_roots: str | None
    tsa_crls: str | None
    tsa_policies: str | None
    tsa_worst_accuracy_seconds: float | None
    tsa_require_revocation: bool | None
    tsa_timeout_seconds: float | None
    tsa_window_seconds: float | None
    tsa_batch: int | None
    clock_tolerance_seconds: float | None
    protect_attempts: int | None
    protect_pause_seconds: float | None
    orphan_scan_seconds: float | None
    orphan_grace_seconds: float | None
    orphan_quarantine_seconds: float | None
    orphan_fresh_seconds: float | None
    orphan_purge_limit: int | None
    orphan_max_share: float | None
    webhook_networks: str | None
    webhook_timeout_seconds: float | None
    webhook_attempts: int | None
    webhook_off_seconds: float | None
    webhook_log_seconds: float | None
    gallery_read: Literal["tenant", "authenticated", "public"] | None
    gallery_limit: int | None
    anchor_batch_size: int | None
    anchor_batch_seconds: float | None
    anchor_poll_seconds: float | None
    anchor_watch_seconds: float | None
    checkpoint_anchor_seconds: float | None
    polygon_private_key: str | None
    polygon_key_file: str | None
    polygon_keystore: str | None
    polygon_keystore_password_file: str | None
    polygon_signer_url: str | None
    polygon_account: str | None
    polygon_max_fee_gwei: float | None
    polygon_priority_fee_gwei: float | None
    polygon_depth: int | None
    polygon_replace_after_seconds: float | None
    polygon_attempts: int | None
    polygon_pause_seconds: float | None
    polygon_window_seconds: float | None
    polygon_polls: int | None
    polygon_daily_cap: float | None
    ots_calendars: str | None
    bitcoin_header_urls: str | None
    bitcoin_network: Literal["main", "testnet", "signet", "regtest"] | None
    bitcoin_confirmations: int | None
    bitcoin_attempts: int | None
    bitcoin_pause_seconds: float | None
    bitcoin_window_seconds: float | None
    bitcoin_polls: int | None
    rekor_read_url: str | None
    rekor_key: str | None
    rekor_attempts: int | None
    rekor_pause_seconds: float | None
    rekor_window_seconds: float | None
    rekor_polls: int | None
    bitcoin_rpc_url: str | None
    polygon_rpc_url: str | None
    rekor_url: str | None
    image_max_mb: float | None
    image_max_megapixels: float | None
    image_max_side: int | None
    image_max_frames: int | None
    image_decoders: int | None
    image_seconds: float | None
    image_memory_mb: int | None
    thumbnail_sets: str | None
    thumbnail_formats: str | None
    thumbnail_max_attempts: int | None
    thumbnail_retries: Literal["auto", "armed", "single"] | None
    thumbnail_backlog: int | None
    log_format: Literal["text", "json"] | None
    log_level: Literal["debug", "info", "warning", "error"] | None
    health_seconds: float | None
    health_remote_seconds: float | None
    alert_seconds: float | None
    alert_limits: str | None
    alert_webhook_url: str | None
    alert_mail_to: str | None
    alert_mail_from: str | None
    smtp_url: str | None
    runbook_url: str | None
    web_host: str | None
    web_port: int | None
    web_url: str | None
    trusted_proxies: str | None
    cors_origins: str | None
    metrics_port: int | None
    metrics_cache_seconds: float | None
    metrics_timeout_seconds: float | None
    heartbeat_seconds: float | None
    max_connections: int | None
    max_streams: int | None
    upload_max_mb: float | None
    upload_seconds: float | None
    upload_space_mb: float | None
    verify_seconds: float | None
    verify_memory_mb: int | None
    verify_processes: int | None
    rate_limit: float | None
    rate_burst: int | None
    session_idle_seconds: float | None
    session_seconds: float | None
    jwt_issuer: str | None
    jwt_audience: str | None
    jwt_jwks_url: str | None
    jwt_algorithms: str | None
    jwt_tenant_claim: str | None
    jwt_scopes_claim: str | None
    oidc_issuer: str | None
    oidc_client_id: str | None
    oidc_client_secret: str | None
    oidc_default_scopes: str | None
