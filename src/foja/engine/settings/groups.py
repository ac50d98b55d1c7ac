"""Every setting, once: its name, type, limits and default, and above it what it means.

A class is a group, which is a section of docs/settings.md: its title and, below it, its first words.
`make generate` writes the tables of that page and the arguments of `foja.connect` from these lines.
The classes are joined in `Settings`; as models of their own they would cost each start 4 ms.
"""

# Annotations are values here, not text that is compiled at each start.
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import platformdirs
from pydantic import Field

from foja.engine.settings.values import Algorithms, Issuer, Networks, Origins, Secret, Tenant


class Attempts(NamedTuple):
    """How often, how long and for how much anchors on one network are tried."""

    most: int
    pause_seconds: float
    window_seconds: float
    polls: int
    daily_cap: float | None = None


class Installation:
    """Installation and database."""

    #: folder of the embedded database, the objects and the keys
    home: Path = Field(default_factory=lambda: Path(platformdirs.user_data_dir("foja")))
    #: PostgreSQL 15 or later, as its administrator; empty: the embedded one
    database_url: Secret = ""
    #: where objects and log tiles are stored (`file:///folder`, `s3://`, `gs://`, `az://`); empty: the folder
    #: `store` under the home
    storage_url: Secret = ""
    #: the tenant that this process writes and works for; empty: it writes as `default` and works for all.
    #: `app.tenant(name)` and requests of other tenants are served in any case
    tenant: Tenant = ""
    #: your own domains, each `module:NAME`, separated by spaces; registered at start
    #: ([domains.md](domains.md))
    domains: str = ""
    #: origin line of the log's checkpoints; empty: made from the installation's id
    log_name: str = ""
    #: what of the log is readable over HTTP without a key, below `/v1/log/NUMBER`: `checkpoints` (checkpoint
    #: and hashes), `entries` (also the entries, which a [monitor](operations.md#monitors) needs: **the id of
    #: every stream and when it grows become public**, never a content), or `none`
    log_public: Literal["entries", "checkpoints", "none"] = "checkpoints"
    #: maximum number of connections, micro-batches excluded
    connections: int = Field(default=8, ge=2)
    #: how long an append is retried while the database is unreachable; a failover takes about 20 s
    retry_seconds: float = Field(default=30.0, ge=0)
    #: longest wait for the database's answer to an append; then the connection is closed and the append
    #: retried, on another server if the URL names several. Other statements may take twice as long;
    #: migrations, audit, fsck, rebuild, backup and the orphan scan as long as they need
    answer_seconds: float = Field(default=15.0, gt=0)
    #: shortest time between two signed checkpoints
    checkpoint_seconds: float = Field(default=1.0, gt=0)
    #: lag of the sequencer that `foja audit` reports
    max_lag_seconds: float = Field(default=60.0, gt=0)


class Cosigners:
    """Cosigners.

    Others who sign each published checkpoint, so that a log that shows two histories is found
    ([operations.md](operations.md#cosigners)).
    """

    #: address and public key of each cosigner (`https://a.example name+id+key …`), separated by spaces;
    #: empty: none is asked
    cosigners: Secret = ""
    #: how many of them must have signed the checkpoint that proofs and bundles use, if there is one, such as
    #: `2 of 3`; empty: proofs use any checkpoint
    cosigner_policy: str = ""
    #: how long to wait for the answer of a cosigner
    cosigner_timeout_seconds: float = Field(default=5.0, gt=0)


class Appends:
    """Appends and sequence lanes."""

    #: send appends that wait at the same moment in one call
    micro_batch: bool = True
    #: connections that send micro-batches
    writers: int = Field(default=2, ge=1)
    #: Redis that numbers conversations (`redis://`, `rediss://`, `unix://`); `embedded` starts one; empty:
    #: PostgreSQL numbers them
    redis_url: Secret = ""
    #: what numbers conversations: `auto` (Redis if its URL is set), `postgres` or `redis`
    sequence_lane: Literal["auto", "postgres", "redis"] = "auto"
    #: shortest time before a conversation returns to Redis
    lane_return_seconds: float = Field(default=30.0, gt=0)
    #: how long to wait for an answer of Redis
    redis_timeout_seconds: float = Field(default=0.25, gt=0)


class Protection:
    """Timestamps and protection."""

    #: timestamp authorities (RFC 3161), separated by spaces, in the order in which they are asked; empty: the
    #: local one, which proves order to you, not time to others
    tsa_urls: Secret = ""
    #: file or folder of the root certificates to trust in tokens, PEM or DER; required with `FOJA_TSA_URLS`
    tsa_roots: str = ""
    #: file or folder of certificate revocation lists, PEM or DER
    tsa_crls: str = ""
    #: policies (OIDs) that tokens may be issued under, separated by spaces; empty: any
    tsa_policies: str = ""
    #: largest inaccuracy that a token may state; a token that states none passes, and reports say so
    tsa_worst_accuracy_seconds: float = Field(default=60.0, gt=0)
    #: refuse a token without evidence that its certificates were not revoked
    tsa_require_revocation: bool = False
    #: how long to wait for one authority before the next is asked
    tsa_timeout_seconds: float = Field(default=10.0, gt=0)
    #: how long one attempt at a timestamp may stay open
    tsa_window_seconds: float = Field(default=3600.0, gt=0)
    #: the largest number of documents under one token, up to 10,000, by evidence records (RFC 4998); bundles
    #: are then sealed in batches too; `0`: a token for each ([documents.md](documents.md#bulk-timestamps))
    tsa_batch: int = Field(default=0, ge=0, le=10_000)
    #: most that the time of a new token may differ from the database's clock; a token further off is refused.
    #: Also how far ahead a time must be for `foja audit` to report it. At most 300, which is what `foja
    #: verify` allows
    clock_tolerance_seconds: float = Field(default=300.0, gt=0, le=300.0)
    #: attempts at a timestamp or an artifact before it is given up (anchors have their own); if it is raised,
    #: the next worker continues with what was given up
    protect_attempts: int = Field(default=5, ge=1)
    #: pause before the second attempt, in seconds; each later pause is four times longer
    protect_pause_seconds: float = Field(default=30.0, ge=0)


class Orphans:
    """Orphans.

    Objects that nothing refers to ([operations.md](operations.md#orphans)).
    """

    #: time between two scans for orphans; `0`: only `foja orphans scan`
    orphan_scan_seconds: float = Field(default=86_400.0, ge=0)
    #: how long an object is a candidate before it may be purged; in whole days, so many scans less one must
    #: have followed, too
    orphan_grace_seconds: float = Field(default=604_800.0, ge=0)
    #: how long a purged object can still be restored
    orphan_quarantine_seconds: float = Field(default=86_400.0, ge=0)
    #: a younger object is not staged: its event may be on its way
    orphan_fresh_seconds: float = Field(default=86_400.0, ge=0)
    #: the most objects that one purge puts in quarantine, and deletes
    orphan_purge_limit: int = Field(default=1_000, ge=1)
    #: if a larger share of all objects is due, and more than ten, the purge is aborted
    orphan_max_share: float = Field(default=0.1, gt=0, le=1)


class Webhooks:
    """Webhooks.

    [webhooks.md](webhooks.md) explains them.
    """

    #: networks that are not public and that webhooks may be in, as `10.1.0.0/16 fd00::/8`; plain `http://` is
    #: allowed to these alone
    webhook_networks: str = ""
    #: time for one attempt, from the lookup of the name to the end of the answer
    webhook_timeout_seconds: float = Field(default=15.0, gt=0)
    #: attempts at one delivery before it has failed; the pauses between them grow from 5 seconds to 8 hours
    webhook_attempts: int = Field(default=12, ge=1)
    #: a webhook whose attempts all failed for so long, at least ten of them, is switched off
    webhook_off_seconds: float = Field(default=259_200.0, ge=0)
    #: how long deliveries that ended are listed and can be replayed
    webhook_log_seconds: float = Field(default=604_800.0, ge=0)


class Galleries:
    """Galleries.

    What is set here is stored in the database when a process starts with it; a process without the
    variable leaves it as it is.
    """

    #: who may read `products` and `product_images` with SQL: `tenant` (role `authenticated`, rows of its
    #: tenant), `authenticated` (the rows of all tenants), `public` (`anon` too)
    gallery_read: Literal["tenant", "authenticated", "public"] = "tenant"
    #: the most images that one product may have
    gallery_limit: int = Field(default=1_000, ge=1, le=1_000_000)


class Anchors:
    """Anchors.

    An attempt at an anchor is one `job.submit-anchor-….required`: it ends at its window. Polls are the
    looks at a batch within one window; a network may ask for more of them, never for fewer.
    """

    #: digests of a full batch; it is sent at once, at most 10,000
    anchor_batch_size: int = Field(default=10_000, ge=1, le=10_000)
    #: how long a digest waits for others, at most, up to 900; `0`: not at all
    anchor_batch_seconds: float = Field(default=60.0, ge=0, le=900)
    #: pause between two looks at the batches that are due, at least 1
    anchor_poll_seconds: float = Field(default=15.0, ge=1)
    #: how long a confirmed batch is watched for reorganisations of its chain
    anchor_watch_seconds: float = Field(default=604_800.0, ge=0)
    #: pause between two anchored checkpoints of the log, on each enabled network; only if there are new
    #: entries other than those of the installation itself. `0`: none is anchored
    checkpoint_anchor_seconds: float = Field(default=86_400.0, ge=0)
    #: the key of the account: `0x` and 64 hexadecimal digits
    polygon_private_key: Secret = ""
    #: or a regular file of mode 600 with it
    polygon_key_file: str = ""
    #: or an encrypted keystore (version 3)
    polygon_keystore: str = ""
    #: a file of mode 600 with the password of the keystore
    polygon_keystore_password_file: str = ""
    #: or a signer that speaks `eth_signTransaction`; `FOJA_POLYGON_ACCOUNT` names its account
    polygon_signer_url: Secret = ""
    #: the account that pays; with a key it must be the account of the key
    polygon_account: str = ""
    #: the most for one unit of gas; no transaction is made while it costs more
    polygon_max_fee_gwei: float = Field(default=500.0, gt=0)
    #: the least priority fee for one unit of gas; a higher one that nodes suggest is followed up to ten times
    #: this
    polygon_priority_fee_gwei: float = Field(default=30.0, ge=0)
    #: blocks above that of a transaction before it is confirmed
    polygon_depth: int = Field(default=128, ge=1)
    #: a transaction that is in no block after this time is replaced at a higher fee
    polygon_replace_after_seconds: float = Field(default=180.0, gt=0)
    #: attempts at an anchor on Polygon
    polygon_attempts: int = Field(default=3, ge=1)
    #: pause before the second attempt; each later one is four times longer
    polygon_pause_seconds: float = Field(default=30.0, ge=0)
    #: how long one attempt may stay open
    polygon_window_seconds: float = Field(default=1_800.0, gt=0, le=2_592_000)
    #: looks at a batch within one window, at least
    polygon_polls: int = Field(default=20, ge=1)
    #: POL that batches may cost within 24 hours, with all replacements
    #: ([polygon.md](polygon.md#what-it-costs)); no batch is made and no replacement sent beyond it, `0`: none
    #: at all
    polygon_daily_cap: float = Field(default=5.0, ge=0)
    #: OpenTimestamps calendars, two or more, separated by spaces; only these are asked
    ots_calendars: Secret = ""
    #: servers of block headers (Esplora), if you have no node; two must agree
    bitcoin_header_urls: Secret = ""
    #: `testnet`, `signet` or `regtest` are marked in every report
    bitcoin_network: Literal["main", "testnet", "signet", "regtest"] = "main"
    #: blocks that confirm an anchor, its own included
    bitcoin_confirmations: int = Field(default=6, ge=1)
    #: attempts at an anchor on Bitcoin
    bitcoin_attempts: int = Field(default=2, ge=1)
    #: pause before the second attempt; each later one is four times longer
    bitcoin_pause_seconds: float = Field(default=30.0, ge=0)
    #: how long one attempt may stay open
    bitcoin_window_seconds: float = Field(default=259_200.0, gt=0, le=2_592_000)
    #: looks at a batch within one window, at least
    bitcoin_polls: int = Field(default=24, ge=1)
    #: where the log serves checkpoint and tiles, if not below `FOJA_REKOR_URL`
    rekor_read_url: Secret = ""
    #: the key of the log: `name+id+key`, PEM, or a file with one
    rekor_key: str = ""
    #: attempts at an entry in Rekor
    rekor_attempts: int = Field(default=5, ge=1)
    #: pause before the second attempt; each later one is four times longer
    rekor_pause_seconds: float = Field(default=30.0, ge=0)
    #: how long one attempt may stay open
    rekor_window_seconds: float = Field(default=3_600.0, gt=0, le=2_592_000)
    #: looks at a batch within one window, at least
    rekor_polls: int = Field(default=60, ge=1)

    @property
    def networks(self) -> Mapping[str, Attempts]:
        """What is set about anchors, by network."""
        return {
            "polygon": Attempts(
                self.polygon_attempts,
                self.polygon_pause_seconds,
                self.polygon_window_seconds,
                self.polygon_polls,
                self.polygon_daily_cap,
            ),
            "bitcoin": Attempts(
                self.bitcoin_attempts,
                self.bitcoin_pause_seconds,
                self.bitcoin_window_seconds,
                self.bitcoin_polls,
            ),
            "rekor": Attempts(
                self.rekor_attempts, self.rekor_pause_seconds, self.rekor_window_seconds, self.rekor_polls
            ),
        }


class Nodes:
    """Nodes and logs.

    Anchors and `foja verify --online` use these. Empty means: do not ask.
    """

    #: your own Bitcoin node (`http://user:password@host:8332`), for anchors too
    bitcoin_rpc_url: Secret = ""
    #: your own Polygon node; several, separated by commas, must agree
    polygon_rpc_url: Secret = ""
    #: address of a Rekor log (version 2): entries are added there, and its tiles show whether it still begins
    #: with the tree of a proof
    rekor_url: Secret = ""


class Images:
    """Images.

    What an upload may be, and what the processes that decode it may use ([thumbnails.md](thumbnails.md)).
    """

    #: the largest file, in millions of bytes
    image_max_mb: float = Field(default=25.0, gt=0)
    #: the most pixels, of all frames together, in millions
    image_max_megapixels: float = Field(default=50.0, gt=0)
    #: the longest side, in pixels
    image_max_side: int = Field(default=16_384, ge=1)
    #: the most frames of an animation
    image_max_frames: int = Field(default=60, ge=1)
    #: how many decoders may run at the same time
    image_decoders: int = Field(default=2, ge=1)
    #: how long a decoder may work on one image
    image_seconds: float = Field(default=30.0, ge=1)
    #: the address space of one decoder, in megabytes
    image_memory_mb: int = Field(default=1_024, ge=128)
    #: the sizes of variants, separated by spaces: `catalog`, `responsive`
    thumbnail_sets: str = "catalog"
    #: the formats of variants, separated by spaces: `jpeg`, `webp`, `avif`
    thumbnail_formats: str = "jpeg webp"
    #: how often the rendering of an image is tried
    thumbnail_max_attempts: int = Field(default=5, ge=1)
    #: when more than one automatic retry is allowed: `auto` (after seven good days), `armed` (now) or
    #: `single` (never)
    thumbnail_retries: Literal["auto", "armed", "single"] = "auto"
    #: how many images wait at the same time to be rendered again because sets or formats were changed
    thumbnail_backlog: int = Field(default=100, ge=1)


class Logs:
    """Logs.

    What the commands write to stderr. A program that uses `foja.connect` sets up its own logging; the
    loggers are named `foja.…`.
    """

    #: `text`, or `json`: one object per line with `time`, `level`, `logger`, `message` and further fields
    log_format: Literal["text", "json"] = "text"
    #: the lowest level that is written: `debug`, `info`, `warning` or `error`
    log_level: Literal["debug", "info", "warning", "error"] = "info"


class Alerts:
    """Alerts.

    What is watched, and who is told ([alerts.md](alerts.md)).
    """

    #: after how long without use a part of ours (store, schema) is probed; after three times as long nothing
    #: is known of it
    health_seconds: float = Field(default=30.0, gt=0)
    #: the same for what costs more or belongs to others: timestamp authorities, networks, the channels of the
    #: alerts, image decoders; `0`: only what is used is known
    health_remote_seconds: float = Field(default=600.0, ge=0)
    #: pause between two evaluations of the alerts, by one worker or web process at a time; `0`: none, for
    #: those who use Prometheus
    alert_seconds: float = Field(default=30.0, ge=0)
    #: limits other than the defaults (`log_lag=120 disk_space=off`), separated by spaces
    alert_limits: str = ""
    #: where a notice is posted when an alert fires or clears; empty: nowhere
    alert_webhook_url: Secret = ""
    #: who gets it by e-mail, separated by commas; needs `FOJA_SMTP_URL`
    alert_mail_to: str = ""
    #: the sender of those e-mails; empty: the first recipient
    alert_mail_from: str = ""
    #: the mail server (`smtp://user:password@host:587`, `smtps://host`)
    smtp_url: Secret = ""
    #: where the runbooks are published, for the links in notices and rules; empty: their path in the source
    runbook_url: str = ""


class Web:
    """HTTP."""

    #: address to listen on
    web_host: str = "127.0.0.1"
    #: port to listen on; 0: any free one
    web_port: int = Field(default=8000, ge=0, le=65535)
    #: the public address of the server, such as `https://foja.example.org`; empty: as requests name it
    web_url: str = ""
    #: addresses or networks of proxies whose `X-Forwarded-*` headers are believed, separated by spaces
    trusted_proxies: Networks = ""
    #: origins whose pages may use the API from a browser, such as `https://app.example.org`, separated by
    #: spaces; empty: none ([http.md](http.md#from-a-page-of-another-origin))
    cors_origins: Origins = ""
    #: port on which `foja worker` serves `/metrics`, `/healthz` and `/readyz`, at `FOJA_WEB_HOST`; empty:
    #: none
    metrics_port: int | None = Field(default=None, ge=0, le=65535)
    #: how long what `/metrics` read from the database is kept; a part that takes long is kept for twenty
    #: times as long as it took; `0`: not at all
    metrics_cache_seconds: float = Field(default=5.0, ge=0)
    #: how long a statement of `/metrics` may take
    metrics_timeout_seconds: float = Field(default=5.0, gt=0)
    #: longest silence of an event stream
    heartbeat_seconds: float = Field(default=15.0, gt=0)
    #: maximum number of HTTP connections of one process; fewer if the limit of open files (`ulimit -n`) is
    #: below it
    max_connections: int = Field(default=1024, ge=1)
    #: maximum number of event streams that one process keeps open
    max_streams: int = Field(default=512, ge=1)
    #: largest document, file or upload that is sent over HTTP
    upload_max_mb: float = Field(default=4_096.0, gt=0)
    #: how long an unfinished upload (`/v1/uploads`) is kept
    upload_seconds: float = Field(default=86_400.0, gt=0)
    #: room for the unfinished uploads of one tenant, below `FOJA_HOME`; more are answered with 429
    upload_space_mb: float = Field(default=20_480.0, gt=0)
    #: time limit of one verification over HTTP
    verify_seconds: float = Field(default=30.0, ge=1)
    #: memory of a process that verifies
    verify_memory_mb: int = Field(default=1_024, ge=128)
    #: verifications at the same time, one less for callers without a key; four times as many wait, more are
    #: answered with 429
    verify_processes: int = Field(default=2, ge=1)
    #: HTTP requests per second of one principal below `/v1` and at `/mcp`; 0: no limit. Shared by all
    #: processes through Redis if `FOJA_REDIS_URL` is set, else each process counts alone
    rate_limit: float = Field(default=1_000.0, ge=0)
    #: requests that a principal may send at once
    rate_burst: int = Field(default=5_000, ge=1)


class Access:
    """Access.

    Who may use the server: [access.md](access.md). An address of an issuer begins with `https://`;
    `http://` is accepted for this machine only.
    """

    #: how long a login lasts without a request
    session_idle_seconds: float = Field(default=3_600.0, gt=0)
    #: how long a login lasts at most
    session_seconds: float = Field(default=43_200.0, gt=0)
    #: the issuer whose bearer tokens are accepted, exactly as it calls itself; empty: none
    jwt_issuer: Issuer = ""
    #: the name of this service in those tokens; required with an issuer
    jwt_audience: str = ""
    #: where the issuer has its keys; empty: where its metadata says
    jwt_jwks_url: Issuer = ""
    #: the accepted signatures, separated by spaces; only those of a key pair
    jwt_algorithms: Algorithms = "RS256 PS256 ES256 EdDSA"
    #: the claim with the tenant; empty: every token is of `FOJA_TENANT`
    jwt_tenant_claim: str = "tenant"
    #: the claim with the scopes
    jwt_scopes_claim: str = "scope"
    #: the OpenID Connect provider with which people log in; empty: with keys only
    oidc_issuer: Issuer = ""
    #: the name of this service there; required with a provider
    oidc_client_id: str = ""
    #: its secret there; empty: a public client
    oidc_client_secret: Secret = ""
    #: the scopes of a person whose token names none, separated by spaces; empty: refused
    oidc_default_scopes: str = "read"
