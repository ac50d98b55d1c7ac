"""Migrate a schema: each migration in one transaction, one process at a time."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources.abc import Traversable
from typing import Literal

import psycopg
from psycopg import AsyncConnection
from psycopg.errors import LockNotAvailable
from psycopg.rows import class_row

from foja.errors import MigrationFailed
from foja.sql import query
from foja.sql.steps import Step, read_steps

# Another process may build an index for minutes; a table is only locked for seconds.
MIGRATION_TIMEOUT_SECONDS = 600.0
LOCK_TIMEOUT_SECONDS = 10.0

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Moved:
    """The number of the newest migration, before and after."""

    before: int
    after: int
    newest: bool = field(default=True, compare=False)


@dataclass(frozen=True, slots=True)
class Applied:
    """A migration as recorded in the database."""

    number: int
    name: str
    digest: str
    applied_at: datetime


@dataclass(frozen=True, slots=True)
class SchemaStep:
    """A migration and its state in this database."""

    number: int
    name: str
    state: Literal["applied", "pending", "changed", "unknown"]
    applied_at: datetime | None


async def migrate(
    conn_url: str,
    to: int | None = None,
    report: Report | None = None,
    *,
    folder: Traversable | None = None,
    lock_timeout: float = LOCK_TIMEOUT_SECONDS,
) -> Moved:
    """Bring the schema to migration `to`, or the newest. Repeating is safe.

    A step that fails changes nothing; the steps before it stay. A step fails if it waits for a locked table
    for more than `lock_timeout` seconds.
    """
    known = read_steps(folder)
    target = _target(known, to)
    report = report or _ignore
    async with _session(conn_url) as conn:
        await _take_lock(conn, report)
        await _set_lock_timeout(conn, lock_timeout)
        applied = await _ensure_applied(conn)
        _check(known, applied)
        if target == 0:
            await _check_empty(conn)
        for step in known[len(applied) : target]:
            await _step(conn, step, up=True, report=report)
        for step in reversed(known[target : len(applied)]):
            await _step(conn, step, up=False, report=report)
    return Moved(len(applied), target, target == len(known))


async def status(conn_url: str, *, folder: Traversable | None = None) -> list[SchemaStep]:
    """Return every migration of this Foja or of the database, in order. Changes nothing."""
    known = {step.number: step for step in read_steps(folder)}
    async with _session(conn_url) as conn:
        applied = {row.number: row for row in await _read_applied(conn)}
    return [_state(n, known.get(n), applied.get(n)) for n in sorted(known.keys() | applied.keys())]


def _ignore(_line: str) -> None:
    """Do nothing: the default report."""


def _target(known: Sequence[Step], to: int | None) -> int:
    if to is not None and not 0 <= to <= len(known):
        raise MigrationFailed(f"there is no migration {to}. Choose 0 (none) to {len(known)} (the newest).")
    return len(known) if to is None else to


@asynccontextmanager
async def _session(conn_url: str) -> AsyncIterator[AsyncConnection]:
    """Yield a connection in autocommit mode. Its errors become `MigrationFailed`."""
    try:
        async with await AsyncConnection.connect(conn_url, autocommit=True, prepare_threshold=None) as conn:
            yield conn
    except psycopg.Error as error:
        raise MigrationFailed(
            f"the migrations of the database could not be read or applied: {str(error).strip()}. "
            "Check FOJA_DATABASE_URL and that its user owns the database, then run `foja migrate` again."
        ) from error


async def _take_lock(conn: AsyncConnection, report: Report) -> None:
    """Take the migration lock. It is released when this connection closes."""
    if (await (await conn.execute(query("try_migration_lock"))).fetchone() or (False,))[0]:
        return
    report("another process is migrating this database; waiting for it")
    await _set_lock_timeout(conn, MIGRATION_TIMEOUT_SECONDS)
    try:
        await conn.execute(query("await_migration_lock"))
    except LockNotAvailable as error:
        raise MigrationFailed(
            f"another process has been migrating this database for {MIGRATION_TIMEOUT_SECONDS:.0f} s. "
            "Find it in pg_stat_activity, end it if it hangs, then run `foja migrate` again."
        ) from error


async def _set_lock_timeout(conn: AsyncConnection, seconds: float) -> None:
    await conn.execute(query("wait_for_locks"), {"timeout": f"{seconds * 1000:.0f}ms"})


async def _ensure_applied(conn: AsyncConnection) -> list[Applied]:
    async with conn.transaction():
        if not await _has_table(conn):
            await conn.execute(query("create_migration_table"))
        return await _read_applied(conn)


async def _read_applied(conn: AsyncConnection) -> list[Applied]:
    if not await _has_table(conn):
        return []
    async with conn.cursor(row_factory=class_row(Applied)) as cursor:
        return await (await cursor.execute(query("applied_migrations"))).fetchall()


async def _has_table(conn: AsyncConnection) -> bool:
    row = await (await conn.execute(query("migration_table"))).fetchone()
    return bool(row and row[0])


def _check(known: Sequence[Step], applied: Sequence[Applied]) -> None:
    """Raise `MigrationFailed` unless the applied migrations are the first of these files."""
    if len(applied) > len(known):
        raise MigrationFailed(
            f"the database is at migration {applied[-1].number} ({applied[-1].name}) and this Foja knows "
            f"only {len(known)}. Install the newer Foja, or migrate down with it first. Nothing was changed."
        )
    for row, step in zip(applied, known, strict=False):
        if row.number != step.number:
            raise MigrationFailed(
                f"migration {step.label} is missing in foja.migration, but later ones are recorded. "
                "Restore the row, or the database from a backup. Nothing was changed."
            )
        if row.digest != step.digest:
            raise MigrationFailed(
                f"migration {step.label} was applied with another text than the one in this Foja. Restore "
                "its files, and write changes as a new migration. Nothing was changed."
            )


async def _check_empty(conn: AsyncConnection) -> None:
    """Raise `MigrationFailed` if there are events: the last step back would fail."""
    if not (await (await conn.execute(query("event_table"))).fetchone() or (False,))[0]:
        return
    most = 1_000
    (count,) = await (await conn.execute(query("count_events"), {"most": most})).fetchone() or (0,)
    if count:
        more = " or more" if count == most else ""
        raise MigrationFailed(
            f"{count:,}{more} events are recorded, and events are never dropped. Use `foja migrate --to 1`, "
            "which keeps them, or another database for an empty schema. Nothing was changed."
        )


async def _step(conn: AsyncConnection, step: Step, *, up: bool, report: Report) -> None:
    """Apply or revert one migration and its record in one transaction."""
    began = time.monotonic()
    try:
        async with conn.transaction():
            await conn.execute((step.up if up else step.down).encode())
            await _record(conn, step, up=up)
    except psycopg.Error as error:
        raise MigrationFailed(_explain(step, error)) from error
    report(f"{'applied' if up else 'reverted'} {step.label} in {time.monotonic() - began:.2f} s")


async def _record(conn: AsyncConnection, step: Step, *, up: bool) -> None:
    if up:
        row = {"number": step.number, "name": step.name, "digest": step.digest}
        await conn.execute(query("record_migration"), row)
    else:
        await conn.execute(query("forget_migration"), {"number": step.number})


def _explain(step: Step, error: psycopg.Error) -> str:
    if isinstance(error, LockNotAvailable):
        return (
            f"migration {step.label} waited too long for a locked table. It changed nothing; "
            "run `foja migrate` again when the database is less busy, or stop the workers first."
        )
    return (
        f"migration {step.label} failed: {str(error).strip()} "
        "It changed nothing; correct the cause and run `foja migrate` again."
    )


def _state(number: int, known: Step | None, applied: Applied | None) -> SchemaStep:
    name = known.name if known else applied.name if applied else ""
    at = applied.applied_at if applied else None
    if known is None:
        return SchemaStep(number, name, "unknown", at)
    if applied is None:
        return SchemaStep(number, name, "pending", at)
    return SchemaStep(number, name, "applied" if applied.digest == known.digest else "changed", at)
