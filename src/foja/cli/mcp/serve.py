"""`foja mcp`: serve one AI agent on standard input and output."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from foja.access.model.principal import Principal, parse_scopes
from foja.app import App
from foja.cli.installation import read_settings
from foja.mcp.agent import Agent
from foja.mcp.files import Root
from foja.mcp.server import serve_stdio
from foja.tasks import end

AGENT = "mcp"


async def serve(arguments: Namespace) -> int:
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
    return 0
