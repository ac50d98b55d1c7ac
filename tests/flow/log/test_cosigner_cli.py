"""`foja cosigner` and `foja log` from the command line: one installation cosigns another over HTTP."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from foja.app import App
from foja.pure.proofs.cosignature import MAX_REQUEST_BYTES, parse_cosigner_key
from tests.flow.command import Process, Run, check_refused
from tests.races.writers import SAY, words
from tests.rules.logs import KEY, MemoryLog

LOG, TALK = MemoryLog(), UUID(int=7)


def served(home: Path, *arguments: object) -> tuple[Process, dict[str, str]]:
    process = Process("cosigner", "serve", "--port", "0", "--home", home, "--json", *arguments)
    return process, json.loads(process.line())


def test_a_cosigner_is_served_until_it_is_stopped(run: Run, tmp_path: Path) -> None:
    key = run("cosigner", "key", "--home", tmp_path, "--name", "cosigner.example").lines
    process, started = served(tmp_path, "--log", KEY.verifier().vkey())
    try:
        assert [started["key"]] == key
        with httpx.Client(base_url=started["cosigner"]) as client:
            signed = client.post("/add-checkpoint", content=LOG.request(0, 7))
            assert (signed.status_code, signed.text[:18]) == (200, "— cosigner.example")
            conflict = client.post("/add-checkpoint", content=LOG.request(3, 9))
            assert (conflict.status_code, conflict.text) == (409, "7\n")
            assert conflict.headers["content-type"] == "text/x.tlog.size"
            assert client.post("/add-checkpoint", content=b"x" * (MAX_REQUEST_BYTES + 1)).status_code == 413
            assert client.get("/add-checkpoint").status_code == 405
            assert client.post("/", content=b"").status_code == 404
        check_refused(
            run("cosigner", "serve", "--port", "0", "--home", tmp_path, "--log", KEY.verifier().vkey()),
            1,
            "another process signs",
        )
        ended = process.end(signal.SIGTERM)
    finally:
        process.kill()
    assert (ended.code, json.loads(ended.out)) == (0, {"stopped": True})
    [seen] = run("cosigner", "--home", tmp_path, "--json").document
    assert (seen["log"], seen["size"], seen["root"]) == ("log.example", 7, LOG.checkpoint(7).root.hex())
    assert "log.example" in run("cosigner", "status", "--home", tmp_path).out


def test_the_algorithm_is_chosen_with_the_key(run: Run, tmp_path: Path) -> None:
    home = ("--home", tmp_path, "--name", "post.example")
    [vkey] = run("cosigner", "key", *home, "--algorithm", "ml-dsa-44").lines
    assert len(parse_cosigner_key(vkey).public_key) == 1312
    assert run("cosigner", "key", *home).lines == [vkey]
    check_refused(run("cosigner", "key", *home, "--algorithm", "ed25519"), 1, "signs by ml-dsa-44")


def test_a_kill_loses_nothing_that_was_signed(tmp_path: Path) -> None:
    for old, new in ((0, 3), (3, 7), (7, 8)):
        process, started = served(tmp_path, "--log", KEY.verifier().vkey())
        try:
            url = f"{started['cosigner']}/add-checkpoint"
            assert httpx.post(url, content=LOG.request(old, new)).status_code == 200
            fork = MemoryLog(forked_at=1).request(new, new + 1)
            assert httpx.post(url, content=fork).status_code == 422
        finally:
            process.kill()


def test_what_cannot_be_served_is_refused(run: Run, tmp_path: Path) -> None:
    home = ("--home", tmp_path, "--port", "0")
    refused = run("cosigner", "serve", "--host", "0.0.0.0", "--log", KEY.verifier().vkey(), *home)
    assert (refused.code, "--expose" in refused.err) == (2, True)
    assert run("cosigner", "serve", *home).code == 2
    own = run("cosigner", "key", "--home", tmp_path).lines[0]
    refused = run("cosigner", "serve", "--log", own, *home)
    assert (refused.code, "verifier key" in refused.err) == (2, True), "a cosigner is not a log"
    assert run("cosigner", "--home", tmp_path / "none", "--json").document == []


async def record(open_app: Callable[..., App], **settings: str) -> App:
    async with open_app(**settings) as app:
        talk = await app.conversations.open(TALK)
        await talk.append(SAY, words("hi"))
        await app.work(until_idle=True)
    return app


@pytest.mark.parametrize("away", [False, True])
def test_the_log_shows_who_has_cosigned_it(
    open_app: Callable[..., App], run: Run, tmp_path: Path, *, away: bool
) -> None:
    app = asyncio.run(record(open_app))
    process, started = served(tmp_path / "other", "--log", app.trust[0])
    try:
        if away:
            process.kill()
        asyncio.run(record(open_app, cosigners=f"{started['cosigner']} {started['key']}"))
    finally:
        process.kill()
    common = ("--home", app.settings.home, "--database-url", app.settings.database_url)
    [log] = run("log", "--json", *common).document
    [cosigner] = log["cosigners"]
    assert cosigner["key"] == started["key"]
    assert (cosigner["cosigned"], cosigner["fault"]) == ((0, "away") if away else (2, None))
    assert ("away: " if away else "cosigned") in run("log", *common).lines[-1]
    note = run("log", "checkpoint", *common).out
    assert note.count("— ") == (1 if away else 2)
    history, trust = tmp_path / "history.jsonl", tmp_path / "trust.txt"
    assert run("log", "export", TALK, "-o", history, *common).code == 0
    trust.write_text(f"{app.trust[0]}\n{started['key']}\ncosigners:1 of 1\n")
    proof = tmp_path / "history.tlog-proof"
    verified = run("verify", history, "--proof", proof, "--trust", trust)
    assert verified.code == (2 if away else 0)
    assert f"{0 if away else 1} of 1 cosigners vouch for it" in verified.out
