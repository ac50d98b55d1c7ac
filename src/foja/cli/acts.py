"""Commands that do one act: call its function, and print what it returned."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from foja.cli.installation import open_installation
from foja.cli.output import print_result
from foja.cli.texts import CODES, TEXTS
from foja.operations import OPERATIONS
from foja.operations.operation import signature_of
from foja.pages import MAX_LIMIT, Rows, row_field


async def act(arguments: Namespace) -> int:
    """Do the act of a command; return its exit code."""
    [operation] = [each for each in OPERATIONS if each.name == arguments.operation]
    signature = signature_of(operation)
    names = [each.name for each in (*signature.path, *signature.query, *signature.body)]
    given = {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}
    if "actor" in signature.given:
        given["actor"] = arguments.actor
    async with open_installation(arguments) as app:
        result = await _rows(partial(operation.run, operation.of(app)), given)
    print_result(arguments, _document(result), *TEXTS[type(result)](result, operation.name))
    return CODES[type(result)](result) if type(result) in CODES else 0


async def _rows(run: Callable[..., Awaitable[Any]], given: dict[str, Any]) -> Any:
    """Return an answer; of a page, as many rows as were asked for, from as many pages as that takes."""
    wanted = given.get("limit", 0)
    if wanted <= MAX_LIMIT:
        return await run(**given)
    page = await run(**{**given, "limit": MAX_LIMIT})
    rows = [*page]
    while page.next is not None and len(rows) < wanted:
        page = await run(**{**given, "limit": min(MAX_LIMIT, wanted - len(rows)), "before": page.next})
        rows += page
    return replace(page, **{row_field(type(page)): rows})


def _document(result: Any) -> Any:
    return [asdict(each) for each in result] if isinstance(result, Rows) else asdict(result)
