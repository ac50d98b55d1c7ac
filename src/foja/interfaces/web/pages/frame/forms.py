"""Forms: the operations that they do, their files, and the redirect after them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict
from starlette.datastructures import FormData, UploadFile
from starlette.responses import RedirectResponse, Response

from foja.errors import Refused, TooLarge
from foja.interfaces.operations import OPERATIONS
from foja.interfaces.operations.call import call
from foja.interfaces.operations.operation import Made, Parameter, signature_of
from foja.interfaces.web.access.forms import field, read_form
from foja.interfaces.web.binding import model_of, takes_several, validated
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.frame.route import PageRoute
from foja.pure.models.access.principal import Scope

__all__ = ["act", "check_sizes", "field", "file_of", "files_of", "form", "read_form", "see_other"]
ACTS: Final = {each.name: each for each in OPERATIONS}


def form(path: str, name: str, then: str | Callable[[Page, Any], Awaitable[str]]) -> PageRoute:
    """Return the route of a form that does an operation. `then` is the page after it, from the answer."""
    operation = ACTS[name]

    async def do(page: Page) -> Response:
        answer = await act(page, name)
        if isinstance(then, str):
            return see_other(then.format(answer, **page.request.path_params))
        return see_other(await then(page, answer))

    scope = operation.scope or Scope.READ
    return PageRoute(f"POST {path}", do, scope, installation=operation.installation)


async def act(page: Page, name: str, given: Mapping[str, Any] | None = None) -> Any:
    """Do an operation for who asks for a page, with the fields of its form or what is given instead."""
    operation = ACTS[name]
    sent = await read_form(page.request)
    caller = replace(page.caller, app=page.installation) if operation.installation else page.caller
    if given is None and (model := _model(name)):
        given = validated(model, _texts(sent, _parameters(name)) | page.request.path_params)
    answer = await call(operation, caller, given or {})
    return answer.answer if isinstance(answer, Made) else answer


def _texts(form: FormData, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return what a form gives: an empty text only where one is needed, a list if the form has its field."""
    found: dict[str, Any] = {}
    for each in parameters:
        text = field(form, each.alias)
        if takes_several(each.type) and each.alias in form:
            found[each.alias] = [*filter(None, form.getlist(each.alias))]
        elif text or each.required:
            found[each.alias] = text
    return found


def _parameters(name: str) -> Sequence[Parameter]:
    signature = signature_of(ACTS[name])
    return (*signature.path, *signature.query, *signature.body)


@cache
def _model(name: str) -> type[BaseModel] | None:
    """Return the model of a form, which is texts: they are converted."""
    return model_of(ACTS[name], "Form", _parameters(name), ConfigDict())


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
