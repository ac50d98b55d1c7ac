"""Events of a conversation as AG-UI messages, with the same ids live and reloaded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from ag_ui.core import (
    AssistantMessage,
    FunctionCall,
    ReasoningMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

from foja.engine.ledger.event import Event

Message: TypeAlias = AssistantMessage | ReasoningMessage | ToolMessage | UserMessage


def block_id(turn: object, block_index: object) -> str | None:
    """Return the message id of a block, persisted or not; None if it has no turn or index."""
    return None if turn is None or block_index is None else f"{turn}:{block_index}"


def message_id(event: Event) -> str:
    """Return the id of an event's message."""
    payload = event.payload or {}
    if isinstance(payload.get("ag_ui_id"), str):  # the client's own id
        return str(payload["ag_ui_id"])
    if event.kind != "tool_use_completed":
        name = block_id(payload.get("turn"), payload.get("block_index"))
        if name:
            return name
    return f"event-{event.seq}"


def message_of(event: Event) -> Message | None:
    """Return an event's message; None if it has none, or was erased."""
    payload, name = event.payload, message_id(event)
    if payload is None:
        return None
    if event.kind == "user_message_sent":
        return UserMessage(id=name, role="user", content=text_of(payload["content"]))
    if event.kind == "agent_message_sent":
        return AssistantMessage(id=name, role="assistant", content=text_of(payload["content"]))
    if event.kind == "thinking":
        return ReasoningMessage(id=name, role="reasoning", content=text_of(payload["content"]))
    if event.kind == "tool_use_requested":
        return AssistantMessage(id=name, role="assistant", tool_calls=[_call(payload)])
    if event.kind == "tool_use_completed":
        text = result_text(payload)
        return ToolMessage(id=name, role="tool", tool_call_id=payload["tool_use_id"], content=text)
    return None


def messages_of(events: Iterable[Event]) -> list[Message]:
    """Return a conversation in the order of AG-UI: a tool's result directly after its request."""
    messages: list[Message] = []
    for event in events:
        if message := message_of(event):
            insert_message(messages, message)
    return messages


def insert_message(messages: list[Message], message: Message) -> None:
    """Insert a message where the AG-UI client inserts it."""
    at = len(messages)
    if isinstance(message, ToolMessage):
        at = next((n + 1 for n, each in enumerate(messages) if _requests(each, message.tool_call_id)), at)
        while at < len(messages) and isinstance(messages[at], ToolMessage):
            at += 1
    messages.insert(at, message)


def text_of(content: Any) -> str:
    """Return content as text: the string, the texts of its parts, or its JSON."""
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content if isinstance(part, dict)]
    texts = [text for text in parts if isinstance(text, str)]
    return "".join(texts) if texts else json.dumps(content, ensure_ascii=False)


def result_text(payload: Mapping[str, Any]) -> str:
    """Return a tool's result as text, or its error message."""
    if not payload["success"] and payload["error_message"]:
        return str(payload["error_message"])
    result = payload["tool_result"]
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def arguments_of(payload: Mapping[str, Any]) -> str:
    """Return a tool's arguments as JSON text."""
    return json.dumps(payload["tool_args"], ensure_ascii=False)


def _call(payload: Mapping[str, Any]) -> ToolCall:
    function = FunctionCall(name=payload["tool_name"], arguments=arguments_of(payload))
    return ToolCall(id=payload["tool_use_id"], type="function", function=function)


def _requests(message: Message, tool_call_id: str) -> bool:
    calls = message.tool_calls if isinstance(message, AssistantMessage) else None
    return any(call.id == tool_call_id for call in calls or [])
