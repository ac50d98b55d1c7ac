"""Post a notice to the operator's own address, as JSON, or look whether its server can be reached."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

import httpx

from foja.engine.remote.http import FAILURES, certificates, open_client
from foja.errors import Unavailable, redact


def shown_address(url: str) -> str:
    """Return the scheme and the host of an address; its path and its query may be a password."""
    parts = urlsplit(url)
    return redact(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/…")


async def knock(url: str, *, seconds: float) -> None:
    """Open a connection to the server of an address and close it, or raise `Unavailable`."""
    shown = shown_address(url)
    try:
        parts = httpx.URL(url)
        tls = certificates() if parts.scheme == "https" else None
        port = parts.port or (443 if tls else 80)
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(parts.host, port, ssl=tls)
        writer.transport.abort()
    except TimeoutError:
        raise Unavailable(f"the webhook {shown} does not answer within {seconds:g} seconds") from None
    except (httpx.InvalidURL, OSError) as error:
        raise Unavailable(f"the webhook {shown} cannot be reached ({redact(str(error))})") from None


async def post_notice(url: str, body: dict[str, Any], notice_id: str, *, seconds: float) -> None:
    """Post it, or raise `Unavailable`. A receiver recognises a repeated notice by the header `webhook-id`."""
    shown = shown_address(url)
    headers = {"webhook-id": notice_id, "user-agent": "foja"}
    try:
        async with (
            asyncio.timeout(seconds),
            open_client(seconds) as client,
            client.stream("POST", url, json=body, headers=headers) as answer,
        ):
            if not answer.is_success:
                raise Unavailable(f"the webhook {shown} answers with HTTP status {answer.status_code}")
    except (TimeoutError, httpx.TimeoutException):
        raise Unavailable(f"the webhook {shown} does not answer within {seconds:g} seconds") from None
    except FAILURES as error:
        reason = redact(str(error).replace(url, shown)) or type(error).__name__
        raise Unavailable(f"the webhook {shown} cannot be reached ({reason})") from None
