"""What the tests in this folder ask of the ledger's own rows, as its administrator."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, LiteralString
from uuid import UUID

import psycopg

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.ledger.event import Event
from foja.engine.metrics import samples
from foja.pure.core import event as core
from foja.pure.core.chain import Link, check
from foja.pure.models.conversations.events import CONVERSATION

Admin = psycopg.Connection[Any]

SAID = {"content": "hi"}
KEPT = ("event", "pending", "unsealed", "slot", "woken")


GUARDED = ("event", "leaves", "leaf_place", "checkpoint", "entity", "domain", "log")

# An intruder takes the bundles apart and can then change one leaf as easily as any other row.
APART: LiteralString = """
    create table foja.apart as select * from foja.leaf;
    delete from foja.leaves;
    delete from foja.leaf_place;
    create or replace function foja.change_leaf() returns trigger language plpgsql as $$
    begin
        if tg_op <> 'INSERT' then
            delete from foja.leaves where origin = old.origin and idx = old.idx;
            delete from foja.leaf_place where origin = old.origin and idx = old.idx;
        end if;
        if tg_op <> 'DELETE' then
            insert into foja.leaves
            values (new.origin, new.idx, array[0], array[new.entity_id], array[new.seq], new.chain_hash);
            insert into foja.leaf_place values (new.entity_id, new.origin, new.seq, new.idx);
        end if;
        return coalesce(new, old);
    end $$;
    create or replace trigger change_leaf instead of insert or update or delete on foja.leaf
        for each row execute function foja.change_leaf();
    insert into foja.leaf select * from foja.apart;
    drop table foja.apart;
"""


def rows(admin: Admin) -> dict[str, int]:
    """Count everything an append may leave behind."""
    counts = ", ".join(f"(select count(*) from foja.{table})" for table in KEPT)
    found = admin.execute(f"select {counts}".encode()).fetchone()
    assert found is not None
    return dict(zip(KEPT, found, strict=True))


def disarm(admin: Admin) -> Admin:
    """Do what an intruder with every right does first: no guard fires for this connection any more."""
    for table in GUARDED:
        admin.execute(f"alter table foja.{table} disable trigger all".encode())
    admin.execute(APART)
    return admin


def rearm(admin: Admin) -> None:
    """Undo `disarm`, as an intruder does who does not want to be noticed."""
    for table in GUARDED:
        admin.execute(f"alter table foja.{table} enable trigger all".encode())
        names = admin.execute(
            "select tgname from pg_trigger where tgrelid = %s::regclass and not tgisinternal",
            [f"foja.{table}"],
        )
        for (name,) in names.fetchall():
            admin.execute(f"alter table foja.{table} enable always trigger {name}".encode())


def check_stream(admin: Admin, talk: Conversation, length: int) -> None:
    """Fail unless the stream is 0..length-1, sealed, and its chain leads to its head."""
    links = [
        Link(seq, event_id, kind, core.microseconds(at), body_hash)
        for seq, event_id, kind, at, body_hash in admin.execute(
            "select seq, event_id, kind, at, body_hash from foja.event where entity_id = %s order by seq",
            [talk.id],
        )
    ]
    state = admin.execute(
        "select next_seq, sealed, head from foja.entity where entity_id = %s", [talk.id]
    ).fetchone()
    assert state is not None
    assert state[:2] == (length, length)
    assert len(links) == length
    check(CONVERSATION.name, talk.id, links, state[2])


def stored_body(admin: Admin, entity_id: UUID, seq: int) -> tuple[bytes, bytes]:
    row = admin.execute(
        "select salt, actor, payload::text, source, v from foja.event where entity_id = %s and seq = %s",
        [entity_id, seq],
    ).fetchone()
    assert row is not None
    salt, actor, payload, source, v = row
    return salt, core.body_bytes(actor, payload.encode(), source, v)


def identity(event: Event) -> tuple[Any, ...]:
    return event.seq, event.id, event.at, event.body_hash, event.kind


async def first_in_each(app: App, count: int) -> list[Conversation]:
    talks: list[Conversation] = [await app.conversations.open() for _ in range(count)]
    for talk in talks:
        await talk.append("user_message_sent", SAID)
    return talks


async def outcome(call: Awaitable[Any]) -> Any:
    """Return what came of a call: its result, or the error it raised."""
    try:
        return await call
    except Exception as error:
        return error


def value(name: str, **labels: str) -> float | None:
    """Return the value of a metric of this process."""
    found = [value for sample, at, value in samples() if sample == name and at == labels]
    return found[0] if found else None
