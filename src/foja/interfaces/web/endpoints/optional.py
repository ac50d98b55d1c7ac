"""Routes that need an extra; where it is not installed, they answer which command installs it (501)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import import_module

from starlette.responses import Response

from foja.extras import install_command
from foja.interfaces.web.caller import Caller
from foja.interfaces.web.operation import HttpOperation
from foja.interfaces.web.problems import Rejected

# By the extra: the module of the routes, and their address.
OPTIONAL = {
    "ag-ui": ("foja.interfaces.web.conversations.ag_ui", "/v1/conversations/{conversation_id}/ag-ui"),
    "mcp": ("foja.interfaces.web.endpoints.mcp", "/mcp"),
}


def optional_operations(installed: Collection[str]) -> Iterator[HttpOperation]:
    """Yield the operations of each extra that is installed, and of the others those that say how to do it."""
    for extra, (module, address) in OPTIONAL.items():
        if extra in installed:
            yield from import_module(module).OPERATIONS
        else:
            yield from _missing(extra, address)


def _missing(extra: str, address: str) -> Iterator[HttpOperation]:
    async def refuse(caller: Caller) -> Response:
        sentence = f'{address} needs the extra "{extra}" on the server: {install_command(extra)}'
        raise Rejected(501, "A part of this server is not installed.", sentence)

    for method in ("GET", "POST"):
        yield HttpOperation(f"{extra}.missing", f"{method} {address}", refuse, None, described=False)
