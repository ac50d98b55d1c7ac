"""Keys, logins and cookies, as a client of the HTTP server uses them."""

from __future__ import annotations

import getpass
import re
from collections.abc import Collection
from typing import Any

import httpx

from foja.app import App

ME = f"local:{getpass.getuser()}"  # the actor of every request while there are no keys
FIELD = re.compile(r'name="(form_token)" value="([^"]+)"')


async def make_key(app: App, scopes: Collection[str] = ("admin",), **more: Any) -> str:
    """Make a key and return its text."""
    tenant = more.pop("tenant", app.settings.own_tenant)
    return (await app.access.keys.create(tenant, scopes, **more)).text


def bearer(key: str) -> dict[str, str]:
    """Return the header that shows a key."""
    return {"Authorization": f"Bearer {key}"}


def origin(client: httpx.AsyncClient) -> dict[str, str]:
    """Return the header that a browser sends from a page of the server itself."""
    return {"Origin": str(client.base_url).rstrip("/")}


def form_token(page: httpx.Response) -> str:
    """Return the token of the form on a page."""
    found = FIELD.search(page.text)
    assert found, page.text
    return found[2]


async def log_in(client: httpx.AsyncClient, key: str, path: str = "/") -> httpx.Response:
    """Log in with a key, as a browser does: load the form, then send it."""
    page = await client.get("/login", params={"next": path})
    form = {"key": key, "form_token": form_token(page), "next": path}
    return await client.post("/login", data=form, headers=origin(client))
