"""What happens in a conversation as AG-UI says it: runs, messages that grow, tool calls.

A pure state machine: a snapshot first, then one item at a time. Whatever it is given, and
wherever it begins, what it says is a stream the real client accepts: every START is closed
before its run is, and nothing is said outside a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any
from uuid import UUID

from ag_ui.core import (
    BaseEvent,
    EventType,
    ReasoningMessage,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    UserMessage,
)

from foja.integrations.ag_ui.events import all_messages, begin, custom, end, more, tool_call, tool_result
from foja.integrations.ag_ui.messages import (
    Message,
    block_id,
    message_id,
    message_of,
    messages_of,
    place,
    text_of,
)
from foja.ledger.event import Event, Transient

UNFINISHED = frozenset({None, "tool_use", "pause_turn"})
UNKNOWN = "-"  # stands for whatever a client has, which then goes away first
APPROVALS = frozenset({"approval_requested", "approval_completed"})


class Encoder:
    """One conversation told to one client, from the moment it joined."""

    def __init__(self, conversation_id: UUID) -> None:
        self._thread = str(conversation_id)
        self._said: list[Event] = []
        self._messages: list[Message] = []
        self._known: set[str] = set()
        self._approvals: dict[str, str] = {}
        self._shown: list[str] = []  # the ids of messages in the order the client has them
        self._haunted = False  # may the client have thoughts of which we know nothing?
        self._open: dict[str, tuple[bool, str]] = {}  # a message that grows: is it a thought, its text
        self._run: str | None = None

    @property
    def running(self) -> bool:
        """Is a run open?"""
        return self._run is not None

    def join(self, events: Iterable[Event], shown: Sequence[str] | None = None) -> list[BaseEvent]:
        """Say everything there is; the run is over if the last event ended it.

        `shown` are the ids of the messages a client has, where they are known.
        """
        self._said = said = list(events)
        self._messages = messages_of(said)
        self._known = {message.id for message in self._messages}
        self._shown = [UNKNOWN] if shown is None else list(shown)
        self._haunted = shown is None and not any(map(_is_thought, self._messages))
        for event in said:
            self._approve(event)
        last = next((e for e in reversed(said) if e.kind == "user_message_sent"), None)
        told = [*self._start(last.seq if last else 0), *self._snapshot(), self._state()]
        if said and _ends(said[-1]):
            told += self._finish()
        return told

    def take(self, item: Event | Transient) -> list[BaseEvent]:
        """Say one thing that happened."""
        if isinstance(item, Transient):
            return self._pass(item)
        if item.payload is None or item.open:
            return []
        told = self._begin(item)
        told += self._persist(item)
        if _ends(item):
            told += self._finish()
        return told

    def leave(self) -> list[BaseEvent]:
        """End what is being said, to begin again."""
        return self._finish()

    def _begin(self, event: Event) -> list[BaseEvent]:
        """Open a run where none is, and another one with every question."""
        if event.kind == "user_message_sent" and self._run:
            return [*self._finish(), *self._start(event.seq)]
        return [] if self._run else self._start(event.seq)

    def _persist(self, event: Event) -> list[BaseEvent]:
        payload, named = event.payload, message_id(event)
        if event.kind == "body.erased":
            return self._forget(payload["seq"])
        if event.kind in APPROVALS:
            return self._approve(event)
        if (message := message_of(event)) is None:
            return [custom(event)]
        if named in self._known:
            return []
        self._known.add(named)
        self._keep(event, message)
        return [*self._show(event, named, message), *self._reorder()]

    def _keep(self, event: Event, message: Message) -> None:
        """Put a message where its number says; a slot filled late is not the last."""
        late = bool(self._said) and event.seq < self._said[-1].seq
        self._said.append(event)
        if late:
            self._said.sort(key=lambda each: each.seq)
            self._messages = messages_of(self._said)
        else:
            place(self._messages, message)

    def _show(self, event: Event, named: str, message: Message) -> list[BaseEvent]:
        if event.kind == "tool_use_requested":
            self._shown.append(named)
            return tool_call(named, event.payload)
        if event.kind == "tool_use_completed":
            self._shown = [each.id for each in self._placed(message)]
            return [tool_result(named, event.payload)]
        return self._text(event, named)

    def _placed(self, result: Message) -> list[Message]:
        """Return what the client has after it put a tool's result where it belongs."""
        by_id = {message.id: message for message in self._messages}
        has = [by_id.get(name) or UserMessage(id=name, role="user", content="") for name in self._shown]
        place(has, result)
        return has

    def _reorder(self) -> list[BaseEvent]:
        """Put right what came in another order than it is kept in."""
        kept = [message.id for message in self._messages]
        if self._haunted and any(map(_is_thought, self._messages)):
            self._haunted = False
            self._shown = [UNKNOWN, *self._shown]
        persisted = [name for name in self._shown if name not in self._open]
        return [] if persisted == kept else self._snapshot()

    def _text(self, event: Event, named: str) -> list[BaseEvent]:
        """Say a text that was persisted: all of it, or what its chunks left unsaid."""
        text, thought = text_of(event.payload["content"]), event.kind == "thinking"
        role = "user" if event.kind == "user_message_sent" else "assistant"
        begun = named in self._open
        told = [] if begun else self._open_message(named, role, thought=thought)
        said = self._open[named][1]
        if text.startswith(said):
            return [*told, *self._grow(named, text[len(said) :]), *self._close(named)]
        # Chunks were missed: the snapshot puts right what was shown.
        return [*told, *self._close(named), *self._snapshot()]

    def _pass(self, item: Transient) -> list[BaseEvent]:
        if item.kind == "complete":
            return self._finish()
        if item.kind == "error":
            return self._fail(item.payload["message"], item.payload.get("code"))
        named = block_id(item.turn, item.block_index)
        if item.kind not in {"message_chunk", "thinking_chunk"} or named is None or named in self._known:
            return []
        told = [] if self._run else self._start(f"{item.turn}")
        if named not in self._open:
            told += self._open_message(named, "assistant", thought=item.kind == "thinking_chunk")
        return told + self._grow(named, item.payload["text"])

    def _forget(self, seq: int) -> list[BaseEvent]:
        self._said = [event for event in self._said if event.seq != seq]
        self._messages = messages_of(self._said)
        return self._snapshot()

    def _approve(self, event: Event) -> list[BaseEvent]:
        if event.kind not in APPROVALS or event.payload is None:
            return []
        name = event.payload["approval_id"]
        self._approvals.setdefault(name, "requested")
        if event.kind == "approval_completed" and self._approvals[name] == "requested":
            self._approvals[name] = event.payload["decision"]
        pointer = name.replace("~", "~0").replace("/", "~1")
        patch = {"op": "add", "path": f"/approvals/{pointer}", "value": self._approvals[name]}
        delta = StateDeltaEvent.model_validate({"type": EventType.STATE_DELTA, "delta": [patch]})
        return [custom(event), delta]

    def _open_message(self, named: str, role: Any, *, thought: bool) -> list[BaseEvent]:
        self._open[named] = thought, ""
        if named not in self._shown:
            self._shown.append(named)
        return [begin(named, role, thought=thought)]

    def _grow(self, named: str, delta: str) -> list[BaseEvent]:
        if not delta:
            return []
        thought, text = self._open[named]
        self._open[named] = thought, text + delta
        return [more(named, delta, thought=thought)]

    def _close(self, named: str) -> list[BaseEvent]:
        thought, _ = self._open.pop(named)
        return [end(named, thought=thought)]

    def _start(self, name: object) -> list[BaseEvent]:
        self._run = f"{self._thread}:{name}"
        return [RunStartedEvent(type=EventType.RUN_STARTED, thread_id=self._thread, run_id=self._run)]

    def _finish(self) -> list[BaseEvent]:
        """End the run."""
        if self._run is None:
            return []
        run, self._run = self._run, None
        finished = RunFinishedEvent(type=EventType.RUN_FINISHED, thread_id=self._thread, run_id=run)
        return [*self._settle(), finished]

    def _fail(self, why: str, code: str | None) -> list[BaseEvent]:
        told = [] if self._run else self._start("error")
        self._run = None
        return [*told, *self._settle(), RunErrorEvent(type=EventType.RUN_ERROR, message=why, code=code)]

    def _settle(self) -> list[BaseEvent]:
        """Close what was still growing: it was never kept, so the snapshot takes it away."""
        told = [frame for named in list(self._open) for frame in self._close(named)]
        return [*told, *self._snapshot()] if told else []

    def _snapshot(self) -> list[BaseEvent]:
        """Say all messages. A client keeps the order it has, so what is out of order goes away first."""
        kept = [message.id for message in self._messages]
        common = [name for name in self._shown if name in kept]
        alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(common, kept, strict=False)))
        growing = [name for name in self._shown if name in self._open]
        strange = UNKNOWN in self._shown
        self._shown = kept
        whole = all_messages(self._messages)
        told = [self._clear(alike), whole] if alike < len(common) or strange else [whole]
        return [*told, *(frame for name in growing for frame in self._open_again(name))]

    def _clear(self, most: int) -> BaseEvent:
        """Say only the first messages. A client lets go of its thoughts only where it is told one."""
        first, rest = self._messages[: most or 1], self._messages[most or 1 :]
        if any(map(_is_thought, rest)) and not any(map(_is_thought, first)):
            first = [*first, ReasoningMessage(id=UNKNOWN, role="reasoning", content="")]
        return all_messages(first)

    def _open_again(self, named: str) -> list[BaseEvent]:
        """Show again what a snapshot took away while it was growing."""
        thought, text = self._open[named]
        return [
            *self._close(named),
            *self._open_message(named, "assistant", thought=thought),
            *self._grow(named, text),
        ]

    def _state(self) -> BaseEvent:
        state = {"conversation_id": self._thread, "approvals": dict(self._approvals)}
        return StateSnapshotEvent(type=EventType.STATE_SNAPSHOT, snapshot=state)


def _ends(event: Event) -> bool:
    """Say whether a persisted event is the last of its run."""
    if event.kind in {"turn_paused", "content_refused"}:
        return True
    payload = event.payload or {}
    return event.kind == "agent_message_sent" and payload.get("stop_reason") not in UNFINISHED


def _is_thought(message: Message) -> bool:
    return isinstance(message, ReasoningMessage)
