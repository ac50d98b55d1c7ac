"""`foja doctor`: what is set, what answers, what would fail; also when the database is down."""

from __future__ import annotations

import os
import secrets
import socket
import stat
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from foja.engine.embedded.postgres import binaries
from foja.interfaces.cli.doctor.finding import shown_space
from tests.counterparties.ports import free_port
from tests.flow.command import CommandResult, Run
from tests.tsa_server import running_tsa

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
    assert advice["cosigners"] == "correct FOJA_COSIGNERS or FOJA_COSIGNER_POLICY"


def test_a_lost_key_of_a_signed_log_is_a_failure(run: Run, home: Path) -> None:
    """It was a note, "made at the first start", while nothing could be recorded any more."""
    assert run("chat", "say", "00000000-0000-7000-8000-000000000001", "hello").code == 0
    assert run("log", "checkpoint").code == 0
    (home / "keys" / "log.key").rename(home / "elsewhere.key")
    result = run("doctor", "--offline", "--json")
    status, found = findings(result)["log"]
    assert (result.code, status) == (1, "fail")
    assert "its key is not in" in found


def let_pass(folder: Path, user: int) -> None:
    """Let one user traverse a folder, by an access-control list (its bytes: acl(5), version 2)."""
    none = 0xFFFFFFFF
    entries = [(1, 7, none), (2, 1, user), (4, 0, none), (16, 1, none), (32, 0, none)]
    try:
        data = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
        os.setxattr(folder, "system.posix_acl_access", data)
    except (AttributeError, OSError) as error:
        pytest.skip(f"no access-control lists here: {error}")


def test_a_home_that_only_the_user_of_postgres_may_pass_is_closed(run: Run, home: Path) -> None:
    """Under root, PostgreSQL runs as another user; `chmod 700` did not last, and the advice never ended."""
    home.mkdir(exist_ok=True)
    (home / "installation").write_text("")
    home.chmod(0o700)
    let_pass(home, user=1)
    assert stat.S_IMODE(home.stat().st_mode) == 0o710
    assert findings(run("doctor", "--offline", "--json"))["home"][0] == "ok"
    home.chmod(0o750)
    assert findings(run("doctor", "--offline", "--json"))["home"][0] == "warn"


def test_offline_asks_no_other_server(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOJA_POLYGON_RPC_URL", f"http://127.0.0.1:{free_port()}")
    assert "polygon" not in findings(run("doctor", "--offline", "--json"))
    asked = findings(run("doctor", "--json"))
    assert asked["polygon"][0] == "fail"


def test_alerts_that_reach_no_one_are_a_failure(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was `ok`, "told by webhook, mail", while both refused connections."""
    monkeypatch.setenv("FOJA_ALERT_WEBHOOK_URL", f"http://127.0.0.1:{free_port()}/secret-path")
    monkeypatch.setenv("FOJA_ALERT_MAIL_TO", "oncall@example.org")
    monkeypatch.setenv("FOJA_SMTP_URL", f"smtp://127.0.0.1:{free_port()}")
    result = run("doctor", "--json")
    found = findings(result)
    assert {found[name][0] for name in ("alert_webhook", "mail", "alerts")} == {"fail"}
    assert found["alerts"][1].endswith("told by no channel; nothing is delivered by webhook, mail")
    assert "secret-path" not in result.out + run("doctor").out
    with socket.create_server(("127.0.0.1", 0)) as hook:
        monkeypatch.setenv("FOJA_ALERT_WEBHOOK_URL", f"http://127.0.0.1:{hook.getsockname()[1]}/x")
        found = findings(run("doctor", "--json"))
    assert (found["alert_webhook"][0], found["mail"][0], found["alerts"][0]) == ("ok", "fail", "warn")
    assert found["alerts"][1].endswith("told by webhook; nothing is delivered by mail")


def test_an_authority_that_answers_rubbish_is_not_unreachable(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The advice was to look whether it can be reached."""
    with running_tsa() as tsa:
        roots = tmp_path / "roots.pem"
        roots.write_bytes(tsa.root)
        monkeypatch.setenv("FOJA_TSA_URLS", tsa.url)
        monkeypatch.setenv("FOJA_TSA_ROOTS", str(roots))
        for way, advice in (
            ("garbage", "its answer does not count"),
            ("untrusted", "its answer does not count"),
            ("busy", "it refuses"),
            ("hang up", "look whether FOJA_TSA_URLS can be reached from here"),
        ):
            tsa.behave(way)
            [asked] = [
                each for each in run("doctor", "--json").document["findings"] if each["name"] == "timestamps"
            ]
            assert asked["status"] == "fail"
            assert asked["advice"].startswith(advice), way


def test_what_is_not_configured_is_not_called_untried(run: Run) -> None:
    """17 "parts" were not tried lately, most of them job types of networks that nobody had set up."""
    assert run("chat", "say", "00000000-0000-7000-8000-000000000001", "hello").code == 0
    assert not any(name in run("doctor").out for name in ("job:", "polygon:", "network:"))


def test_secrets_are_masked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOJA_POLYGON_PRIVATE_KEY", "11" * 32)
    monkeypatch.setenv("FOJA_ALERT_WEBHOOK_URL", "https://chat.example/hooks/very-secret-path")
    monkeypatch.setenv("FOJA_STORAGE_URL", "s3://bucket/foja?access_key_id=AKIA&secret_access_key=hunter2")
    shown = run("doctor", "--offline", "--json")
    settings = shown.document["settings"]
    assert settings["FOJA_POLYGON_PRIVATE_KEY"] == "***"
    assert settings["FOJA_ALERT_WEBHOOK_URL"] == "https://chat.example/…"
    assert settings["FOJA_STORAGE_URL"] == "s3://bucket/…"
    monkeypatch.setenv("FOJA_STORAGE_URL", "file:///srv/foja/store")  # it was ***, and holds no secret
    plain = run("doctor", "--offline", "--json").document["settings"]
    assert plain["FOJA_STORAGE_URL"] == "file:///srv/foja/store"
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


@pytest.fixture
def documented(admin: Admin, database_url: str) -> Iterator[str]:
    """The URL of the production login, made by the lines of docs/operations.md as they are written."""
    page = (Path(__file__).parents[3] / "docs" / "operations.md").read_text()
    section = page.partition("### The production login")[2]
    name = urlsplit(database_url).path[1:]
    login = f"foja_app_{secrets.token_hex(4)}"
    lines = section.split("```")[1].removeprefix("sql\n")
    lines = lines.replace("database foja to", f"database {name} to").replace("foja_app", login)
    psql: list[str | Path] = [binaries() / "psql", "--no-psqlrc", "--set=ON_ERROR_STOP=1", database_url]
    done = subprocess.run(psql, input=lines, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    yield urlsplit(database_url)._replace(netloc=f"{login}@").geturl()
    admin.execute(sql.SQL("drop owned by {0}; drop role {0}").format(sql.Identifier(login)))


def test_the_login_of_the_guide_works_and_is_told_that_others_may_connect(
    run: Run, admin: Admin, documented: str
) -> None:
    """The grants of the guide were printed, not run; the doctor failed with a login that inherits nothing.

    Any login of the server could connect and stop all appends, and nothing said so.
    """
    assert run("chat", "say", "00000000-0000-7000-8000-000000000001", "hello").code == 0
    result = run("doctor", "--offline", "--json", "--database-url", documented)
    found = findings(result)
    assert (result.code, found["roles"][0], found["schema"][0], found["log"][0]) == (0, "ok", "ok", "ok")
    [advice] = [each["advice"] for each in result.document["findings"] if each["name"] == "logins"]
    admin.execute(advice)
    assert "logins" not in findings(run("doctor", "--offline", "--json", "--database-url", documented))


def test_space_is_shown_in_a_unit_that_fits() -> None:
    """A small store had "0.0 of 0.0 GiB"."""
    assert shown_space(3 << 30, 10 << 30) == "3.0 of 10.0 GiB"
    assert shown_space(1 << 20, 8 << 20) == "1.0 of 8.0 MiB"
    assert shown_space(512, 8 << 10) == "0.5 of 8.0 KiB"
