"""docs/deployment.md: its commands for systemd, in their order, in a clean folder.

There is no systemd here, and tests make no user: small programs take the places of `systemctl`, `useradd`
and `runuser`, and `python3 -m venv` gives the tested installation. `systemctl` starts what the copied units
say, with their environment. Everything else runs as written, below the folder.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from foja.engine.embedded.postgres import stop
from tests.counterparties.ports import free_port
from tests.docs.commands import FOJA, environment, install, shell_blocks
from tests.docs.pages import ROOT

PATHS = re.compile(r"(?<![\w.])/(?=(?:opt|etc|usr/local|var/lib)/)")
PROGRAMS = {
    "python3": """mkdir -p "$3/bin"; ln -s {bin}/foja "$3/bin/foja"; ln -s {bin}/pip "$3/bin/pip" """,
    "pip": """[ "$1 $2" = "install foja[server]" ]""",
    "useradd": """echo "$@" >> {folder}/users""",
    "runuser": """shift 3; exec "$@" """,
    "systemctl": """
shift 2
for name; do
  unit={folder}/etc/systemd/system/$name.service
  sed 's|/var/lib/|{folder}/var/lib/|; s|/etc/|{folder}/etc/|; s|9464|{metrics}|' $unit > $unit.here
  said() {{ sed -n "s|^$1=||p" $unit.here; }}
  file=$(said EnvironmentFile); file=${{file#-}}
  env $(said Environment) $(cat "$file") $(said ExecStart) > {folder}/$name.log 2>&1 &
  echo $! >> {folder}/pids
done""",
}
WAIT_SECONDS = 120


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="foja-test-") as name:
        folder = Path(name)
        yield folder
        if (folder / "pids").exists():
            for pid in map(int, (folder / "pids").read_text().split()):
                os.kill(pid, 15)
                wait_for_the_end(pid)
        stop(folder / "var" / "lib" / "foja", "immediate")


def wait_for_the_end(pid: int) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while Path(f"/proc/{pid}/stat").exists() and ") Z " not in Path(f"/proc/{pid}/stat").read_text():
        assert time.monotonic() < deadline, f"{pid} did not end"
        time.sleep(0.1)


def run_guide(folder: Path, block: int, **settings: object) -> dict[str, int]:
    """Run a block, with these settings in the file of the environment; return the ports of its services."""
    ports = {"web": free_port(), "metrics": free_port()}
    for each in ("bin", "etc/systemd/system", "usr/local/bin", "opt", "var/lib"):
        (folder / each).mkdir(parents=True, exist_ok=True)
    values = {"folder": folder, "bin": folder / "bin", "metrics": ports["metrics"]}
    others = {name: text.format(**values) for name, text in PROGRAMS.items()}
    install(folder / "bin", foja=FOJA, **others)
    lines = {"WEB_PORT": ports["web"], **settings}
    written = "".join(f"FOJA_{name}={value}\n" for name, value in lines.items())
    (folder / "settings").write_text(written)
    commands = PATHS.sub(f"{folder}/", shell_blocks("deployment")[block])
    commands = commands.replace("-o foja ", "").replace("python3 -m", f"{folder}/bin/python3 -m")
    assert ("environment " in commands) == (block == 1)
    commands = re.sub(
        r"(install -D .*)", rf"\1\ncat {folder}/settings > {folder}/etc/foja/environment", commands
    )
    if block == 0:
        (folder / "etc" / "foja").mkdir()
        (folder / "etc" / "foja" / "environment").write_text(written)
    ran = subprocess.run(
        ["bash", "-exc", commands],
        env=environment(folder / "usr" / "local" / "bin", folder / "bin"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ports


def read(port: int, path: str, folder: Path) -> str:
    """Return what a service answers, once it answers."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
                return str(answer.read().decode())
        except (urllib.error.URLError, ConnectionError):
            logs = "\n".join(log.read_text() for log in folder.glob("*.log"))
            assert time.monotonic() < deadline, logs
            time.sleep(0.2)


def test_one_machine(folder: Path) -> None:
    ports = run_guide(folder, 0)
    assert '"status":"ok"' in read(ports["web"], "/readyz", folder)
    assert "<h1" in read(ports["web"], "/", folder)
    assert (folder / "var" / "lib" / "foja" / "keys").is_dir()


def test_several_processes_with_one_database(folder: Path, empty_database_url: str) -> None:
    store = folder / "store"
    ports = run_guide(folder, 1, DATABASE_URL=empty_database_url, STORAGE_URL=store.as_uri())
    assert '"status":"ok"' in read(ports["web"], "/readyz", folder)
    assert "foja_log_halted 0" in read(ports["metrics"], "/metrics", folder)
    assert store.is_dir()
    assert "foja" in (folder / "users").read_text()
    assert (folder / "etc" / "foja" / "environment").stat().st_mode & 0o777 == 0o600
