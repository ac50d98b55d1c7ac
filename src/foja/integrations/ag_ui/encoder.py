"""Encodes a conversation as AG-UI events: runs, streamed messages, tool calls.

A pure state machine: a snapshot first, then one item at a time. For any input and any
starting point, the AG-UI client accepts the output: every message is ended before its
run, and every event belongs to a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from uuid import UUID

from ag_ui.core import (
    BaseEvent,
    ReasoningMessage,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    UserMessage,
)

from foja.engine.ledger.event import Event, Transient
from foja.integrations.ag_ui import events as ag_ui
from foja.integrations.ag_ui.events import Role
from foja.integrations.ag_ui.messages import (
    Message,
    block_id,
    insert_message,
    message_id,
    message_of,
    messages_of,
    text_of,
)

UNFINISHED = frozenset({None, "tool_use", "pause_turn"})
UNKNOWN = "-"  # stands for unknown messages of the client, which are removed first
ROLES: dict[str, Role] = {
    "user_message_sent": "user",
    "agent_message_sent": "assistant",
    "thinking": "reasoning",
}
CHUNK_ROLES: dict[str, Role] = {"message_chunk": "assistant", "thinking_chunk": "reasoning"}
APPROVALS = frozenset({"approval_requested", "approval_completed"})


class Encoder:
    """Encodes one conversation for one client, from the moment it joins."""

    def __init__(self, conversation_id: UUID) -> None:
        self._thread = str(conversation_id)
        self._events: list[Event] = []
        self._messages: list[Message] = []
        self._known: set[str] = set()
        self._approvals: dict[str, str] = {}
        self._shown: list[str] = []  # the ids of the client's messages, in its order
        self._unknown_reasoning = False  # the client may have reasoning messages that are unknown here
        self._open: dict[str, tuple[Role, str]] = {}  # open messages: the role and the text so far
        self._run: str | None = None

    @property
    def running(self) -> bool:
        """True while a run is open."""
        return self._run is not None

    def join(self, events: Iterable[Event], shown: Sequence[str] | None = None) -> list[BaseEvent]:
        """Return the whole conversation; the run ends if the last event ends it.

        `shown` are the ids of the messages that the client has, if they are known.
        """
        self._events = stored = list(events)
        self._messages = messages_of(stored)
        self._known = {message.id for message in self._messages}
        self._shown = [UNKNOWN] if shown is None else list(shown)
        self._unknown_reasoning = shown is None and not any(map(_is_reasoning, self._messages))
        for event in stored:
            self._update_approval(event)
        last = next((e for e in reversed(stored) if e.kind == "user_message_sent"), None)
        state = {"conversation_id": self._thread, "approvals": dict(self._approvals)}
        output = self._start(last.seq if last else 0) + self._snapshot()
        output.append(StateSnapshotEvent(snapshot=state))
        if stored and _ends(stored[-1]):
            output += self.end()
        return output

    def encode(self, item: Event | Transient) -> list[BaseEvent]:
        """Return the AG-UI events of one item."""
        if isinstance(item, Transient):
            return self._encode_transient(item)
        if item.payload is None or item.open:
            return []
        output = self._ensure_run(item)
        output += self._encode_event(item)
        if _ends(item):
            output += self.end()
        return output

    def _ensure_run(self, event: Event) -> list[BaseEvent]:
        """Start a run if none is open, and a new one with every user message."""
        if event.kind == "user_message_sent" and self._run:
            return [*self.end(), *self._start(event.seq)]
        return [] if self._run else self._start(event.seq)

    def _encode_event(self, event: Event) -> list[BaseEvent]:
        payload, name = event.payload, message_id(event)
        if event.kind == "body.erased":
            self._events = [each for each in self._events if each.seq != payload["seq"]]
            self._messages = messages_of(self._events)
            return self._snapshot()
        if event.kind in APPROVALS:
            return self._update_approval(event)
        if (message := message_of(event)) is None:
            return [ag_ui.custom(event)]
        if name in self._known:
            return []
        self._known.add(name)
        self._insert(event, message)
        return [*self._encode_message(event, name, message), *self._reorder()]

    def _insert(self, event: Event, message: Message) -> None:
        """Insert a message by its number: a slot that is filled late is not the last."""
        late = bool(self._events) and event.seq < self._events[-1].seq
        self._events.append(event)
        if late:
            self._events.sort(key=lambda each: each.seq)
            self._messages = messages_of(self._events)
        else:
            insert_message(self._messages, message)

    def _encode_message(self, event: Event, name: str, message: Message) -> list[BaseEvent]:
        if event.kind == "tool_use_requested":
            self._shown.append(name)
            return ag_ui.tool_call(name, event.payload)
        if event.kind == "tool_use_completed":
            self._shown = [each.id for each in self._client_messages(message)]
            return [ag_ui.tool_result(name, event.payload)]
        return self._text(event, name)

    def _client_messages(self, result: Message) -> list[Message]:
        """Return the client's messages after it has inserted a tool's result."""
        by_id = {message.id: message for message in self._messages}
        has = [by_id.get(name) or UserMessage(id=name, role="user", content="") for name in self._shown]
        insert_message(has, result)
        return has

    def _reorder(self) -> list[BaseEvent]:
        """Return a snapshot if the client's order differs from the stored order."""
        stored = [message.id for message in self._messages]
        if self._unknown_reasoning and any(map(_is_reasoning, self._messages)):
            self._unknown_reasoning = False
            self._shown = [UNKNOWN, *self._shown]
        persisted = [name for name in self._shown if name not in self._open]
        return [] if persisted == stored else self._snapshot()

    def _text(self, event: Event, name: str) -> list[BaseEvent]:
        """Return a persisted text: all of it, or the part that its chunks lack."""
        text = text_of(event.payload["content"])
        output = [] if name in self._open else self._open_message(name, ROLES[event.kind])
        sent = self._open[name][1]
        if text.startswith(sent):
            return [*output, *self._extend(name, text[len(sent) :]), *self._close(name)]
        # Chunks are missing: the snapshot corrects the text.
        return [*output, *self._close(name), *self._snapshot()]

    def _encode_transient(self, item: Transient) -> list[BaseEvent]:
        if item.kind == "complete":
            return self.end()
        if item.kind == "error":
            return self._fail(item.payload["message"], item.payload.get("code"))
        name = block_id(item.turn, item.block_index)
        if item.kind not in CHUNK_ROLES or name is None or name in self._known:
            return []
        output = [] if self._run else self._start(f"{item.turn}")
        if name not in self._open:
            output += self._open_message(name, CHUNK_ROLES[item.kind])
        return output + self._extend(name, item.payload["text"])

    def _update_approval(self, event: Event) -> list[BaseEvent]:
        if event.kind not in APPROVALS or event.payload is None:
            return []
        name = event.payload["approval_id"]
        self._approvals.setdefault(name, "requested")
        if event.kind == "approval_completed" and self._approvals[name] == "requested":
            self._approvals[name] = event.payload["decision"]
        pointer = name.replace("~", "~0").replace("/", "~1")
        patch = {"op": "add", "path": f"/approvals/{pointer}", "value": self._approvals[name]}
        delta = StateDeltaEvent.model_validate({"delta": [patch]})
        return [ag_ui.custom(event), delta]

    def _open_message(self, name: str, role: Role) -> list[BaseEvent]:
        self._open[name] = role, ""
        if name not in self._shown:
            self._shown.append(name)
        return [ag_ui.start_message(name, role)]

    def _extend(self, name: str, delta: str) -> list[BaseEvent]:
        if not delta:
            return []
        role, text = self._open[name]
        self._open[name] = role, text + delta
        return [ag_ui.extend_message(name, role, delta)]

    def _close(self, name: str) -> list[BaseEvent]:
        role, _ = self._open.pop(name)
        return [ag_ui.end_message(name, role)]

    def _start(self, name: object) -> list[BaseEvent]:
        self._run = f"{self._thread}:{name}"
        return [RunStartedEvent(thread_id=self._thread, run_id=self._run)]

    def end(self) -> list[BaseEvent]:
        """End the open run, if there is one."""
        if self._run is None:
            return []
        run, self._run = self._run, None
        finished = RunFinishedEvent(thread_id=self._thread, run_id=run)
        return [*self._close_all(), finished]

    def _fail(self, message: str, code: str | None) -> list[BaseEvent]:
        output = [] if self._run else self._start("error")
        self._run = None
        failed = RunErrorEvent(message=message, code=code)
        return [*output, *self._close_all(), failed]

    def _close_all(self) -> list[BaseEvent]:
        """Close the open messages. They were never stored, so the snapshot removes them."""
        output = [frame for name in list(self._open) for frame in self._close(name)]
        return [*output, *self._snapshot()] if output else []

    def _snapshot(self) -> list[BaseEvent]:
        """Return all messages. A client keeps its order, so messages out of order are removed first."""
        stored = [message.id for message in self._messages]
        common = [name for name in self._shown if name in stored]
        equal = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(common, stored, strict=False)))
        growing = [name for name in self._shown if name in self._open]
        unknown = UNKNOWN in self._shown
        self._shown = stored
        whole = ag_ui.snapshot(self._messages)
        output = [self._first_messages(equal), whole] if equal < len(common) or unknown else [whole]
        return [*output, *(frame for name in growing for frame in self._reopen(name))]

    def _first_messages(self, count: int) -> BaseEvent:
        """Return only the first messages. A client drops its reasoning only if the snapshot has some."""
        first, rest = self._messages[: count or 1], self._messages[count or 1 :]
        if any(map(_is_reasoning, rest)) and not any(map(_is_reasoning, first)):
            first = [*first, ReasoningMessage(id=UNKNOWN, role="reasoning", content="")]
        return ag_ui.snapshot(first)

    def _reopen(self, name: str) -> list[BaseEvent]:
        """Return an open message again that a snapshot has removed."""
        role, text = self._open[name]
        return [*self._close(name), *self._open_message(name, role), *self._extend(name, text)]


def _ends(event: Event) -> bool:
    """Return whether a persisted event is the last of its run."""
    if event.kind in {"turn_paused", "content_refused"}:
        return True
    payload = event.payload or {}
    return event.kind == "agent_message_sent" and payload.get("stop_reason") not in UNFINISHED


def _is_reasoning(message: Message) -> bool:
    return isinstance(message, ReasoningMessage)
