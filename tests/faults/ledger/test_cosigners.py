"""Cosigners that are away, slow, wrong, or saw another history: publishing goes on, the policy decides."""

from __future__ import annotations

import asyncio
import io
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

import foja
from foja.app import App
from foja.engine.ledger.cosigners import collector
from foja.engine.ledger.excerpts import prove_event
from foja.engine.observe.fsck import Outside, fsck
from foja.errors import SetupFailed
from foja.pure.core.note import Checkpoint, parse_checkpoint, split_note
from foja.pure.judge.report import Verdict
from foja.pure.proofs.cosignature import (
    CosignatureAlgorithm,
    CosignerSigner,
    CosignRequest,
    find_cosignatures,
)
from foja.pure.proofs.finding import Reason
from tests.cases import all_cases
from tests.cosigner_server import CosignerServer, running_cosigner
from tests.races.writers import SAY, words
from tests.worker_task import working

TALK = UUID(int=7)
LOG_NAME = "log.example/test"


class Scene:
    """An installation and its cosigners, each with a folder of its own."""

    def __init__(self, folder: Path, open_app: Callable[..., App], closing: ExitStack) -> None:
        self.folder, self._open_app, self._closing = folder, open_app, closing
        self.cosigners = list[CosignerServer]()

    async def start(self, count: int, algorithm: CosignatureAlgorithm | None = None) -> None:
        """Start cosigners that know the key of the installation."""
        async with self._open_app(log_name=LOG_NAME) as app:
            key = app.signer.verifier()
        for number in range(len(self.cosigners), len(self.cosigners) + count):
            server = running_cosigner(self.folder / f"cosigner-{number}", key, algorithm=algorithm)
            self.cosigners.append(self._closing.enter_context(server))

    def app(self, **settings: Any) -> App:
        """Return the installation with all cosigners."""
        given = {
            "log_name": LOG_NAME,
            "cosigners": " ".join(each.setting for each in self.cosigners),
            "cosigner_timeout_seconds": 30,  # an honest one answers in time, however busy the machine
            "checkpoint_seconds": 0.1,
        }
        return self._open_app(**{**given, **settings})


@pytest.fixture
async def scene(open_app: Callable[..., App], tmp_path: Path) -> AsyncIterator[Scene]:
    with ExitStack() as closing:
        yield Scene(tmp_path, open_app, closing)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "FIRST_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(collector, "LONGEST_PAUSE_SECONDS", 0.2)


async def say(app: App, count: int = 3) -> int:
    """Append events, work until idle, and return the number of the last event."""
    talk = await app.conversations.open(TALK)
    await talk.append_many([talk.draft(SAY, words(str(n))) for n in range(count)])
    await app.work(until_idle=True)
    return (await app.ledger.state(TALK)).next_seq - 1


async def cosigners_of(app: App, scene: Scene, seq: int) -> list[str]:
    """Return who vouches for the checkpoint of a proof."""
    proven = await prove_event(app.ledger, TALK, seq)
    keys = [each.signer.key() for each in scene.cosigners]
    return [each.key.name for each in find_cosignatures(proven.proof.note, keys, ())]


def states(admin: psycopg.Connection[Any]) -> dict[str, tuple[int, str | None]]:
    rows = admin.execute("select vkey, seen, fault from foja.cosigner order by vkey").fetchall()
    return {vkey.partition("+")[0]: (seen, fault) for vkey, seen, fault in rows}


def published(admin: psycopg.Connection[Any]) -> int:
    [(size,)] = admin.execute(
        "select max(size) from foja.checkpoint where published_at is not null"
    ).fetchall()
    return int(size)


async def test_every_checkpoint_is_cosigned_and_proofs_carry_it(
    scene: Scene, admin: psycopg.Connection[Any]
) -> None:
    await scene.start(3)
    names = [each.signer.name for each in scene.cosigners]
    async with scene.app(cosigner_policy="2 of 3") as app:
        for count in (3, 1, 300):
            last = await say(app, count)
            assert await cosigners_of(app, scene, last) == names
        proven = await prove_event(app.ledger, TALK, last)
        policy = [each.vkey for each in scene.cosigners] + ["cosigners:3 of 3"]
        assert proven.verify([app.trust[0], *policy]).verdict is Verdict.TOTAL_PASSED
    assert set(states(admin).values()) == {(published(admin), None)}
    assert admin.execute("select count(*) from foja.cosignature").fetchone() == (9,)


async def test_cosigners_of_both_algorithms_sign_one_checkpoint(
    scene: Scene, admin: psycopg.Connection[Any]
) -> None:
    """PostgreSQL cannot check ML-DSA-44: it compares key, id and size, and `foja fsck` checks the rest."""
    await scene.start(1)
    await scene.start(1, CosignatureAlgorithm.ML_DSA_44)
    post = scene.cosigners[1].signer
    async with scene.app(cosigner_policy="2 of 2") as app:
        last = await say(app)
        proven = await prove_event(app.ledger, TALK, last)
        policy = [each.vkey for each in scene.cosigners] + ["cosigners:2 of 2"]
        assert proven.verify([app.trust[0], *policy]).verdict is Verdict.TOTAL_PASSED
        outside = Outside(app.store, [app.signer.verifier()])
        assert (await fsck(app.settings.database_url, outside)).clean
        key, line = post.key(), post.cosign(LOG_NAME + "\n9\n" + "A" * 43 + "=\n", 1_800_000_000)
        for wrong in (
            {"key": key.public_key[:-1]},
            {"vkey": key.vkey().replace("cosigner-1", "cosigner-2")},
            {"line": scene.cosigners[0].signer.cosign(LOG_NAME + "\n", 1_800_000_000)},
            {"vkey": scene.cosigners[0].vkey},
        ):
            given: dict[str, Any] = {"key": key.public_key, "vkey": key.vkey(), "line": line} | wrong
            with pytest.raises(psycopg.Error, match="bad_payload"):
                record(admin, "foja_sweeper", 3, **given)
        admin.execute("alter table foja.cosignature disable trigger all")
        admin.execute("update foja.cosignature set line = %s where length(line) > 3000", [line])
        report = await fsck(app.settings.database_url, outside)
    assert [each.check for each in report.findings] == ["cosignature"]


async def test_a_bundle_carries_cosignatures(scene: Scene) -> None:
    await scene.start(2)
    async with scene.app(cosigner_policy="2 of 2") as app:
        document = await app.documents.add(b"We agree.", name="contract.txt")
        await document.protect(["tsa"])
        await app.work(until_idle=True)
        file = io.BytesIO()
        await app.bundles.write(document.id, file)
        trust = [*app.trust, *(each.vkey for each in scene.cosigners), "cosigners:2 of 2"]
        assert foja.verify(file.getvalue(), trust).verdict is Verdict.TOTAL_PASSED
        assert foja.verify(file.getvalue(), app.trust).verdict is Verdict.TOTAL_PASSED


@pytest.mark.parametrize(("way", "verdict"), [("late", "TOTAL_PASSED"), ("error", "INDETERMINATE")])
async def test_an_artifact_waits_for_a_quorum_that_can_be_reached(
    scene: Scene, way: str, verdict: str
) -> None:
    await scene.start(2)
    scene.cosigners[0].behave(way)
    settings = {"cosigner_policy": "2 of 2", "cosigner_timeout_seconds": 5}
    async with scene.app(**settings) as app, working(app):
        document = await app.documents.add(b"We agree.", name="contract.txt")
        await document.protect(["tsa"])
        async with asyncio.timeout(60):
            while (await document.view()).state != "final":
                await asyncio.sleep(0.05)
        [final] = [each for each in await document.events() if each.kind == "artifact.finalized"]
        data = await app.store.get(str(final.payload["sha256"]))
        trust = [*app.trust, *(each.vkey for each in scene.cosigners)]
        assert foja.verify(data, trust).verdict is Verdict.TOTAL_PASSED
        assert foja.verify(data, [*trust, "cosigners:2 of 2"]).verdict == verdict


FAULTS = {
    "error": "away",
    "huge": "away",
    "hang": "away",
    "drop": "away",
    "refusal": "refused",
    "garbage": "invalid",
    "other key": "invalid",
    "other text": "invalid",
    "wrong time": "invalid",
    "empty line": "invalid",
}


@pytest.mark.parametrize(("way", "fault"), FAULTS.items())
async def test_one_that_is_wrong_stops_neither_publishing_nor_the_others(
    scene: Scene,
    admin: psycopg.Connection[Any],
    caplog: pytest.LogCaptureFixture,
    way: str,
    fault: str,
) -> None:
    await scene.start(2)
    bad, good = scene.cosigners
    bad.behave(way)
    async with scene.app(cosigner_timeout_seconds=3 if way == "hang" else 30) as app:
        with caplog.at_level(logging.WARNING, "foja.cosigners"):
            for _ in range(3):
                last = await say(app)
                await asyncio.sleep(0.1)
        assert published(admin) == last + 1
        assert await cosigners_of(app, scene, last) == [good.signer.name]
        assert states(admin)[bad.signer.name] == (0, fault)
        lines = [each.getMessage() for each in caplog.records if each.name == "foja.cosigners"]
        assert len(lines) == 1, "a fault is logged once"
        assert f"cosigner {bad.signer.name}: {fault}" in lines[0]
        proven = await prove_event(app.ledger, TALK, last)
        keys = [app.trust[0], bad.vkey, good.vkey]
        assert proven.verify([*keys, "cosigners:1 of 2"]).verdict is Verdict.TOTAL_PASSED
        undecided = proven.verify([*keys, "cosigners:2 of 2"])
        assert undecided.verdict is Verdict.INDETERMINATE
        assert undecided.evidence[0].reason is Reason.COSIGNERS_MISSING
        bad.behave("honest")
        bad.released.set()
        await asyncio.sleep(0.3)
        last = await say(app)
        assert len(await cosigners_of(app, scene, last)) == 2
        assert states(admin)[bad.signer.name] == (last + 1, None)


async def test_a_fault_is_logged_again_by_the_next_app(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    await scene.start(1)
    scene.cosigners[0].behave("error")
    kept = []
    with caplog.at_level(logging.WARNING, "foja.cosigners"):
        for _ in range(2):
            async with scene.app() as app:
                await say(app)
            kept.append(app)  # not collected, as a program may keep it
    assert [each.name for each in caplog.records].count("foja.cosigners") == 2


async def test_a_running_worker_does_not_wait_for_a_slow_one(
    scene: Scene, admin: psycopg.Connection[Any]
) -> None:
    await scene.start(2)
    slow, quick = scene.cosigners
    slow.behave("hang")
    async with scene.app(cosigner_timeout_seconds=300) as app, working(app):
        for count in range(1, 4):
            talk = await app.conversations.open(TALK)
            await talk.append(SAY, words("hi"))
            began = time.monotonic()
            while states(admin).get(quick.signer.name, (0, None))[0] < count:
                assert time.monotonic() < began + 60
                await asyncio.sleep(0.02)
        assert published(admin) == 3
        assert len(slow.asked) == 1, "it is asked again only after its timeout"
        slow.released.set()


async def test_one_that_answers_nothing_after_it_signed_is_asked_from_where_it_is(scene: Scene) -> None:
    """Its answer was lost: it has stored a size that we do not know. The next request tells us."""
    await scene.start(1)
    [cosigner] = scene.cosigners
    cosigner.behave("drop", "honest")
    async with scene.app() as app:
        last = await say(app)
        assert await cosigners_of(app, scene, last) == []
        await asyncio.sleep(0.1)
        await app.work(until_idle=True)
        assert await cosigners_of(app, scene, last) == [cosigner.signer.name]
        cosigner.behave("drop", "honest")
        await say(app)
        await asyncio.sleep(0.1)
        last = await say(app)
        assert await cosigners_of(app, scene, last) == [cosigner.signer.name]


async def test_a_cosigner_that_saw_another_history_is_named_and_a_fork_gets_no_second_signature(
    scene: Scene, admin: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """The key of the log signs other leaves elsewhere: once smaller, once as large, once larger than ours."""
    await scene.start(3)
    async with scene.app() as app:
        signer = app.signer
    roots = (2, bytes(32)), (3, bytes(32)), (9, bytes(32))
    for cosigner, (size, root) in zip(scene.cosigners, roots, strict=True):
        fork = signer.sign(Checkpoint(LOG_NAME, size, root).text())
        assert cosigner.service
        assert cosigner.service.reply(CosignRequest(0, (), fork).text().encode()).status == 200
    async with scene.app(cosigner_policy="1 of 3") as app:
        with caplog.at_level(logging.WARNING, "foja.cosigners"):
            last = await say(app, 3)
            await asyncio.sleep(0.1)
            await app.work(until_idle=True)
        assert published(admin) == last + 1 == 3, "publishing goes on"
        assert set(states(admin).values()) == {(0, "another history")}
        lines = [each.getMessage() for each in caplog.records if each.name == "foja.cosigners"]
        assert len(lines) == 3
        assert any("it saw 9 leaves, and 3 are published here" in line for line in lines)
        assert any("it saw 3 leaves with another root" in line for line in lines)
        assert any("do not continue the 2 leaves that it saw" in line for line in lines)
        assert await cosigners_of(app, scene, last) == []
        proven = await prove_event(app.ledger, TALK, last)
        trust = [app.trust[0], *(each.vkey for each in scene.cosigners), "cosigners:1 of 3"]
        assert proven.verify(trust).verdict is Verdict.INDETERMINATE


async def test_a_cosigner_that_was_set_back_is_not_used_again(
    scene: Scene, admin: psycopg.Connection[Any], open_app: Callable[..., App]
) -> None:
    await scene.start(1)
    [cosigner] = scene.cosigners
    async with scene.app() as app:
        await say(app, 2)
        await say(app, 2)
    with ExitStack() as other:
        key = app.signer.verifier()
        old = other.enter_context(running_cosigner(scene.folder / "empty" / cosigner.signer.name, key))
        old.signer = cosigner.signer
        async with scene.app(cosigners=f"{old.url} {cosigner.vkey}") as app:
            await say(app, 1)
        assert states(admin)[cosigner.signer.name] == (4, "forgot")


async def test_proofs_prefer_a_checkpoint_that_meets_the_policy(
    scene: Scene, admin: psycopg.Connection[Any]
) -> None:
    """The first and the newest checkpoint are signed by one; the one between them by both."""
    await scene.start(2)
    one, other = scene.cosigners
    async with scene.app(cosigner_policy="2 of 2") as app:
        for ways in ("error", "honest", "error"):
            other.behave(ways)
            await say(app, 2)
            await asyncio.sleep(0.3)
        proven = await prove_event(app.ledger, TALK, 0)
        assert proven.size == 4
        [first] = await app.ledger.log.prove_first([(TALK, 0)])
        assert first
        assert parse_checkpoint(split_note(first.note)[0]).size == 4
        assert (await prove_event(app.ledger, TALK, 5)).size == 6, "no checkpoint over it meets the policy"
    async with scene.app() as app:
        assert (await prove_event(app.ledger, TALK, 0)).size == 6
        [first] = await app.ledger.log.prove_first([(TALK, 0)])
        assert first
        assert parse_checkpoint(split_note(first.note)[0]).size == 2
        assert [each.name for each in split_note(first.note)[1]] == [LOG_NAME, one.signer.name]


async def test_two_processes_that_ask_one_cosigner_do_not_mistake_each_other(
    scene: Scene, admin: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    await scene.start(1)
    async with scene.app() as one, scene.app() as other:
        talk = await one.conversations.open(TALK)
        with caplog.at_level(logging.WARNING, "foja.cosigners"):
            async with working(one), working(other):
                for n in range(60):
                    await talk.append(SAY, words(str(n)))
                    await asyncio.sleep(0.02)
                began = time.monotonic()
                while states(admin).get(scene.cosigners[0].signer.name) != (60, None):
                    assert time.monotonic() < began + 60
                    await asyncio.sleep(0.05)
    assert [each for each in caplog.records if each.name == "foja.cosigners"] == []


async def test_a_restarted_log_is_cosigned_by_those_who_saw_the_head_that_it_names(
    scene: Scene, admin: psycopg.Connection[Any]
) -> None:
    """One cosigner was away before the restart, one comes later, and a log in between had no entry."""
    await scene.start(2)
    away = scene.cosigners[1]
    async with scene.app() as app:
        await say(app)
        away.behave("error")
        await say(app)
    await scene.start(1)
    async with scene.app(cosigner_policy="3 of 3") as app:
        await app.sequencer.restart()
        await app.sequencer.restart()
        away.behave("honest")
        last = await say(app)
        proven = await prove_event(app.ledger, TALK, last)
        trust = [app.trust[0], *(each.vkey for each in scene.cosigners), "cosigners:3 of 3"]
        assert proven.verify(trust).verdict is Verdict.TOTAL_PASSED
        outside = Outside(app.store, [app.signer.verifier()])
        assert (await fsck(app.settings.database_url, outside)).clean
    [(first, third)] = admin.execute(
        "select max(name) filter (where origin = 1), max(name) filter (where origin = 3) from foja.log"
    ).fetchall()
    assert third.startswith(f"{first}/3/6-"), "the head of the newest log with entries is named"


@all_cases(
    ("settings", "says"),
    [
        ({"cosigners": "https://a.example"}, "FOJA_COSIGNERS"),
        ({"cosigners": "{key} https://a.example"}, "FOJA_COSIGNERS"),
        ({"cosigners": "https://a.example {log}"}, "of a cosigner"),
        ({"cosigners": "https://a.example {key} https://b.example {key}"}, "twice"),
        ({"cosigners": "https://a.example {key}", "cosigner_policy": "2 of 2"}, "FOJA_COSIGNER_POLICY"),
        ({"cosigner_policy": "1 of 1"}, "FOJA_COSIGNER_POLICY"),
        ({"cosigners": "https://a.example {own}"}, "has the key of this log"),
    ],
)
async def test_settings_that_are_not_valid_are_refused_at_start(
    open_app: Callable[..., App], settings: dict[str, str], says: str
) -> None:
    async with open_app() as app:
        log, own = app.signer.verifier().vkey(), CosignerSigner("other", app.signer.private_key).key().vkey()
    key = CosignerSigner("a.example", bytes(32)).key().vkey()
    given = {name: value.format(key=key, log=log, own=own) for name, value in settings.items()}
    with pytest.raises(SetupFailed, match=says):
        async with open_app(**given):
            pass


async def test_the_database_keeps_cosignatures_and_only_the_sweeper_adds_them(
    scene: Scene, admin: psycopg.Connection[Any]
) -> None:
    await scene.start(1)
    async with scene.app() as app:
        await say(app)
    for change in (
        "update foja.cosignature set line = line",
        "delete from foja.cosignature",
        "truncate foja.cosignature",
    ):
        with pytest.raises(psycopg.Error, match="append_only"):
            admin.execute(change)
    for role in ("foja_api", "foja_worker", "authenticated"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            record(admin, role, 3)
    with pytest.raises(psycopg.Error, match="unpublished"):
        record(admin, "foja_sweeper", 99)
    for forged in ({"key": bytes(31)}, {"key": bytes(range(32))}, {"vkey": "cosigner.example/b+00+AA"}):
        with pytest.raises(psycopg.Error, match="bad_payload"):
            record(admin, "foja_sweeper", 3, **forged)


async def test_fsck_checks_every_cosignature(scene: Scene, admin: psycopg.Connection[Any]) -> None:
    await scene.start(2)
    async with scene.app() as app:
        await say(app)
        await say(app)
        outside = Outside(app.store, [app.signer.verifier()])
        assert (await fsck(app.settings.database_url, outside)).clean
        admin.execute("alter table foja.cosignature disable trigger all")
        admin.execute(
            """update foja.cosignature s set line = o.line from foja.cosignature o
            where o.public_key = s.public_key and o.size <> s.size"""
        )
        report = await fsck(app.settings.database_url, outside)
    assert [each.check for each in report.findings] == ["cosignature"] * 4


async def test_what_a_cosigner_has_signed_never_becomes_less(
    scene: Scene, admin: psycopg.Connection[Any]
) -> None:
    await scene.start(1)
    async with scene.app(cosigners="") as app:
        await say(app, 2)
        await say(app, 2)
    for size, seen in ((2, 2), (4, 4), (2, 4)):
        record(admin, "foja_sweeper", size)
        assert admin.execute("select seen from foja.cosigner").fetchall() == [(seen,)]


def record(
    admin: psycopg.Connection[Any], role: str, size: int, *, vkey: str = "", key: bytes = b"", line: str = ""
) -> None:
    """Record a cosignature of one cosigner, or one that another key is said to have made."""
    signer = CosignerSigner("cosigner.example/a", bytes(32))
    row = admin.execute("select note from foja.checkpoint where size = %s", [size]).fetchone()
    line = line or signer.cosign(split_note(row[0])[0] if row else "none\n", 1_800_000_000)
    values = [size, key or signer.key().public_key, vkey or signer.key().vkey(), line]
    with admin.transaction():
        admin.execute(sql.SQL("set local role {}").format(sql.Identifier(role)))
        admin.execute("select foja.record_cosignature(1, %s, %s, %s, %s)", values)
