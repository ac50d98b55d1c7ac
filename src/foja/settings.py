"""The settings: `FOJA_*` in the environment, or arguments of `connect`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from foja.errors import SetupFailed


class Settings(BaseSettings):
    """All settings. The defaults need nothing installed."""

    model_config = SettingsConfigDict(env_prefix="FOJA_", frozen=True, extra="forbid")

    home: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("foja")),
        description="Folder of the embedded database, the objects and the keys.",
    )
    database_url: str = Field(
        default="", description="PostgreSQL 15 or later, as administrator; empty: the embedded one."
    )
    redis_url: str = Field(
        default="", description="Redis that numbers conversations; `embedded` starts one; empty: none."
    )
    sequence_lane: Literal["auto", "postgres", "redis"] = Field(
        default="auto", description="What numbers conversations; `auto`: Redis if its URL is set."
    )
    lane_return_seconds: float = Field(
        default=30.0, gt=0, description="Shortest time before a conversation returns to Redis."
    )
    redis_timeout_seconds: float = Field(default=0.25, gt=0, description="Timeout for a reply of Redis.")
    storage_url: str = Field(
        default="", description="URL of the store of objects and log tiles; empty: `store` under the home."
    )
    tenant: str = Field(
        default="",
        description="Tenant that this process writes and works for; empty: writes `default`, works for all.",
    )
    domains: str = Field(
        default="",
        description="Domains of your own, each `module:NAME`, with spaces between; registered at start.",
    )
    log_name: str = Field(
        default="", description="Origin line of the log's checkpoints; empty: from the installation id."
    )
    micro_batch: bool = Field(
        default=True, description="Send appends that wait at the same moment in one call."
    )
    writers: int = Field(default=2, ge=1, description="Connections for micro-batches.")
    connections: int = Field(default=8, ge=2, description="Most connections for everything else.")
    retry_seconds: float = Field(
        default=10.0, ge=0, description="How long an append is retried while the database does not answer."
    )
    checkpoint_seconds: float = Field(
        default=1.0, gt=0, description="Shortest time between two signed checkpoints."
    )
    max_lag_seconds: float = Field(
        default=60.0, gt=0, description="Sequencer lag that `foja audit` reports as a finding."
    )

    bitcoin_rpc_url: str = Field(
        default="", description="URL of your Bitcoin node, with user and password; empty: none."
    )
    polygon_rpc_url: str = Field(default="", description="URL of your Polygon node; empty: none.")
    rekor_url: str = Field(default="", description="URL of the tiles of a Rekor log, version 2; empty: none.")
    tsa_urls: str = Field(
        default="",
        description="URLs of timestamp authorities in order of preference, separated by spaces; "
        "empty: the local one.",
    )
    tsa_roots: str = Field(
        default="", description="File or folder of trusted root certificates for tokens, PEM or DER."
    )
    tsa_crls: str = Field(
        default="", description="File or folder of certificate revocation lists, PEM or DER; empty: none."
    )
    tsa_policies: str = Field(
        default="", description="Accepted token policies (OIDs), separated by spaces; empty: any."
    )
    tsa_worst_accuracy_seconds: float = Field(
        default=60.0, gt=0, description="Largest accepted inaccuracy of a token; one that states none passes."
    )
    tsa_require_revocation: bool = Field(
        default=False, description="Refuse a token if the revocation state of its certificates is unknown."
    )
    tsa_timeout_seconds: float = Field(
        default=10.0, gt=0, description="Timeout for one authority before the next one is tried."
    )

    protect_attempts: int = Field(default=5, ge=1, description="Most attempts for one evidence.")
    protect_pause_seconds: float = Field(
        default=30.0, ge=0, description="Pause before the second attempt; four times longer before each next."
    )
    tsa_window_seconds: float = Field(
        default=3600.0, gt=0, description="Time limit of one attempt at a timestamp."
    )

    web_host: str = Field(default="127.0.0.1", description="Address of the HTTP server.")
    web_port: int = Field(default=8000, ge=0, le=65535, description="Port of the HTTP server; 0: any free.")
    web_expose: bool = Field(
        default=False, description="Let other machines use the HTTP server; there are no access keys yet."
    )
    heartbeat_seconds: float = Field(
        default=15.0, gt=0, description="Interval of heartbeats in an HTTP event stream."
    )

    max_streams: int = Field(default=512, ge=1, description="Most open HTTP event streams per process.")

    @property
    def own_tenant(self) -> str:
        """The tenant whose streams this process writes."""
        return self.tenant or "default"

    @property
    def store_url(self) -> str:
        """The URL of the store of objects and log tiles."""
        return self.storage_url or (self.home / "store").as_uri()


def load(**given: Any) -> Settings:
    """Return the settings of the environment, overridden by the arguments."""
    try:
        settings = Settings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        name = "_".join(["FOJA", *map(str, first["loc"])]).upper()
        raise SetupFailed(f"{name} is not valid: {first['msg']}; correct it") from None
    return settings.model_copy(update={"home": settings.home.expanduser().absolute()})
