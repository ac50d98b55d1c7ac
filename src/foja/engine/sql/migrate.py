"""Migrate a schema: each step in one transaction, one process at a time."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources.abc import Traversable
from typing import Any, Literal

import psycopg
from psycopg import AsyncConnection
from psycopg.errors import LockNotAvailable
from psycopg.rows import class_row

from foja.engine.sql import query
from foja.engine.sql.network import limit_network, process_name
from foja.engine.sql.steps import Step, read_steps
from foja.errors import MigrationFailed

# Another process may build an index for minutes; a table is only locked for seconds.
MIGRATION_TIMEOUT_SECONDS = 600.0
LOCK_TIMEOUT_SECONDS = 10.0
MIGRATION_LOCK = 1718577761  # spells "foja"

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
    patience: float = MIGRATION_TIMEOUT_SECONDS,
) -> Moved:
    """Bring the schema to migration `to`, or the newest. Repeating is safe, and waits for no other process.

    A step that fails changes nothing; the steps before it stay. A step fails if it waits for a locked table
    for more than `lock_timeout` seconds.
    """
    check_target(to, folder)
    async with session(conn_url) as conn:
        moved = await move(conn, to, report, folder=folder, lock_timeout=lock_timeout, patience=patience)
        # The server notices a closed connection a moment later: until then the next caller would wait.
        await conn.execute(query("release_locks"))
        return moved


def check_target(to: int | None, folder: Traversable | None = None) -> None:
    """Raise `MigrationFailed` if there is no migration `to`. No connection is needed."""
    _target(read_steps(folder), to)


async def move(
    conn: AsyncConnection,
    to: int | None = None,
    report: Report | None = None,
    *,
    folder: Traversable | None = None,
    lock_timeout: float = LOCK_TIMEOUT_SECONDS,
    patience: float = MIGRATION_TIMEOUT_SECONDS,
) -> Moved:
    """Do what `migrate` does on an open session. It holds the migration lock until it closes."""
    known = read_steps(folder)
    target = _target(known, to)
    report = report or _ignore
    # Any login can hold an advisory lock, so a start that has nothing to migrate does not take it.
    if target and _is_current(known[:target], await _read_applied(conn)):
        return Moved(target, target, target == len(known))
    await _take_lock(conn, report, patience)
    await _set_lock_timeout(conn, lock_timeout)
    applied = await _read_applied(conn)
    _check(known, applied)
    await _check_names(conn, known[len(applied) : target])
    if not await _value(conn, "migration_table"):
        await conn.execute(query("create_migration_table"))
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
    async with session(conn_url) as conn:
        applied = {row.number: row for row in await _read_applied(conn)}
    return [_state(n, known.get(n), applied.get(n)) for n in sorted(known.keys() | applied.keys())]


async def living(conn_url: str) -> list[str]:
    """Return the names of other processes that use this database now."""
    async with session(conn_url) as conn:
        rows = await (await conn.execute(query("living_processes"))).fetchall()
        if await _value(conn, "worker_table"):
            rows += await (await conn.execute(query("living_workers"))).fetchall()
    return sorted({name for (name,) in rows} - {process_name()})


async def difference(conn_url: str) -> str | None:
    """Return how the schema differs from that of this version, and what to do; None if it does not."""
    steps = await status(conn_url)
    known, applied = len(read_steps()), [step.number for step in steps if step.applied_at]
    states = {step.state for step in steps}
    if "unknown" in states:
        return (
            f"the schema is at step {applied[-1]}, and this Foja knows only {known}; install the newer Foja"
        )
    if "changed" in states:
        return "the schema has other steps than this Foja; run `foja migrate --status`"
    if "pending" in states:
        return f"the schema is at step {len(applied)}, and this Foja needs step {known}; run `foja migrate`"
    return None


def _ignore(_line: str) -> None:
    """Do nothing: the default report."""


def _target(known: Sequence[Step], to: int | None) -> int:
    if to is not None and not 0 <= to <= len(known):
        raise MigrationFailed(f"there is no migration {to}. Choose 0 (none) to {len(known)} (the newest).")
    return len(known) if to is None else to


@asynccontextmanager
async def session(conn_url: str) -> AsyncIterator[AsyncConnection]:
    """Yield a connection in autocommit mode. Its errors become `MigrationFailed`."""
    try:
        async with await AsyncConnection.connect(
            limit_network(conn_url), autocommit=True, prepare_threshold=None
        ) as conn:
            await conn.execute(query("act_as_reader"))
            yield conn
    except psycopg.Error as error:
        raise MigrationFailed(
            f"the migrations of the database could not be read or applied: {str(error).strip()}. "
            "Check FOJA_DATABASE_URL and that its user owns the database, then run `foja migrate` again."
        ) from error


def _is_current(known: Sequence[Step], applied: Sequence[Applied]) -> bool:
    return [(step.number, step.digest) for step in known] == [(row.number, row.digest) for row in applied]


async def _take_lock(conn: AsyncConnection, report: Report, patience: float) -> None:
    """Take the migration lock. It is released when this connection closes."""
    if await _value(conn, "try_migration_lock", key=MIGRATION_LOCK):
        return
    holder = await _holder(conn)
    report(f"another process is migrating this database: {holder}; waiting for it")
    await _set_lock_timeout(conn, patience)
    try:
        await _value(conn, "await_migration_lock", key=MIGRATION_LOCK)
    except LockNotAvailable as error:
        raise MigrationFailed(
            f"{await _holder(conn)} holds the migration lock for {patience:.0f} s. If it is another program, "
            "or hangs, end it with pg_terminate_backend(pid), then run `foja migrate` again."
        ) from error


async def _holder(conn: AsyncConnection) -> str:
    return await _value(conn, "lock_holder", key=MIGRATION_LOCK) or "another session"


async def _set_lock_timeout(conn: AsyncConnection, seconds: float) -> None:
    await conn.execute(query("wait_for_locks"), {"timeout": f"{seconds * 1000:.0f}ms"})


async def _read_applied(conn: AsyncConnection) -> list[Applied]:
    if not await _value(conn, "migration_table"):
        return []
    async with conn.cursor(row_factory=class_row(Applied)) as cursor:
        return await (await cursor.execute(query("applied_migrations"))).fetchall()


async def _value(conn: AsyncConnection, name: str, **values: object) -> Any:
    """Return the only value of a query."""
    row = await (await conn.execute(query(name), values)).fetchone()
    return row[0] if row else None


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


async def _check_names(conn: AsyncConnection, steps: Sequence[Step]) -> None:
    """Raise `MigrationFailed` if the schema public has what one of these steps would create."""
    wanted = {name for step in steps for name in step.public_names}
    rows = await (await conn.execute(query("taken_names"), {"names": sorted(wanted)})).fetchall()
    if taken := [name for (name,) in rows]:
        moves = " ".join(f"alter {name} set schema shop;" for name in taken)
        raise MigrationFailed(
            f"the schema public already has {', '.join(taken)}, which Foja would create. Move them to a "
            f"schema of their own (create schema shop; {moves}), then run `foja migrate` again; `foja images "
            "adopt --from URL --schema shop` takes products and images from there. Nothing was changed."
        )


async def _check_empty(conn: AsyncConnection) -> None:
    """Raise `MigrationFailed` if there are events: the last step back would fail."""
    most = 1_000
    if await _value(conn, "event_table") and (count := await _value(conn, "count_events", most=most)):
        more = " or more" if count == most else ""
        raise MigrationFailed(
            f"{count:,}{more} events are recorded, and events are never dropped. Use `foja migrate --to 1`, "
            "which keeps them, or another database for an empty schema. Nothing was changed."
        )


async def _step(conn: AsyncConnection, step: Step, *, up: bool, report: Report) -> None:
    """Apply or revert one migration and its record in one transaction."""
    began = time.monotonic()
    row = {"number": step.number, "name": step.name, "digest": step.digest}
    try:
        async with conn.transaction():
            await conn.execute((step.up if up else step.down).encode())
            await conn.execute(query("record_migration" if up else "forget_migration"), row)
    except psycopg.Error as error:
        raise MigrationFailed(_explain(step, error)) from error
    report(f"{'applied' if up else 'reverted'} {step.label} in {time.monotonic() - began:.2f} s")


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
