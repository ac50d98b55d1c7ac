"""What the events of a ledger say, and what a whole history leaves open. Total: any payload may come in."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from json import JSONEncoder
from typing import Final, NamedTuple
from uuid import UUID

from foja.pure.core.canonical import Json, canonical
from foja.pure.core.event import utf8
from foja.pure.core.excerpt import Excerpt, moment
from foja.pure.core.registry import BODY_ERASED, SLOT_VOIDED
from foja.pure.models.conversations.approvals import decision_id
from foja.pure.models.conversations.text import message_text
from foja.pure.proofs.contents import MAX_CONTENT, Act, Completeness, Contents, Statement

_LARGE: Final = 64 << 10  # bytes of the line of an event that is not held until the end
_FEW: Final = 32  # values of an object that is serialized at once
FIRST, LAST = 10, 10  # how many events of a long history are shown from its beginning and from its end
ASKED, DECIDED = "approval_requested", "approval_completed"
REQUESTED, ANSWERED = "tool_use_requested", "tool_use_completed"
# Unless told not to, it holds values that it has begun until the next search for cycles.
_ENCODER: Final = JSONEncoder(ensure_ascii=False, check_circular=False, sort_keys=True, separators=(",", ":"))
_DECISIONS = {"approved": Act.APPROVED, "denied": Act.DENIED, "expired": Act.EXPIRED}
_FOLLOWED = frozenset({ASKED, DECIDED, REQUESTED, ANSWERED, SLOT_VOIDED.name})
_SAID = frozenset({"user_message_sent", "agent_message_sent", "thinking"})


class Asked(NamedTuple):
    """A request of an approval: its number, its tool, and the beginning of its arguments."""

    seq: int
    tool: str | None
    arguments: str | None
    digest: str | None  # of small arguments

    def answers(self, decision: Mapping[str, Json]) -> bool:
        """Return whether its arguments may be shown with this decision."""
        return decision.get("args_sha256", self.digest) == self.digest


def contents_of(event: Excerpt, arguments: Json = None) -> Contents:
    """Return what one event says; `arguments` are those whose digest it names, if they are known."""
    known = None if arguments is None else Asked(0, None, brief(arguments), None)
    said = statement_of(event, known)
    return Contents(event.entity_id, event.domain or None, (said,), 1)


def statement_of(event: Excerpt, asked: Asked | None = None) -> Statement:
    """Return what an event says; `asked` is the request of the approval that it decides."""
    payload = event.payload if isinstance(event.payload, dict) else {}
    at = moment(event.at_us)
    if event.erased:
        return Statement(event.seq, event.kind, at, Act.HIDDEN)
    act, content = _act(event.kind, payload), None
    if act is Act.RECORDED:
        content = brief(event.payload)
    elif act is Act.SAID:
        said = payload.get("content")
        content = _cut(message_text(said[: MAX_CONTENT + 2] if isinstance(said, list) else said))
    elif act is Act.ANSWERED:
        content = brief(payload.get("tool_result"))
    elif act in (Act.ASKED, Act.REQUESTED):
        content = brief(payload.get("tool_args"))
    elif act in _DECISIONS.values():
        content = asked.arguments if asked else None
    return Statement(
        event.seq,
        event.kind,
        at,
        act,
        actor=_cut(event.actor),
        what=_text(payload, "tool_name") or (asked.tool if asked else None),
        content=content,
        digest=_text(payload, "args_sha256") if content is None else None,
        reason=_text(payload, "reason") or _text(payload, "error_message"),
        about=_number(payload, "seq" if act is Act.ERASED else "request_seq"),
    )


def arguments_match(event: Excerpt, arguments: Json) -> bool:
    """Return whether an event names the digest of these arguments."""
    named = event.payload.get("args_sha256") if isinstance(event.payload, dict) else None
    return isinstance(arguments, dict) and named == sha256(canonical(arguments)).hexdigest()


def brief(value: Json) -> str:
    """Return the beginning of a value as JSON; a large one is not serialized to its end."""
    if (
        isinstance(value, dict)
        and len(value) <= _FEW
        and not any(isinstance(each, dict | list) for each in value.values())
    ):
        return _cut(_ENCODER.encode(value)) or ""  # several times as fast as piece by piece
    parts, length = list[str](), 0
    for part in _ENCODER.iterencode(value):
        parts.append(part[: MAX_CONTENT + 1])
        length += len(part)
        if length > MAX_CONTENT:
            break
    return _cut("".join(parts)) or ""


class ContentsReader:
    """Reads the events of a whole history once, in order; it holds the shown ones and what is open."""

    def __init__(self) -> None:
        self._first: list[Statement] = []
        self._last: deque[Statement | tuple[Excerpt, Asked | None]] = deque(maxlen=LAST)
        self._count = 0
        self._line_bytes = 0
        self._tools: dict[bytes, deque[int]] = {}
        self._results: dict[int, bytes] = {}  # the tool use by the number that is reserved for its result
        self._asked: dict[bytes, Asked] = {}  # by the id of the approval
        self._decisions: dict[UUID, bytes] = {}  # the approval by the id of the decision to come
        self._expired: list[int] = []
        self._voided: list[tuple[int, str | None]] = []
        self._hidden: list[int] = []

    def take(self, event: Excerpt) -> None:
        """Read the next event."""
        asked = self._follow(event) if event.kind in _FOLLOWED or event.salt is None else None
        if self._count < FIRST:
            self._first.append(statement_of(event, asked))
        elif self._line_bytes > _LARGE:
            self._last.append(statement_of(event, asked))
        else:
            self._last.append((event, asked))
        self._count += 1

    def measuring(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the lines of the events that are read next, each before its event."""
        for line in lines:
            self._line_bytes = len(line)
            yield line

    def reading(self, events: Iterable[Excerpt]) -> Iterator[Excerpt]:
        """Yield these events and read each."""
        for event in events:
            self.take(event)
            yield event

    def contents(self, entity_id: UUID, domain: str | None) -> Contents:
        """Return what the events said, and what they leave open."""
        last = [each if isinstance(each, Statement) else statement_of(*each) for each in self._last]
        open_tools = sorted(seq for seqs in self._tools.values() for seq in seqs)
        whole = Completeness(
            tuple(open_tools),
            tuple(sorted(each.seq for each in self._asked.values())),
            tuple(self._expired),
            tuple(self._voided),
            tuple(self._hidden),
        )
        return Contents(entity_id, domain, (*self._first, *last), self._count, whole)

    def _follow(self, event: Excerpt) -> Asked | None:
        """Note what an event opens or closes; return the request of the approval that it decides."""
        payload = event.payload if isinstance(event.payload, dict) else {}
        if event.erased:
            self._hidden.append(event.seq)
            if event.kind == DECIDED:  # its id is derived from that of the approval
                self._asked.pop(self._decisions.get(event.event_id, b""), None)
            elif event.kind == ANSWERED:
                self._answer(self._results.get(event.seq))
        elif event.kind == SLOT_VOIDED.name:
            self._voided.append((event.seq, _text(payload, "reason")))
        elif event.kind in (REQUESTED, ANSWERED):
            self._follow_tool(event, _key(payload, "tool_use_id"))
        elif event.kind == ASKED and (key := _key(payload, "approval_id")):
            decision = decision_id(event.entity_id, str(payload["approval_id"]))
            if decision not in self._decisions:  # the first request counts
                self._decisions[decision] = key
                self._asked[key] = _asked(event.seq, payload)
        elif event.kind == DECIDED:
            return self._decide(event.seq, payload)
        return None

    def _follow_tool(self, event: Excerpt, key: bytes | None) -> None:
        if key and event.kind == REQUESTED:
            self._tools.setdefault(key, deque()).append(event.seq)
            if (reserved := _number(event.payload, "result_seq")) is not None:
                self._results[reserved] = key
        else:
            self._answer(key)

    def _answer(self, key: bytes | None) -> None:
        if key and (waiting := self._tools.get(key)):
            waiting.popleft()
            if not waiting:
                del self._tools[key]

    def _decide(self, seq: int, payload: Mapping[str, Json]) -> Asked | None:
        asked = self._asked.pop(_key(payload, "approval_id") or b"", None)
        if payload.get("decision") == "expired":
            self._expired.append(asked.seq if asked else seq)
        if asked and not asked.answers(payload):
            return asked._replace(arguments=None)
        return asked


def _asked(seq: int, payload: Mapping[str, Json]) -> Asked:
    arguments = payload.get("tool_args")
    shown = brief(arguments)
    digest = None if shown.endswith("…") else sha256(canonical(arguments)).hexdigest()
    return Asked(seq, _text(payload, "tool_name"), shown, digest)


def _act(kind: str, payload: Mapping[str, Json]) -> Act:
    if kind == DECIDED:
        decision = payload.get("decision")
        return _DECISIONS.get(decision, Act.RECORDED) if isinstance(decision, str) else Act.RECORDED
    if kind in _SAID:
        return Act.SAID
    return _ACTS.get(kind, Act.RECORDED)


_ACTS = {
    ASKED: Act.ASKED,
    REQUESTED: Act.REQUESTED,
    ANSWERED: Act.ANSWERED,
    SLOT_VOIDED.name: Act.VOIDED,
    BODY_ERASED.name: Act.ERASED,
}


def _key(payload: Mapping[str, Json], name: str) -> bytes | None:
    """Return a short key of an id of any length, or None if there is none."""
    value = payload.get(name)
    return sha256(utf8(value)).digest()[:16] if isinstance(value, str) else None


def _text(payload: Mapping[str, Json], name: str) -> str | None:
    value = payload.get(name)
    return _cut(value) if isinstance(value, str) else None


def _number(payload: Json, name: str) -> int | None:
    value = payload.get(name) if isinstance(payload, dict) else None
    return value if type(value) is int else None


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= MAX_CONTENT else f"{text[:MAX_CONTENT]}…"
