"""The AG-UI events that encode a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
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

from foja.engine.ledger.event import Event
from foja.integrations.ag_ui.messages import Message, arguments_of, result_text

Role: TypeAlias = Literal["user", "assistant", "reasoning"]


def start_message(name: str, role: Role) -> BaseEvent:
    """Return the start of a message."""
    if role == "reasoning":
        return ReasoningMessageStartEvent(message_id=name, role=role)
    return TextMessageStartEvent(message_id=name, role=role)


def extend_message(name: str, role: Role, delta: str) -> BaseEvent:
    """Return more text of an open message."""
    event = ReasoningMessageContentEvent if role == "reasoning" else TextMessageContentEvent
    return event(message_id=name, delta=delta)


def end_message(name: str, role: Role) -> BaseEvent:
    """Return the end of a message."""
    event = ReasoningMessageEndEvent if role == "reasoning" else TextMessageEndEvent
    return event(message_id=name)


def snapshot(messages: Sequence[Message]) -> BaseEvent:
    """Return all messages as a snapshot."""
    return MessagesSnapshotEvent(messages=list(messages))


def custom(event: Event) -> BaseEvent:
    """Return an event for which AG-UI has no type of its own."""
    return CustomEvent(name=event.kind, value=event.payload)


def tool_call(name: str, payload: Mapping[str, Any]) -> list[BaseEvent]:
    """Return the request of a tool use."""
    call_id = payload["tool_use_id"]
    start = ToolCallStartEvent(
        tool_call_id=call_id,
        tool_call_name=payload["tool_name"],
        parent_message_id=name,
    )
    args = ToolCallArgsEvent(tool_call_id=call_id, delta=arguments_of(payload))
    return [start, args, ToolCallEndEvent(tool_call_id=call_id)]


def tool_result(name: str, payload: Mapping[str, Any]) -> BaseEvent:
    """Return the result of a tool use."""
    return ToolCallResultEvent(
        message_id=name,
        tool_call_id=payload["tool_use_id"],
        content=result_text(payload),
        role="tool",
    )
