"""Requests that a browser sends by itself with its cookies: whether a page of this server sent them."""

from __future__ import annotations

import hmac
from urllib.parse import parse_qsl

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from foja.errors import NotAllowed, TooLarge
from foja.interfaces.web.access.front import Front
from foja.interfaces.web.problems import Rejected
from foja.interfaces.web.transfer.bodies import media_type_of, read_body
from foja.pure.models.access.login import form_token

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
# What a page of another site can send without being asked first (CORS).
SIMPLE = frozenset({"", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain"})
FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
FIELD, HEADER = "form_token", "x-form-token"
MAX_FORM_BYTES = 65_536
MAX_FIELDS, MAX_FILES = 200, 50  # of a form with files; large files are on disk


async def check_page(request: Request, front: Front, secret: str) -> None:
    """Raise `NotAllowed` unless a page of this server sent a request that changes something."""
    if request.method in SAFE:
        return
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    if not (front.is_own(request, origin) if origin else site == "same-origin"):
        raise NotAllowed("a page of another site sent this request; use the pages of this server, or a key")
    if media_type_of(request) in SIMPLE:
        sent = request.headers.get(HEADER) or field(await read_form(request), FIELD)
        if not hmac.compare_digest(sent.encode(), form_token(secret).encode()):
            raise NotAllowed("the form is out of date; load its page again and send it again")


async def read_form(request: Request) -> FormData:
    """Return the fields and files of a form; none if the body is of another sort. It can be read twice."""
    if not hasattr(request.state, "form"):
        request.state.form = FormData()  # of a body that fails: the page of its error asks again
        if media_type_of(request) == MULTIPART:
            request.state.form = await _read_parts(request)
        elif media_type_of(request) == FORM:
            request.state.form = await _read_fields(request)
    form: FormData = request.state.form
    return form


def _check_size(request: Request) -> None:
    """Refuse a form with files that is over the limit of an upload, before any of it is on disk."""
    length = request.headers.get("content-length", "")
    if not length.isdecimal():
        raise Rejected(411, "The form does not say its size.", "send Content-Length, as browsers do")
    most = request.app.state.ctx.app.settings.upload_bytes
    if int(length) > most + MAX_FORM_BYTES:
        raise TooLarge(
            f"the files have {int(length):,} bytes together and the limit is {most:,} (FOJA_UPLOAD_MAX_MB); "
            "send fewer or smaller files"
        )


async def _read_parts(request: Request) -> FormData:
    _check_size(request)
    try:
        return await request.form(max_files=MAX_FILES, max_fields=MAX_FIELDS)
    except (MultiPartException, HTTPException) as error:
        raise Rejected(
            400, "The form is not valid.", "send multipart/form-data as RFC 7578 has it"
        ) from error


async def _read_fields(request: Request) -> FormData:
    data = await read_body(request, MAX_FORM_BYTES, "shorten the form")
    return FormData([*parse_qsl(data.decode(errors="replace"), keep_blank_values=True)])


def field(form: FormData, name: str) -> str:
    """Return a text field without the blanks around it; empty if it is missing."""
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""
