"""Erasing: what was said goes, that it was said stays proven."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from itertools import product
from uuid import UUID

import psycopg
import pytest

from foja import errors
from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.embedded.postgres import binaries
from foja.engine.ledger.event import MAX_BODY
from foja.engine.observe.audit import audit
from foja.pure.core import chain
from foja.pure.core import event as core
from foja.pure.core.canonical import canonical
from foja.pure.core.note import Verifier
from foja.pure.models.conversations.events import CONVERSATION
from tests.cases import all_cases
from tests.database.schema.rows import SAID, Admin, check_stream, identity, rows


async def check_proofs(app: App, admin: Admin, talk: Conversation) -> int:
    """Fail unless every event's entry follows from the rows and is in the signed log; return how many."""
    digest, count = chain.genesis(CONVERSATION.name, talk.id), 0
    for seq, event_id, kind, at, body_hash in admin.execute(
        "select seq, event_id, kind, at, body_hash from foja.event where entity_id = %s order by seq",
        [talk.id],
    ):
        digest = chain.step(digest, talk.id, seq, event_id, kind, core.microseconds(at), body_hash)
        proof = await app.ledger.log.prove(talk.id, seq)
        proof.check(chain.leaf_entry(talk.id, seq, digest), [Verifier.from_vkey(app.trust[0])])
        count += 1
    return count


def everything(url: str) -> str:
    """Return every row of the database as text."""
    command = [str(binaries() / "pg_dump"), "--data-only", url]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


async def test_the_body_goes_and_every_proof_stays(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    for n in range(5):
        await talk.append("user_message_sent", {"content": f"secret {n}"}, actor=f"actor {n}")
    await app.work(until_idle=True)
    before = [await app.ledger.log.prove(talk.id, seq) for seq in range(5)]
    (untouched,) = [event for event in await talk.events() if event.seq == 2]

    await talk.erase(2, reason="asked for it", actor="ana")

    erased, notice = [event for event in await talk.events() if event.seq in (2, 5)]
    assert (erased.payload, erased.actor) == (None, None)
    assert identity(erased) == identity(untouched)
    assert (notice.kind, notice.payload) == ("body.erased", {"reason": "asked for it", "seq": 2})
    assert (notice.actor, notice.source) == ("ana", "api")
    row = admin.execute("select payload, salt, actor from foja.event where seq = 2").fetchone()
    assert row == (None, None, None)
    assert [event.payload for event in await talk.events() if event.seq in (0, 1, 3, 4)] == [
        {"content": f"secret {n}"} for n in (0, 1, 3, 4)
    ]
    for seq, proven in enumerate(before):
        assert await app.ledger.log.prove(talk.id, seq) == proven
    await app.work(until_idle=True)
    assert await check_proofs(app, admin, talk) == 6
    check_stream(admin, talk, 6)


async def test_an_event_erased_before_it_was_sealed_is_proven_too(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    slots = await talk.reserve(2, ttl=60, intents=["first", "private intent"])
    await slots.fill(1, "thinking", {"content": "private"})
    await talk.erase(1, reason="asked")
    assert admin.execute("select seq, intent from foja.slot order by seq").fetchall() == [
        (0, "first"),
        (1, None),
    ]
    await slots.fill(0, "thinking", SAID)
    await app.work(until_idle=True)
    assert await check_proofs(app, admin, talk) == 3
    check_stream(admin, talk, 3)


async def test_the_notice_and_the_erasure_are_one_transaction(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", SAID)
    await talk.erase(0, reason="asked")
    writers = admin.execute("select distinct xmin::text from foja.event").fetchall()
    assert len(writers) == 1


async def test_an_erasure_that_is_rolled_back_never_was(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", SAID)
    with admin.transaction(force_rollback=True):
        admin.execute("set local role foja_api; set local foja.tenant = 'default'")
        admin.execute("select foja.erase(%s, 'conversation', 'default', 0, 'api', null, 'asked')", [talk.id])
        admin.execute("set local role none")
        assert rows(admin)["event"] == 2
    assert [event.payload for event in await talk.events()] == [SAID]


async def test_erasing_twice_is_harmless(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", SAID)
    for reason in ("asked", "asked", "asked again, in other words"):
        await talk.erase(0, reason=reason)
    assert [event.payload for event in await talk.events()] == [None, {"reason": "asked", "seq": 0}]
    check_stream(admin, talk, 2)


async def test_several_events_of_a_stream_can_be_erased(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    for n in range(4):
        await talk.append("user_message_sent", {"content": str(n)})
    for seq in (3, 0, 2):
        await talk.erase(seq, reason=f"number {seq}")
    assert [event.payload for event in (await talk.events())[:4]] == [None, {"content": "1"}, None, None]
    assert [event.payload["seq"] for event in (await talk.events())[4:]] == [3, 0, 2]
    await app.work(until_idle=True)
    assert await check_proofs(app, admin, talk) == 7


async def test_several_bodies_are_forgotten_in_one_transaction_or_none(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    await talk.append_many([talk.draft("thinking", SAID) for _ in range(20)])
    await talk.append("turn_paused", {"reason": "kept whole"})
    with pytest.raises(errors.NotErasable):
        await app.ledger.erase_all(CONVERSATION, talk.id, [0, 1, 20, 2], reason="asked")
    assert all(event.payload for event in await talk.events())
    await app.ledger.erase_all(CONVERSATION, talk.id, range(20), reason="asked")
    await app.ledger.erase_all(CONVERSATION, talk.id, range(20), reason="asked again")
    events = await talk.events()
    assert [event.seq for event in events if event.payload is None] == list(range(20))
    assert [event.payload["seq"] for event in events if event.kind == "body.erased"] == list(range(20))
    transactions = admin.execute("select count(distinct xmin::text) from foja.event where seq < 20")
    assert transactions.fetchone() == (1,)
    await app.work(until_idle=True)


async def test_what_is_kept_whole_cannot_be_erased(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    await talk.append("turn_paused", {"reason": "r"})
    await talk.append("user_message_sent", SAID)
    await talk.erase(1, reason="asked")
    slots = await talk.reserve(2, ttl=60)
    await slots.void(0, reason="denied")
    before = rows(admin)
    for seq, kind in ((0, "turn_paused"), (2, "body.erased"), (3, "slot.voided")):
        with pytest.raises(errors.NotErasable, match=kind):
            await talk.erase(seq, reason="asked")
    for seq in (4, 5, -1, 2**64):  # an open number, and some that never were
        with pytest.raises(errors.UnknownEntity):
            await talk.erase(seq, reason="asked")
    assert rows(admin) == before


async def test_a_key_of_the_caller_cannot_stop_an_erasure(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", SAID)
    await talk.append("thinking", SAID, idempotency_key="erase:0")
    await talk.erase(0, reason="asked")
    assert [event.payload for event in await talk.events()] == [None, SAID, {"reason": "asked", "seq": 0}]


@all_cases(("reason", "actor"), [("a\0b", None), ("\ud800", None), ("asked", "a\0b"), ("asked", "\ud800")])
async def test_a_reason_that_cannot_be_stored_is_refused(
    app: App, admin: Admin, reason: str, actor: str | None
) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", SAID)
    with pytest.raises(errors.Refused):
        await talk.erase(0, reason=reason, actor=actor)
    assert [event.payload for event in await talk.events()] == [SAID]


def public_salts(*known: bytes) -> Iterator[bytes]:
    """Yield every salt that could be made from what is still known."""
    pieces = [bytes(16), b"\xff" * 16, *known]
    for piece in pieces:
        for start in range(max(1, len(piece) - 15)):
            yield piece[start : start + 16].ljust(16, b"\0")


async def test_a_short_answer_cannot_be_guessed_from_its_hash(
    app: App, admin: Admin, database_url: str
) -> None:
    talk = await app.conversations.open()
    said = await talk.append("user_message_sent", {"content": "yes"}, actor="ana")
    row = admin.execute("select salt, event_id, at, body_hash from foja.event").fetchone()
    assert row is not None
    salt, event_id, at, body_hash = row
    guesses = [canonical({"content": word}) for word in ("yes", "no", "maybe")]

    def find(salts: Iterator[bytes]) -> list[bytes]:
        return [
            guess
            for guess, each in product(guesses, salts)
            if core.body_hash(each, core.body_bytes("ana", guess, "api", 1)) == body_hash
        ]

    assert find(iter([salt])) == [guesses[0]]  # with the salt, three tries are enough
    assert salt.hex() in everything(database_url)

    await talk.erase(0, reason="asked")
    await app.work(until_idle=True)

    left = everything(database_url)
    assert salt.hex() not in left
    assert "yes" not in left
    assert body_hash.hex() in left
    clock = core.u64(core.microseconds(at))
    head = admin.execute("select head from foja.entity").fetchone()
    assert head is not None
    known = (talk.id.bytes, event_id.bytes, clock, core.u64(0) + clock, body_hash, head[0])
    assert find(public_salts(*known)) == []
    assert said.body_hash == body_hash


async def test_two_equal_bodies_have_nothing_in_common(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    for _ in range(20):
        await talk.append("user_message_sent", {"content": "yes"}, actor="ana")
    with psycopg.connect(app.settings.database_url, autocommit=True) as sql:
        sql.execute("set role foja_api; set foja.tenant = 'default'")
        for _ in range(20):
            sql.execute(
                "select foja.append_event(%s, 'conversation', 'user_message_sent', '{\"content\": \"yes\"}')",
                [talk.id],
            )
    row = admin.execute("select count(distinct body_hash), count(distinct salt) from foja.event").fetchone()
    assert row == (40, 40)


async def test_erasing_somewhere_else_is_no_erasing_here(app: App) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", SAID)
    stranger = await app.conversations.open(UUID(int=1))
    with pytest.raises(errors.UnknownEntity):
        await stranger.erase(0, reason="asked")
    assert [event.payload for event in await talk.events()] == [SAID]


async def test_a_reason_is_a_text_of_bounded_length(app: App, admin: Admin) -> None:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", SAID)
    with pytest.raises(errors.TooLarge):
        await talk.erase(0, reason="x" * MAX_BODY)
    admin.execute("set role foja_api; set foja.tenant = 'default'")
    with pytest.raises(psycopg.Error):
        admin.execute("select foja.erase(%s, 'conversation', 'default', 0, 'api', null, null)", [talk.id])
    assert [event.payload for event in await talk.events()] == [SAID]


async def test_the_digest_of_an_erased_document_is_gone(app: App, admin: Admin) -> None:
    """No row of the document has it; what stays is said."""
    previous = await app.documents.add_digest("b" * 64)
    document = await app.documents.add(b"secret", name="secret.txt", predecessor=previous.id)
    await app.work(until_idle=True)
    assert document.sha256 is not None
    assert document.sha256 in everything(admin.info.dsn)
    erasure = await document.erase(reason="asked")
    dump = everything(admin.info.dsn)
    [object_row] = [line for line in dump.splitlines() if document.sha256 in line]
    assert object_row.startswith(f"{document.sha256}\t0\tlive"), (
        "what is left is the object, until it is purged"
    )
    assert "secret.txt" not in dump
    query = "select witness_hash from public.document_entities where id = %s"
    assert admin.execute(query, [document.id]).fetchone() == (None,)
    [stays] = erasure.stays
    assert "the bytes stay in the store until orphans are purged" in stays
    assert f"foja orphans purge --object {document.sha256}" in stays
    assert (await audit(app.settings.database_url, max_lag_seconds=60)).clean
    assert (await app.rebuild()).guards == 0


async def test_what_stays_of_a_final_document_is_said(app: App) -> None:
    """Requests and tokens name the digest; the artifact has the bytes until it is purged."""
    document = await app.documents.add(b"secret", name="secret.txt")
    await document.protect()
    await app.work(until_idle=True)
    erasure = await document.erase(reason="asked")
    named = [each.split(" stay")[0] for each in erasure.stays]
    assert named == ["the bytes", "the digest", "the bytes of the artifact"]
    assert (await document.view()).witness_hash == document.sha256
    assert (await audit(app.settings.database_url, max_lag_seconds=60)).clean
