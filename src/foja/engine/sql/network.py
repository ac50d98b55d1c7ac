"""How long a silent network is waited for, by every connection to PostgreSQL, and the name of its process."""

from __future__ import annotations

import os
import socket
from typing import Final

from psycopg.conninfo import conninfo_to_dict, make_conninfo

# For what a URL does not say. A host that is gone acknowledges nothing, also not on an idle connection.
# A server that is stopped does; only the limit of an answer finds it.
NETWORK: Final = {
    "connect_timeout": 10,
    "tcp_user_timeout": 15_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}


def limit_network(url: str) -> str:
    """Return the address with limits for a silent network, unless they are said, and the process's name."""
    said = {*conninfo_to_dict(url)}
    if "PGCONNECT_TIMEOUT" in os.environ:
        said.add("connect_timeout")
    limits = {name: value for name, value in NETWORK.items() if name not in said}
    return make_conninfo(url, **limits, fallback_application_name=f"foja {process_name()}")


def process_name() -> str:
    """Return what names this process to people: its host and its number."""
    return f"{socket.gethostname()}:{os.getpid()}"
