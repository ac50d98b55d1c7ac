"""A stranger follows a real log over HTTP and from a folder, and vouches for what it shows."""

from __future__ import annotations

import io
import json
import signal
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import foja
from foja.app import App
from foja.engine.monitor.follower import Monitor
from foja.engine.monitor.signer import own_signer, vouch
from foja.engine.monitor.source import open_source
from foja.engine.monitor.state import State
from foja.pure.core.note import parse_checkpoint
from foja.pure.core.proof import parse_proof
from foja.pure.judge.report import Verdict
from tests.flow.client.client import served
from tests.flow.command import Process, Run, check_refused, well
from tests.races.writers import SAY, words
from tests.rules.stream_logs import KEY, leaves, publish, restarted

POLICY = '{"form": "foja/policy/v1", "required": ["ledger", "monitor"]}'


async def test_a_stranger_follows_a_log_over_http_and_vouches_for_a_bundle(
    open_app: Callable[..., App], tmp_path: Path
) -> None:
    """The log is restarted between two polls; a key is needed for everything but the log."""
    async with open_app(log_public="entries") as app, served(app) as client:
        await app.access.keys.create("default", ["read"])
        document = await app.documents.add(b"We agree.", name="contract.txt")
        await document.protect(["tsa"])
        await app.work(until_idle=True)
        state = State(app.signer.name)
        async with open_source(str(client.base_url)) as source:
            monitor = Monitor(source, [app.signer.verifier()], (), state)
            await monitor.poll(1_700_000_000)
            await app.sequencer.restart()
            talk = await app.conversations.open(UUID(int=7))
            await talk.append_many([talk.draft(SAY, words(str(n))) for n in range(300)])
            await app.work(until_idle=True)
            await monitor.poll(1_700_000_100)
        assert (state.findings, sorted(state.logs)) == ([], [1, 2])
        assert state.entries == (await app.ledger.log.events(None, 10_000)).__len__()
        signer = own_signer(tmp_path / "monitor")
        file = io.BytesIO()
        await app.bundles.write(document.id, file)
        trust = [*app.trust, signer.verifier().vkey(), POLICY]
        statement = vouch(state, document.id, signer).encode()
        assert foja.verify(file.getvalue(), trust, proofs=[statement]).verdict is Verdict.TOTAL_PASSED
        assert foja.verify(file.getvalue(), trust).verdict is Verdict.INDETERMINATE
        other = vouch(state, UUID(int=7), signer).encode()
        assert foja.verify(file.getvalue(), trust, proofs=[other]).verdict is Verdict.INDETERMINATE
        log = await app.ledger.log.prove(talk.id, 299)
        assert parse_proof(log.text()).note.startswith(f"{app.signer.name}/2/")


def test_the_bundle_of_a_final_document_carries_a_statement(run: Run, home: Path, tmp_path: Path) -> None:
    """Its artifact ends before the last event, so no bundle met a policy that asks for a monitor."""
    text, bundle, note = (tmp_path / f"contract.{ending}" for ending in ("txt", "asice", "monitor"))
    text.write_text("We agree.")
    well(run("protect", text, "--wait"))
    document = well(run("status", "--json")).document["id"]
    (tmp_path / "log.vkey").write_text(well(run("log", "key")).out)
    (tmp_path / "trust").write_text(well(run("trust", document)).out)
    (tmp_path / "policy.json").write_text(POLICY)
    well(run("monitor", home / "store" / "log", "--trust", tmp_path / "log.vkey"))
    well(run("monitor", "vouch", document, "-o", note))
    (tmp_path / "monitor.vkey").write_text(well(run("monitor", "key")).out)
    trusting = [each for name in ("trust", "monitor.vkey") for each in ("--trust", tmp_path / name)]
    verify = ("verify", bundle, *trusting, "--policy", tmp_path / "policy.json")
    well(run("bundle", document, "-o", bundle))
    assert run(*verify, "--proof", note).code == 2
    carrying = ("bundle", document, "-o", bundle, "--force", "--monitor", note)
    well(run(*carrying))
    assert "✓ Statement of a monitor" in well(run(*verify)).out
    check_refused(run(*carrying, "--monitor", note), 1, "one statement")
    check_refused(run(*carrying[:-1], text), 1, "note")
    text.write_text("We agree, again.")
    well(run("protect", text, "--wait"))
    check_refused(run("bundle", text, "-o", bundle, "--force", "--monitor", note), 1, "its own streams")
    assert run(*verify).code == 0, "a file stays if the new one is refused"


async def test_what_a_stranger_reads_is_a_setting(open_app: Callable[..., App]) -> None:
    expected = {"entries": (200, 200, 200), "checkpoints": (200, 200, 401), "none": (401, 401, 401)}
    for public, statuses in expected.items():
        async with open_app(log_public=public) as app, served(app) as client:
            await (await app.conversations.open()).append(SAY, words("hi"))
            await app.work(until_idle=True)
            key = (await app.access.keys.create("default", ["read"])).text
            found = await client.get("/v1/log/1/checkpoint", headers={"authorization": f"Bearer {key}"})
            size = parse_checkpoint(found.text.partition("\n\n")[0] + "\n").size
            paths = ("checkpoint", f"tile/0/000.p/{size}", f"tile/entries/000.p/{size}")
            asked = [await client.get(f"/v1/log/1/{path}") for path in paths]
            assert tuple(each.status_code for each in asked) == statuses, public
            assert (await client.get("/v1/log")).status_code == 401
            assert (await client.get("/v1/log/99/checkpoint")).status_code == (
                401 if public == "none" else 404
            )


async def test_strangers_are_counted_together(open_app: Callable[..., App]) -> None:
    """Reading the files of a log without a key had no limit."""
    async with open_app(rate_limit=0.01, rate_burst=3) as app, served(app) as client:
        asked = [(await client.get("/v1/log/99/checkpoint")).status_code for _ in range(5)]
        assert asked == [404, 404, 404, 429, 429]


def test_the_command_finds_a_fork_within_one_poll(run: Run, tmp_path: Path) -> None:
    folder, vkey = tmp_path / "log", KEY.verifier().vkey()
    first = leaves(1, 2)
    publish(folder, 1, KEY.name, first)
    home = ("--home", tmp_path / "home")
    follow = ("monitor", folder, "--trust", vkey, *home)
    sound = run(*follow)
    assert (sound.code, sound.lines[-1]) == (0, "✓ no fork was found")
    note = run("monitor", "vouch", UUID(int=1), *home, "-o", tmp_path / "a.monitor")
    assert note.code == 0
    assert (tmp_path / "a.monitor").read_text().startswith("foja/monitor/v1\nlog.example\n6\n")
    key = run("monitor", "key", *home).lines
    assert key[0].startswith("foja.local/monitor/")
    check_refused(run("monitor", "vouch", UUID(int=9), *home), 2, "no entry")
    publish(folder, 1, KEY.name, [*first, (1, 2, "another")])
    forked = run(*follow, "--json")
    assert forked.code == 1
    assert [each["kind"] for each in forked.document["findings"]] == ["fork"]
    assert "✗ fork: 00000000-0000-0000-0000-000000000001 has two histories" in run(*follow).out
    check_refused(run("monitor", "vouch", UUID(int=1), *home), 1, "fault")
    check_refused(run("monitor", folder, *home), 2, "--trust")
    check_refused(run("monitor", tmp_path / "none", "--trust", vkey, *home), 2, "neither")
    check_refused(run("monitor", tmp_path, "--trust", vkey, "--state", tmp_path / "new"), 2, "no checkpoint")
    name = restarted(KEY.name, 2, leaves(9))
    publish(folder, 2, name, leaves(3))
    accepted = run(*follow, "--trust", f"restart:{name}", "--json")
    assert [each["origin"] for each in accepted.document["logs"]] == [KEY.name, name]


def test_a_service_tells_of_a_fork_once(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    publish(folder, 1, KEY.name, leaves(1))
    process = Process(
        *("monitor", folder, "--trust", KEY.verifier().vkey(), "--home", tmp_path / "home"),
        *("--every", "0.1", "--json"),
    )
    try:
        assert json.loads(process.line()) == {"log": str(folder)}
        publish(folder, 1, KEY.name, [*leaves(1), (1, 0, "another")])
        assert json.loads(process.line())["kind"] == "fork"
        ended = process.end(signal.SIGTERM)
    finally:
        process.kill()
    assert (ended.code, json.loads(ended.out)) == (0, {"stopped": True})
