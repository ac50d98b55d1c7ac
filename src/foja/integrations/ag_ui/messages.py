"""Events of a conversation as the messages of AG-UI, under ids that are the same live and reloaded."""

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

from foja.ledger.event import Event

Message: TypeAlias = AssistantMessage | ReasoningMessage | ToolMessage | UserMessage


def block_id(turn: object, block_index: object) -> str | None:
    """Return the id of a block that names its turn and place, persisted or not."""
    return None if turn is None or block_index is None else f"{turn}:{block_index}"


def message_id(event: Event) -> str:
    """Return the id of the message an event stands for."""
    payload = event.payload or {}
    if isinstance(payload.get("ag_ui_id"), str):  # said by a client that gave it an id
        return str(payload["ag_ui_id"])
    if event.kind != "tool_use_completed":
        named = block_id(payload.get("turn"), payload.get("block_index"))
        if named:
            return named
    return f"event-{event.seq}"


def message_of(event: Event) -> Message | None:
    """Return the message an event stands for; None if it is none, or was erased."""
    payload, named = event.payload, message_id(event)
    if payload is None:
        return None
    if event.kind == "user_message_sent":
        return UserMessage(id=named, role="user", content=text_of(payload["content"]))
    if event.kind == "agent_message_sent":
        return AssistantMessage(id=named, role="assistant", content=text_of(payload["content"]))
    if event.kind == "thinking":
        return ReasoningMessage(id=named, role="reasoning", content=text_of(payload["content"]))
    if event.kind == "tool_use_requested":
        return AssistantMessage(id=named, role="assistant", tool_calls=[_call(payload)])
    if event.kind == "tool_use_completed":
        told = told_of(payload)
        return ToolMessage(id=named, role="tool", tool_call_id=payload["tool_use_id"], content=told)
    return None


def messages_of(events: Iterable[Event]) -> list[Message]:
    """Return a conversation as AG-UI keeps it: a tool's result right after its request."""
    placed: list[Message] = []
    for event in events:
        if message := message_of(event):
            place(placed, message)
    return placed


def place(messages: list[Message], message: Message) -> None:
    """Put a message where AG-UI's own client puts it."""
    at = len(messages)
    if isinstance(message, ToolMessage):
        at = next((n + 1 for n, each in enumerate(messages) if _asks(each, message.tool_call_id)), at)
        while at < len(messages) and isinstance(messages[at], ToolMessage):
            at += 1
    messages.insert(at, message)


def text_of(content: Any) -> str:
    """Return content as a text: its own, that of its parts, or JSON."""
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content if isinstance(part, dict)]
    texts = [text for text in parts if isinstance(text, str)]
    return "".join(texts) if texts else json.dumps(content, ensure_ascii=False)


def told_of(payload: Mapping[str, Any]) -> str:
    """Return what a tool answered, or why it did not."""
    if not payload["success"] and payload["error_message"]:
        return str(payload["error_message"])
    result = payload["tool_result"]
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def arguments_of(payload: Mapping[str, Any]) -> str:
    """Return a tool's arguments as AG-UI carries them."""
    return json.dumps(payload["tool_args"], ensure_ascii=False)


def _call(payload: Mapping[str, Any]) -> ToolCall:
    asked = FunctionCall(name=payload["tool_name"], arguments=arguments_of(payload))
    return ToolCall(id=payload["tool_use_id"], type="function", function=asked)


def _asks(message: Message, tool_call_id: str) -> bool:
    calls = message.tool_calls if isinstance(message, AssistantMessage) else None
    return any(call.id == tool_call_id for call in calls or [])
