"""Answers as JSON: orjson writes them, and Python's own encoder what orjson cannot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

import orjson
from starlette.responses import JSONResponse

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class JsonAnswer(JSONResponse):
    """A JSON answer, which no cache keeps. Times are written in ISO 8601, amounts as texts."""

    def __init__(
        self,
        content: Any,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        media_type: str | None = None,
    ) -> None:
        super().__init__(content, status_code, {**HEADERS, **headers} if headers else HEADERS, media_type)

    def render(self, content: Any) -> bytes:
        """Return the content as JSON."""
        try:
            return orjson.dumps(content, default=str)
        except TypeError:  # a whole number over 64 bits
            return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=_text).encode()


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)
