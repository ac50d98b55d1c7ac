"""Roles and grants after a restore without them, and those of a login that is not a superuser.

Roles belong to the server, so a dump of one database has none, and its grants and policies fail. They
are in the schema steps; here the same statements run again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import psycopg
from psycopg import AsyncConnection

from foja.engine.sql import query
from foja.engine.sql.steps import read_steps
from foja.errors import MigrationFailed

_ACCESS = re.compile(
    r"^(?:do \$\$(?:(?!\$\$).)*?create role.*?\$\$;"
    r"|(?:grant|revoke|create policy|select foja\.(?:share_rows|restrict_functions)\() ?[^;]*;)",
    re.MULTILINE | re.DOTALL,
)
_POLICY = re.compile(r"create policy (\w+) on ([\w.]+)")


async def repair(conn: AsyncConnection) -> list[str]:
    """Create missing roles with their grants, and let this login act as all of them. Return the new roles.

    Does nothing for a login that does not own the schema.
    """
    try:
        async with conn.transaction():
            owner, missing = await (await conn.execute(query("access_state"))).fetchone() or (False, [])
            if not owner:
                return []
            if missing:
                for statement in statements():
                    await conn.execute(statement.encode())
                await conn.execute(query("restore_source_roles"))
            [(refused, login)] = await (await conn.execute(query("adopt_roles"))).fetchall()
    except psycopg.Error as error:
        raise MigrationFailed(f"the roles could not be restored: {str(error).strip()}") from error
    if refused:
        raise MigrationFailed(
            f"the login {login} may not act as {', '.join(refused)}, and may not grant itself that. "
            f"As the administrator who created them, run: grant {', '.join(refused)} to {login}"
        )
    return list(missing)


def statements() -> Iterator[str]:
    """Yield the statements of the schema steps about roles, grants and policies. All can be repeated."""
    for step in read_steps(None):
        for found in _ACCESS.findall(step.up):
            if policy := _POLICY.match(found):
                yield f"drop policy if exists {policy[1]} on {policy[2]}"
            yield found
