"""Which appends of a process are on their way to the database at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import sha256

import pytest

from foja.app import App
from foja.engine.ledger.event import Draft
from foja.engine.ledger.lanes.held import AppendResult
from foja.engine.ledger.writer import Writer

CALLERS, TURNS = 12, 4


@pytest.fixture
def most(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Return the most batches of a domain that were sent at once, by domain."""
    sent, most = dict[str, int](), dict[str, int]()
    original = Writer.append_free

    async def append_free(self: Writer, drafts: Sequence[Draft]) -> list[AppendResult]:
        [domain] = {draft.domain for draft in drafts}
        sent[domain] = sent.get(domain, 0) + 1
        most[domain] = max(most.get(domain, 0), sent[domain])
        try:
            return await original(self, drafts)
        finally:
            sent[domain] -= 1

    monkeypatch.setattr(Writer, "append_free", append_free)
    return most


async def test_documents_are_sent_one_batch_at_a_time_and_conversations_are_not(
    app: App, most: dict[str, int]
) -> None:
    async def add(caller: int) -> None:
        talk = await app.conversations.open()
        for turn in range(TURNS):
            digest = sha256(f"{caller}/{turn}".encode()).hexdigest()
            await asyncio.gather(
                app.documents.add_digest(digest), talk.append("user_message_sent", {"content": digest})
            )

    await asyncio.gather(*(add(caller) for caller in range(CALLERS)))
    assert most == {"document": 1, "conversation": app.settings.writers}
