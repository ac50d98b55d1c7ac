"""`foja mcp`: serve one AI agent on standard input and output."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from foja.app import App
from foja.engine.tasks import end
from foja.interfaces.cli.installation import read_settings
from foja.interfaces.mcp.agent import Agent
from foja.interfaces.mcp.files import Root
from foja.interfaces.mcp.server import serve_stdio
from foja.pure.models.access.principal import Principal, parse_scopes

AGENT = "mcp"


async def serve(arguments: Namespace) -> None:
    """Serve until the client closes its end. The worker runs beside it, unless it runs elsewhere."""
    root = None if arguments.root is None else Root.at(arguments.root)
    async with App(read_settings(arguments)) as app:
        tenant = app.settings.own_tenant
        principal = Principal(tenant, arguments.actor, parse_scopes(arguments.scope or ["read", "write"]))
        work = asyncio.create_task(app.work()) if arguments.worker else None
        try:
            await serve_stdio(Agent(principal, app.tenant(tenant), root))
        finally:
            if work:
                await end([work])
