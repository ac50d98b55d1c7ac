"""`/mcp`: the Model Context Protocol over HTTP, with the keys and scopes of the API."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, BinaryIO

from starlette.responses import Response

from foja.errors import Unavailable
from foja.interfaces.mcp.agent import Agent
from foja.interfaces.mcp.server import PATH, ProtocolAnswer
from foja.interfaces.web.caller import Caller
from foja.interfaces.web.operation import HttpOperation
from foja.interfaces.web.problems import Rejected
from foja.interfaces.web.verify.judge import Judges, VerifyRequest


async def answer(caller: Caller) -> Response:
    """Answer one request of the protocol. Each tool asks for its own scope; none takes a path."""
    return ProtocolAnswer(Agent(caller.principal, caller.app, judge=partial(_judge, caller.ctx.judges)))


async def _judge(judges: Judges, file: BinaryIO, trust: Sequence[str]) -> Mapping[str, Any]:
    """Judge in a process with limits, as `/v1/verify` does."""
    try:
        report: Mapping[str, Any] = json.loads(await judges.judge(file, VerifyRequest(trust=trust)))
    except Rejected as error:
        raise Unavailable(f"{error}") from error
    return report


OPERATIONS = (HttpOperation("mcp.answer", f"POST {PATH}", answer, None, described=False),)
