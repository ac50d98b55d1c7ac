"""Conversations, their slots and their approvals."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from foja.web.reference.answers.answer import Answer
from foja.web.reference.answers.events import EventAnswer


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
    state: Literal["requested", "approved", "denied", "expired", "erased"]
    reason: str | None
    decided_by: str | None
    decided_seq: int | None
    policy: str | None


class ApprovalList(Answer):
    """The approvals of a conversation, in order."""

    approvals: list[ApprovalAnswer]


class DecidedApproval(ApprovalAnswer):
    """An approval with the decision that counts."""

    mine: bool = Field(description="whether it is the decision of this request")
