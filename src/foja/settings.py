"""What can be set, as `FOJA_*` in the environment or as arguments of `connect`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from foja.errors import SetupFailed


class Settings(BaseSettings):
    """Every setting, with the default that needs nothing installed."""

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
        default="auto", description="Who numbers conversations; `auto`: Redis if its URL is set."
    )
    lane_return_seconds: float = Field(
        default=30.0, gt=0, description="Shortest time before a conversation returns to Redis."
    )
    redis_timeout_seconds: float = Field(
        default=0.25, gt=0, description="How long an answer of Redis is waited for."
    )
    storage_url: str = Field(
        default="", description="Where objects and log tiles live; empty: `store` under the home."
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
        default="", description="Origin line of the log's checkpoints; empty: made from the installation."
    )
    micro_batch: bool = Field(
        default=True, description="Send appends that wait at the same moment in one call."
    )
    writers: int = Field(default=2, ge=1, description="Connections that carry micro-batches.")
    connections: int = Field(default=8, ge=2, description="Most connections for everything else.")
    retry_seconds: float = Field(
        default=10.0, ge=0, description="How long an append is tried again while the database is away."
    )
    checkpoint_seconds: float = Field(
        default=1.0, gt=0, description="Shortest time between two signed checkpoints."
    )
    max_lag_seconds: float = Field(
        default=60.0, gt=0, description="Sequencer lag that `foja audit` reports as a finding."
    )

    bitcoin_rpc_url: str = Field(
        default="", description="A Bitcoin node of your own, user and password in it; empty: none."
    )
    polygon_rpc_url: str = Field(default="", description="A Polygon node of your own; empty: none.")
    rekor_url: str = Field(
        default="", description="A Rekor log of version 2, where its tiles are read; empty: none."
    )
    tsa_urls: str = Field(
        default="",
        description="Timestamp authorities, in the order they are asked, with spaces between; "
        "empty: the local one.",
    )
    tsa_roots: str = Field(
        default="", description="File or folder of the root certificates to trust in tokens, PEM or DER."
    )
    tsa_crls: str = Field(
        default="", description="File or folder of lists of revoked certificates, PEM or DER; empty: none."
    )
    tsa_policies: str = Field(
        default="", description="Policies (OIDs) that tokens may be under, with spaces between; empty: any."
    )
    tsa_worst_accuracy_seconds: float = Field(
        default=60.0, gt=0, description="How inexact a token may say it is; one that does not say it passes."
    )
    tsa_require_revocation: bool = Field(
        default=False, description="Refuse a token if nothing says that its certificates were not revoked."
    )
    tsa_timeout_seconds: float = Field(
        default=10.0, gt=0, description="How long one authority is waited for before the next is asked."
    )

    protect_attempts: int = Field(
        default=5, ge=1, description="Attempts at one evidence before it is given up."
    )
    protect_pause_seconds: float = Field(
        default=30.0, ge=0, description="Pause before the second attempt; four times longer before each next."
    )
    tsa_window_seconds: float = Field(
        default=3600.0, gt=0, description="How long one attempt at a timestamp may be open."
    )

    web_host: str = Field(default="127.0.0.1", description="Where the HTTP door listens.")
    web_port: int = Field(default=8000, ge=0, le=65535, description="Its port; 0: any that is free.")
    web_expose: bool = Field(
        default=False, description="Let other machines reach the HTTP door; there are no access keys yet."
    )
    heartbeat_seconds: float = Field(
        default=15.0, gt=0, description="Longest silence of an event stream over HTTP."
    )

    max_streams: int = Field(
        default=512, ge=1, description="Most event streams over HTTP that one process keeps open."
    )

    @property
    def own_tenant(self) -> str:
        """The tenant whose streams this process writes."""
        return self.tenant or "default"

    @property
    def store_url(self) -> str:
        """Where objects and log tiles live."""
        return self.storage_url or (self.home / "store").as_uri()


def load(**given: Any) -> Settings:
    """Return the settings of the environment, with what is given over them."""
    try:
        settings = Settings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        name = "_".join(["FOJA", *map(str, first["loc"])]).upper()
        raise SetupFailed(f"{name} cannot be used: {first['msg']}; correct it") from None
    return settings.model_copy(update={"home": settings.home.expanduser().absolute()})
