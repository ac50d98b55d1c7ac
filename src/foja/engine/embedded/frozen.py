"""Whether somebody stopped the embedded database without ending it: nothing else can be asked then."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_STOPPED = {"T", "t"}


def frozen_postgres(home: Path) -> int | None:
    """Return the process of this home's server if it is stopped, where the kernel says so."""
    with suppress(OSError, ValueError, IndexError):
        pid = int((home / "postgres" / "postmaster.pid").read_text().split()[0])
        name, _, state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
        if name.endswith("(postgres") and state.split()[0] in _STOPPED:
            return pid
    return None
