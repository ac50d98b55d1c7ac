"""What each door offers of each act, compared with its declaration: what it takes, answers and needs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from foja.app import App
from foja.client import acts as python_client
from foja.interfaces.cli.parser.acts import ACTS
from foja.interfaces.mcp.server import build_server
from foja.interfaces.operations.operation import Operation, signature_of, template_of
from foja.pure.models.access.principal import ALL, Scope
from generate.source import javascript_name
from tests.docs import doors

KEY = "idempotency_key"
DOCS = Path(__file__).parents[2] / "docs"


def aliases(operation: Operation) -> set[str]:
    """Return the names of what it takes outside Python, with its key."""
    found = signature_of(operation)
    return {each.alias for each in (*found.path, *found.query, *found.body)} | keys(operation)


def keys(operation: Operation) -> set[str]:
    return {KEY} if operation.keyed else set()


def names(operation: Operation) -> set[str]:
    """Return the names of what it takes in Python, without those that its thing has, with its key."""
    found = signature_of(operation)
    every = {each.name for each in (*found.path, *found.query, *found.body)}
    return (every - found.found) | keys(operation)


def of_http(operation: Operation, document: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield what differs in the OpenAPI document: the name of a part, as declared, and as it is there."""
    found = document["paths"].get(template_of(operation), {}).get(operation.method.lower(), {})
    yield "name", operation.name, found.get("operationId")
    taken = {each["name"].lower().replace("-", "_") for each in found.get("parameters", ())}
    for content in found.get("requestBody", {}).get("content", {}).values():
        taken |= _schema(document, content["schema"])["properties"].keys()
    yield "takes", aliases(operation), taken
    said = [each["content"] for status, each in found.get("responses", {}).items() if status.startswith("2")]
    answers = {each["application/json"]["schema"].get("$ref", "").rpartition("/")[2] for each in said}
    yield "answers", {signature_of(operation).answer.__name__}, answers


def _schema(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema


def of_python(operation: Operation) -> Iterator[tuple[str, Any, Any]]:
    """Yield what the generated part of the Python client has."""
    owner, _, name = operation.name.partition(".")
    found = inspect.signature(getattr(getattr(python_client, f"{owner.title()}Acts"), name))
    yield "takes", names(operation), found.parameters.keys() - {"self"}
    yield "answers", signature_of(operation).answer.__name__, found.return_annotation


def of_javascript(operation: Operation, known: Mapping[str, list[str]]) -> Iterator[tuple[str, Any, Any]]:
    """Yield what the generated part of the JavaScript client takes."""
    owner, _, name = operation.name.partition(".")
    found = signature_of(operation)
    taken = aliases(operation) - {each.alias for each in found.path if each.name in found.found}
    now = known.get(f"{owner.title()}Acts.{javascript_name(name)}", ())
    yield "takes", {*map(javascript_name, taken)}, {*now}


def of_command(operation: Operation) -> Iterator[tuple[str, Any, Any]]:
    """Yield what the command takes."""
    found = {each.words: {*map(_parameter, each.arguments)} - {"actor"} for each in ACTS}
    left_out = {each.parameter for each in operation.options if not each.usage}
    yield "takes", names(operation) - keys(operation) - left_out, found.get(operation.verb or "")


def _parameter(argument: Any) -> str:
    """Return the name of the parameter, which the usage has if nothing else says it."""
    words = re.findall(r"\w+", argument.usage.replace("-", "_").lower())
    return str(argument.parameter or words[0].strip("_"))


def of_tool(operation: Operation, tools: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Any, Any]]:
    """Yield what the tool takes."""
    found = tools.get(operation.tool or "", {})
    yield "takes", aliases(operation), {*found.get("properties", {})}


def of_docs(operation: Operation) -> Iterator[tuple[str, Any, Any]]:
    """Yield the scope in the tables of docs/access.md, docs/http.md and docs/mcp.md."""
    scope, address = str(operation.scope or "–"), f"{operation.method} {template_of(operation)}"
    cells = [row for row in rows("access") if row[0] == f"`{operation.name}`"]
    yield "needs", (f"`{address}`", scope), (cells[0][1], re.split("[`,]+", cells[0][2].strip("`"))[0])
    if operation.owner != "access":  # docs/access.md has these
        area = re.match(r"/v1/\w+", operation.path)[0]  # type: ignore[index]
        found = [row[2] for row in rows("http") if f"`{area}" in row[0] and "NUMBER" not in row[0]]
        yield "needs", [True], [scope in re.split(r"\W+", each) for each in found]
    if operation.tool:
        found = [row[1] for row in rows("mcp") if f"`{operation.tool}`" in row[0]]
        yield "needs", [scope], [re.split(r"\W", each)[0] for each in found]


@cache
def rows(page: str) -> list[list[str]]:
    """Return the rows of the tables of a page."""
    lines = (DOCS / f"{page}.md").read_text().splitlines()
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines if line.startswith("| ")]


async def differences(operations: Iterable[Operation]) -> list[str]:
    """Return where a door differs from a declaration, as `http jobs.list takes`."""
    document, script = doors.openapi(), doors.javascript()
    tools = {each.name: each.input_schema for each in await build_server(with_files=False).list_tools()}
    found = []
    for each in operations:
        seen = {"http": of_http(each, document), "docs": of_docs(each)}
        if each.client:
            seen |= {"python": of_python(each), "javascript": of_javascript(each, script)}
        seen |= {"command": of_command(each)} if each.verb else {}
        seen |= {"tool": of_tool(each, tools)} if each.tool else {}
        for door, parts in seen.items():
            found += sorted({f"{door} {each.name} {part}" for part, here, there in parts if here != there})
    return found


async def other_scopes(operations: Iterable[Operation], app: App, server: httpx.AsyncClient) -> list[str]:
    """Return the acts that a key without their scope may do over HTTP, or with another than is declared."""
    found, made = [], {}
    for scope in ALL:
        given = [each for each in ALL if each not in (scope, Scope.ADMIN)]  # admin has all of them
        made[scope] = (await app.access.keys.create("default", given, installation=True)).text
    for each in operations:
        if each.scope is not None:
            path = re.sub(r"\{\w+\}", "1", template_of(each))
            headers = {"Authorization": f"Bearer {made[each.scope]}"}
            answer = await server.request(each.method, path, headers=headers)
            if answer.status_code != 403 or f"`{each.scope}`" not in answer.json()["detail"]:
                found.append(each.name)
    return found
