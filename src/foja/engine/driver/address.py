"""The address of a database: check it, and print it without its password."""

from __future__ import annotations

import re

import psycopg
from psycopg.conninfo import conninfo_to_dict

from foja import errors


def check_address(url: str) -> None:
    """Raise `SetupFailed` if this is not a valid database URL.

    The message quotes nothing: a password with unescaped characters may end up in any part of the URL.
    """
    try:
        parts = conninfo_to_dict(url)
        reason = "its port is not a number" if _is_port_wrong(str(parts.get("port") or "")) else ""
        if not reason and "@" in str(parts.get("dbname") or ""):
            reason = "its database name contains @"
    except psycopg.ProgrammingError as error:
        reason = re.sub(r'".*"', '"…"', str(error).strip())
    if reason:
        raise errors.SetupFailed(
            f"FOJA_DATABASE_URL is not valid ({reason}); expected postgresql://user:password@host/database, "
            "with special characters of the password percent-encoded"
        )


def _is_port_wrong(ports: str) -> bool:
    return not all(port.isdecimal() for port in ports.split(",") if port)


def address(url: str) -> str:
    """Return which database this is, without the password."""
    parts = conninfo_to_dict(url)
    host, port = parts.get("host") or "localhost", parts.get("port") or 5432
    return f"{parts.get('dbname') or parts.get('user')} at {host}:{port}"
