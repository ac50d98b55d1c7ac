"""The settings: `FOJA_*` in the environment, or arguments of `connect`."""

from __future__ import annotations

import logging
import os
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

import platformdirs
from pydantic import AfterValidator, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from foja.core.fields import check_tenant
from foja.errors import Refused, SetupFailed

PREFIX = "FOJA_"
FOR_TESTS = "FOJA_TEST_"  # variables of the test suite
log = logging.getLogger("foja.settings")
# What may contain a password or an access key: absent from the settings' repr.
Secret: TypeAlias = Annotated[str, Field(repr=False)]


def _tenant(name: str) -> str:
    try:
        return name and check_tenant(name)
    except Refused as error:
        raise ValueError(str(error)) from None


Tenant: TypeAlias = Annotated[str, AfterValidator(_tenant)]


def _networks(text: str) -> str:
    for each in text.replace(",", " ").split():
        ip_network(each, strict=False)  # its error names what is wrong
    return text


_USUAL_PORTS = {"http": ":80", "https": ":443"}  # a browser leaves out the usual port


def _origins(text: str) -> str:
    for each in text.replace(",", " ").split():
        parts = urlsplit(each)
        if parts.scheme not in ("http", "https") or not parts.hostname or each != each.lower():
            raise ValueError(f"{each} is not an origin; write https://app.example.org, never *")
        if each != f"{parts.scheme}://{parts.netloc}" or parts.username is not None:
            raise ValueError(f"{each} is more than an origin; leave out what follows the host and port")
        if not each.isascii() or parts.netloc.endswith(_USUAL_PORTS[parts.scheme]):
            raise ValueError(
                f"no browser sends {each}; leave out :80 and :443, and write other letters as xn--"
            )
    return text


def _issuer(url: str) -> str:
    parts = urlsplit(url)
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if url and not (parts.hostname and (parts.scheme == "https" or (parts.scheme == "http" and local))):
        raise ValueError("an https:// address is needed; http:// is accepted for this machine only")
    return url


def _algorithms(text: str) -> str:
    if unknown := sorted(set(text.split()) - SIGNATURES) or ([] if text.split() else ["none"]):
        raise ValueError(f"{unknown[0]} is not accepted; choose from {', '.join(sorted(SIGNATURES))}")
    return text


# Signatures of a key pair only: with a shared secret, the public key could be used as one.
SIGNATURES = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
Origins: TypeAlias = Annotated[str, AfterValidator(_origins)]
Networks: TypeAlias = Annotated[str, AfterValidator(_networks)]
Issuer: TypeAlias = Annotated[str, AfterValidator(_issuer)]
Algorithms: TypeAlias = Annotated[str, AfterValidator(_algorithms)]


class _Environment(PydanticBaseSettingsSource):
    """The variables `FOJA_*`, in any case. Each is one plain value, so a lookup is enough.

    The sources of pydantic-settings ask for each field how nested it is: 5 ms at every start.
    """

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return the value of one variable. The class requires this method; `__call__` does not use it."""
        return self().get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return the settings that the environment names."""
        found = {name.lower(): value for name, value in os.environ.items()}
        names = {name: f"{PREFIX}{name}".lower() for name in self.settings_cls.model_fields}
        return {name: found[variable] for name, variable in names.items() if variable in found}


class Settings(BaseSettings):
    """All settings; `foja.connect` and docs/settings.md explain them. The defaults need nothing installed."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid", allow_inf_nan=False)

    home: Path = Field(default_factory=lambda: Path(platformdirs.user_data_dir("foja")))
    database_url: Secret = ""
    redis_url: Secret = ""
    sequence_lane: Literal["auto", "postgres", "redis"] = "auto"
    lane_return_seconds: float = Field(default=30.0, gt=0)
    redis_timeout_seconds: float = Field(default=0.25, gt=0)
    storage_url: Secret = ""
    tenant: Tenant = ""
    domains: str = ""
    log_name: str = ""
    log_public: Literal["entries", "checkpoints", "none"] = "checkpoints"
    micro_batch: bool = True
    writers: int = Field(default=2, ge=1)
    connections: int = Field(default=8, ge=2)
    retry_seconds: float = Field(default=30.0, ge=0)
    answer_seconds: float = Field(default=15.0, gt=0)
    checkpoint_seconds: float = Field(default=1.0, gt=0)
    max_lag_seconds: float = Field(default=60.0, gt=0)

    cosigners: Secret = ""
    cosigner_policy: str = ""
    cosigner_timeout_seconds: float = Field(default=5.0, gt=0)

    bitcoin_rpc_url: Secret = ""
    polygon_rpc_url: Secret = ""
    rekor_url: Secret = ""
    tsa_urls: Secret = ""
    tsa_roots: str = ""
    tsa_crls: str = ""
    tsa_policies: str = ""
    tsa_worst_accuracy_seconds: float = Field(default=60.0, gt=0)
    tsa_require_revocation: bool = False
    tsa_timeout_seconds: float = Field(default=10.0, gt=0)
    tsa_window_seconds: float = Field(default=3600.0, gt=0)
    tsa_batch: int = Field(default=0, ge=0, le=10_000)

    clock_tolerance_seconds: float = Field(default=300.0, gt=0, le=300.0)

    anchor_batch_size: int = Field(default=10_000, ge=1, le=10_000)
    anchor_batch_seconds: float = Field(default=60.0, ge=0, le=900)
    anchor_poll_seconds: float = Field(default=15.0, ge=1)
    anchor_watch_seconds: float = Field(default=604_800.0, ge=0)
    checkpoint_anchor_seconds: float = Field(default=86_400.0, ge=0)
    polygon_private_key: Secret = ""
    polygon_key_file: str = ""
    polygon_keystore: str = ""
    polygon_keystore_password_file: str = ""
    polygon_signer_url: Secret = ""
    polygon_account: str = ""
    polygon_max_fee_gwei: float = Field(default=500.0, gt=0)
    polygon_priority_fee_gwei: float = Field(default=30.0, ge=0)
    polygon_depth: int = Field(default=128, ge=1)
    polygon_replace_after_seconds: float = Field(default=180.0, gt=0)
    polygon_attempts: int = Field(default=3, ge=1)
    polygon_pause_seconds: float = Field(default=30.0, ge=0)
    polygon_window_seconds: float = Field(default=1_800.0, gt=0, le=2_592_000)
    polygon_polls: int = Field(default=20, ge=1)
    polygon_daily_cap: float = Field(default=5.0, ge=0)
    ots_calendars: Secret = ""
    bitcoin_header_urls: Secret = ""
    bitcoin_network: Literal["main", "testnet", "signet", "regtest"] = "main"
    bitcoin_confirmations: int = Field(default=6, ge=1)
    bitcoin_attempts: int = Field(default=2, ge=1)
    bitcoin_pause_seconds: float = Field(default=30.0, ge=0)
    bitcoin_window_seconds: float = Field(default=259_200.0, gt=0, le=2_592_000)
    bitcoin_polls: int = Field(default=24, ge=1)
    rekor_read_url: Secret = ""
    rekor_key: str = ""
    rekor_attempts: int = Field(default=5, ge=1)
    rekor_pause_seconds: float = Field(default=30.0, ge=0)
    rekor_window_seconds: float = Field(default=3_600.0, gt=0, le=2_592_000)
    rekor_polls: int = Field(default=60, ge=1)

    orphan_scan_seconds: float = Field(default=86_400.0, ge=0)
    orphan_grace_seconds: float = Field(default=604_800.0, ge=0)
    orphan_quarantine_seconds: float = Field(default=86_400.0, ge=0)
    orphan_fresh_seconds: float = Field(default=86_400.0, ge=0)
    orphan_purge_limit: int = Field(default=1_000, ge=1)
    orphan_max_share: float = Field(default=0.1, gt=0, le=1)

    webhook_networks: str = ""
    webhook_timeout_seconds: float = Field(default=15.0, gt=0)
    webhook_attempts: int = Field(default=12, ge=1)
    webhook_off_seconds: float = Field(default=259_200.0, ge=0)
    webhook_log_seconds: float = Field(default=604_800.0, ge=0)

    protect_attempts: int = Field(default=5, ge=1)
    protect_pause_seconds: float = Field(default=30.0, ge=0)

    image_max_mb: float = Field(default=25.0, gt=0)
    image_max_megapixels: float = Field(default=50.0, gt=0)
    image_max_side: int = Field(default=16_384, ge=1)
    image_max_frames: int = Field(default=60, ge=1)
    image_decoders: int = Field(default=2, ge=1)
    image_seconds: float = Field(default=30.0, ge=1)
    image_memory_mb: int = Field(default=1_024, ge=128)
    thumbnail_sets: str = "catalog"
    thumbnail_formats: str = "jpeg webp"
    thumbnail_max_attempts: int = Field(default=5, ge=1)
    thumbnail_retries: Literal["auto", "armed", "single"] = "auto"
    thumbnail_backlog: int = Field(default=100, ge=1)
    gallery_read: Literal["tenant", "authenticated", "public"] = "tenant"
    gallery_limit: int = Field(default=1_000, ge=1, le=1_000_000)

    log_format: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    health_seconds: float = Field(default=30.0, gt=0)
    health_remote_seconds: float = Field(default=600.0, ge=0)
    alert_seconds: float = Field(default=30.0, ge=0)
    alert_limits: str = ""
    alert_webhook_url: Secret = ""
    alert_mail_to: str = ""
    alert_mail_from: str = ""
    smtp_url: Secret = ""
    runbook_url: str = ""

    web_host: str = "127.0.0.1"
    web_port: int = Field(default=8000, ge=0, le=65535)
    web_url: str = ""
    trusted_proxies: Networks = ""
    cors_origins: Origins = ""
    metrics_port: int | None = Field(default=None, ge=0, le=65535)
    metrics_cache_seconds: float = Field(default=5.0, ge=0)
    metrics_timeout_seconds: float = Field(default=5.0, gt=0)
    heartbeat_seconds: float = Field(default=15.0, gt=0)
    max_connections: int = Field(default=1024, ge=1)
    max_streams: int = Field(default=512, ge=1)

    session_idle_seconds: float = Field(default=3_600.0, gt=0)
    session_seconds: float = Field(default=43_200.0, gt=0)
    jwt_issuer: Issuer = ""
    jwt_audience: str = ""
    jwt_jwks_url: Issuer = ""
    jwt_algorithms: Algorithms = "RS256 PS256 ES256 EdDSA"
    jwt_tenant_claim: str = "tenant"
    jwt_scopes_claim: str = "scope"
    oidc_issuer: Issuer = ""
    oidc_client_id: str = ""
    oidc_client_secret: Secret = ""
    oidc_default_scopes: str = "read"
    upload_max_mb: float = Field(default=4_096.0, gt=0)
    upload_seconds: float = Field(default=86_400.0, gt=0)
    upload_space_mb: float = Field(default=20_480.0, gt=0)
    verify_seconds: float = Field(default=30.0, ge=1)
    verify_memory_mb: int = Field(default=1_024, ge=128)
    verify_processes: int = Field(default=2, ge=1)
    rate_limit: float = Field(default=1_000.0, ge=0)
    rate_burst: int = Field(default=5_000, ge=1)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        *_others: PydanticBaseSettingsSource,
        **_named: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read arguments, then the environment; no file."""
        return init_settings, _Environment(settings_cls)

    @property
    def own_tenant(self) -> str:
        """The tenant whose streams this process writes."""
        return self.tenant or "default"

    @property
    def upload_bytes(self) -> int:
        """The most bytes of one upload."""
        return int(self.upload_max_mb * 1e6)

    @property
    def store_url(self) -> str:
        """The URL of the store of objects and log tiles."""
        return self.storage_url or (self.home / "store").as_uri()


def warn_about_unknown_names() -> None:
    """Log a warning for each `FOJA_*` variable that is not a setting: it is probably misspelt."""
    known = [f"FOJA_{name.upper()}" for name in Settings.model_fields]
    for name in sorted(os.environ):
        if name.upper().startswith("FOJA_") and name.upper() not in known and not name.startswith(FOR_TESTS):
            from difflib import get_close_matches  # late: few commands need it

            close = get_close_matches(name.upper(), known, 1)
            advice = f"did you mean {close[0]}?" if close else "docs/settings.md lists the settings"
            log.warning("%s is not a setting and is ignored; %s", name, advice)


def load(**given: Any) -> Settings:
    """Return the settings of the environment, overridden by the arguments."""
    try:
        settings = Settings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        name = "_".join(["FOJA", *map(str, first["loc"])]).upper()
        raise SetupFailed(f"{name} is not valid: {first['msg']}; correct it") from None
    return settings.model_copy(update={"home": settings.home.expanduser().absolute()})
