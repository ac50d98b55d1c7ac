"""Headers over the HTTP interface of Esplora, from a node."""

from __future__ import annotations

from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.counterparties.bitcoin_node import BitcoinNode
from tests.counterparties.http_server import listening


def _handler(node: BitcoinNode) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self._found(self.path.strip("/").split("/"))
            body = (found or "Block not found").encode()
            self.send_response(200 if found else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _found(self, path: list[str]) -> str | None:
            if path == ["blocks", "tip", "height"]:
                return str(node.height)
            if path[0] == "block-height":
                return str(node.ask("getblockhash", int(path[1])))
            if path[0] == "block" and path[2] == "header":
                return str(node.ask("getblockheader", path[1], False))
            return None

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def block_server(node: BitcoinNode) -> AbstractContextManager[str]:
    """Lend the URL of a server that shows the chain of a node."""
    return listening(ThreadingHTTPServer(("127.0.0.1", 0), _handler(node)))
