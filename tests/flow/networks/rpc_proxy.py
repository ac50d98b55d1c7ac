"""A JSON-RPC server in front of a real node that changes, loses or invents some answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

import httpx

from tests.counterparties.http_server import listening

Ask: TypeAlias = Callable[..., Any]  # ask the real node
Rule: TypeAlias = Callable[[list[Any], Ask], Any]


class Lost(Exception):
    """The connection ends without an answer."""


class Failed(Exception):
    """The answer is an error with this text."""


class Proxy:
    """What it changes: a rule for each method. All other calls are answered by the real node."""

    def __init__(self, target: str) -> None:
        self.rules: dict[str, Rule] = {}
        self.asked: list[str] = []
        self.url = ""
        self._target = target

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request."""
        method, params = request["method"], request["params"]
        self.asked.append(method)
        rule = self.rules.get(method)
        try:
            result = rule(params, self._ask) if rule else self._ask(method, *params)
            return {"jsonrpc": "2.0", "id": request["id"], "result": result}
        except Failed as failed:
            return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32000, "message": str(failed)}}

    def _ask(self, method: str, *params: Any) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        reply = httpx.post(self._target, json=request, timeout=20).json()
        if "error" in reply:
            raise Failed(reply["error"]["message"])
        return reply["result"]


@contextmanager
def proxy(target: str) -> Iterator[Proxy]:
    """Lend a proxy in front of a node."""
    found = Proxy(target)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                answer = found.answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            except Lost:
                self.close_connection = True
                return
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with listening(server) as found.url:
        yield found
