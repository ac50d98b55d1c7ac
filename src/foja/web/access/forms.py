"""Requests that a browser sends by itself with its cookies: whether a page of this server sent them."""

from __future__ import annotations

import hmac
from urllib.parse import parse_qsl

from fastapi import Request

from foja.access.model.login import form_token
from foja.errors import NotAllowed, TooLarge
from foja.web.access.front import Front

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
# What a page of another site can send without being asked first (CORS).
SIMPLE = frozenset({"", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain"})
FORM = "application/x-www-form-urlencoded"
FIELD, HEADER = "form_token", "x-form-token"
MAX_FORM_BYTES = 65_536


async def check_page(request: Request, front: Front, secret: str) -> None:
    """Raise `NotAllowed` unless a page of this server sent a request that changes something."""
    if request.method in SAFE:
        return
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    if not (front.is_own(request, origin) if origin else site == "same-origin"):
        raise NotAllowed("a page of another site sent this request; use the pages of this server, or a key")
    if content_type(request) in SIMPLE:
        sent = request.headers.get(HEADER) or (await read_form(request)).get(FIELD, "")
        if not hmac.compare_digest(sent.encode(), form_token(secret).encode()):
            raise NotAllowed("the form is out of date; load its page again and send it again")


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form; none if the body is of another sort. It can be read twice."""
    if content_type(request) != FORM:
        return {}
    if not hasattr(request.state, "form"):
        data = bytearray()
        async for piece in request.stream():
            data += piece
            if len(data) > MAX_FORM_BYTES:
                raise TooLarge(f"the form is over {MAX_FORM_BYTES:,} bytes; shorten it")
        request.state.form = dict(parse_qsl(data.decode(errors="replace"), keep_blank_values=True))
    form: dict[str, str] = request.state.form
    return form


def content_type(request: Request) -> str:
    """Return the sort of a body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
