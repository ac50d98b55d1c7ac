"""`foja worker` tells of alerts by e-mail and by webhook: once, and once more when they clear."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from aiosmtpd.controller import Controller

from tests.counterparties.http_server import listening
from tests.counterparties.ports import free_port
from tests.flow.command import Process, Run, check_refused

Admin = psycopg.Connection[Any]
PATIENCE = 120.0


class Mailbox:
    """What a mail server was handed."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []

    async def handle_DATA(self, server: object, session: object, envelope: Any) -> str:  # noqa: N802
        self.mails.append(message_from_bytes(envelope.content, policy=policy.default))
        return "250 taken"

    def about(self, alert: str) -> list[str]:
        return [mail["Subject"] for mail in self.mails if alert in mail["Subject"]]


@pytest.fixture
def mailbox(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mailbox]:
    box, port = Mailbox(), free_port()
    server = Controller(box, hostname="127.0.0.1", port=port)
    server.start()
    monkeypatch.setenv("FOJA_SMTP_URL", f"smtp://127.0.0.1:{port}")
    monkeypatch.setenv("FOJA_ALERT_MAIL_TO", "oncall@example.org")
    monkeypatch.setenv("FOJA_ALERT_MAIL_FROM", "foja@example.org")
    yield box
    server.stop()


class Hook:
    """What a webhook was sent."""

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, Any]]] = []

    def said(self, alert: str) -> list[str]:
        return [body["event"] for _, body in self.got if body["alert"] == alert]


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hook]:
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if body["event"] != "test":
                hook.got.append((self.headers["webhook-id"], body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    with listening(server) as url:
        monkeypatch.setenv("FOJA_ALERT_WEBHOOK_URL", f"{url}/hook/secret-path")
        yield hook


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOJA_ALERT_SECONDS", "0.5")
    monkeypatch.setenv("FOJA_METRICS_CACHE_SECONDS", "0")


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)


@pytest.mark.usefixtures("quickly")
def test_three_alerts_are_told_by_mail_and_webhook_once_and_once_more_when_they_clear(
    run: Run, spawn: Callable[..., Process], admin: Admin, mailbox: Mailbox, hook: Hook
) -> None:
    assert run("chat", "say", uuid4(), "hello").code == 0
    worker = spawn("worker", "--json")
    worker.line()
    entity = uuid4()
    admin.execute("update foja.log set halted = 'a test'")
    admin.execute(
        """insert into foja.job
            (type, entity_id, correlation_id, tenant, dedupe_key, max_tries, state, finished_at)
        values ('run_tsa', %(id)s, %(id)s, 'default', 'x', 5, 'dead', now())""",
        {"id": entity},
    )
    admin.execute(
        """insert into foja.orphan_run (run, action, outcome, started_at, missing)
        values (gen_random_uuid(), 'scan', 'complete', now(), 3)"""
    )
    alerts = ("log_halted", "jobs_dead", "objects_missing")
    until(lambda: all(mailbox.about(alert) and hook.said(alert) for alert in alerts))
    listed = run("alerts", "list", "--firing", "--json")
    assert (listed.code, {each["alert"] for each in listed.document}) == (1, set(alerts))
    admin.execute("update foja.log set halted = null")
    admin.execute("update foja.job set silent = true")
    admin.execute("update foja.orphan_run set missing = 0")
    until(lambda: all(len(mailbox.about(alert)) == 2 and len(hook.said(alert)) == 2 for alert in alerts))
    assert worker.end(signal.SIGTERM).code == 0
    for alert in alerts:
        assert hook.said(alert) == ["fired", "cleared"]
        assert ["fired" in subject for subject in mailbox.about(alert)] == [True, False]
    mail = next(mail for mail in mailbox.mails if "jobs_dead" in mail["Subject"])
    assert (mail["To"], mail["From"]) == ("oncall@example.org", "foja@example.org")
    assert "(run_tsa)" in mail["Subject"]
    assert "docs/runbooks/jobs_dead.md" in mail.get_content()
    assert {notice for notice, _ in hook.got} == {body["id"] for _, body in hook.got}
    assert run("alerts", "list", "--firing").code == 0
    assert len(run("alerts", "history", "--json").document) == 6


def test_channels_are_tested_by_a_command(run: Run, mailbox: Mailbox, hook: Hook, home: object) -> None:
    assert run("migrate").code == 0
    tested = run("alerts", "test")
    assert (tested.code, tested.lines) == (0, ["webhook: sent", "mail: sent"])
    assert [mail["Subject"] for mail in mailbox.mails] == ["[foja] critical test: database_down"]


def test_a_channel_that_is_away_is_named_without_its_secret(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_refused(run("alerts", "test"), 2, "no channel is set")
    monkeypatch.setenv("FOJA_ALERT_WEBHOOK_URL", f"http://127.0.0.1:{free_port()}/hook")
    monkeypatch.setenv("FOJA_ALERT_MAIL_TO", "oncall@example.org")
    monkeypatch.setenv("FOJA_SMTP_URL", f"smtp://ana:hunter2@127.0.0.1:{free_port()}")
    tested = run("alerts", "test", "--json")
    assert tested.code == 1
    assert [(each["channel"], each["sent"]) for each in tested.document] == [
        ("webhook", False),
        ("mail", False),
    ]
    assert "hunter2" not in tested.out + tested.err


def test_a_password_is_not_sent_without_tls(
    run: Run, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = str(run("doctor", "--json").document["settings"]["FOJA_SMTP_URL"]).split(":")[2].partition("/")[0]
    monkeypatch.setenv("FOJA_SMTP_URL", f"smtp://ana:hunter2@127.0.0.1:{port}")
    tested = run("alerts", "test")
    assert tested.code == 1
    assert "a password is not sent without" in tested.out
    assert mailbox.mails == []
