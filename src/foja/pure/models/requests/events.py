"""The one event of a keyed request: what was asked, as a digest, and what it made."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

from foja.pure.core.canonical import canonical
from foja.pure.core.event import utf8
from foja.pure.core.registry import API, Domain, Kind

ANSWERED = "request.answered"
REQUEST = Domain("request", [Kind(ANSWERED, API, {"asked": "string", "made": "array"}, digests=("asked",))])


def digest_of(key: str, asked: Mapping[str, Any]) -> str:
    """Return a digest of what was asked. It tells nothing about it to a reader who lacks the key."""
    return hmac.digest(utf8(key), canonical(asked), "sha256").hex()
