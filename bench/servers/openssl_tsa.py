"""`openssl ts` behind HTTP: `python -m bench.servers.openssl_tsa FOLDER`; prints its port.

It starts a process for every token: openssl offers no server.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_serial_lock = threading.Lock()  # openssl does not lock its file of serial numbers


class Requests(BaseHTTPRequestHandler):
    """Runs openssl for every request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    folder = Path()

    def do_POST(self) -> None:
        query = self.rfile.read(int(self.headers["content-length"]))
        with tempfile.TemporaryDirectory() as folder, _serial_lock:
            request_file, reply_file = Path(folder) / "q", Path(folder) / "r"
            request_file.write_bytes(query)
            command = ["openssl", "ts", "-reply", "-config", "tsa.cnf"]
            files = ["-queryfile", str(request_file), "-out", str(reply_file)]
            subprocess.run([*command, *files], cwd=self.folder, stdout=subprocess.DEVNULL, check=True)
            reply = reply_file.read_bytes()
        self.send_response(200)
        self.send_header("content-type", "application/timestamp-reply")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log nothing."""


class Server(ThreadingHTTPServer):
    """Accepts many waiting connections."""

    request_queue_size = 128


def main(folder: Path) -> None:
    """Serve until stopped."""
    Requests.folder = folder
    server = Server(("127.0.0.1", 0), Requests)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
