"""A `Session` for the OpenAI Agents SDK whose items are the events of a conversation.

Items are returned exactly as they were added, in the order of their numbers. The conversation
can be followed, read and proven like any other. `pop_item` and `clear_session` erase: the
content is gone, and the proof that it was recorded and erased stays.
"""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID, uuid4

from agents.items import TResponseInputItem
from agents.memory.session import SessionABC
from agents.memory.session_settings import SessionSettings, resolve_session_limit

from foja.domains.conversations.service import Conversation
from foja.engine.ledger.event import Draft
from foja.errors import NotCanonical
from foja.integrations.openai_agents.items import KINDS, REQUESTED, Item, event_of, item_of, opaque_event
from foja.pure.core.registry import BODY_ERASED
from foja.tenant import TenantApp

PAGE_EVENTS = 1000


def conversation_id(app: TenantApp, session_id: str) -> UUID:
    """Return the conversation id of a session: the session id if it is a UUID, else one derived from it."""
    try:
        return UUID(session_id)
    except ValueError:
        return app.ledger.derived_id(b"foja/session/v1", session_id)


class LedgerSession(SessionABC):
    """One session. Several runs may use it at once; each batch of items stays together."""

    def __init__(
        self, session_id: str, app: TenantApp, *, session_settings: SessionSettings | None = None
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self.conversation = Conversation(conversation_id(app, session_id), app.ledger, app.protect_stream)
        self._ledger = app.ledger
        self._tool_names: dict[str, str] = {}

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the latest `limit` items, or all of them, oldest first."""
        most = resolve_session_limit(limit, self.session_settings)
        if most is not None and most <= 0:
            return []
        found = await self._newest(most)
        return [cast(TResponseInputItem, item) for _, item in reversed(found)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append all of these items, with nothing between them, or none."""
        await self.conversation.append_many([self._draft(cast(Item, item)) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Erase the latest item and return it; two callers never get the same item."""
        while found := await self._newest(1):
            [(seq, item)] = found
            token = f"pop_item {uuid4()}"
            await self.conversation.erase(seq, reason=token)
            if await self._reason_of(seq) == token:
                return cast(TResponseInputItem, item)
        return None

    async def clear_session(self) -> None:
        """Erase every item that exists now."""
        for seq, _ in reversed(await self._newest(None)):
            await self.conversation.erase(seq, reason="clear_session")

    def _draft(self, item: Item) -> Draft:
        kind, payload = event_of(item, self._tool_names)
        if kind == REQUESTED:
            self._tool_names[payload["tool_use_id"]] = payload["tool_name"]
        try:
            return self.conversation.draft(kind, payload)
        except NotCanonical:
            return self.conversation.draft(*opaque_event(item))

    async def _newest(self, limit: int | None) -> list[tuple[int, Item]]:
        """Return the latest items with their numbers, newest first."""
        found: list[tuple[int, Item]] = []
        before = None
        while limit is None or len(found) < limit:
            missing = None if limit is None else limit - len(found)
            rows = await self._ledger.newest(self.conversation.id, KINDS, before=before, limit=missing)
            found += [(seq, item) for seq, kind, payload in rows if (item := item_of(kind, payload))]
            if missing is None or len(rows) < missing:
                return found
            before = rows[-1].seq
        return found

    async def _reason_of(self, seq: int) -> Any:
        """Return the reason for which an event was erased."""
        before = None
        while notices := await self._ledger.newest(
            self.conversation.id, [BODY_ERASED.name], before=before, limit=PAGE_EVENTS
        ):
            for notice in notices:
                if notice.payload["seq"] == seq:
                    return notice.payload["reason"]
            before = notices[-1].seq
        return None
