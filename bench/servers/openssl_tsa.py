"""`openssl ts` behind HTTP: `python -m bench.servers.openssl_tsa FOLDER`; prints its port.

A program is started for every token: that is what there is to install.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_one_at_a_time = threading.Lock()  # its file of serial numbers knows no lock


class Requests(BaseHTTPRequestHandler):
    """Answers a request by running openssl."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    folder = Path()

    def do_POST(self) -> None:
        query = self.rfile.read(int(self.headers["content-length"]))
        with tempfile.TemporaryDirectory() as place, _one_at_a_time:
            asked, said = Path(place) / "q", Path(place) / "r"
            asked.write_bytes(query)
            words = ["openssl", "ts", "-reply", "-config", "tsa.cnf"]
            files = ["-queryfile", str(asked), "-out", str(said)]
            subprocess.run([*words, *files], cwd=self.folder, stdout=subprocess.DEVNULL, check=True)
            reply = said.read_bytes()
        self.send_response(200)
        self.send_header("content-type", "application/timestamp-reply")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """Lets as many callers wait as there are."""

    request_queue_size = 128


def main(folder: Path) -> None:
    """Serve until stopped."""
    Requests.folder = folder
    server = Server(("127.0.0.1", 0), Requests)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
