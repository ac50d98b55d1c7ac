"""Routes that need an extra; where it is not installed, they answer which command installs it (501)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from fastapi import APIRouter

from foja.extras import install_command, is_installed
from foja.interfaces.web.caller import AnyCaller
from foja.interfaces.web.problems import Rejected
from foja.interfaces.web.routers import api_router

# By the extra: the module of the routes, and their address.
OPTIONAL = {
    "ag-ui": ("foja.interfaces.web.conversations.ag_ui", "/v1/conversations/{conversation_id}/ag-ui"),
    "mcp": ("foja.interfaces.web.endpoints.mcp", "/mcp"),
}


def optional_routes() -> Iterator[APIRouter]:
    """Yield the routes of each extra, or those that say how to install it."""
    for extra, (module, address) in OPTIONAL.items():
        yield import_module(module).routes if is_installed(extra) else _missing(extra, address)


def _missing(extra: str, address: str) -> APIRouter:
    routes = api_router("", extra, described=False)

    async def refuse(caller: AnyCaller) -> None:
        sentence = f'{address} needs the extra "{extra}" on the server: {install_command(extra)}'
        raise Rejected(501, "A part of this server is not installed.", sentence)

    routes.add_api_route(address, refuse, methods=["GET", "POST"])
    return routes
