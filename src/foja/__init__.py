"""One ordered, append-only, tamper-evident ledger per entity, and evidence anyone can check offline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foja.app import App
    from foja.verification import verify

__version__ = "0.1.0"
__all__ = ["connect", "verify"]


def connect(**settings: Any) -> App:
    """Return an installation to be entered: `async with foja.connect() as app`.

    Settings come from `FOJA_*`; arguments such as `database_url=` win over them.
    """
    try:
        from foja.app import connect as wire  # imported late: verifying needs none of it
    except ModuleNotFoundError as error:
        raise missing(error) from error
    return wire(**settings)


def missing(error: ModuleNotFoundError) -> Exception:
    """Return what to say when a package is not there; a module of our own that is missing is a bug."""
    from foja.errors import SetupFailed

    if (error.name or "").partition(".")[0] == "foja":
        return error
    return SetupFailed(
        f"{error.name} is not installed: only `foja verify` works without pip install 'foja[server]'"
    )


def __getattr__(name: str) -> Any:
    """Import the judge when somebody asks for it: `foja.verify`."""
    if name == "verify":
        from foja.verification import verify

        return verify
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
