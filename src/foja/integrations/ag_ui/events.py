"""The AG-UI events that encode a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    EventType,
    MessagesSnapshotEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from foja.integrations.ag_ui.messages import Message, arguments_of, result_text
from foja.ledger.event import Event


def start_message(name: str, role: Any, *, reasoning: bool) -> BaseEvent:
    """Return the start of a message, or of a reasoning message."""
    if reasoning:
        return ReasoningMessageStartEvent(
            type=EventType.REASONING_MESSAGE_START, message_id=name, role="reasoning"
        )
    return TextMessageStartEvent(type=EventType.TEXT_MESSAGE_START, message_id=name, role=role)


def extend_message(name: str, delta: str, *, reasoning: bool) -> BaseEvent:
    """Return more text of an open message."""
    if reasoning:
        return ReasoningMessageContentEvent(
            type=EventType.REASONING_MESSAGE_CONTENT, message_id=name, delta=delta
        )
    return TextMessageContentEvent(type=EventType.TEXT_MESSAGE_CONTENT, message_id=name, delta=delta)


def end_message(name: str, *, reasoning: bool) -> BaseEvent:
    """Return the end of a message."""
    if reasoning:
        return ReasoningMessageEndEvent(type=EventType.REASONING_MESSAGE_END, message_id=name)
    return TextMessageEndEvent(type=EventType.TEXT_MESSAGE_END, message_id=name)


def snapshot(messages: Sequence[Message]) -> BaseEvent:
    """Return all messages as a snapshot."""
    return MessagesSnapshotEvent(type=EventType.MESSAGES_SNAPSHOT, messages=list(messages))


def custom(event: Event) -> BaseEvent:
    """Return an event for which AG-UI has no type of its own."""
    return CustomEvent(type=EventType.CUSTOM, name=event.kind, value=event.payload)


def tool_call(name: str, payload: Mapping[str, Any]) -> list[BaseEvent]:
    """Return the request of a tool use."""
    call_id = payload["tool_use_id"]
    start = ToolCallStartEvent(
        type=EventType.TOOL_CALL_START,
        tool_call_id=call_id,
        tool_call_name=payload["tool_name"],
        parent_message_id=name,
    )
    args = ToolCallArgsEvent(type=EventType.TOOL_CALL_ARGS, tool_call_id=call_id, delta=arguments_of(payload))
    return [start, args, ToolCallEndEvent(type=EventType.TOOL_CALL_END, tool_call_id=call_id)]


def tool_result(name: str, payload: Mapping[str, Any]) -> BaseEvent:
    """Return the result of a tool use."""
    return ToolCallResultEvent(
        type=EventType.TOOL_CALL_RESULT,
        message_id=name,
        tool_call_id=payload["tool_use_id"],
        content=result_text(payload),
        role="tool",
    )
