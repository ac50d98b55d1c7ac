"""Commands that do one act: call its function, and print what it returned."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from foja.app import App
from foja.domains.access.local import local_actor
from foja.engine.ledger.event import Event
from foja.interfaces.cli.installation import open_installation, open_to_write
from foja.interfaces.cli.output import print_result, progress_bar
from foja.interfaces.cli.texts import CODES, lines_of
from foja.interfaces.operations import OPERATIONS
from foja.interfaces.operations.call import call
from foja.interfaces.operations.caller import Caller
from foja.interfaces.operations.operation import Made, Operation, signature_of
from foja.pure.models.access.principal import ALL, Principal
from foja.pure.pages import MAX_LIMIT, Rows, next_of, row_field

LONG = {"maintenance.cleanup": "scanning", "maintenance.purge": "purging"}


async def act(arguments: Namespace) -> int:
    """Do the act of a command; return its exit code."""
    [operation] = [each for each in OPERATIONS if each.name == arguments.operation]
    signature = signature_of(operation)
    names = [each.name for each in (*signature.path, *signature.query, *signature.body)]
    given = {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}
    with progress_bar(LONG[operation.name]) if operation.name in LONG else nullcontext() as bar:
        async with _opened(arguments, operation) as app:
            actor = getattr(arguments, "actor", local_actor())
            who = Principal(app.settings.own_tenant, actor, ALL, installation=True)
            run = partial(call, operation, Caller(app, who, progress=bar))
            result = await (_rows(run, given) if "before" in names else run(given))
    if isinstance(result, Made):
        result = result.answer
    print_result(arguments, _document(result), *lines_of(result, arguments))
    return CODES[type(result)](result) if type(result) in CODES else 0


def _opened(arguments: Namespace, operation: Operation) -> AbstractAsyncContextManager[App]:
    """Return the installation, which what is made may be the first thing in."""
    if operation.method == "GET":
        return open_installation(arguments)
    return open_to_write(arguments, existing=operation.status != 201)


async def _rows(run: Callable[[Mapping[str, Any]], Awaitable[Any]], given: Mapping[str, Any]) -> Any:
    """Return an answer; of a page, as many rows as were asked for, from as many pages as that takes."""
    wanted = given.get("limit", 0)
    if wanted <= MAX_LIMIT:
        return await run(given)
    page = await run({**given, "limit": MAX_LIMIT})
    rows = [*page]
    while next_of(page) is not None and len(rows) < wanted:
        page = await run({**given, "limit": min(MAX_LIMIT, wanted - len(rows)), page.by: next_of(page)})
        rows += page
    return replace(page, **{row_field(type(page)): rows})


def _document(result: Any) -> Any:
    if isinstance(result, Event):
        return result.envelope()
    return [asdict(each) for each in result] if isinstance(result, Rows) else asdict(result)
