"""`/mcp`: the Model Context Protocol over HTTP, with the keys and scopes of the API."""

from __future__ import annotations

from fastapi import APIRouter, Response

from foja.mcp.agent import Agent
from foja.mcp.server import PATH, ProtocolAnswer
from foja.web.caller import AnyCaller

routes = APIRouter(include_in_schema=False)


@routes.post(PATH)
async def answer(caller: AnyCaller) -> Response:
    """Answer one request of the protocol. Each tool asks for its own scope; none takes a path."""
    return ProtocolAnswer(Agent(caller.principal, caller.app))
