"""The environment of the servers that Foja starts."""

from __future__ import annotations

import os
from typing import Final

# What finds programs and libraries, temporary files and time zones. Deliberately absent: what may be a
# secret, and what points PostgreSQL's programs to another server.
PASSED: Final = ("PATH", "TMPDIR", "TZDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


def server_environment() -> dict[str, str]:
    """Return the variables that a server needs. It outlives this process and must not know its secrets."""
    return {name: os.environ[name] for name in PASSED if name in os.environ} | {"LC_ALL": "C"}
