"""What the database says: whether it answers, its version, its schema, its roles, its clock, its log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import psycopg

from foja.engine import sql
from foja.engine.driver import connection as driver
from foja.engine.driver.address import address
from foja.engine.driver.database import Connection, our_errors
from foja.engine.embedded.servers import database
from foja.engine.health.service import ANSWER_SECONDS, outage
from foja.engine.identity import LOG_KEY
from foja.engine.observe.logs import CosignerState, read_cosigners, read_logs
from foja.engine.observe.snapshot import snapshot
from foja.engine.settings import Settings
from foja.engine.sql.migrate import status
from foja.engine.sql.network import limit_network
from foja.engine.tasks import within
from foja.errors import FojaError
from foja.interfaces.cli.doctor.finding import Finding, fail, note, ok, warn
from foja.interfaces.cli.doctor.parts import check_parts
from foja.interfaces.cli.installation import is_installed

OLDEST = 150_000  # PostgreSQL 15
SMALL_DIFFERENCE = 1.0
REFUSED = "tokens are refused: correct the clock of this machine or of the database"
LOST_KEY = "restore it from a backup; if it is lost, `foja log restart --yes` opens a log with a new one"
COSIGNERS = "docs/runbooks/cosigner_policy.md"


async def check_database(settings: Settings) -> list[Finding]:
    """Return what was found about the database. Nothing is created or migrated."""
    if not is_installed(settings):
        return [note("database", f"nothing is installed in {settings.home}", "`foja up` installs it")]
    try:
        async with database(settings) as url:
            return await _check_server(url, settings)
    except (FojaError, OSError) as error:
        return [fail("database", " ".join(str(error).split()), _advice(settings))]


def _advice(settings: Settings) -> str:
    if settings.database_url:
        return "start the server, or correct FOJA_DATABASE_URL; nothing else of this database was checked"
    return f"read {settings.home / 'postgres.log'}; nothing else of this database was checked"


async def _check_server(url: str, settings: Settings) -> list[Finding]:
    async with _connected(url) as connection:
        before = datetime.now(UTC)
        row = await (await connection.execute(sql.query("server_facts"))).fetchone()
        assert row is not None
        version, number, clock, login, size, encoding, installed, open_name, login_name = row
        middle = before + (datetime.now(UTC) - before) / 2
        findings = [_version(url, version, number, login, size), _clock(clock, middle, settings)]
        if open_name and settings.database_url:
            findings.append(_open_to_all(open_name, login_name))
        if encoding != "UTF8":
            findings.append(fail("encoding", encoding, "create the database with encoding UTF8"))
        if not installed:
            return [*findings, note("schema", "not installed", "`foja migrate` or `foja up` installs it")]
        await connection.execute(sql.query("act_as_reader"))
        rows = await (await connection.execute(sql.query("unusable_roles"))).fetchall()
    roles = [name for (name,) in rows]
    findings += [await _schema(url), _roles(roles, login)]
    if not roles:
        findings += await _log(url, settings)
        findings += await check_parts(url, settings)
    return findings


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[Connection]:
    with our_errors():
        try:
            opened = await within(ANSWER_SECONDS, Connection.connect(limit_network(url), autocommit=True))
        except TimeoutError as error:
            raise outage(error) from None
        async with opened as connection:
            connection.answer_seconds = driver.ANSWER_SECONDS
            yield connection


def _version(url: str, version: str, number: int, login: str, size: int) -> Finding:
    found = f"PostgreSQL {version}, {address(url)} as {login}, {size / 2**20:,.0f} MiB"
    if number < OLDEST:
        return fail("database", found, "Foja needs PostgreSQL 15 or later")
    return ok("database", found)


def _open_to_all(database: str, login: str) -> Finding:
    return warn(
        "logins",
        "every login of the server may connect to this database; one that takes very many advisory locks "
        "stops all appends",
        f"grant connect on database {database} to {login}; "
        f"revoke connect on database {database} from public;",
    )


def _clock(clock: datetime, here: datetime, settings: Settings) -> Finding:
    seconds = abs((clock - here).total_seconds())
    found = f"{seconds:.2f} s between the database and this machine"
    if seconds > settings.clock_tolerance_seconds:
        return fail("clock", found, REFUSED)
    if seconds > SMALL_DIFFERENCE:
        return warn("clock", found, "let both machines take their time from one source (NTP)")
    return ok("clock", found)


async def _schema(url: str) -> Finding:
    steps = await status(url)
    others = [f"{step.number}_{step.name} is {step.state}" for step in steps if step.state != "applied"]
    if others:
        return fail("schema", "; ".join(others), "`foja migrate` applies what is pending")
    return ok("schema", f"all {len(steps)} steps are applied")


def _roles(missing: list[str], login: str) -> Finding:
    if missing:
        roles = ", ".join(missing)
        return fail(
            "roles", f"{login} may not act as {roles}", f"`foja migrate`, or grant {roles} to {login}"
        )
    return ok("roles", f"{login} may act as every role")


async def _log(url: str, settings: Settings) -> list[Finding]:
    try:
        async with snapshot(url) as moment:
            logs, cosigners = await read_logs(moment), await read_cosigners(moment)
    except (FojaError, psycopg.Error) as error:
        return [fail("log", str(error), "repair what the line above names, then ask again")]
    if not logs:
        return [note("log", "nothing is recorded yet", "`foja demo` records something to look at")]
    log = logs[-1]
    first = ok("log", f"{log.size:,} events, {log.waiting:,} waiting")
    if log.halted:
        first = fail("log", f"halted: {log.halted}", "docs/runbooks/log_halted.md")
    elif log.published and not (settings.home / LOG_KEY).exists():
        found = f"it is signed, but its key is not in {settings.home / LOG_KEY}: nothing can be recorded"
        first = fail("log", found, LOST_KEY)
    faulty = [each for each in cosigners if each.origin == log.origin and each.fault]
    return [first, *map(_cosigner, faulty)]


def _cosigner(faulty: CosignerState) -> Finding:
    found = f"{faulty.key.partition('+')[0]}: {faulty.fault}"
    return warn("cosigner", found, faulty.detail or COSIGNERS)
