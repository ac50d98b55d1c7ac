"""What each door offers, as flat lists that can be compared: HTTP, commands, tools of MCP, JavaScript."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from starlette.applications import Starlette

from foja.engine.settings import Settings
from foja.interfaces.cli.parser import build_parser
from foja.interfaces.mcp.server import build_server
from foja.interfaces.web.access.front import Front
from foja.interfaces.web.application import create_application
from foja.interfaces.web.reference.openapi import document

STATIC = Path(__file__).parents[2] / "src/foja/interfaces/web/static"
CLASS = re.compile(r"(?:export )?class (\w+)(?: extends (\w+))?")
FUNCTION = re.compile(r"export (?:async )?function ([a-z]\w*)\((.*)\) \{$")
METHOD = re.compile(r"  (?:async |get )*\*?([a-z]\w*)\((.*)\) \{$")
PARAMETER = re.compile(r"\b[A-Za-z]\w*(?=\s*(?:[,=})]|$))")
METHODS = ("get", "put", "post", "delete", "options", "head", "patch")


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document of a server, which needs no database."""
    context: Any = SimpleNamespace(app=SimpleNamespace(access=None), front=Front(Settings()))
    web: Any = create_application(context)
    while not isinstance(web, Starlette):
        web = web._inner
    return document(web)


def http(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return what each address takes and answers, as `query limit` or `200 jobs[]id`; `!` is required."""
    return {
        f"{method.upper()} {path}": sorted(_operation(document, operation))
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    }


def _operation(document: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterator[str]:
    for each in operation.get("parameters", ()):
        if each["in"] != "path":
            yield f"{each['in']} {each['name']}{'!' if each.get('required') else ''}"
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"body as {kind}"
        for name in _fields(document, content.get("schema", {}), required=True):
            yield f"body {name}"
    for status, answer in operation["responses"].items():
        for kind, content in answer.get("content", {"nothing": {}}).items():
            yield f"{status} as {kind}"
            if kind == "application/json":
                for name in _fields(document, content["schema"], required=False):
                    yield f"{status} {name}"


def _fields(
    document: Mapping[str, Any], schema: Mapping[str, Any], *, required: bool, seen: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield the names of all fields below a schema, those of lists with `[]`."""
    if reference := schema.get("$ref"):
        if reference not in seen:
            found = document["components"]["schemas"][reference.rpartition("/")[2]]
            yield from _fields(document, found, required=required, seen=(*seen, reference))
        return
    for word in ("anyOf", "oneOf", "allOf"):
        for each in schema.get(word, ()):
            yield from _fields(document, each, required=required, seen=seen)
    if "items" in schema:
        yield from (f"[]{name}" for name in _fields(document, schema["items"], required=required, seen=seen))
    for name, each in schema.get("properties", {}).items():
        yield f"{name}{'!' if required and name in schema.get('required', ()) else ''}"
        for inner in _fields(document, each, required=required, seen=seen):
            yield f"{name}{'' if inner.startswith('[]') else '.'}{inner}"


def commands() -> dict[str, list[str]]:
    """Return the options and arguments of each verb."""
    return dict(_verbs(build_parser(), "foja"))


def _verbs(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, list[str]]]:
    taken: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb, inner in action.choices.items():
                yield from _verbs(inner, f"{name} {verb}")
            continue
        words = [*action.option_strings] or [f"{action.metavar or action.dest} {action.nargs or 'one'}"]
        choices = [] if action.choices is None else [f"={each}" for each in action.choices]
        taken += [f"{word}{choice}" for word in words for choice in choices or [""]]
    yield name, sorted(taken)


async def tools() -> dict[str, list[str]]:
    """Return the arguments of each tool of MCP; `!` is required."""
    found = await build_server(with_files=True).list_tools()
    schemas = {tool.name: tool.input_schema for tool in found}
    return {
        name: sorted(_fields({"components": {"schemas": each.get("$defs", {})}}, each, required=True))
        for name, each in schemas.items()
    }


def javascript() -> dict[str, list[str]]:
    """Return the names of the parameters of each method of the JavaScript client, inherited ones too."""
    found: dict[str, list[str]] = {}
    parents: dict[str, str] = {}
    scope = ""
    for line in (STATIC / "foja.js").read_text().splitlines():
        if started := CLASS.match(line):
            scope, parents[started[1]] = started[1], started[2] or ""
        if line.endswith("}") and not line.startswith(" "):
            scope = ""
        elif method := (METHOD if scope else FUNCTION).match(line):
            name = f"{scope}.{method[1]}" if scope else method[1]
            found[name] = sorted({*PARAMETER.findall(method[2])} - {"null", "true", "false"})
    for child in parents:
        parent = parents[child]
        while parent in parents:
            inherited = {name: found[name] for name in found if name.startswith(f"{parent}.")}
            found = {f"{child}.{name.partition('.')[2]}": words for name, words in inherited.items()} | found
            parent = parents[parent]
    return found
