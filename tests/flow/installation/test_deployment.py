"""Psql, and the metrics of a worker and of the log."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from collections.abc import Callable
from uuid import uuid4

import psycopg
import pytest

from tests.flow.command import FOJA, Process, Run, well

Admin = psycopg.Connection[tuple[object, ...]]


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
    run: Run, spawn: Callable[..., Process], admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOJA_METRICS_CACHE_SECONDS", "0")
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
