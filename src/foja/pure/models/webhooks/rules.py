"""What a webhook may be given, and when a delivery that failed is tried again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from foja.errors import BadPayload
from foja.pure.core.fields import many
from foja.pure.models.webhooks.addresses import Network, refusal_of

GONE: Final = 410  # the receiver's word for: never again
# Seconds before the next attempt.
_DELAYS: Final = (5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800)
_KIND = re.compile(r"[a-z][a-z0-9_.-]*\*?|\*")


def delay_after(attempts: int, asked: float | None = None) -> float:
    """Return the seconds before the next attempt: more if the receiver asks, at most eight hours."""
    own = _DELAYS[min(max(attempts, 1), len(_DELAYS)) - 1]
    return float(min(max(own, asked or 0), _DELAYS[-1]))


def is_delivered(status: int) -> bool:
    """Return whether an answer accepts a message; a redirect does not."""
    return 200 <= status < 300


def check_kinds(kinds: str | Iterable[str]) -> Sequence[str]:
    """Return kinds and beginnings of kinds, each once, or raise `BadPayload`."""
    found = list(dict.fromkeys(many(kinds)))
    for each in found:
        if not isinstance(each, str) or not _KIND.fullmatch(each):
            raise BadPayload(f"{each!r} is not a kind; write a kind, or its beginning and a star: document.*")
    return found


def check_url(url: str, networks: Sequence[Network]) -> str:
    """Return the address of a webhook, or raise `BadPayload`. Names are looked up when something is sent."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or not url.isascii() or not url.isprintable() or " " in url:
        raise BadPayload("the address of a webhook is not a URL in ASCII; write https://host/path")
    if parts.scheme not in ("https", "http") or (parts.scheme == "http" and not networks):
        raise BadPayload(
            "the address of a webhook begins with https://; http:// is only for networks that "
            "FOJA_WEBHOOK_NETWORKS names"
        )
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise BadPayload("the address of a webhook has no user, no password and no fragment; leave them out")
    if _is_address(host) and (reason := refusal_of(host, networks)):
        raise BadPayload(
            f"a webhook may not be at {host}: {reason}; name its network in FOJA_WEBHOOK_NETWORKS"
        )
    return url


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
