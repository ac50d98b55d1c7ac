"""The plain methods of the Python client, from the tables of operations."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from itertools import groupby
from uuid import UUID

from foja.domains.documents.service import Documents
from foja.interfaces.operations import OPERATIONS
from foja.interfaces.operations.operation import Operation, Parameter, signature_of, template_of
from generate.source import NOTE, Imports, formatted, python_type

HEAD = f'''"""The acts of a server, as the library has them. {NOTE}"""

from __future__ import annotations

'''


def text() -> str:
    """Return the module."""
    imports = Imports({"foja.client.transport": {"Transport"}})
    plain = [each for each in OPERATIONS if each.client]
    by_id = [each for each in plain if each.owner == "document" and hasattr(Documents, _name(each))]
    classes = [
        _class(service, list(operations), imports, by_id if service == "documents" else ())
        for service, operations in groupby(plain, lambda each: each.owner)
    ]
    return formatted(HEAD + imports.text() + "\n\n\n" + "\n\n\n".join(classes) + "\n")


def _class(owner: str, operations: list[Operation], imports: Imports, by_id: Sequence[Operation]) -> str:
    """Return the class of a service, or of one thing; `by_id` are acts of one thing that take its id."""
    named = signature_of(operations[0]).found
    taken, kept, what = "", "", f"What callers can do about {owner}."
    if named:
        imports.names.setdefault("collections.abc", set()).add("Mapping")
        taken, kept = ", names: Mapping[str, object]", "\n        self._names = names"
        what = f"What callers can do with one {owner}; `names` are those in its address."
    written = [_method(each, imports, signature_of(each).found) for each in operations]
    methods = "\n\n".join([*written, *(_method(each, imports, frozenset()) for each in by_id)])
    return f'''class {owner.title()}Acts:
    """{what}"""

    def __init__(self, transport: Transport{taken}) -> None:
        self._transport = transport{kept}

{methods}'''


def _name(operation: Operation) -> str:
    return operation.name.partition(".")[2]


def _method(operation: Operation, imports: Imports, found: frozenset[str]) -> str:
    """Return the method of an act; `found` are the names in the address that its thing has."""
    signature = signature_of(operation)
    answer = python_type(signature.answer, imports)
    first = signature.help.partition("\n\n")[0]
    lines = [
        f"    async def {_name(operation)}(",
        *(f"        {each}," for each in _arguments(operation, imports, found)),
        f"    ) -> {answer}:",
        f'        """{first}"""',
        "        return await self._transport.act(",
        f"            {operation.method!r},",
        f"            {template_of(operation)!r},",
    ]
    for name, parameters in (("path", signature.path), ("query", signature.query), ("body", signature.body)):
        sent = [f"{each.alias!r}: {each.name}" for each in parameters if each.name not in found]
        if name == "path" and found:
            sent.insert(0, "**self._names")
        if sent:
            lines.append(f"            {name}={{{', '.join(sent)}}},")
    if operation.keyed:
        lines.append("            key=idempotency_key or new_key(),")
        imports.names["foja.client.transport"].add("new_key")
    if not operation.repeatable:
        lines.append("            safe=False,")
    return "\n".join([*lines, f"            answer={answer},", "        )"])


def _arguments(operation: Operation, imports: Imports, found: frozenset[str]) -> Iterator[str]:
    """Yield the parameters as the function has them, and the key of the request."""
    signature = signature_of(operation)
    every = (*signature.path, *signature.query, *signature.body)
    known = {each.name: each for each in every if each.name not in signature.found}
    yield "self"
    yield from (f"{name}: {imports.add(UUID)} | str" for name in signature.found - found)
    starred = False
    for each in inspect.signature(operation.run).parameters.values():
        if each.name in known:
            if each.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
                yield "*"
                starred = True
            yield _argument(known[each.name], imports)
    if operation.keyed:
        yield from ((), ("*",))[not starred]
        yield "idempotency_key: str | None = None"


def _argument(parameter: Parameter, imports: Imports) -> str:
    default = "" if parameter.required else f" = {parameter.default!r}"
    return f"{parameter.name}: {python_type(parameter.type, imports)}{default}"
