"""O7: psql, the metrics of a worker and of the log, and the files of deploy/."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Callable
from configparser import ConfigParser
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from foja.cli.parser import build_parser
from foja.settings import Settings
from tests.flow.command import FOJA, CommandResult, Process, Run

DEPLOY = Path(__file__).parents[2] / "deploy"
Admin = psycopg.Connection[tuple[object, ...]]


def well(ran: CommandResult) -> CommandResult:
    assert ran.code == 0, ran.err
    return ran


@pytest.fixture
def filled(run: Run, tmp_path: Path) -> UUID:
    """A conversation and a final document."""
    conversation = uuid4()
    well(run("chat", "say", conversation, "where is my parcel?"))
    (tmp_path / "contract.txt").write_text("a contract")
    well(run("protect", tmp_path / "contract.txt", "--wait"))
    return conversation


@pytest.mark.usefixtures("filled")
def test_psql_runs_the_programs_of_the_wheel_without_showing_a_password(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOJA_DATABASE_URL", database_url.replace("postgres@", "postgres:hunter2@", 1))
    words = ["psql", "--", "-At", "-c", "select count(*) from foja.entity", "-c", "\\! ps -eo args"]
    ran = subprocess.run([*FOJA, *words], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[0] == "2"
    assert "hunter2" not in ran.stdout


@pytest.mark.usefixtures("home")
def test_psql_runs_commands_as_a_role() -> None:
    words = ["psql", "--role", "service_role", "-c", "select current_user", "-c", "select 2", "--", "-At"]
    ran = subprocess.run([*FOJA, *words], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["service_role", "2"]
    refused = subprocess.run(
        [*FOJA, "psql", "--role", "no such", "-c", "select 1"], capture_output=True, check=False
    )
    assert refused.returncode == 2


def read_metrics(url: str) -> dict[str, float]:
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as answer:
        lines = [line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#"]
    return {name: float(value) for name, value in lines}


def test_a_worker_serves_its_metrics_and_those_of_the_log(
    run: Run, spawn: Callable[..., Process], admin: Admin
) -> None:
    well(run("chat", "say", uuid4(), "hello"))
    process = spawn("worker", "--metrics-port", 0, "--json")
    url = json.loads(process.line())["metrics"]
    found = read_metrics(url)
    assert (found["foja_log_halted"], found["foja_log_lag_seconds"]) == (0, 0)
    assert found["foja_job_leases_lost_total"] == 0
    admin.execute("update foja.log set halted = 'a test'")
    assert read_metrics(url)["foja_log_halted"] == 1
    well(run("chat", "say", uuid4(), "unpublished"))
    admin.execute("select pg_sleep(2)")  # a wait that the metric must show
    assert read_metrics(url)["foja_log_lag_seconds"] >= 1
    with urllib.request.urlopen(f"{url}/healthz", timeout=60) as answer:
        assert answer.status == 200
    assert process.end(signal.SIGTERM).code == 0


def deployed() -> dict[str, str]:
    return {path.name: path.read_text() for path in DEPLOY.iterdir()}


def test_the_files_name_only_commands_and_settings_that_exist() -> None:
    texts = deployed()
    assert set(texts) == {"Containerfile", "foja.service", "nginx.conf"}
    named = {name for text in texts.values() for name in re.findall(r"\bFOJA_([A-Z_]+)", text)}
    assert named <= {name.upper() for name in Settings.model_fields}
    unit = re.findall(r"^ExecStart=/usr/bin/env foja (.+)$", texts["foja.service"], re.MULTILINE)
    image = [
        " ".join(json.loads(found)[1:])
        for found in re.findall(r"^CMD (.+)$", texts["Containerfile"], re.MULTILINE)
    ]
    for words in (*unit, *image):
        build_parser().parse_args(shlex.split(words))
    assert len(unit) == len(image) == 1


def test_the_unit_restarts_a_service_that_ended_and_waits_for_its_end() -> None:
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(deployed()["foja.service"])
    service = unit["Service"]
    assert (service["Restart"], service["KillMode"], service["DynamicUser"]) == ("always", "mixed", "yes")
    assert int(service["TimeoutStopSec"]) >= 60
    if shutil.which("systemd-analyze"):
        checked = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(DEPLOY / "foja.service")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "foja.service" not in checked.stderr, checked.stderr


def test_the_proxy_says_who_asks_does_not_buffer_and_outwaits_a_heartbeat() -> None:
    proxy = deployed()["nginx.conf"]
    assert proxy.count("{") == proxy.count("}") == 2
    for name in ("Host $host", "Proto $scheme", "For $remote_addr"):
        assert f"proxy_set_header X-Forwarded-{name};" in proxy  # it replaces what a client sends
    assert "proxy_buffering off;" in proxy
    seconds = int(re.findall(r"proxy_read_timeout (\d+)s;", proxy)[0])
    assert seconds > Settings.model_fields["heartbeat_seconds"].default


def test_the_image_installs_the_tested_versions_and_does_not_run_as_root() -> None:
    image = deployed()["Containerfile"]
    assert "--constraint constraints.txt '.[server]'" in image
    assert image.index("USER foja") < image.index("CMD")
    root = DEPLOY.parent
    for line in re.findall(r"^COPY (.+)$", image, re.MULTILINE):
        *sources, _ = line.split()
        assert all((root / source).exists() for source in sources)
