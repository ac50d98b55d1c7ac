"""Which address an image that is stored elsewhere may have. The guard in SQL decides the same."""

from __future__ import annotations

import re
from typing import Final

OTHER_SCHEME: Final = (
    "a url is a path, or begins with https:// or http://; an address of another scheme is not kept"
)
# As a browser reads it: tabs and line ends count nowhere, spaces and control characters not at the start.
_IGNORED = str.maketrans("", "", "\t\n\r")
_SCHEME = re.compile(r"[\x00-\x20]*(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE | re.ASCII)


def has_other_scheme(url: str) -> bool:
    """Return whether an address has a scheme that is not http or https, such as `javascript:` or `data:`."""
    return _SCHEME.match(url.translate(_IGNORED)) is not None
