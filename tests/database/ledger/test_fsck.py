"""fsck: no findings in what the ledger wrote, and the name of the first event that was changed."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import psycopg
import pytest

import foja
from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.blobs.store import open_store
from foja.engine.observe.findings import CheckReport
from foja.engine.observe.fsck import Outside, fsck
from foja.errors import SetupFailed
from foja.pure.core.event import body_bytes, body_hash
from tests.database.schema.load import busy
from tests.database.schema.rows import disarm
from tests.plans.filled import Copied

TALK, OTHER = UUID(int=0xA), UUID(int=0xB)
SEALED = 10
OpenApp = Callable[..., App]


@dataclass(frozen=True, slots=True)
class Case:
    """A small history, the connection of an intruder, and what the history is checked against."""

    url: str
    outside: Outside
    intruder: psycopg.Connection[Any]

    def tamper(self, *statements: str) -> None:
        for statement in statements:
            self.intruder.execute(statement.encode())

    async def check(self, **options: Any) -> CheckReport:
        return await fsck(self.url, self.outside, **options)


@pytest.fixture
async def live(app: App, admin: psycopg.Connection[Any], database_url: str) -> Case:
    """Ten events in the log (4 with a key), one in the outbox, an open slot, and one above it."""
    await write_history(app)
    return Case(database_url, Outside(app.store, [app.signer.verifier()]), disarm(admin))


@pytest.fixture(scope="module")
def written(
    copied: Copied, template: str, bucket: str | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Outside]]:
    """The name of a database with that history, without connections, and what it is checked with."""
    home = tmp_path_factory.mktemp("fsck")

    async def write(url: str) -> Outside:
        storage = f"{bucket}/{home.name}-{secrets.token_hex(6)}" if bucket else ""
        async with foja.connect(database_url=url, home=home, storage_url=storage) as app:
            await write_history(app)
            return Outside(open_store(app.settings.store_url), [app.signer.verifier()])

    with copied(template) as url, ThreadPoolExecutor(max_workers=1) as thread:
        outside = thread.submit(asyncio.run, write(url)).result()
        yield urlsplit(url).path[1:], outside


@pytest.fixture
def case(copied: Copied, written: tuple[str, Outside]) -> Iterator[Case]:
    """A copy of that history."""
    name, outside = written
    with copied(name) as url, psycopg.connect(url, autocommit=True) as intruder:
        yield Case(url, outside, disarm(intruder))


async def write_history(app: App, first: str = "message 0") -> Conversation:
    talk, other = await app.conversations.open(TALK), await app.conversations.open(OTHER)
    for turn in range(SEALED):
        payload = {"content": f"message {turn}" if turn else first}
        key = "k" if turn == 4 else None
        await talk.append("user_message_sent", payload, actor="ana", idempotency_key=key)
    await other.append("turn_paused", {"reason": "lunch"})
    await app.work(until_idle=True)
    await talk.append("thinking", {"content": "hm"})
    await talk.reserve(1, ttl=3600)
    await talk.append("agent_message_sent", {"content": "done"})
    return talk


def found(report: CheckReport) -> tuple[str, UUID | None, int | None]:
    assert report.first is not None
    return report.first.check, report.first.entity_id, report.first.seq


async def test_an_unchanged_history_is_clean(case: Case) -> None:
    seen: list[tuple[int, int]] = []
    report = await case.check(tiles=True, progress=lambda done, total: seen.append((done, total)))
    assert report.clean, report
    assert report.first is None
    assert report.counts == {"streams": 2, "events": 13, "checkpoints": 1, "leaves": 11, "tiles": 2}
    assert seen[-1] == (24, 24)


INSERTED = """insert into foja.event
    select entity_id, NEW, gen_random_uuid(), kind, v, at, actor, source, payload, salt, body_hash, null,
        tenant from foja.event where seq = 9"""
QUEUED = """insert into foja.pending (entity_id, seq, chain_hash)
    select array[entity_id], array[seq], array[chain_hash] from foja.leaf where seq = 4"""


@pytest.mark.parametrize(
    ("check", "seq", "statement"),
    [
        ("body", 4, "update foja.event set actor = 'eva' where seq = 4"),
        ("body", 4, "update foja.event set actor = null where seq = 4"),
        ("body", 4, "update foja.event set source = 'sweeper' where seq = 4"),
        ("body", 4, """update foja.event set payload = '{"content":"lie"}' where seq = 4"""),
        ("body", 4, "update foja.event set v = 2 where seq = 4"),
        ("body", 4, "update foja.event set salt = decode(repeat('00', 16), 'hex') where seq = 4"),
        ("body", 4, "update foja.event set salt = null where seq = 4"),
        ("body", 4, "update foja.event set body_hash = sha256('x') where seq = 4"),
        ("canonical", 4, """update foja.event set payload = '{"content": "message 4"}' where seq = 4"""),
        ("canonical", 4, """update foja.event set payload = '{"a":1,"a":1}' where seq = 4"""),
        ("chain", 4, "update foja.event set at = at + interval '1 microsecond' where seq = 4"),
        ("chain", 4, "update foja.event set at = 'infinity' where seq = 4"),
        ("chain", 4, "update foja.event set at = '1969-01-01' where seq = 4"),
        ("chain", 4, "update foja.event set kind = 'thinking' where seq = 4"),
        ("chain", 5, "update foja.event set event_id = gen_random_uuid() where seq = 5"),
        ("id", 4, "update foja.event set event_id = gen_random_uuid() where seq = 4"),
        ("id", 4, "update foja.event set idempotency_key = 'other' where seq = 4"),
        ("tenant", 4, "update foja.event set tenant = 'other' where seq = 4"),
        ("missing", 4, "delete from foja.event where seq = 4"),
        ("missing", 0, "delete from foja.event where seq = 0 and entity_id = '{talk}'"),
        ("missing", 8, "delete from foja.event where seq >= 8"),
        ("missing", 12, "delete from foja.event where seq = 12"),
        ("missing", 11, "delete from foja.slot"),
        ("unknown", 20, INSERTED.replace("NEW", "20")),
        ("unknown", 12, "delete from foja.unsealed"),
        ("unknown", 12, "update foja.entity set next_seq = 12 where entity_id = '{talk}'"),
        ("chain", 4, "update foja.leaf set chain_hash = sha256('x') where seq = 4"),
        ("chain", 10, "update foja.pending set chain_hash = array[sha256('x')] where seq = '{10}'"),
        ("place", 4, "delete from foja.leaf where seq = 4"),
        ("place", 10, "delete from foja.pending"),
        ("place", 4, QUEUED),
        ("head", 10, "update foja.entity set head = sha256('x') where entity_id = '{talk}'"),
        ("unknown", 9, "update foja.entity set sealed = 9 where entity_id = '{talk}'"),
        ("chain", 0, "update foja.entity set domain = 'other' where entity_id = '{talk}'"),
        ("entity", 0, "delete from foja.entity where entity_id = '{talk}'"),
        ("missing", 13, "update foja.entity set next_seq = 14 where entity_id = '{talk}'"),
    ],
)  # fmt: skip
async def test_a_changed_row_is_named(check: str, seq: int, statement: str, case: Case) -> None:
    case.tamper(statement.replace("{talk}", str(TALK)))
    report = await case.check()
    assert found(report) == (check, TALK, seq), report


@pytest.mark.parametrize("payload", ['{"content": "x"}', '{"n":1.50,"content":"x"}', '{"content":"\\u0041"}'])
async def test_a_body_that_another_client_spelled_its_own_way_is_named(
    payload: str, app: App, live: Case
) -> None:
    talk = await app.conversations.open(TALK)
    draft = talk.draft("thinking", {"content": "x"})
    body = body_hash(draft.salt, body_bytes(draft.actor, payload.encode(), draft.source, draft.v))
    event = await app.ledger.append(draft._replace(payload=payload, body_hash=body))
    report = await live.check()
    assert found(report) == ("canonical", TALK, event.seq), report
    assert len(report.findings) == 1


async def test_only_changed_events_are_named(case: Case) -> None:
    case.tamper("update foja.event set at = at + interval '1 second' where seq in (2, 3, 7)")
    report = await case.check()
    assert [(finding.check, finding.seq) for finding in report.findings] == [("chain", n) for n in (2, 3, 7)]


async def test_two_swapped_events_are_both_named(case: Case) -> None:
    case.tamper(
        *(f"update foja.event set seq = {new} where seq = {old}" for old, new in ((4, 99), (5, 4), (99, 5)))
    )
    report = await case.check()
    assert [(finding.check, finding.seq) for finding in report.findings] == [("chain", 4), ("chain", 5)]


async def test_a_body_forged_together_with_its_hash_breaks_the_chain(case: Case) -> None:
    case.tamper(
        """update foja.event set payload = '{"content":"lie"}' where seq = 4""",
        """update foja.event set body_hash = foja.body_hash(salt, actor, payload::text, source, v)
            where seq = 4""",
    )
    report = await case.check()
    assert (found(report), report.total) == (("chain", TALK, 4), 1)


CUT = (
    "delete from foja.event where seq >= 8",
    "delete from foja.slot",
    "delete from foja.unsealed",
    "delete from foja.pending",
    f"""update foja.entity set next_seq = 8, sealed = 8,
        head = (select chain_hash from foja.leaf where seq = 7) where entity_id = '{TALK}'""",
)


async def test_a_tail_removed_with_its_counters_is_missing_in_the_log(case: Case) -> None:
    case.tamper(*CUT)
    report = await case.check()
    assert (found(report), report.total) == (("missing", TALK, 8), 1)
    assert "none up to 9" in str(report.first)


async def test_a_tail_removed_with_its_leaves_contradicts_the_checkpoint(case: Case) -> None:
    case.tamper(*CUT, f"delete from foja.leaf where entity_id = '{TALK}' and seq >= 8")
    case.tamper("update foja.leaf set idx = 8 where idx = 10", "update foja.log set next_idx = 9")
    report = await case.check()
    assert not report.clean
    assert "11 leaves, according to" in str(report.first)
    assert "found 9 leaves" in str(report.first)


async def test_a_removed_stream_is_missing_in_the_log(case: Case) -> None:
    case.tamper(*(f"delete from foja.{table} where entity_id = '{TALK}'" for table in ("event", "entity")))
    report = await case.check()
    assert found(report) == ("entity", TALK, 0)
    assert [(f.check, f.seq) for f in report.findings] == [("entity", 0), ("missing", 0), ("missing", 12)]


async def test_an_event_inserted_in_an_open_slot_is_named(case: Case) -> None:
    case.tamper(INSERTED.replace("NEW", "11"))
    assert found(await case.check()) == ("unknown", TALK, 11)
    case.tamper(f"insert into foja.unsealed values ('{TALK}', 11)")
    assert found(await case.check()) == ("unknown", TALK, 11)


async def test_a_duplicate_number_is_named(case: Case) -> None:
    case.tamper("alter table foja.event drop constraint event_pkey, drop constraint event_id_key")
    case.tamper("insert into foja.event select * from foja.event where seq = 4")
    assert found(await case.check()) == ("duplicate", TALK, 4)


async def test_leaves_out_of_order_are_named(case: Case) -> None:
    case.tamper(
        *(f"update foja.leaf set idx = {new} where idx = {old}" for old, new in ((3, 99), (4, 3), (99, 4)))
    )
    report = await case.check()
    assert {("order", 4), ("root", 4)} <= {(finding.check, finding.seq) for finding in report.findings}


@pytest.mark.parametrize(
    "statement",
    [
        "update foja.checkpoint set root = sha256('x')",
        "update foja.checkpoint set note = replace(note, E'\\n11\\n', E'\\n12\\n')",
        "update foja.checkpoint set size = 10",
        "update foja.checkpoint set frontier = frontier || '\\x00'",
        "update foja.log set name = 'example.org/other'",
    ],
)
async def test_a_changed_checkpoint_is_reported(statement: str, case: Case) -> None:
    case.tamper(statement)
    assert (await case.check()).findings[0].check == "checkpoint"


async def test_a_log_of_another_size_is_reported(case: Case) -> None:
    case.tamper("update foja.log set next_idx = 12")
    assert "12 leaves, according to foja.log" in str((await case.check()).first)


async def test_a_database_older_than_the_published_log_is_reported(live: Case, app: App) -> None:
    before = live.outside.store
    await app.work(until_idle=True)
    live.tamper("delete from foja.leaf where idx = 11", "update foja.log set next_idx = 11")
    live.tamper("delete from foja.checkpoint where size > 11")
    report = await fsck(live.url, Outside(before, live.outside.verifiers))
    expected = "12 leaves, according to the published checkpoint"
    assert any(expected in str(finding) for finding in report.findings)


REWRITTEN = (
    "update foja.event set at = at + interval '1 second' where seq = 6",
    f"""with recursive chain as (
        select -1::bigint as seq, foja.genesis('conversation', '{TALK}') as hash
        union all
        select v.seq, foja.chain_step(c.hash, v.entity_id, v.seq, v.event_id, v.kind, v.at, v.body_hash)
        from chain c join foja.event v on v.entity_id = '{TALK}' and v.seq = c.seq + 1 and v.seq < 11
    ), leaves as (
        update foja.leaf l set chain_hash = c.hash from chain c where l.entity_id = '{TALK}' and l.seq = c.seq
    ), outbox as (
        update foja.pending p set chain_hash = array[c.hash] from chain c where p.seq = array[c.seq]
    )
    update foja.entity set head = (select hash from chain where seq = 10) where entity_id = '{TALK}'""",
)


async def test_rows_rewritten_consistently_contradict_the_checkpoint(case: Case) -> None:
    case.tamper(*REWRITTEN)
    report = await case.check()
    assert found(report) == ("root", TALK, 6)
    assert {finding.check for finding in report.findings} == {"root"}


async def test_a_completely_rewritten_history_contradicts_a_checkpoint_kept_outside(
    open_app: OpenApp, database_url: str, empty_database_url: str, store_url: str, tmp_path: Path
) -> None:
    """The intruder also has the signing key: rows, leaves, checkpoints, files and signatures all agree."""
    async with open_app(log_name="example.org/log") as app:
        await write_history(app)
        kept = (await app.store.read("log/1/checkpoint")).data.decode()
        outside = Outside(app.store, [app.signer.verifier()], kept)
    assert (await fsck(database_url, outside)).clean
    shutil.copytree(tmp_path / "home" / "keys", tmp_path / "forged" / "keys")
    forged = open_app(
        database_url=empty_database_url,
        home=tmp_path / "forged",
        log_name="example.org/log",
        storage_url=f"{store_url}-forged",
    )
    async with forged as app:
        await write_history(app, first="forged")
        assert app.signer.verifier() == outside.verifiers[0]
        assert (await fsck(empty_database_url, Outside(app.store, outside.verifiers), tiles=True)).clean
        report = await fsck(empty_database_url, Outside(app.store, outside.verifiers, kept))
    assert [finding.check for finding in report.findings] == ["root"]
    assert "the checkpoint kept outside" in str(report.first)


async def test_a_checkpoint_kept_outside_must_fit_this_log(live: Case, app: App) -> None:
    kept = (await app.store.read("log/1/checkpoint")).data.decode()
    assert (await fsck(live.url, Outside(app.store, live.outside.verifiers, kept))).clean
    other = app.signer.sign(kept.split("\n\n")[0].replace("foja.local", "example.org") + "\n")
    longer = app.signer.sign(kept.split("\n\n")[0].replace("\n11\n", "\n500\n") + "\n")
    for note, text in (
        (other, "no log with this name"),
        (longer, "was removed"),
        (kept[:-9], "this installation"),
    ):
        report = await fsck(live.url, Outside(app.store, live.outside.verifiers, note))
        assert (report.total, report.findings[0].check) == (1, "kept")
        assert text in str(report.first)


async def test_an_erased_body_is_clean_and_a_removed_one_is_not(live: Case, app: App) -> None:
    talk = await app.conversations.open(TALK)
    await talk.erase(3, reason="asked to")
    await app.work(until_idle=True)
    assert (await live.check()).clean
    live.tamper("update foja.event set payload = null, salt = null, actor = null where seq = 5")
    assert found(await live.check()) == ("body", TALK, 5)
    live.tamper(f"update foja.event set payload = null, salt = null where entity_id = '{OTHER}'")
    assert any("may not be erased" in str(finding) for finding in (await live.check()).findings)


async def test_files_of_the_log_are_compared_on_demand(live: Case, app: App) -> None:
    path = "log/1/tile/entries/000.p/11"
    data = bytearray((await app.store.read(path)).data)
    data[7 * 59 + 30] ^= 1
    await app.store.write(path, bytes(data))
    assert (await live.check()).clean
    assert found(await live.check(tiles=True)) == ("tile", TALK, 7)


async def test_a_foreign_published_checkpoint_is_reported(live: Case, app: App) -> None:
    await app.store.write("log/1/checkpoint", b"nonsense")
    assert "not a signed note" in str((await live.check()).first)


async def test_a_restarted_log_is_clean_and_its_old_checkpoint_is_still_checked(live: Case, app: App) -> None:
    kept = (await app.store.read("log/1/checkpoint")).data.decode()
    await app.sequencer.number()
    await app.sequencer.restart()
    for turn in range(300):
        await (await app.conversations.open(OTHER)).append("thinking", {"content": f"{turn}"})
    await app.work(until_idle=True)
    report = await fsck(live.url, Outside(app.store, live.outside.verifiers, kept), tiles=True)
    assert report.clean, report
    live.tamper("update foja.log set name = replace(name, '/11-', '/11-ab') where origin = 2")
    assert any("a name of log 2" in str(finding) for finding in (await live.check()).findings)


async def test_all_findings_are_counted(case: Case) -> None:
    case.tamper("update foja.event set v = 9 where seq < 10")
    report = await case.check(most=3)
    assert (len(report.findings), report.total) == (3, 22)  # the body and the kind of each
    assert report.document()["first"]["seq"] == 0


async def test_a_busy_system_is_clean(app: App, database_url: str) -> None:
    outside = Outside(app.store, [app.signer.verifier()])
    async with busy(app):
        for _ in range(4):
            await asyncio.sleep(0.3)
            report = await fsck(database_url, outside)
            assert report.clean, report
    assert report.counts["events"] > 50


async def test_a_database_without_a_ledger_is_refused(app: App, empty_database_url: str) -> None:
    with pytest.raises(SetupFailed, match="foja migrate"):
        await fsck(empty_database_url, Outside(app.store, []))


async def test_memory_does_not_grow_with_the_history(app: App, database_url: str) -> None:
    outside = Outside(app.store, [app.signer.verifier()])
    talk = await app.conversations.open()
    peaks = []
    for batches in (4, 36):
        for _ in range(batches):
            await talk.append_many([talk.draft("thinking", {"content": "x" * 50}) for _ in range(500)])
        await app.work(until_idle=True)
        tracemalloc.start()
        report = await fsck(database_url, outside, tiles=True)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert report.clean, report
    assert report.counts["events"] == 20_000
    assert peaks[1] < peaks[0] * 1.3, peaks


WHOLE = """with whole as (
        select array_agg(idx::integer order by idx) as places, array_agg(entity_id order by idx) as entities,
            array_agg(seq order by idx) as numbers,
            string_agg(case when seq = 4 then sha256('x') else chain_hash end, '' order by idx) as hashes
        from foja.leaf)
    update foja.leaves set place = places, entity_id = entities, seq = numbers, chain_hash = hashes
    from whole where idx = 0"""


async def test_a_leaf_changed_inside_its_bundle_is_named(case: Case) -> None:
    """The leaves stay in one bundle, as they were written."""
    case.tamper(WHOLE)
    case.tamper("delete from foja.leaves where idx > 0", "delete from foja.leaf_place where seq > 0")
    case.tamper("update foja.leaf_place set idx = 0")
    report = await case.check()
    assert found(report) == ("chain", TALK, 4)


@pytest.mark.parametrize(
    "statement",
    [
        "delete from foja.leaf_place where seq = 4",
        "update foja.leaf_place set idx = 7 where seq = 4",
        "update foja.leaf_place set seq = 77 where seq = 4",
    ],
)
async def test_a_leaf_that_cannot_be_found_is_named(statement: str, case: Case) -> None:
    case.tamper(statement)
    report = await case.check()
    assert ("place", TALK) in {(finding.check, finding.entity_id) for finding in report.findings}
