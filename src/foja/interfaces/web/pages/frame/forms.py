"""Forms: their files, and the redirect after them. `web.access.forms` reads and checks them."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from fastapi import Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData, UploadFile

from foja.errors import Refused, TooLarge
from foja.interfaces.web.access.forms import field, read_form

__all__ = ["check_sizes", "field", "file_of", "files_of", "read_form", "see_other"]


def file_of(form: FormData, name: str) -> UploadFile:
    """Return an uploaded file, or raise `Refused` if none was chosen."""
    for each in files_of(form, name):
        return each
    raise Refused("no file was chosen; choose one and send the form again")


def files_of(form: FormData, name: str) -> list[UploadFile]:
    """Return the uploaded files of a field; a field without a file is sent as one without a name."""
    return [each for each in form.getlist(name) if isinstance(each, UploadFile) and each.filename]


def check_sizes(files: Sequence[UploadFile], most: int, setting: str) -> None:
    """Raise `TooLarge` if one of these files is over a limit."""
    for each in files:
        if (each.size or 0) > most:
            raise TooLarge(
                f"{each.filename} has {each.size:,} bytes and the limit is {most:,} ({setting}); "
                "nothing was added"
            )


def see_other(path: str, **parameters: str) -> Response:
    """Redirect to a page after a form, so that a reload does not send it again."""
    return RedirectResponse(f"{path}?{urlencode(parameters)}" if parameters else path, 303)
