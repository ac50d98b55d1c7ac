"""One ordered, append-only, tamper-evident ledger per entity, and evidence anyone can check offline."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal

from foja import errors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from foja.app import App
    from foja.conversations.service import Conversation
    from foja.core.registry import Domain, JobType, Kind
    from foja.documents.document import Document
    from foja.documents.model.events import Evidence
    from foja.jobs.outcome import Done, GiveUp, Job, NewEvent, NewJob, Retry, Snooze
    from foja.judge.report import Report, Verdict
    from foja.ledger.event import Event
    from foja.verification import verify

__version__ = "0.1.0"
__all__ = ["App", "Conversation", "Document", "Domain", "Event", "Evidence", "Kind", "Report", "Verdict"]
__all__ += ["Done", "GiveUp", "Job", "JobType", "NewEvent", "NewJob", "Retry", "Snooze"]
__all__ += ["connect", "errors", "verify"]

# Each public name is imported from its module on first use: `foja verify` needs no server package.
_MODULES = {
    "foja.app": {"App"},
    "foja.conversations.service": {"Conversation"},
    "foja.core.registry": {"Domain", "JobType", "Kind"},
    "foja.documents.document": {"Document"},
    "foja.documents.model.events": {"Evidence"},
    "foja.jobs.outcome": {"Done", "GiveUp", "Job", "NewEvent", "NewJob", "Retry", "Snooze"},
    "foja.judge.report": {"Report", "Verdict"},
    "foja.ledger.event": {"Event"},
    "foja.verification": {"verify"},
}


def connect(
    *,
    domains: Sequence[Domain] = (),
    home: str | PathLike[str] | None = None,
    database_url: str | None = None,
    redis_url: str | None = None,
    sequence_lane: Literal["auto", "postgres", "redis"] | None = None,
    lane_return_seconds: float | None = None,
    redis_timeout_seconds: float | None = None,
    storage_url: str | None = None,
    tenant: str | None = None,
    log_name: str | None = None,
    micro_batch: bool | None = None,
    writers: int | None = None,
    connections: int | None = None,
    retry_seconds: float | None = None,
    checkpoint_seconds: float | None = None,
    max_lag_seconds: float | None = None,
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
    protect_attempts: int | None = None,
    protect_pause_seconds: float | None = None,
    web_host: str | None = None,
    web_port: int | None = None,
    web_expose: bool | None = None,
    heartbeat_seconds: float | None = None,
    max_streams: int | None = None,
) -> App:
    """Return an installation, to be used as `async with foja.connect() as app`.

    An argument that is None comes from its environment variable (`database_url`: `FOJA_DATABASE_URL`)
    or else has its default. Raise `SetupFailed` if a value is not valid.

    domains: domains of your own, registered at start; besides those of `FOJA_DOMAINS`.
    home: folder of the embedded database, the objects and the keys.
    database_url: PostgreSQL 15 or later, as its administrator; empty: the embedded server.
    redis_url: Redis that numbers conversations; `embedded` starts one; empty: none.
    sequence_lane: what numbers conversations; `auto` is Redis if `redis_url` is set.
    lane_return_seconds: shortest time before a conversation returns to Redis.
    redis_timeout_seconds: longest wait for one reply of Redis.
    storage_url: store of objects and log tiles; empty: `store` in `home`.
    tenant: tenant that this process writes and works for; empty: writes `default`, works for all.
    log_name: origin line of the log's checkpoints; empty: derived from the installation's id.
    micro_batch: send appends that wait at the same time in one call.
    writers, connections: most connections for micro-batches, and for everything else.
    retry_seconds: how long an append is retried while the database is unavailable.
    checkpoint_seconds: shortest time between two signed checkpoints.
    max_lag_seconds: sequencer lag that `foja audit` reports.
    bitcoin_rpc_url, polygon_rpc_url, rekor_url: your nodes and log, for `foja verify --online`.
    tsa_urls: timestamp authorities in order, separated by spaces; empty: the local one.
    tsa_roots, tsa_crls: file or folder of trusted root certificates, and of revocation lists.
    tsa_policies: accepted policy OIDs, separated by spaces; empty: any.
    tsa_worst_accuracy_seconds: worst accuracy that a token may state.
    tsa_require_revocation: refuse a token without revocation data for its certificates.
    tsa_timeout_seconds, tsa_window_seconds: longest wait for one authority, and for one attempt.
    protect_attempts: attempts at one evidence before it is given up.
    protect_pause_seconds: pause before the second attempt; each next one is four times longer.
    web_host, web_port, web_expose: address of `foja web`, and whether other machines may reach it.
    heartbeat_seconds, max_streams: longest silence and largest number of HTTP event streams.
    """
    settings = {name: value for name, value in {**locals()}.items() if value is not None}
    del settings["domains"]
    try:
        from foja.app import App
        from foja.settings import load
    except ModuleNotFoundError as error:
        raise missing(error) from error
    return App(load(**settings), domains)


def missing(error: ModuleNotFoundError) -> Exception:
    """Return the error for a package that is not installed; one of our own modules is a bug."""
    if (error.name or "").partition(".")[0] == "foja":
        return error
    return errors.SetupFailed(
        f"{error.name} is not installed: only `foja verify` works without pip install 'foja[server]'"
    )


if not TYPE_CHECKING:  # type checkers read the imports above, and report any other name

    def __getattr__(name: str) -> object:
        """Import a public name on first use (PEP 562)."""
        module = next((module for module, names in _MODULES.items() if name in names), None)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            found: object = getattr(import_module(module), name)
        except ModuleNotFoundError as error:
            raise missing(error) from error
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
