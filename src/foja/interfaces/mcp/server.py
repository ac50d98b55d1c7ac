"""The server of the protocol: on standard input and output, and as the answer to an HTTP request."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import ValidationError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from foja import __version__
from foja.errors import BadPayload
from foja.interfaces.mcp import conversations, documents
from foja.interfaces.mcp.agent import Agent, acting
from foja.interfaces.mcp.tool import tool_of
from foja.interfaces.operations import OPERATIONS
from foja.interfaces.operations.operation import signature_of
from foja.pure.models.access import principal

PATH = "/mcp"
INSTRUCTIONS = (
    "Foja records events that cannot be changed, and makes evidence that anyone can check. Record what you "
    "do with open_conversation and append_event; protect files with protect_file, protect_content or "
    "protect_digest; ask document_status what a document waits for; verify_document judges the evidence."
)


class ExplainedServer(MCPServer[None]):
    """A server whose refusals of arguments are ours: which argument, why, and what it takes."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[None, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; raise `ToolError` in our words for arguments that it does not take."""
        takes = {each.name: each.input_schema.get("properties", {}) for each in await self.list_tools()}
        if unknown := arguments.keys() - takes.get(name, arguments):
            raise _unfit(name, [f"{each}: there is no such argument" for each in sorted(unknown)])
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise _unfit(name, _wrong(error.__cause__)) from None
            raise


def _unfit(tool: str, wrong: Iterable[str]) -> ToolError:
    return ToolError(
        f"not valid arguments of {tool} ({'; '.join(wrong)}); tools/list describes them "
        f"(code: {BadPayload.code})"
    )


def _wrong(error: ValidationError) -> Iterable[str]:
    for each in error.errors():
        yield f"{'.'.join(map(str, each['loc']))}: {each['msg'][:1].lower()}{each['msg'][1:]}"


@cache
def build_server(*, with_files: bool) -> ExplainedServer:
    """Return the server; tools that take a path only if asked for."""
    server = ExplainedServer(
        "foja", title="Foja", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING"
    )
    files = documents.WITH_FILES if with_files else ()
    for each in (*files, *documents.OPERATIONS, *conversations.OPERATIONS, *OPERATIONS):
        if each.tool:
            reads = each.scope is principal.Scope.READ and each.repeatable
            hints = ToolAnnotations(
                read_only_hint=reads,
                destructive_hint=False,
                idempotent_hint=reads or (each.repeatable and not each.keyed),
            )
            text = " ".join(signature_of(each).help.split())
            server.add_tool(tool_of(each), name=each.tool, description=text, annotations=hints)
    return server


async def serve_stdio(agent: Agent) -> None:
    """Serve one client on standard input and output, until it closes them."""
    with acting(agent):
        await build_server(with_files=agent.root is not None).run_stdio_async()


class ProtocolAnswer(Response):
    """The answer to one request of the protocol (streamable HTTP). No session is kept between requests."""

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self._agent = agent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; host names and origins were checked before."""
        application = build_server(with_files=False).streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        with acting(self._agent):
            async with application.router.lifespan_context(application):
                await application(scope, receive, send)
