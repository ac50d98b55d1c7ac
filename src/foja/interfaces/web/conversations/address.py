"""The conversation that the address of a request names, for a caller who may read, write or approve."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from foja.domains.conversations.service import Conversation
from foja.interfaces.web.caller import Approver, Caller, Reader, Writer


async def read_by(caller: Reader, conversation_id: str) -> Conversation:
    """Return a conversation for a caller who may read."""
    return await _open(caller, conversation_id)


async def written_by(caller: Writer, conversation_id: str) -> Conversation:
    """Return a conversation for a caller who may write."""
    return await _open(caller, conversation_id)


async def decided_by(caller: Approver, conversation_id: str) -> Conversation:
    """Return a conversation for a caller who may decide its approvals."""
    return await _open(caller, conversation_id)


async def _open(caller: Caller, conversation_id: str) -> Conversation:
    conversation = await caller.app.conversations.open(conversation_id)
    await conversation.check_domain()
    return conversation


ReadConversation = Annotated[Conversation, Depends(read_by)]
WrittenConversation = Annotated[Conversation, Depends(written_by)]
DecidedConversation = Annotated[Conversation, Depends(decided_by)]
