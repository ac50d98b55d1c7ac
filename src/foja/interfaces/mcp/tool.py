"""Tools from operations: what an act takes, and its help, are those of the tool."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from foja.errors import FojaError
from foja.interfaces.mcp.agent import agent_acting
from foja.interfaces.mcp.answers import shown
from foja.interfaces.operations.call import call
from foja.interfaces.operations.caller import Caller, check_key
from foja.interfaces.operations.operation import Operation, Parameter, signature_of, template_of

KEY = Parameter(
    name="idempotency_key",
    type=str | None,
    default=None,
    alias="idempotency_key",
    help="your name for this call; the same key again answers with what the first made",
)


def tool_of(operation: Operation) -> Callable[..., Awaitable[dict[str, Any]]]:
    """Return the function of a tool. Its refusals say what, why, what to do next, and the code."""
    signature = signature_of(operation)
    taken = (*signature.path, *signature.query, *signature.body)
    names = {each.alias: each.name for each in taken}

    async def run(**given: Any) -> dict[str, Any]:
        agent, key = agent_acting(), given.pop(KEY.name, None)
        caller = Caller(agent.app, agent.principal, key, template_of(operation).format(**given))
        try:
            check_key(key)
            arguments = {names[alias]: value for alias, value in given.items()}
            answer: dict[str, Any] = shown(await call(operation, caller, arguments, shown(given)))
        except FojaError as error:
            again = "; it may succeed later" if error.retryable else ""
            raise ToolError(f"{error} (code: {error.code}{again})") from error
        return answer

    parameters = [_parameter(each) for each in (*taken, *([KEY] if operation.keyed else ()))]
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        parameters, return_annotation=dict[str, Any]
    )
    return run


def _parameter(given: Parameter) -> inspect.Parameter:
    return inspect.Parameter(
        given.alias,
        inspect.Parameter.KEYWORD_ONLY,
        default=given.default,
        annotation=Annotated[given.type, Field(description=given.help)],
    )
