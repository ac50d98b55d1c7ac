"""What the head of a request must be, beyond its syntax: one host, one sender, and one key."""

from __future__ import annotations

import re
from collections.abc import Iterable

from foja.interfaces.web.problems import Rejected

# A second one of these could be read by a proxy in front, and the first one here.
SINGLE = frozenset({b"host", b"authorization", b"origin", b"idempotency-key"})
HOST = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*)(?::[0-9]*)?")


def check_head(headers: Iterable[tuple[bytes, bytes]], version: str) -> None:
    """Raise `Rejected` unless a head names one valid host and repeats nothing that may stand once."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in SINGLE:
            if name in found:
                raise _not_valid(f"the header {name.decode()} is repeated; send it once")
            found[name] = value
    host = found.get(b"host")
    if host is None:
        if version == "1.1":
            raise _not_valid("the header host is missing; send it as RFC 9112 has it")
    elif not HOST.fullmatch(host):
        raise _not_valid("the header host is not a name or an address with or without a port")


def _not_valid(detail: str) -> Rejected:
    return Rejected(400, "The request is not valid HTTP.", detail)
