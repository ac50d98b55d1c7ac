"""Register domains in a database: their kinds, sources and job types."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import psycopg
from psycopg import AsyncConnection

from foja.engine.sql import query
from foja.errors import BadDomain, MigrationFailed, Refused

LOCK_TIMEOUT = "10s"
Definition = Mapping[str, Any]  # as `Domain.definition` returns it


async def register(conn: AsyncConnection, definitions: Sequence[Definition], *, own: bool = False) -> bool:
    """Register these domains unless they are; all of them or none. `own`: they are Foja's.

    Return whether there was anything to register.
    """
    changed = False
    try:
        async with conn.transaction():
            await conn.execute(query("wait_for_locks"), {"timeout": LOCK_TIMEOUT})
            rows = await (await conn.execute(query("registered_domains"))).fetchall()
            stored = {name: definition for name, _, definition in rows}
            for definition in definitions:
                if not is_registered(definition, stored.get(definition["domain"])):
                    values = {"definition": json.dumps(definition), "own": own}
                    await conn.execute(query("register_domain"), values)
                    changed = True
    except psycopg.Error as error:
        raise _refusal(error, [each["domain"] for each in definitions]) from error
    return changed


def is_registered(wanted: Definition, stored: Definition | None) -> bool:
    """Return whether a database has everything that a definition names, in the same form.

    A definition without an executor leaves the registered one, and which kinds wake it.
    """
    decides = wanted["executor"] is not None
    if stored is None or wanted["head_only"] != stored["head_only"]:
        return False
    if decides and wanted["executor"] != stored["executor"]:
        return False
    kinds = {(kind["kind"], kind["v"]): _comparable(kind, wakes=decides) for kind in stored["kinds"]}
    jobs = {job["type"]: job for job in stored["jobs"]}
    plain = orjson.loads(orjson.dumps(wanted["kinds"]))  # as JSON gives them back
    return all(
        kinds.get((kind["kind"], kind["v"])) == _comparable(kind, wakes=decides) for kind in plain
    ) and all(jobs.get(job["type"]) == job for job in wanted["jobs"])


def _comparable(kind: Definition, *, wakes: bool) -> dict[str, Any]:
    """Return a kind without what two equal definitions may differ in."""
    plain = {**kind, "required": {name: sorted(types) for name, types in kind["required"].items()}}
    return plain if wakes else {**plain, "wakes": None}


def _refusal(error: psycopg.Error, names: Sequence[str]) -> Refused | MigrationFailed:
    if error.sqlstate == "FJ001":
        return BadDomain(
            f"{error.diag.message_primary}: {error.diag.message_detail}. Nothing was registered."
        )
    if error.sqlstate in {"42501", "28000"}:
        return BadDomain(
            f"this login may not register {', '.join(names)} ({error.diag.message_primary}); run "
            "`foja migrate --domains module:NAME` as the owner of the schema. Nothing was registered."
        )
    if error.sqlstate == "55P03":
        return MigrationFailed(
            "another session holds foja.domain; end its transaction (see pg_stat_activity), then try again"
        )
    return MigrationFailed(f"the domains could not be registered: {str(error).strip()}")
