"""`foja monitor` as an operator runs it: alerts, one process for a state, a full disk, and lies."""

from __future__ import annotations

import asyncio
import gzip
import json
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import UUID

import pytest

from foja.app import App
from foja.engine.monitor.follower import Monitor
from foja.engine.monitor.source import Folder, open_source
from foja.engine.monitor.state import State
from foja.engine.tasks import end
from foja.interfaces.cli.monitor.service import MonitorService
from foja.interfaces.cli.parser import build_parser
from foja.pure.core.note import Signer
from tests.counterparties.http_server import listening
from tests.flow.client.client import served
from tests.flow.command import Process, Run, check_refused
from tests.flow.images.small_disk import small_disk
from tests.flow.installation.test_alerts_live import Hook, Mailbox, hook, mailbox, until
from tests.races.writers import SAY, words
from tests.rules.stream_logs import KEY, Leaf, checkpoint, leaves, publish, restarted

__all__ = ["hook", "mailbox"]
LOG, VKEY = KEY.name, KEY.verifier().vkey()
FORK: list[Leaf] = [*leaves(1), (1, 0, "another")]


def following(folder: Path, home: Path, *more: object) -> Process:
    arguments = ("monitor", folder, "--trust", VKEY, "--home", home, "--every", "0.1", "--json", *more)
    process = Process(*arguments)
    assert json.loads(process.line()) == {"log": str(folder)}
    return process


def test_a_fork_is_told_by_mail_and_webhook_once_also_after_a_kill(
    tmp_path: Path, mailbox: Mailbox, hook: Hook
) -> None:
    publish(tmp_path / "log", 1, LOG, leaves(1))
    process = following(tmp_path / "log", tmp_path)
    publish(tmp_path / "log", 1, LOG, [*FORK, b"nonsense"])
    try:
        assert [json.loads(process.line())["kind"] for _ in range(2)] == ["fork", "malformed"]
        until(lambda: len(mailbox.mails) == len(hook.got) == 2)
        time.sleep(0.5)
    finally:
        process.kill()
    kinds = [(body["kind"], body["event"], body["severity"]) for _, body in hook.got]
    assert kinds == [("fork", "fired", "critical"), ("malformed", "fired", "critical")]
    assert mailbox.about("log_monitor (malformed)") == ["[foja] critical fired: log_monitor (malformed)"]
    assert "two histories" in mailbox.mails[0].get_content()
    again = following(tmp_path / "log", tmp_path)
    publish(tmp_path / "log", 1, LOG, [*FORK, b"nonsense", (1, 0, "third")])
    try:
        until(lambda: len(mailbox.mails) == len(hook.got) == 3)
    finally:
        again.kill()
    assert len({name for name, _ in hook.got}) == 3


def test_what_could_not_be_told_is_told_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The address did not answer when a fork was found."""
    publish(tmp_path / "log", 1, LOG, FORK)
    monkeypatch.setenv("FOJA_ALERT_WEBHOOK_URL", "http://127.0.0.1:9/")
    process = following(tmp_path / "log", tmp_path)
    assert json.loads(process.line())["kind"] == "fork"
    assert process.end(signal.SIGTERM).code == 0
    hook: Hook = request.getfixturevalue("hook")
    later = following(tmp_path / "log", tmp_path)
    try:
        until(lambda: len(hook.got) == 1)
    finally:
        later.kill()
    assert hook.got[0][1]["kind"] == "fork"


def test_one_state_has_one_monitor(run: Run, tmp_path: Path) -> None:
    """Two monitors wrote one file: each took back what the other had seen."""
    publish(tmp_path / "log", 1, LOG, leaves(1))
    process = following(tmp_path / "log", tmp_path)
    poll = ("monitor", tmp_path / "log", "--trust", VKEY, "--home", tmp_path)
    try:
        check_refused(run(*poll), 2, f"the process number {process.id}; stop it")
    finally:
        process.kill()
    assert run(*poll).code == 0
    assert run("monitor", "vouch", UUID(int=1), "--home", tmp_path).code == 0


def test_a_full_disk_hides_no_fork(run: Run, tmp_path: Path) -> None:
    publish(tmp_path / "log", 1, LOG, leaves(1))
    (tmp_path / "small").mkdir()
    with small_disk(tmp_path / "small", "16k"):
        state = tmp_path / "small" / "state"
        poll = ("monitor", tmp_path / "log", "--trust", VKEY, "--state", state, "--json")
        assert run(*poll).code == 0
        many = leaves(1, *range(2, 400), count=3)
        publish(tmp_path / "log", 2, restarted(LOG, 2, leaves(1)), leaves(*range(2, 400)))
        full = run(*poll)
        assert (full.code, len(full.document["logs"])) == (2, 2)
        assert "No space left on device" in full.err
        publish(tmp_path / "log", 2, restarted(LOG, 2, leaves(1)), [*leaves(*range(2, 400)), many[0]])
        forked = run(*poll)
        assert (forked.code, [each["kind"] for each in forked.document["findings"]]) == (1, ["fork"])


OTHER = Signer("other.example", bytes(32))


@pytest.mark.parametrize(
    ("kind", "number", "origin", "shown", "code"),
    [
        ("fork", 1, LOG, FORK, 1),
        ("gap", 1, LOG, [*leaves(1), (1, 7, "")], 1),
        ("malformed", 1, LOG, [*leaves(1), b"\x1b[31mred"], 1),
        ("rewritten", 1, LOG, leaves(1, word="other"), 1),
        ("shrunk", 1, LOG, leaves(1, count=2, word="other"), 1),
        ("unexplained", 2, f"{LOG}/2", leaves(1), 1),
        ("unsigned", 1, "other.example", leaves(1), 1),
        ("replaced", 2, restarted(LOG, 2, leaves(1, count=2)), [(1, 2, "again")], 0),
    ],
)
def test_each_finding_has_its_exit_code_its_line_and_its_json(
    run: Run, tmp_path: Path, kind: str, number: int, origin: str, shown: Sequence[Leaf | bytes], code: int
) -> None:
    publish(tmp_path / "log", 1, LOG, leaves(1))
    poll = ("monitor", tmp_path / "log", "--trust", VKEY, "--home", tmp_path)
    assert run(*poll).code == 0
    signer = OTHER if kind == "unsigned" else KEY
    publish(tmp_path / "log", number, origin, shown, signer=signer)
    found = run(*poll, "--json")
    assert (found.code, [each["kind"] for each in found.document["findings"]]) == (code, [kind])
    text = run(*poll)
    assert (text.code, text.out.count(f"{'✗' if code else '·'} {kind}: ")) == (code, 1)
    assert "\x1b" not in text.out


def test_what_others_received_is_compared(run: Run, tmp_path: Path) -> None:
    publish(tmp_path / "log", 1, LOG, leaves(1, 2))
    poll = ("monitor", tmp_path / "log", "--trust", VKEY, "--home", tmp_path)
    (tmp_path / "mine").write_text(KEY.sign(checkpoint(LOG, leaves(1)).text()))
    split = run(*poll, "--also", tmp_path / "mine", "--json")
    assert (split.code, [each["kind"] for each in split.document["findings"]]) == (1, ["split"])
    (tmp_path / "ahead").write_text(KEY.sign(checkpoint(LOG, leaves(1, 2, 3)).text()))
    other = ("--state", tmp_path / "other")
    ahead = run(*poll, *other, "--also", tmp_path / "ahead")
    assert ahead.code == 2
    assert "· not compared yet: “log.example”: others were shown 9 entries, here 6" in ahead.out
    check_refused(run(*poll, *other, "--also", tmp_path / "absent"), 2, "neither a file nor a folder")


async def test_a_log_with_the_default_setting_is_followed_by_its_hashes(
    open_app: Callable[..., App], run: Run, tmp_path: Path
) -> None:
    """A stranger of an installation with default settings got "cannot be read"."""
    async with open_app() as app, served(app) as client:
        await app.access.keys.create("default", ["read"])
        await (await app.conversations.open()).append(SAY, words("hi"))
        await app.work(until_idle=True)
        async with open_source(str(client.base_url)) as source:
            monitor = Monitor(source, [app.signer.verifier()], (), State(app.signer.name))
            await monitor.poll(1_700_000_000)
            await (await app.conversations.open()).append(SAY, words("hi"))
            await app.work(until_idle=True)
            await monitor.poll(1_700_000_001)
        assert (monitor.state.unread, monitor.new, monitor.state.entries) == (True, [], 0)
        assert monitor.state.logs[1].frontier.size == len(await app.ledger.log.events(None, 1000))


@contextmanager
def lying(answer: Callable[[BaseHTTPRequestHandler], None], folder: Path) -> Iterator[str]:
    """A log over HTTP whose entries are answered otherwise."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = folder / self.path.removeprefix("/log/")
            if "entries" in self.path:
                return answer(self)
            self.send_response(200 if path.is_file() else 404)
            self.end_headers()
            self.wfile.write(path.read_bytes() if path.is_file() else b"")
            return None

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with listening(server) as url:
        yield f"{url}/log"


def send(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    try:
        handler.wfile.write(body)
    except OSError:
        return


def endless(handler: BaseHTTPRequestHandler) -> None:
    send(handler, b"")
    try:
        while True:
            handler.wfile.write(bytes(100))
            time.sleep(0.05)
    except OSError:
        return


def frozen(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(4)


def to_another_place(handler: BaseHTTPRequestHandler) -> None:
    send(handler, b"", 302, location="http://127.0.0.1:9/latest/meta-data")


BOMB = gzip.compress(bytes(64 << 20))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda handler: send(handler, bytes(1 << 20)), "more than 262,144 bytes"),
        (lambda handler: send(handler, BOMB, content_encoding="gzip"), "compressed"),
        (endless, "cannot read"),
        (frozen, "cannot read"),
        (to_another_place, "cannot read"),
        (lambda handler: send(handler, b"\xff\xff"), "cannot be read"),
        (lambda handler: send(handler, b"", 500), "cannot read"),
    ],
    ids=["huge", "bomb", "endless", "frozen", "redirect", "torn", "error"],
)
def test_a_server_that_lies_is_not_read_for_long(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[BaseHTTPRequestHandler], None],
    says: str,
) -> None:
    """A body without an end, a byte now and then, was read for ever."""
    monkeypatch.setattr("foja.engine.remote.online.TIMEOUT_SECONDS", 1.0)
    publish(tmp_path / "log", 1, LOG, leaves(1))
    with lying(answer, tmp_path / "log") as url:
        began = time.monotonic()
        refused = run("monitor", url, "--trust", VKEY, "--home", tmp_path)
        check_refused(refused, 2, says)
        assert time.monotonic() - began < 8


def test_an_address_that_takes_a_connection_and_says_nothing_ends_the_poll(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foja.engine.remote.online.TIMEOUT_SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        check_refused(run("monitor", url, "--trust", VKEY, "--home", tmp_path), 2, "cannot read")


async def test_a_log_that_cannot_be_read_is_told_and_its_return_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hook: Hook
) -> None:
    """An operator who stops to show the log was noticed in the log file of the monitor alone."""
    monkeypatch.setattr("foja.interfaces.cli.monitor.service.UNREADABLE_SECONDS", 0.2)
    (tmp_path / "log").mkdir()
    monitor = Monitor(Folder(tmp_path / "log"), [KEY.verifier()], (), State(LOG))
    arguments = build_parser().parse_args(
        ["monitor", str(tmp_path / "log"), "--home", str(tmp_path), "--every", "0.1"]
    )
    task = asyncio.create_task(MonitorService(arguments, monitor, tmp_path / "state").run())
    try:
        await wait_for(lambda: hook.said("log_monitor") == ["fired"])
        publish(tmp_path / "log", 1, LOG, leaves(1))
        await wait_for(lambda: hook.said("log_monitor") == ["fired", "cleared"])
    finally:
        await end([task])
    assert [body["kind"] for _, body in hook.got] == ["unreadable"] * 2


async def wait_for(true: Callable[[], bool]) -> None:
    await asyncio.to_thread(until, true)
