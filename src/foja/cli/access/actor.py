"""Who runs a command: the name that is recorded with what it does."""

from __future__ import annotations

import getpass
import os
from argparse import Namespace


def actor_of(arguments: Namespace) -> str:
    """Return the name given with `--as`, or else the user of this machine."""
    named: str | None = getattr(arguments, "actor", None)
    return named or f"local:{_user()}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run a user without a name
        return str(os.getuid())
