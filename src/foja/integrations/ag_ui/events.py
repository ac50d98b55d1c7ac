"""The events of AG-UI, made of what a conversation has."""

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

from foja.integrations.ag_ui.messages import Message, arguments_of, told_of
from foja.ledger.event import Event


def begin(named: str, role: Any, *, thought: bool) -> BaseEvent:
    """Open a message, or a thought, that will grow."""
    if thought:
        return ReasoningMessageStartEvent(
            type=EventType.REASONING_MESSAGE_START, message_id=named, role="reasoning"
        )
    return TextMessageStartEvent(type=EventType.TEXT_MESSAGE_START, message_id=named, role=role)


def more(named: str, delta: str, *, thought: bool) -> BaseEvent:
    """Let it grow."""
    if thought:
        return ReasoningMessageContentEvent(
            type=EventType.REASONING_MESSAGE_CONTENT, message_id=named, delta=delta
        )
    return TextMessageContentEvent(type=EventType.TEXT_MESSAGE_CONTENT, message_id=named, delta=delta)


def end(named: str, *, thought: bool) -> BaseEvent:
    """Close it."""
    if thought:
        return ReasoningMessageEndEvent(type=EventType.REASONING_MESSAGE_END, message_id=named)
    return TextMessageEndEvent(type=EventType.TEXT_MESSAGE_END, message_id=named)


def all_messages(messages: Sequence[Message]) -> BaseEvent:
    """Say all messages at once."""
    return MessagesSnapshotEvent(type=EventType.MESSAGES_SNAPSHOT, messages=list(messages))


def custom(event: Event) -> BaseEvent:
    """Say what AG-UI has no word for."""
    return CustomEvent(type=EventType.CUSTOM, name=event.kind, value=event.payload)


def tool_call(named: str, payload: Mapping[str, Any]) -> list[BaseEvent]:
    """Say that a tool was asked for."""
    asked = payload["tool_use_id"]
    start = ToolCallStartEvent(
        type=EventType.TOOL_CALL_START,
        tool_call_id=asked,
        tool_call_name=payload["tool_name"],
        parent_message_id=named,
    )
    args = ToolCallArgsEvent(type=EventType.TOOL_CALL_ARGS, tool_call_id=asked, delta=arguments_of(payload))
    return [start, args, ToolCallEndEvent(type=EventType.TOOL_CALL_END, tool_call_id=asked)]


def tool_result(named: str, payload: Mapping[str, Any]) -> BaseEvent:
    """Say what it answered."""
    return ToolCallResultEvent(
        type=EventType.TOOL_CALL_RESULT,
        message_id=named,
        tool_call_id=payload["tool_use_id"],
        content=told_of(payload),
        role="tool",
    )
