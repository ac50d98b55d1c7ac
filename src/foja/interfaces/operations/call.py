"""Do an act for a caller, from any door: its scope, its actor and its key are applied here, once."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import isawaitable
from typing import Any

from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.operation import Operation, signature_of


async def call(operation: Operation, caller: Caller, given: Mapping[str, Any], asked: Any = None) -> Any:
    """Return the answer to an act. `asked` is what a request under a key is compared by."""
    operation.check(caller.principal)
    if operation.made is None:
        return await _run(operation, caller, given)
    request = caller.request()
    await request.found(asked)
    result = await _run(operation, caller, given)
    await request.note(asked, *operation.made(result))
    return result


async def _run(operation: Operation, caller: Caller, given: Mapping[str, Any]) -> Any:
    signature = signature_of(operation)
    target = operation.of(caller, **{name: given[name] for name in signature.found})
    if isawaitable(target):
        target = await target
    arguments = {name: value for name, value in given.items() if name in signature.ran}
    if "actor" in signature.ran:
        arguments["actor"] = caller.principal.author(arguments.get("actor"))
    if "idempotency_key" in signature.ran:
        arguments["idempotency_key"] = caller.key
    return await operation.run(target, **arguments)
