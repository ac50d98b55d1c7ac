"""An HTTP client for an issuer of tokens: its metadata, its keys, and a code for a token (OpenID Connect)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx

from foja.engine.remote.http import FAILURES, open_client, read_body, reason_of, server_name
from foja.errors import NotCanonical, Unavailable
from foja.pure.core.canonical import parse

TIMEOUT_SECONDS = 10.0
MAX_BYTES = 256 * 1024


async def fetch(url: str) -> Mapping[str, Any]:
    """Return a JSON object. Raise `Unavailable` if there is none; redirects are not followed."""
    status, found = await _exchange("GET", url)
    if status != httpx.codes.OK:
        raise Unavailable(f"the issuer {server_name(url)} answered with HTTP status {status}; check its URL")
    return found


async def post(url: str, form: Mapping[str, str], user: tuple[str, str] | None) -> Mapping[str, Any] | None:
    """Return the answer to a form, or None if it was refused. A user authenticates with a password."""
    status, found = await _exchange("POST", url, form, user)
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        raise Unavailable(f"the issuer {server_name(url)} answered with HTTP status {status}; try again")
    return found if status == httpx.codes.OK else None


async def _exchange(
    method: str, url: str, form: Mapping[str, str] | None = None, user: tuple[str, str] | None = None
) -> tuple[int, Mapping[str, Any]]:
    try:
        async with (
            asyncio.timeout(TIMEOUT_SECONDS),
            open_client(TIMEOUT_SECONDS, user=user) as http,
            http.stream(method, url, data=form, headers={"accept": "application/json"}) as response,
        ):
            body = await read_body(response, MAX_BYTES)
    except FAILURES as error:
        name = server_name(url)
        raise Unavailable(f"the issuer {name} does not answer: {reason_of(error)}; try again later") from None
    if body is None:
        raise Unavailable(f"an answer of {server_name(url)} has more than {MAX_BYTES:,} bytes")
    return response.status_code, _object(body)


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        found = parse(body)
    except NotCanonical:
        return {}
    return found if isinstance(found, dict) else {}
