"""The table of docs/access.md: which scope each act needs, from the tables of operations."""

from __future__ import annotations

from foja.interfaces.operations import OPERATIONS
from foja.interfaces.operations.operation import Operation, template_of
from generate.source import replace_part

BEGIN, END = "<!-- from the tables of operations, by `make generate` -->", "<!-- end of that -->"
HEAD = "| act | address | scope | command | tool |\n|---|---|---|---|---|\n"


def page(text: str) -> str:
    """Return docs/access.md with its table replaced."""
    return replace_part(text, HEAD + "".join(map(_row, OPERATIONS)), BEGIN, END)


def _row(operation: Operation) -> str:
    scope = "–" if operation.scope is None else f"`{operation.scope}`"
    if operation.installation:
        scope += ", installation"
    verb = f"`foja {operation.verb}`" if operation.verb else ""
    tool = f"`{operation.tool}`" if operation.tool else ""
    cells = (f"`{operation.name}`", f"`{operation.method} {template_of(operation)}`", scope, verb, tool)
    return f"| {' | '.join(cells)} |\n"
