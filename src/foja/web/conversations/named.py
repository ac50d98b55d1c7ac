"""What the address of a request names, as the tenant of its caller sees it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from foja.conversations.service import Conversation
from foja.core.registry import Domain
from foja.errors import UnknownEntity
from foja.ledger.stream import Stream
from foja.tenants.app import TenantApp
from foja.web.caller import AnyCaller


async def conversation_of(caller: AnyCaller, conversation_id: str) -> Conversation:
    """Return the conversation that the address of a request names."""
    conversation = await caller.app.conversations.open(conversation_id)
    await check_domain(caller.app, conversation)
    return conversation


async def stream_of(caller: AnyCaller, domain: str, stream_id: str) -> Stream:
    """Return the stream that the address of a request names."""
    return await open_stream(caller.app, await caller.app.registry.find(domain), stream_id)


async def open_stream(app: TenantApp, domain: Domain, stream_id: str) -> Stream:
    """Return a stream of this domain; one of another domain is unknown here."""
    stream = await app.streams(domain).open(stream_id)
    await check_domain(app, stream)
    return stream


async def check_domain(app: TenantApp, stream: Stream) -> None:
    """Raise `UnknownEntity` if a stream has events of another domain."""
    rows = await app.ledger.ask("stream_domain", entity=stream.id)
    if rows and rows[0][0] != stream.domain.name:
        raise UnknownEntity(f"there is no {stream.domain.name} {stream.id}; check the id and the domain")


NamedConversation = Annotated[Conversation, Depends(conversation_of)]
NamedStream = Annotated[Stream, Depends(stream_of)]
