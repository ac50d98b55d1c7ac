"""Errors from problem documents: the same classes that the in-process surface raises."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from foja import errors

_BY_STATUS: Mapping[int, type[errors.FojaError]] = {
    401: errors.NotAuthenticated,
    403: errors.NotAllowed,
    404: errors.UnknownEntity,
    413: errors.TooLarge,
    429: errors.Unavailable,
    502: errors.Unavailable,
    503: errors.Unavailable,
    504: errors.Unavailable,
}


_BY_NAME = {each.__name__: each for each in errors.BY_CODE.values()}


def error_of(status: int, body: bytes) -> errors.FojaError:
    """Return the error that an answer describes; one of a proxy or of another server has its status alone."""
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        document = {}
    return rebuild(document, status)


def rebuild(document: Mapping[str, Any], status: int = 0) -> errors.FojaError:
    """Return the error of a problem document, with its class, its code and its message."""
    code, detail = document.get("code"), document.get("detail") or document.get("title")
    message = detail if isinstance(detail, str) else f"the server answered with HTTP status {status}"
    kind = errors.BY_CODE.get(code) if isinstance(code, str) else None
    kind = kind or _BY_NAME.get(str(document.get("error"))) or _class_of(status)
    error = kind.__new__(kind)  # some classes take their code as the first argument
    errors.FojaError.__init__(error, message)
    if isinstance(code, str):
        error.code = code
    return error


def _class_of(status: int) -> type[errors.FojaError]:
    return _BY_STATUS.get(status, errors.Refused if 400 <= status < 500 else errors.FojaError)
