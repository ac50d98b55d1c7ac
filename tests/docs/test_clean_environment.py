"""README from top to bottom where nothing is: an empty home, no compiler, no caches, the newest Python.

`foja up`, which the demo named as the next step, ended with a traceback; an extra needed a compiler.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from foja.engine.embedded.postgres import stop
from tests.counterparties.ports import free_port
from tests.docs.pages import ENGLISH, ROOT, commands
from tests.docs.test_readme import is_shown, programs, quickstarts
from tests.flow.command import address_of

TOOLS = ("sh", "make", "touch")
PYTHONS = ("python3.14", "python3.13", "python3.12", sys.executable)
pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


class Machine:
    """A clone of this repository, and the few programs that may be found there."""

    def __init__(self, folder: Path) -> None:
        self.clone, programs = folder / "clone", folder / "bin"
        for path in (folder / "home", folder / "work", programs):
            path.mkdir()
        for name in TOOLS:
            (programs / name).symlink_to(str(shutil.which(name)))
        (programs / "python3").symlink_to(newest_python())
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        for name in filter(None, listed.stdout.split("\0")):
            if (ROOT / name).is_file():
                (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.clone / name)
        pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        own = Path.home() / ".config" / "pip" / "pip.conf"  # where packages come from here
        self.environment = {
            **({"PIP_CONFIG_FILE": str(own)} if own.exists() else {}),
            **pip,
            "PIP_NO_CACHE_DIR": "1",
            "HOME": str(folder / "home"),
            "PATH": str(programs),
            "LANG": "C.UTF-8",
            "FOJA_WEB_PORT": str(free_port()),
        }

    def run(self, command: str, folder: Path | None = None) -> str:
        """Run a line in the clone, or in another folder; return what it prints."""
        ran = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=folder or self.clone,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def serve(self, command: str) -> None:
        """Run a server until it shows its pages, then press Ctrl-C."""
        server = subprocess.Popen(
            command.split(),
            cwd=self.clone,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert server.stdout
        try:
            url = address_of(server.stdout)
            assert httpx.get(url, timeout=60).status_code == 200
        finally:
            os.killpg(server.pid, signal.SIGINT)
            server.communicate(timeout=60)
        with pytest.raises(httpx.ConnectError):
            httpx.get(url)


def newest_python() -> str:
    """Return the newest Python that runs here."""
    found = ([name, "-c", "import sys; print(sys.executable)"] for name in PYTHONS if shutil.which(name))
    answers = (subprocess.run(each, capture_output=True, text=True, check=False) for each in found)
    return next(each.stdout.strip() for each in answers if each.returncode == 0)


@pytest.fixture
def machine() -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="foja-test-") as name:
        machine = Machine(Path(name))
        yield machine
        for home in (machine.clone / ".foja", Path(name) / "home" / ".local" / "share" / "foja"):
            if home.exists():
                stop(home, "immediate")


def test_every_line_of_the_readme_works_where_nothing_is(machine: Machine, tmp_path: Path) -> None:
    targets = [" ".join(["make", *words]) for words in commands(ENGLISH, "make")]
    assert targets == ["make demo", "make up", "make up DEMO=1", "make test"]
    told = machine.run("make demo")
    assert "✗" not in told
    assert told.splitlines()[-1] == "Next, a server with pages: make up DEMO=1"
    machine.serve("make up")
    machine.serve("make up DEMO=1")
    assert "pytest" in machine.run("make --dry-run test")  # the tests are what runs here

    work = machine.clone.parent / "work"
    machine.environment["PATH"] = f"{work}/own/bin:{machine.environment['PATH']}"
    machine.run(f"python3 -m venv {work}/own")
    installs = [shlex.join(["pip", *words]) for words in commands(ENGLISH, "pip")]
    assert installs == ["pip install .", "pip install '.[server]' -c constraints.txt"]
    machine.run(installs[0].replace("install", "install --quiet"))
    [(line, shown)] = [(text, shown) for kind, text, shown in quickstarts(ENGLISH) if kind == "sh"]
    assert is_shown(machine.run(line), shown)
    machine.run(installs[1].replace("install", "install --quiet", 1))
    for code, shown in programs(ENGLISH):
        (work / "program.py").write_text(code)
        assert is_shown(machine.run("python3 -W error program.py", work), shown)
    machine.run("foja log key > foja.vkey && foja verify decision.foja-proof --trust foja.vkey", work)
