"""What callers can do with conversations: their events, reserved numbers, transient events and approvals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, TypeAlias
from uuid import UUID

from pydantic import Field

from foja.domains.conversations.service import Conversation
from foja.domains.documents.document import Document
from foja.engine.ledger.event import Event, Transient
from foja.engine.ledger.reader import NUMBER
from foja.engine.ledger.slots import Slots
from foja.errors import UnknownEntity
from foja.interfaces.answers.streams import (
    ApprovalList,
    ConversationPage,
    Deadline,
    DecidedApproval,
    FirstEvent,
    OpenedConversation,
    Reservation,
    StreamId,
    VoidedSlot,
)
from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.operation import Author, Made, Operation
from foja.interfaces.operations.records.streams import (
    Before,
    Limit,
    Opened,
    Payload,
    Version,
    append,
    append_many,
    check_kind,
    erase,
    is_new,
    protect,
    prove,
    state,
)
from foja.pure.models.access.principal import Scope
from foja.pure.models.conversations.approvals import Approval

OpenConversation: TypeAlias = Opened[Conversation[Document]]
ConversationId = Annotated[str, "the id of a conversation: a UUID of your choice"]
Turn = str | int | None
Index = Annotated[int, Field(ge=0)] | None


async def create(
    caller: Caller,
    *,
    conversation_id: Annotated[UUID | None, Field(alias="id"), "a UUID of your choice"] = None,
    event: Annotated[FirstEvent | None, "its first event"] = None,
) -> Made[OpenedConversation]:
    """Open a conversation. It exists from its first event on, which may come with it."""
    request = caller.request()
    conversation = await caller.app.conversations.open(conversation_id or request.new_id("conversation"))
    asked = {"id": str(conversation.id), "event": event and asdict(event)}
    again = await request.found(asked) is not None
    first = None
    if event is not None:
        first = await append(
            Opened(caller, conversation),
            event.kind,
            event.payload,
            actor=caller.author(event.actor),
            v=event.v,
            idempotency_key=caller.key,
        )
    if not again:
        again = await request.note(asked) is not None
    new = is_new(first) if first else not again
    return Made(OpenedConversation(conversation.id, first), new=new)


async def conversations(caller: Caller, *, before: Before = None, limit: Limit = 100) -> ConversationPage:
    """List conversations, newest first."""
    found = await caller.app.conversations.list(before=before, limit=limit)
    return ConversationPage([StreamId(each) for each in found], found[-1] if len(found) == limit else None)


async def reserve(
    opened: OpenConversation,
    count: int,
    *,
    ttl: Annotated[float, "seconds"] = 30,
    intents: Sequence[Any] | None = None,
) -> Made[Reservation]:
    """Reserve the next numbers, to be filled in any order before the deadline."""
    request, asked = opened.caller.request(), {"count": count, "ttl": ttl, "intents": intents}
    if found := await request.found(asked):
        return Made(_reservation(found), new=False)
    slots = await opened.stream.reserve(count, ttl=ttl, intents=intents)
    made = (str(slots.token), slots.deadline.isoformat(), *map(str, slots.seqs))
    if first := await request.note(asked, *made):
        for ordinal in range(len(slots.seqs)):
            reason = "an equal request was first"
            await slots.void(ordinal, reason=reason, actor=opened.caller.principal.actor)
        return Made(_reservation(first), new=False)
    return Made(_reservation(made), new=True)


async def extend(opened: OpenConversation, token: str, *, ttl: float) -> Deadline:
    """Extend the deadline of the slots that are still open."""
    return Deadline(await _slots(opened, token).extend(ttl))


async def fill(
    opened: OpenConversation,
    token: str,
    seq: str,
    kind: str,
    payload: Payload,
    *,
    actor: Author = None,
    v: int = 1,
    idempotency_key: str | None = None,
) -> Event:
    """Fill a slot with its event. The same event again returns the first, with 200."""
    check_kind(opened.stream, kind, opened.caller)
    slots = _slots(opened, token, seq)
    return await slots.fill(0, kind, payload, actor=actor, v=v, idempotency_key=idempotency_key)


async def void(
    opened: OpenConversation, token: str, seq: str, *, reason: str, actor: str | None = None
) -> VoidedSlot:
    """Void a slot; the conversation records the reason."""
    slots = _slots(opened, token, seq)
    await slots.void(0, reason=reason, actor=actor)
    return VoidedSlot(slots.seq(0))


async def emit(
    opened: OpenConversation,
    kind: str,
    payload: Payload,
    *,
    turn: Turn = None,
    block_index: int | None = None,
    event_index: Index = None,
    v: Version = 1,
) -> Transient:
    """Send a transient event to the current followers; it is not numbered and not stored."""
    return await opened.stream.emit(
        kind, payload, turn=turn, block_index=block_index, event_index=event_index, v=v
    )


async def ask(
    opened: OpenConversation,
    tool_name: str,
    tool_args: Payload,
    *,
    ttl: Annotated[float, "seconds until it expires"] = 300,
    approval_id: Annotated[str | None, "your name for it"] = None,
    tool_use_id: str | None = None,
    policy: Annotated[str | None, "the rule that demands it"] = None,
    turn: Turn = None,
    block_index: int | None = None,
    actor: Author = None,
) -> Made[Approval]:
    """Request an approval of a tool use. The same approval_id again returns the first request."""
    caller, request = opened.caller, opened.caller.request()
    call: dict[str, Any] = {"tool_name": tool_name, "tool_args": tool_args, "tool_use_id": tool_use_id}
    call |= {"policy": policy, "turn": turn, "block_index": block_index, "ttl": ttl}
    asked = {**call, "approval_id": approval_id, "actor": actor}
    if found := await request.found(asked):
        return Made(await opened.stream.approval(found[0]), new=False)
    if caller.key is not None and approval_id is None:
        approval_id = str(request.new_id("approval"))
    approval = await opened.stream.request_approval(**call, approval_id=approval_id, actor=actor)
    first = await request.note(asked, approval.id)
    return Made(approval, new=not first)


async def approvals(opened: OpenConversation) -> ApprovalList:
    """List the approvals of a conversation in order, with their states."""
    return ApprovalList(await opened.stream.approvals())


async def approval(opened: OpenConversation, approval_id: str) -> Approval:
    """Return one approval with its state."""
    return await opened.stream.approval(approval_id)


async def decide(
    opened: OpenConversation,
    approval_id: str,
    decision: Annotated[str, "approved or denied"],
    *,
    reason: str | None = None,
    actor: Author = None,
) -> DecidedApproval:
    """Decide. The first decision or expiry wins and is returned; `mine` says whether it is yours."""
    found = await opened.stream.decide(approval_id, decision, reason=reason, actor=actor)
    return DecidedApproval(**asdict(found.approval), mine=found.mine)


async def known(caller: Caller, conversation_id: ConversationId) -> OpenConversation:
    """Find a conversation; a stream of another domain is unknown here."""
    conversation = await caller.app.conversations.open(conversation_id)
    await conversation.check_domain()
    return Opened(caller, conversation)


async def to_append(caller: Caller, conversation_id: ConversationId) -> OpenConversation:
    """Find a conversation to append to: the append itself refuses a stream of another domain."""
    return Opened(caller, await caller.app.conversations.open(conversation_id))


def _reservation(made: Sequence[str]) -> Reservation:
    token, deadline, *seqs = made
    return Reservation(UUID(token), [*map(int, seqs)], datetime.fromisoformat(deadline))


def _slots(opened: OpenConversation, token: str, seq: str | None = None) -> Slots:
    """Return a reservation with one of its numbers, or with none."""
    if seq is not None and not NUMBER.fullmatch(seq):
        raise UnknownEntity(f"not a valid sequence number: {seq!r}; use a number of the reservation")
    try:
        return opened.stream.slots(UUID(token), [] if seq is None else [int(seq)])
    except ValueError:
        raise UnknownEntity(
            f"not a valid reservation token: {token!r}; use the token that the reservation returned"
        ) from None


ALL, READ, WRITE, APPROVE = "/v1/conversations", Scope.READ, Scope.WRITE, Scope.APPROVE
ONE = f"{ALL}/{{conversation_id}}"
SLOT, ASKED = f"{ONE}/slots/{{token}}/{{seq}}", f"{ONE}/approvals"
APPROVAL = f"{ASKED}/{{approval_id:path}}"
OPERATIONS = (
    Operation(
        *("conversations.create", f"POST {ALL}", create, WRITE),
        takes_key=True,
        location=f"{ALL}/{{0.id}}",
        tool="open_conversation",
    ),
    Operation("conversations.list", f"GET {ALL}", conversations, READ),
    Operation("conversation.state", f"GET {ONE}", state, READ, known),
    Operation(
        *("conversation.append", f"POST {ONE}/events", append, WRITE, to_append),
        new=is_new,
        tool="append_event",
    ),
    Operation("conversation.append_many", f"POST {ONE}/events/batch", append_many, WRITE, to_append),
    Operation(
        *("conversation.prove", f"GET {ONE}/events/{{seq}}/proof", prove, READ, known), tool="prove_event"
    ),
    Operation("conversation.erase", f"POST {ONE}/events/{{seq}}/erase", erase, WRITE, known),
    Operation("conversation.protect", f"POST {ONE}/protect", protect, WRITE, known, takes_key=True),
    Operation("conversation.reserve", f"POST {ONE}/slots", reserve, WRITE, known, takes_key=True),
    Operation("conversation.extend", f"POST {ONE}/slots/{{token}}/extend", extend, WRITE, known),
    Operation("conversation.fill", f"POST {SLOT}", fill, WRITE, known, new=is_new),
    Operation("conversation.void", f"POST {SLOT}/void", void, WRITE, known),
    Operation(
        "conversation.emit", f"POST {ONE}/transients", emit, WRITE, known, repeatable=False, status=202
    ),
    Operation("conversation.request_approval", f"POST {ASKED}", ask, WRITE, known, takes_key=True),
    Operation("conversation.approvals", f"GET {ASKED}", approvals, READ, known),
    Operation("conversation.approval", f"GET {APPROVAL}", approval, READ, known),
    Operation("conversation.decide", f"POST {APPROVAL}", decide, APPROVE, known),
)
