"""Which address an image that is stored elsewhere may have. The guard in SQL decides the same."""

from __future__ import annotations

import re
from typing import Final

OTHER_FORM: Final = (
    "a url is a path, or begins with https:// or http://; an address of another form is not kept"
)
# As a browser reads it: tabs and line ends count nowhere, spaces and control characters not at the start.
_IGNORED = str.maketrans("", "", "\t\n\r")
# Two slashes or backslashes name another server: a browser reads both alike.
_OTHER = re.compile(r"[\x00-\x20]*((?!https?://)[a-z][a-z0-9+.-]*:|[/\\]{2})", re.IGNORECASE | re.ASCII)


def has_other_form(url: str) -> bool:
    """Return whether an address is neither a path nor one that begins with https:// or http://."""
    return _OTHER.match(url.translate(_IGNORED)) is not None
