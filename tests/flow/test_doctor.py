"""`foja doctor`: what is set, what answers, what would fail; also when the database is down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.counterparties.ports import free_port
from tests.flow.command import CommandResult, Run

Admin = psycopg.Connection[Any]


def findings(result: CommandResult) -> dict[str, tuple[str, str]]:
    return {each["name"]: (each["status"], each["found"]) for each in result.document["findings"]}


def test_a_healthy_installation_has_no_failure(run: Run, home: Path) -> None:
    assert run("chat", "say", "00000000-0000-7000-8000-000000000001", "hello").code == 0
    result = run("doctor", "--json")
    found = findings(result)
    assert (result.code, result.document["status"]) in {(0, "ok"), (0, "note"), (0, "warn")}
    for name in ("database", "schema", "roles", "clock", "log", "store", "home", "log key"):
        assert found[name][0] == "ok", found[name]
    text = run("doctor")
    assert text.code == 0
    assert len(text.lines) < 60  # one screen
    assert any(line.startswith("ok    schema      all ") for line in text.lines)


def test_it_works_while_the_database_is_down(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOJA_DATABASE_URL", f"postgresql://ana:hunter2@127.0.0.1:{free_port()}/foja")
    result = run("doctor", "--json")
    assert (result.code, findings(result)["database"][0]) == (1, "fail")
    assert {"home", "disk", "store", "redis"} <= findings(result).keys()
    text = run("doctor")
    assert text.code == 1
    assert "→ start the server, or correct FOJA_DATABASE_URL" in text.out
    assert "hunter2" not in text.out + text.err + result.out


def test_nothing_installed_is_not_a_failure_and_nothing_is_created(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FOJA_DATABASE_URL")
    result = run("doctor", "--json")
    assert (result.code, findings(result)["database"][0]) == (0, "note")
    assert not (tmp_path / "home").exists()


def test_what_fails_is_named_with_what_to_do(
    run: Run, admin: Admin, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("chat", "say", "00000000-0000-7000-8000-000000000001", "hello").code == 0
    admin.execute("update foja.migration set digest = 'another' where number = 2")
    admin.execute("update foja.log set halted = 'a test'")
    (home / "keys" / "log.key").chmod(0o644)
    monkeypatch.setenv("FOJA_REDIS_URL", f"redis://:hunter2@127.0.0.1:{free_port()}")
    monkeypatch.setenv("FOJA_TSA_URLS", f"http://127.0.0.1:{free_port()}/tsr")
    monkeypatch.setenv("FOJA_TSA_ROOTS", str(home / "absent.pem"))
    monkeypatch.setenv("FOJA_ALERT_LIMITS", "nothing=1")
    monkeypatch.setenv("FOJA_COSIGNERS", "nonsense")
    result = run("doctor", "--json")
    found = findings(result)
    assert result.code == 1
    assert {name for name, (status, _) in found.items() if status == "fail"} >= {
        "schema", "log", "log key", "authorities", "alerts", "cosigners",
    }  # fmt: skip
    assert found["redis"][0] == "warn"
    assert "2_sequencer is changed" in found["schema"][1]
    assert "hunter2" not in result.out + result.err
    advice = {each["name"]: each["advice"] for each in result.document["findings"]}
    assert "foja migrate" in advice["schema"]


def test_offline_asks_no_other_server(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOJA_POLYGON_RPC_URL", f"http://127.0.0.1:{free_port()}")
    assert "polygon" not in findings(run("doctor", "--offline", "--json"))
    asked = findings(run("doctor", "--json"))
    assert asked["polygon"][0] == "fail"


def test_secrets_are_masked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOJA_POLYGON_PRIVATE_KEY", "11" * 32)
    monkeypatch.setenv("FOJA_ALERT_WEBHOOK_URL", "https://chat.example/hooks/very-secret-path")
    monkeypatch.setenv("FOJA_STORAGE_URL", "s3://bucket/foja?access_key_id=AKIA&secret_access_key=hunter2")
    shown = run("doctor", "--offline", "--json")
    settings = shown.document["settings"]
    assert settings["FOJA_POLYGON_PRIVATE_KEY"] == "***"
    assert settings["FOJA_ALERT_WEBHOOK_URL"] == "https://chat.example/…"
    assert settings["FOJA_STORAGE_URL"] == "s3://bucket/…"
    for secret in ("1111", "very-secret-path", "hunter2"):
        assert secret not in shown.out + shown.err


@pytest.mark.parametrize("role", ["foja_run_tsa"])
def test_a_login_that_may_not_act_as_a_role_is_named(
    run: Run, admin: Admin, role: str, database_url: str
) -> None:
    assert run("chat", "say", "00000000-0000-7000-8000-000000000001", "hello").code == 0
    admin.execute("drop role if exists poor")
    admin.execute("create role poor login")
    admin.execute("grant foja_api, foja_sweeper to poor")
    admin.execute("grant select on foja.source, foja.job_type, foja.migration to poor")
    admin.execute("grant usage on schema foja to poor")
    try:
        url = database_url.replace("postgres@", "poor@", 1)
        result = run("doctor", "--offline", "--json", "--database-url", url)
        assert (result.code, findings(result)["roles"][0]) == (1, "fail")
        assert "foja_run_tsa" in findings(result)["roles"][1]
    finally:
        admin.execute("drop owned by poor")
        admin.execute("drop role poor")
