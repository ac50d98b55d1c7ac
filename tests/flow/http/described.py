"""A client that checks each answer against the OpenAPI document of the server."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import jsonschema

from foja.app import App
from tests.flow.client.client import served

JSON = ("application/json", "application/problem+json")


@dataclass
class Described:
    """A client of the addresses of the document, by their templates."""

    client: httpx.AsyncClient
    document: dict[str, Any]
    called: set[tuple[str, str]] = field(default_factory=set)

    async def call(
        self, method: str, path: str, status: int, body: Any = None, /, *, query: str = "", **more: Any
    ) -> httpx.Response:
        """Send a request, and check the status and the schema of its answer."""
        names = re.findall(r"\{(\w+)\}", path)
        values = {name: more.pop(name) for name in names}
        if body is not None:
            more["json"] = body
        answer = await self.client.request(method, path.format(**values) + query, **more)
        assert answer.status_code == status, answer.text
        self.check(method.lower(), path, answer)
        self.called.add((method.lower(), path))
        return answer

    def check(self, method: str, path: str, answer: httpx.Response) -> None:
        """Check an answer against the description of its status."""
        answers = self.document["paths"][path][method]["responses"]
        status = str(answer.status_code)
        described = answers.get(status) or answers[f"{status[0]}XX"]
        kind = answer.headers.get("content-type", "").partition(";")[0]
        if "content" not in described:
            assert not answer.content
            return
        assert kind in described["content"], kind
        if kind in JSON and method != "head":
            schema = {**described["content"][kind]["schema"], "components": self.document["components"]}
            jsonschema.validate(answer.json(), schema)

    def uncalled(self, *prefixes: str) -> Iterator[str]:
        """Yield the operations below these addresses that were not called."""
        for path, methods in self.document["paths"].items():
            if path.startswith(prefixes):
                for method in methods:
                    if (method, path) not in self.called:
                        yield f"{method} {path}"


@asynccontextmanager
async def described(app: App) -> AsyncIterator[Described]:
    """Serve an app and yield a client of it that checks every answer."""
    async with served(app) as client:
        yield Described(client, (await client.get("/openapi.json")).json())
