"""Publish the log, verify a proof without the database, and detect tampering."""

from __future__ import annotations

from uuid import UUID

from psycopg import AsyncConnection

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine import sql
from foja.engine.ledger.excerpts import prove_event
from foja.engine.observe.audit import audit
from foja.engine.observe.findings import CheckReport
from foja.engine.observe.fsck import Outside, fsck
from foja.engine.settings import Settings
from foja.errors import Tampered
from foja.interfaces.cli.demo.story import Story
from foja.interfaces.cli.server.temporary_database import temporary_database
from foja.pure.core.excerpt import parse_excerpt
from foja.pure.core.note import Verifier
from foja.pure.core.proof import parse_proof


async def show_log(story: Story, app: App, conversations: list[Conversation]) -> None:
    """Seal, number, sign and publish."""
    story.chapter("Seal, number, sign and publish everything")
    await app.work(until_idle=True)
    states = [await app.ledger.state(conversation.id) for conversation in conversations]
    events = sum(state.next_seq for state in states)
    log, published = await app.sequencer.current(), await app.sequencer.publish()
    story.claim("every stream is sealed to its end", all(s.sealed == s.next_seq for s in states))
    story.claim(f"all {events:,} events have a leaf in the log {log.name}", log.size == events)
    story.claim("a signed checkpoint covers all of them", published == events)


async def show_proof(story: Story, app: App, entity_id: UUID, seq: int) -> None:
    """Write a proof and its event as text, then verify only the text."""
    story.chapter(f"Prove event {seq} without the database")
    proven = await prove_event(app.ledger, entity_id, seq)
    proof, event = proven.proof_text(), proven.event_text()
    key = app.trust[0]
    story.claim("proof and event verify offline with the public key", not _failure(proof, event, key))
    forged = event.replace('"content":"', '"content":"not ')
    failure = _failure(proof, forged, key)
    story.claim(f"with one word changed they do not verify: {failure}", failure)


async def show_tampering(
    story: Story, settings: Settings, outside: Outside, entity_id: UUID, seq: int
) -> None:
    """Change a payload in a copy of the database, as an administrator could, and run fsck on both."""
    story.chapter("An administrator changes one payload in a copy of the database")
    async with temporary_database(settings.database_url, copied=True) as copy:
        await _forge(copy, entity_id, seq)
        report = await fsck(copy, outside, tiles=True)
    first = report.first
    named = first is not None and (first.entity_id, first.seq) == (entity_id, seq)
    story.claim(f"fsck finds it: {first.where if first else 'nothing'}", named and report.total == 1)
    original = await fsck(settings.database_url, outside, tiles=True)
    story.claim(f"the original is clean: {_counts(original)}", original.clean)
    health = await audit(settings.database_url, max_lag_seconds=settings.max_lag_seconds)
    story.claim("the audit finds nothing either", health.clean)


def _failure(proof: str, event: str, key: str) -> str:
    """Return why the texts do not verify, or an empty text if they do."""
    try:
        parse_proof(proof).check(parse_excerpt(event).check(), [Verifier.from_vkey(key)])
    except Tampered as error:
        return str(error)
    return ""


async def _forge(url: str, entity_id: UUID, seq: int) -> None:
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(sql.query("ignore_triggers"))
        values = {"payload": '{"content":"I never said that"}', "entity": entity_id, "seq": seq}
        await connection.execute(sql.query("forge_payload"), values)


def _counts(report: CheckReport) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in report.counts.items())
