"""The bodies of successful answers, as OpenAPI describes them. Answers are not built from these classes."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """One JSON object with exactly these fields."""

    model_config = ConfigDict(extra="forbid")


class EventAnswer(Answer):
    """An event as it is recorded. An open slot has no id, no time and no source."""

    seq: int = Field(ge=0, description="its number in the stream, from 0 on")
    id: str | None
    kind: str
    at: str | None = Field(description="the database's clock; orders nothing")
    v: int
    actor: str | None
    entity_id: str
    correlation_id: str
    source: str | None = Field(alias="_source")
    payload: dict[str, Any] | None = Field(description="null after an erasure")
    cursor: str | None = Field(description="where a reader continues; null above a hole")


class TransientAnswer(Answer):
    """A transient event: sent to the current followers, never stored."""

    seq: None
    id: str
    kind: str
    at: str
    v: int
    entity_id: str
    turn: str | int | None
    block_index: int | None
    event_index: int | None
    payload: dict[str, Any]
    cursor: None


class EventPage(Answer):
    """A page of events and open slots."""

    events: list[EventAnswer]
    cursor: str | None = Field(description="up to here nothing is missing")
    next: str = Field(description="the address of the next page, or of new events")


class OpenedConversation(Answer):
    """A conversation, with its first event if the body had one."""

    id: str
    event: EventAnswer | None


class ConversationId(Answer):
    """A conversation in a list."""

    id: str


class ConversationPage(Answer):
    """Conversations, newest first."""

    conversations: list[ConversationId]
    next: str | None = Field(description="the address of older ones")


class StreamStateAnswer(Answer):
    """How far a stream is."""

    id: str
    next_seq: int = Field(description="the number of its next event")
    sealed: int = Field(description="how many of its events are sealed")
    gaps: int = Field(description="how many of its numbers were given and voided")


class DomainStreamState(StreamStateAnswer):
    """How far a stream of a domain is."""

    domain: str


class DomainList(Answer):
    """The registered domains, each as the database has it."""

    domains: list[dict[str, Any]]


class ReservedSlots(Answer):
    """Reserved numbers, and the token that fills them."""

    token: str
    seqs: list[int]
    deadline: str


class Deadline(Answer):
    """The new deadline of the slots that are still open."""

    deadline: str


class VoidedSlot(Answer):
    """A number that was voided."""

    seq: int
    voided: Literal[True]


class ApprovalAnswer(Answer):
    """An approval and its state."""

    id: str
    tool_name: str
    tool_args: dict[str, Any]
    tool_use_id: str | None
    expires_at: str | None
    requested_seq: int
    state: Literal["requested", "approved", "denied", "expired"]
    reason: str | None
    decided_by: str | None
    decided_seq: int | None


class ApprovalList(Answer):
    """The approvals of a conversation, in order."""

    approvals: list[ApprovalAnswer]


class DecidedApproval(ApprovalAnswer):
    """An approval with the decision that counts."""

    mine: bool = Field(description="whether it is the decision of this request")


class Health(Answer):
    """The database answers."""

    status: Literal["ok"]


class Part(BaseModel):
    """One part of an installation."""

    ok: bool
    detail: str | None = None


class Readiness(BaseModel):
    """Whether requests can be served, and which part cannot."""

    status: Literal["ok", "failed"]
    parts: dict[str, Part]


class Problem(BaseModel):
    """Why a request was refused, and what to do next (RFC 9457)."""

    type: str = Field(description="`urn:foja:` and the class of the error, or `about:blank`")
    title: str
    status: int
    detail: str = Field(description="what was refused, why, and what to do next")
    error: str | None = Field(default=None, description="the class of the error, if it is one of Foja's")
    code: str | None = Field(default=None, description="the stable code of the error")
