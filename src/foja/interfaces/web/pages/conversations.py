"""`/conversations`: the list, and one conversation live, with approvals to decide."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from textwrap import shorten
from typing import Any
from uuid import UUID

from starlette.responses import Response

from foja.domains.conversations.service import Summary
from foja.interfaces.operations.records.conversations import known
from foja.interfaces.web.pages.frame.forms import form
from foja.interfaces.web.pages.frame.page import Page
from foja.interfaces.web.pages.frame.route import PageRoute
from foja.pure.models.access.principal import Scope
from foja.pure.models.conversations.approvals import parse_time
from foja.pure.models.conversations.pairs import group
from foja.pure.models.conversations.text import message_text
from foja.pure.models.conversations.view import ConversationView

LIST_LIMIT = 50
EXCERPT = 140
SHOWN_EVENTS = 200  # on the page itself; the script reads them all
ROLES = {
    "user_message_sent": "user",
    "agent_message_sent": "agent",
    "thinking": "thinking",
    "tool_use_requested": "tool",
    "tool_use_completed": "tool",
    "approval_requested": "approval",
    "approval_completed": "approval",
    "slot.open": "open",
}
ASKED = "approval_requested"


async def listing(page: Page, before: UUID | None = None) -> Response:
    """Show the newest conversations with their last messages."""
    caller = page.caller
    found = await caller.app.conversations.summaries(before=before, limit=LIST_LIMIT)
    older = page.address(before=found[-1].id) if len(found) == LIST_LIMIT else None
    items = [(each, _excerpt(each)) for each in found]
    names = await caller.names(each.actor for each in found)
    return page.render("conversations/list.html", "conversations", items=items, older=older, names=names)


def _excerpt(summary: Summary) -> str:
    if summary.payload is None:
        return ""
    return shorten(message_text(summary.payload["content"])[: EXCERPT * 4], EXCERPT, placeholder=" …")


async def show(page: Page, conversation_id: str) -> Response:
    """Show one conversation; the script then follows it."""
    caller = page.caller
    conversation = (await known(caller, conversation_id)).stream
    length = (await conversation.state()).next_seq
    after = length - SHOWN_EVENTS - 1 if length > SHOWN_EVENTS else None
    events = await conversation.events(after=after, limit=SHOWN_EVENTS)
    return page.render(
        "conversations/conversation.html",
        "conversations",
        conversation=conversation,
        items=[*_items(events)],
        names=await caller.names([caller.principal.actor, *(each.actor for each in events)]),
        length=length,
        cut=after is not None,
        shown_events=SHOWN_EVENTS,
        may_decide=caller.principal.may(Scope.APPROVE),
        translations=json.dumps(page.texts("conversations").named(), ensure_ascii=False),
    )


def _items(events: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Return what the transcript shows, in reading order, each answer below its request."""
    return [
        {**item, "role": ROLES.get(item["kind"], "note"), "answer": place > 0, **_shown(item)}
        for each in group(ConversationView(events).items())
        for place, item in enumerate(each)
    ]


def _shown(item: Mapping[str, Any]) -> dict[str, Any]:
    until = item["payload"].get("expires_at") if item["kind"] == ASKED and item["payload"] else None
    at = item.get("at")
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    return {"text": _body(item), "moment": moment, "until": parse_time(until)}


def _body(item: Mapping[str, Any]) -> tuple[str | None, str, str]:
    """Return the name, the words and the preformatted part of an item."""
    body: Mapping[str, Any] = item["payload"] or {}
    match item["kind"]:
        case "user_message_sent" | "agent_message_sent" | "thinking":
            return None, message_text(body.get("content")), ""
        case "tool_use_requested" | "approval_requested":
            return str(body.get("tool_name")), "", _json(body.get("tool_args"))
        case "tool_use_completed":
            error = body.get("error_message")
            return str(body.get("tool_name")), "", str(error) if error else _json(body.get("tool_result"))
        case "approval_completed" | "slot.voided" | "turn_paused" | "content_refused":
            return None, str(body.get("reason") or ""), ""
        case "slot.open":
            intent = body.get("intent")
            return None, "…" if intent is None else message_text(intent), ""
        case _:
            return None, "", _json(body)


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)


ONE = "/conversations/{conversation_id}"
PAGES = (
    PageRoute("GET /conversations", listing),
    PageRoute(f"GET {ONE}", show),
    form(f"{ONE}/approvals", "conversation.decide", ONE),
    form(f"{ONE}/protect", "conversation.protect", "/documents/{0.id}"),
)
