"""Forms: read within limits, and only from our own pages."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode, urlsplit

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData, UploadFile

from foja.errors import NotAllowed, Refused

MAX_FIELDS: Final = 200
MAX_FILES: Final = 50


def check_origin(request: Request) -> None:
    """Raise `NotAllowed` for a form that a page of another site sent.

    A browser names the origin of every form; programs that are no browsers name none.
    """
    origin = request.headers.get("origin")
    elsewhere = request.headers.get("sec-fetch-site") not in (None, "same-origin", "none")
    if elsewhere or (origin is not None and urlsplit(origin).netloc != request.headers.get("host")):
        raise NotAllowed("this form was sent by a page of another site; open the page here and send it again")


async def read_form(request: Request) -> FormData:
    """Return the fields and files of a form that one of our pages sent. Large files are on disk."""
    check_origin(request)
    return await request.form(max_files=MAX_FILES, max_fields=MAX_FIELDS)


def field(form: FormData, name: str) -> str:
    """Return a text field without the blanks around it; empty if it is missing."""
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""


def file_of(form: FormData, name: str) -> UploadFile:
    """Return an uploaded file, or raise `Refused` if none was chosen."""
    for each in files_of(form, name):
        return each
    raise Refused("no file was chosen; choose one and send the form again")


def files_of(form: FormData, name: str) -> list[UploadFile]:
    """Return the uploaded files of a field; a field without a file is sent as one without a name."""
    return [each for each in form.getlist(name) if isinstance(each, UploadFile) and each.filename]


def see_other(path: str, **parameters: str) -> Response:
    """Redirect to a page after a form, so that a reload does not send it again."""
    return RedirectResponse(f"{path}?{urlencode(parameters)}" if parameters else path, 303)
