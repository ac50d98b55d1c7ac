"""The log, a proof that needs no database, and an intruder who is found."""

from __future__ import annotations

from uuid import UUID

from psycopg import AsyncConnection

from foja import sql
from foja.app import App
from foja.cli.demo.story import Story
from foja.cli.temporary_database import scratch
from foja.conversations.service import Conversation
from foja.core.excerpt import parse_excerpt
from foja.core.note import Verifier
from foja.core.proof import parse_proof
from foja.errors import Tampered
from foja.ledger.event_proof import prove_event
from foja.observe.audit import audit
from foja.observe.findings import CheckReport
from foja.observe.fsck import Outside, fsck
from foja.settings import Settings


async def show_log(story: Story, app: App, talks: list[Conversation]) -> None:
    """Seal, number, sign and publish."""
    story.chapter("Everything is sealed, numbered, signed and published")
    await app.work(until_idle=True)
    states = [await app.ledger.state(talk.id) for talk in talks]
    events = sum(state.next_seq for state in states)
    log, published = await app.sequencer.current(), await app.sequencer.publish()
    story.claim("every stream is chained to its end", all(s.sealed == s.next_seq for s in states))
    story.claim(f"all {events:,} events have a leaf in the log {log.name}", log.size == events)
    story.claim("a signed checkpoint covers every one of them", published == events)


async def show_proof(story: Story, app: App, entity_id: UUID, seq: int) -> None:
    """Write evidence down, then check it from those words alone."""
    story.chapter(f"Event {seq} is proven to somebody who has no database")
    proven = await prove_event(app.ledger, entity_id, seq)
    proof, event = proven.proof_text(), proven.event_text()
    key = app.trust[0]
    story.claim("proof, event and public key verify offline", not _refusal(proof, event, key))
    forged = event.replace('"content": "', '"content": "not ')
    story.claim(
        f"with one word changed they do not: {_refusal(proof, forged, key)}", _refusal(proof, forged, key)
    )


async def show_tampering(
    story: Story, settings: Settings, outside: Outside, entity_id: UUID, seq: int
) -> None:
    """Check the original, forge a copy as an administrator could, and check that."""
    story.chapter("An intruder with every right changes one payload in a copy of the database")
    async with scratch(settings.database_url, copied=True) as copy:
        await _forge(copy, entity_id, seq)
        report = await fsck(copy, outside, tiles=True)
    first = report.first
    named = first is not None and (first.entity_id, first.seq) == (entity_id, seq)
    story.claim(f"fsck names it: {first.where if first else 'nothing'}", named and report.total == 1)
    original = await fsck(settings.database_url, outside, tiles=True)
    story.claim(f"the original is clean: {_words(original)}", original.clean)
    health = await audit(settings.database_url, max_lag_seconds=settings.max_lag_seconds)
    story.claim("and so says the audit", health.clean)


def _refusal(proof: str, event: str, key: str) -> str:
    """Return why these texts prove nothing, or an empty text if they prove it."""
    try:
        parse_proof(proof).check(parse_excerpt(event).check(), [Verifier.from_vkey(key)])
    except Tampered as error:
        return str(error)
    return ""


async def _forge(url: str, entity_id: UUID, seq: int) -> None:
    async with await AsyncConnection.connect(url, autocommit=True) as intruder:
        await intruder.execute(sql.query("ignore_triggers"))
        values = {"payload": '{"content":"I never said that"}', "entity": entity_id, "seq": seq}
        await intruder.execute(sql.query("forge_payload"), values)


def _words(report: CheckReport) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in report.counts.items())
