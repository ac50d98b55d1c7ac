"""The conversation that the address of a request names, for who may read, write or decide in it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from foja.conversations.service import Conversation
from foja.errors import UnknownEntity
from foja.ledger.stream import Stream
from foja.web.caller import Approver, Caller, Reader, Writer


async def to_read(caller: Reader, conversation_id: str) -> Conversation:
    """Return the conversation of a request that reads."""
    return await _open(caller, conversation_id)


async def to_write(caller: Writer, conversation_id: str) -> Conversation:
    """Return the conversation of a request that writes."""
    return await _open(caller, conversation_id)


async def to_decide(caller: Approver, conversation_id: str) -> Conversation:
    """Return the conversation of a request that decides an approval."""
    return await _open(caller, conversation_id)


ReadConversation = Annotated[Conversation, Depends(to_read)]
WrittenConversation = Annotated[Conversation, Depends(to_write)]
DecidedConversation = Annotated[Conversation, Depends(to_decide)]


async def check_domain(caller: Caller, stream: Stream) -> None:
    """Raise `UnknownEntity` if a stream has events of another domain."""
    rows = await caller.app.ledger.ask("stream_domain", entity=stream.id)
    if rows and rows[0][0] != stream.domain.name:
        raise UnknownEntity(f"there is no {stream.domain.name} {stream.id}; check the id and the domain")


async def _open(caller: Caller, conversation_id: str) -> Conversation:
    conversation = await caller.app.conversations.open(conversation_id)
    await check_domain(caller, conversation)
    return conversation
