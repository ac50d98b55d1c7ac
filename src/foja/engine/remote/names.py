"""What may be shown of a server and of its failure. A path or a query is often an access key."""

from __future__ import annotations

import httpx


def server_name(url: str) -> str:
    """Return a URL without its user, password, path and query."""
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        return "a server whose URL cannot be read"
    return f"{parts.scheme}://{parts.host}" + (f":{parts.port}" if parts.port else "")


def reason_of(error: Exception) -> str:
    """Return why a request failed, without the URL that httpx puts into its text."""
    if isinstance(error, httpx.HTTPStatusError):
        return f"HTTP status {error.response.status_code}"
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return "its URL is not valid"
    return str(error) or type(error).__name__
