"""No password, access key or token is printed, logged, recorded or counted."""

from __future__ import annotations

import io
import json
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

import foja
from foja.app import App
from foja.engine.driver.database import translate
from foja.engine.metrics import exposition
from foja.errors import FojaError, SetupFailed, Unstamped, redact
from foja.interfaces.cli.log_format import JsonFormat, TextFormat
from tests.cases import all_cases
from tests.flow.command import Process, Run
from tests.tsa_server import TsaServer, running_tsa

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://ana:hunter2@db/foja", "postgresql://ana:***@db/foja"),
        ("see 'postgresql://ana:hunter2@db/foja' now", "see 'postgresql://ana:***@db/foja' now"),
        ("postgresql://ana:hunter2@a/b@db/foja?x=1", "postgresql://ana:***@db/foja?x=1"),
        ("redis://:hunter2@cache:6379/0", "redis://:***@cache:6379/0"),
        ("https://hunter2@node.example/rpc", "https://***@node.example/rpc"),
        ("host=db user=ana password=hunter2 dbname=x", "host=db user=ana password=*** dbname=x"),
        ("password='hunter2 \\' x' dbname=y", "password=*** dbname=y"),
        (
            "postgresql://db/x?user=ana&password=hunter2&port=1",
            "postgresql://db/x?user=ana&password=***&port=1",
        ),
        ("s3://b/p?aws_secret_access_key=hunter2", "s3://b/p?aws_secret_access_key=***"),
        ("az://c?sig=hunter2&se=1", "az://c?sig=***&se=1"),
        (
            "postgresql://postgres@/foja?host=/tmp/x&port=5432",
            "postgresql://postgres@/foja?host=/tmp/x&port=5432",
        ),
        (
            "at 10:30 ana@example.com asked https://a.example/b?c=d",
            "at 10:30 ana@example.com asked https://a.example/b?c=d",
        ),
    ],
)
def test_only_the_secret_is_hidden(text: str, shown: str) -> None:
    assert redact(text) == shown


def test_no_error_of_ours_contains_a_secret() -> None:
    url = f"postgresql://ana:{SECRET}@db/foja"
    for error in (FojaError(url), SetupFailed(f"{url} is wrong"), Unstamped("tsa", f"no answer of {url}")):
        assert SECRET not in str(error) + repr(error)
    driver = psycopg.OperationalError(f"connection to {url} failed")
    assert SECRET not in str(translate(driver))


@pytest.mark.parametrize("form", [TextFormat(), JsonFormat()], ids=["text", "json"])
def test_no_log_line_contains_a_secret(form: logging.Formatter) -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(form)
    log = logging.Logger("foja.test")
    log.addHandler(handler)
    url = f"postgresql://ana:{SECRET}@db/foja"
    try:
        raise ValueError(url)
    except ValueError:
        log.exception("lost %s", url, extra={"address": url})
    assert written.getvalue().count("ana:***@db") == 3
    assert SECRET not in written.getvalue()


@pytest.fixture
def guarded_url(home: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The database of the test, at an address with a password that its server ignores."""
    url = database_url.replace("postgres@", f"postgres:{SECRET}@", 1)
    monkeypatch.setenv("FOJA_DATABASE_URL", url)
    return url


@pytest.mark.parametrize("words", [["worker"], ["up", "--port", "0"]], ids=lambda words: words[0])
@pytest.mark.parametrize("json_option", [[], ["--json"]], ids=["text", "json"])
def test_a_service_prints_no_password(
    guarded_url: str, spawn: Callable[..., Process], words: list[str], json_option: list[str]
) -> None:
    process = spawn(*words, *json_option)
    printed = process.line()
    while "postgres:***@" not in printed:
        more = process.line()
        assert more, printed
        printed += more
    ended = process.end(signal.SIGTERM)
    assert SECRET not in printed + ended.out + ended.err


@all_cases(
    "url",
    [
        f"postgresql://ana:{SECRET}@127.0.0.1:1/foja",
        f"postgresql://ana:{SECRET}%zz@127.0.0.1:1/foja",
        f"postgresql://ana:{SECRET}/x@127.0.0.1:1/foja",
        f"postgresql://ana:1/{SECRET}@127.0.0.1:1/foja",
        f"ana:{SECRET}@127.0.0.1",
        f"host=127.0.0.1 port=1 password={SECRET}",
        f"host=127.0.0.1 port=1 password={SECRET} nonsense={SECRET}",
    ],
)
def test_an_address_that_does_not_work_is_refused_without_its_password(run: Run, url: str) -> None:
    for words in (["migrate"], ["status"], ["audit", "--json"], ["worker"]):
        refused = run(*words, "--database-url", url)
        assert refused.code == 2
        assert refused.err
        assert SECRET not in refused.out + refused.err


def test_the_traceback_of_a_bug_shows_no_password() -> None:
    code = (
        "import sys; from foja.interfaces import cli\n"
        f"def bug(arguments): raise RuntimeError('postgresql://ana:{SECRET}@db/foja')\n"
        "cli.load_command = lambda arguments: bug\n"
        "sys.exit(cli.main(['chat', 'new']))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "RuntimeError: postgresql://ana:***@db/foja" in ran.stderr
    assert SECRET not in ran.stderr.partition("RuntimeError")[2]


def test_settings_do_not_show_addresses() -> None:
    url = f"x://ana:{SECRET}@h"
    settings = foja.connect(database_url=url, redis_url=url, tsa_urls=url, bitcoin_rpc_url=url).settings
    assert SECRET not in f"{settings!r} {settings}"


@pytest.fixture
def tsa() -> Iterator[TsaServer]:
    with running_tsa() as server:
        yield server


async def test_the_password_of_an_authority_is_neither_recorded_nor_counted(
    open_app: Callable[..., App], tsa: TsaServer, tmp_path: Path
) -> None:
    (tmp_path / "root.pem").write_bytes(tsa.root)
    url = tsa.url.replace("://", f"://ana:{SECRET}@", 1)
    async with open_app(tsa_urls=url, tsa_roots=str(tmp_path / "root.pem")) as app:
        document = await app.documents.add(b"a contract", name="contract.txt")
        await document.protect(["tsa"])
        await app.work(until_idle=True)
        events = await document.events()
    recorded = json.dumps([event.envelope() for event in events], default=str)
    assert "ana:***@" in recorded
    assert SECRET not in recorded + exposition().decode()
