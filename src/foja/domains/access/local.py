"""The user of this machine: who acts from the command line, and over HTTP while there are no keys."""

from __future__ import annotations

import getpass
import os
from typing import Final

LOCAL: Final = "local:"


def local_actor() -> str:
    """Return the actor to record for the user that runs this process, such as `local:ana`."""
    try:
        return f"{LOCAL}{getpass.getuser()}"
    except (KeyError, OSError):  # a container may run a user without a name
        return f"{LOCAL}{os.getuid()}"
