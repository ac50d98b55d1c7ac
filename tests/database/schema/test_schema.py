"""The schema, step by step, and the way back."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any, LiteralString

import psycopg
import pytest

from foja.app import App
from foja.domains.registration import prepare
from foja.engine.embedded.postgres import binaries
from foja.engine.sql.migrate import Moved, migrate, status
from foja.engine.sql.steps import read_steps
from foja.errors import MigrationFailed
from foja.pure.core.chain import leaf_entry
from foja.pure.core.merkle import Frontier, leaf_hash
from foja.pure.core.note import Checkpoint, Verifier, open_note, parse_checkpoint
from foja.pure.core.registry import BODY_ERASED, SLOT_VOIDED, Domain
from foja.pure.models.conversations.events import CONVERSATION
from foja.pure.models.documents.events import DOCUMENT
from foja.pure.models.images.events import IMAGE
from foja.pure.models.requests.events import REQUEST
from foja.pure.models.system.events import SYSTEM
from foja.pure.models.threads.events import THREAD

LATEST = len(read_steps())
TOOL = {"tool_use_id": "t", "tool_name": "n", "tool_result": 1.5, "success": True, "error_message": None}


def ask(url: str, query: LiteralString) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as conn:
        return conn.execute(query).fetchall()


def dump(url: str, *options: str) -> list[str]:
    """Return everything a database holds as SQL, except its migrations and the keys it made by chance."""
    by_chance = [f"--exclude-table-data=foja.{name}" for name in ("live_key", "id_key")]
    without = ["--exclude-table=foja.migration", *by_chance, *options]
    command = [str(binaries() / "pg_dump"), *without, url]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    noise = ("--", "\\restrict", "\\unrestrict")
    return _with_rows_sorted([line for line in text.splitlines() if line and not line.startswith(noise)])


def _with_rows_sorted(lines: list[str]) -> list[str]:
    """A table has no order: an update moves a row and changes nothing else."""
    ordered: list[str] = []
    rows: list[str] | None = None
    for line in lines:
        if line.startswith("COPY "):
            rows = []
            ordered.append(line)
        elif line == "\\." and rows is not None:
            ordered += [*sorted(rows), line]
            rows = None
        else:
            (ordered if rows is None else rows).append(line)
    return ordered


def stored_events(url: str) -> list[tuple[Any, ...]]:
    """Return every event row, with the transaction that wrote it and its place on disk."""
    return ask(url, "select xmin::text, ctid::text, e::text from foja.event e order by entity_id, seq")


def leaves(url: str) -> list[tuple[Any, ...]]:
    return ask(url, "select origin, idx, entity_id, seq, chain_hash from foja.leaf order by origin, idx")


def waiting(url: str) -> list[tuple[Any, ...]]:
    return ask(
        url,
        """select u.entity_id, u.seq, u.chain_hash from foja.pending p
        cross join lateral unnest(p.entity_id, p.seq, p.chain_hash) with ordinality
            u(entity_id, seq, chain_hash, place) order by p.id, u.place""",
    )


async def published(app: App) -> Checkpoint:
    note = (await app.store.read("log/1/checkpoint")).data
    return parse_checkpoint(open_note(note, [Verifier.from_vkey(app.trust[0])]))


async def write_a_bit_of_everything(app: App) -> None:
    """Leave events at every stage: in the log, in the outbox, above a hole, erased."""
    one, two = [await app.conversations.open() for _ in range(2)]
    for n in range(5):
        for talk in (one, two):
            await talk.append("user_message_sent", {"content": f"é{n}", "x": 0.1 * n}, actor="ana")
    await one.erase(2, reason="asked")
    await app.work(until_idle=True)
    slots = await two.reserve(2, ttl=600, intents=["first", {"n": 2}])
    await slots.fill(1, "tool_use_completed", TOOL)
    await two.append("agent_message_sent", {"content": "above the hole"})
    for n in range(3):
        await one.append("thinking", {"content": str(n)}, idempotency_key=f"k{n}")


@pytest.mark.parametrize("number", range(LATEST))
async def test_the_way_back_ends_where_the_way_there_passed(
    number: int, database_url: str, empty_database_url: str
) -> None:
    newest = dump(database_url)
    await migrate(empty_database_url, to=number)
    assert await migrate(database_url, to=number) == Moved(LATEST, number)
    registered = [
        f"--exclude-table-data=foja.{name}" for name in ("domain", "source", "kind", "job_type", "kept")
    ]
    assert dump(database_url, *registered) == dump(empty_database_url, *registered)
    guards = "select domain, guard from foja.domain where guard is not null order by 1"
    if number:
        assert ask(database_url, guards) == ask(empty_database_url, guards)
    await prepare(database_url)
    assert dump(database_url) == newest


async def test_the_way_back_from_a_ledger_in_use_ends_there_too(
    database_url: str, empty_database_url: str, open_app: Callable[..., App]
) -> None:
    async with open_app() as app:
        await write_a_bit_of_everything(app)
    for number in range(LATEST - 1, 0, -1):
        await migrate(database_url, to=number)
    await migrate(empty_database_url, to=1)
    assert dump(database_url, "--schema-only") == dump(empty_database_url, "--schema-only")


async def test_no_migration_touches_an_event(database_url: str, open_app: Callable[..., App]) -> None:
    async with open_app() as app:
        await write_a_bit_of_everything(app)
    before = stored_events(database_url)
    assert len(before) == 16
    for number in (2, 1, LATEST):
        await migrate(database_url, to=number)
        assert stored_events(database_url) == before


async def test_a_file_is_the_same_document_after_the_way_back_and_there(
    database_url: str, open_app: Callable[..., App]
) -> None:
    async with open_app() as app:
        document = await app.documents.add(b"contract")
    await migrate(database_url, to=1)
    await migrate(database_url)
    async with open_app() as app:
        again = await app.documents.add(b"contract")
    assert (again.id, again.new) == (document.id, False)


async def test_every_event_gets_its_old_place_in_the_log_again(
    database_url: str, open_app: Callable[..., App]
) -> None:
    async with open_app() as app:
        await write_a_bit_of_everything(app)
        old = await published(app)
        places = [*[row[2:] for row in leaves(database_url)], *waiting(database_url)]
    assert 0 < old.size < len(places)
    await migrate(database_url, to=1)
    await migrate(database_url)
    async with open_app() as app:
        await app.work(until_idle=True)
        again = leaves(database_url)
        assert [row[:2] for row in again] == [(1, idx) for idx in range(len(places))]
        assert [row[2:] for row in again] == places
        new = await published(app)
    hashes = [leaf_hash(leaf_entry(*row[2:])) for row in again]
    assert Frontier().extend(hashes[: old.size]).root() == old.root
    assert (new.size, new.root) == (len(places), Frontier().extend(hashes).root())


async def test_proofs_are_given_out_after_the_way_back_and_there(
    database_url: str, open_app: Callable[..., App]
) -> None:
    async with open_app() as app:
        talk = await app.conversations.open()
        for n in range(3):
            await talk.append("thinking", {"content": str(n)})
        await app.work(until_idle=True)
        before = await app.ledger.log.prove(talk.id, 1)
    await migrate(database_url, to=1)
    await migrate(database_url)
    async with open_app() as app:
        await app.work(until_idle=True)
        assert await app.ledger.log.prove(talk.id, 1) == before


async def test_a_ledger_with_events_cannot_be_taken_back(
    database_url: str, open_app: Callable[..., App]
) -> None:
    async with open_app() as app:
        await write_a_bit_of_everything(app)
    before, standing = stored_events(database_url), await status(database_url)
    said: list[str] = []
    with pytest.raises(MigrationFailed, match=r"\d+ events are recorded.* Nothing was changed"):
        await migrate(database_url, to=0, report=said.append)
    assert stored_events(database_url) == before
    assert await status(database_url) == standing
    assert said == []


def registry_of(domain: Domain) -> set[tuple[object, ...]]:
    return {
        (
            domain.name,
            kind.name,
            kind.v,
            kind.sources,
            spell_types(kind.required),
            kind.erasable,
            kind.keyed_by,
        )
        for kind in (*domain.kinds, SLOT_VOIDED, BODY_ERASED)
    }


def spell_types(required: Any) -> str:
    """Return required fields as text, whether their types come in a list or behind bars."""
    lists = {key: types.split("|") if isinstance(types, str) else types for key, types in required.items()}
    return repr({key: sorted(types) for key, types in sorted(lists.items())})


def test_python_and_the_database_keep_the_same_registry(database_url: str) -> None:
    rows = ask(database_url, "select domain, kind, v, sources, required, erasable, keyed_by from foja.kind")
    stored = {
        (domain, kind, v, frozenset(sources), spell_types(required), erasable, keyed_by and tuple(keyed_by))
        for domain, kind, v, sources, required, erasable, keyed_by in rows
    }
    own = (CONVERSATION, DOCUMENT, IMAGE, REQUEST, SYSTEM, THREAD)
    assert stored == {row for domain in own for row in registry_of(domain)}
    domains = {name for (name,) in ask(database_url, "select domain from foja.domain")}
    assert domains == {domain.name for domain in own}
