"""What a log may do to mislead a monitor: lie, hide, hang, flood, and show each reader another tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from foja.engine.monitor.follower import Monitor
from foja.engine.monitor.received import read_received
from foja.engine.monitor.signer import vouch
from foja.engine.monitor.source import Folder
from foja.engine.monitor.state import MAX_FINDINGS, State, read_state, write_state
from foja.engine.remote.online import NotPublic
from foja.errors import ObjectMissing, Refused, SetupFailed, Unavailable
from foja.pure.core.merkle import EMPTY_ROOT
from foja.pure.core.note import Checkpoint, Signer
from foja.pure.core.proof import Proof
from foja.pure.proofs.monitor_statement import MonitorSigner
from tests.rules.bundles import TEXT
from tests.rules.bundles import Scene as Bundles
from tests.rules.stream_logs import KEY, Leaf, checkpoint, leaves, publish, restarted

LOG, TIME = KEY.name, 1_700_000_000
MONITOR = MonitorSigner("monitor.example", bytes(range(1, 33)))


class Liar:
    """The files of a folder, some of them answered otherwise."""

    def __init__(self, folder: Path, answer: Callable[[str], bytes | None]) -> None:
        self._folder, self.answer, self.asked = Folder(folder), answer, list[str]()

    async def read(self, path: str) -> bytes:
        self.asked.append(path)
        told = self.answer(path)
        return await self._folder.read(path) if told is None else told


def honest(_: str) -> None:
    return None


def closed(path: str) -> None:
    if "/entries/" in path:
        raise NotPublic("HTTP 401")


def following(folder: Path, answer: Callable[[str], bytes | None] = honest) -> tuple[Monitor, Liar]:
    source = Liar(folder, answer)
    return Monitor(source, [KEY.verifier()], (), State(LOG)), source


def kinds(monitor: Monitor) -> list[str]:
    return [each.kind for each in monitor.new]


async def test_a_poll_that_broke_off_is_no_fork_when_it_is_repeated(tmp_path: Path) -> None:
    """Entries that were staged before the connection broke were read again, and taken for a fork."""
    publish(tmp_path, 1, LOG, leaves(1, 2, count=4000))

    def breaks(path: str) -> None:
        if path.endswith("entries/020"):
            raise Unavailable("connection reset")

    monitor, source = following(tmp_path, breaks)
    with pytest.raises(Unavailable):
        await monitor.poll(TIME)
    source.answer = honest
    await monitor.poll(TIME + 1)
    assert (kinds(monitor), monitor.state.entries) == ([], 8000)


async def test_entries_that_are_none_are_found_and_do_not_hide_a_fork(tmp_path: Path) -> None:
    noise: list[Leaf | bytes] = [b"", b"\x04", bytes(57), b"\x05" + bytes(56), b"\x04" + bytes(57)]
    publish(tmp_path, 1, LOG, [*leaves(1), *noise])
    monitor, _ = following(tmp_path)
    await monitor.poll(TIME)
    assert (kinds(monitor), monitor.new[0].index) == (["malformed"] * 5, 3)
    assert "entry 3 of “log.example” is not one of a stream" in monitor.new[0].detail
    publish(tmp_path, 1, LOG, [*leaves(1), *noise, *leaves(1, start=2, count=1, word="other")])
    await monitor.poll(TIME + 1)
    assert kinds(monitor) == ["fork"]


async def test_a_flood_of_findings_takes_no_memory(tmp_path: Path) -> None:
    publish(tmp_path, 1, LOG, [b"x"] * 3000)
    monitor, _ = following(tmp_path)
    await monitor.poll(TIME)
    assert len(monitor.new) == len(monitor.state.findings) == MAX_FINDINGS


async def test_a_thousand_replaced_streams_do_not_hide_a_fork(tmp_path: Path) -> None:
    """A restart that replaces many streams filled the list of findings; the fork after it was not kept."""
    streams = range(1, MAX_FINDINGS + 100)
    before, lost = leaves(*streams, count=1), leaves(*streams, start=1, count=1)
    publish(tmp_path, 1, LOG, [*before, *lost])
    monitor, _ = following(tmp_path)
    await monitor.poll(TIME)
    again = leaves(*streams, start=1, count=1, word="again")
    publish(tmp_path, 2, restarted(LOG, 2, before), again)
    await monitor.poll(TIME + 1)
    assert kinds(monitor) == ["replaced"] * MAX_FINDINGS
    with pytest.raises(Refused, match="replaced"):
        vouch(monitor.state, UUID(int=streams[-1]), MONITOR)
    publish(tmp_path, 2, restarted(LOG, 2, before), [*again, (5, 1, "third")])
    await monitor.poll(TIME + 2)
    assert (kinds(monitor), len(monitor.state.faults)) == (["fork"], 1)


async def test_a_restart_replaces_what_it_left_out_and_nothing_before(tmp_path: Path) -> None:
    """The newest event of a stream was lost with ten of others; its older ones could be replaced, too."""
    first, lost = leaves(1, count=6), [(1, 6, ""), *leaves(2, count=10)]
    publish(tmp_path, 1, LOG, [*first, *lost])
    state = tmp_path / "state"
    monitor, _ = following(tmp_path)
    await monitor.poll(TIME)
    publish(tmp_path, 2, restarted(LOG, 2, first), [(1, 4, "other")])
    await monitor.poll(TIME + 1)
    assert kinds(monitor) == ["fork"]
    write_state(state, monitor.state)
    assert read_state(state) == monitor.state
    fresh, _ = following(tmp_path)
    publish(tmp_path, 2, restarted(LOG, 2, first), [(1, 6, "other"), (2, 0, "other"), (2, 1, "more")])
    await fresh.poll(TIME)
    assert (kinds(fresh), fresh.state.faults) == (["replaced", "replaced"], [])


async def test_what_a_restart_left_out_is_read_as_it_was(tmp_path: Path) -> None:
    """The log shows other entries for the part that it left out, so that more may be replaced."""
    first, lost = leaves(1, 2), leaves(1, start=3, count=1)
    publish(tmp_path, 1, LOG, [*first, *lost])
    monitor, _ = following(tmp_path)
    await monitor.poll(TIME)
    publish(tmp_path / "other", 1, LOG, [*first, *leaves(2, start=1, count=1)])
    forged = (tmp_path / "other" / "1" / "tile" / "entries" / "000.p" / "7").read_bytes()
    (tmp_path / "1" / "tile" / "entries" / "000.p" / "7").write_bytes(forged)
    publish(tmp_path, 2, restarted(LOG, 2, first), leaves(2, start=1, count=1, word="new"))
    with pytest.raises(Unavailable, match="not those of before"):
        await monitor.poll(TIME + 1)


async def test_nothing_is_vouched_for_that_a_restart_replaced(tmp_path: Path) -> None:
    """The operator restarts before a revocation and records another event: that one was vouched for."""
    first = leaves(1, 2)
    publish(tmp_path, 1, LOG, [*first, (1, 3, "revoked")])
    monitor, _ = following(tmp_path)
    await monitor.poll(TIME)
    publish(tmp_path, 2, restarted(LOG, 2, first), [(1, 3, "signed"), (2, 3, "")])
    await monitor.poll(TIME + 1)
    assert kinds(monitor) == ["replaced"]
    with pytest.raises(Refused, match="replaced after a restart"):
        vouch(monitor.state, UUID(int=1), MONITOR)
    assert vouch(monitor.state, UUID(int=2), MONITOR)
    accepting = Monitor(Folder(tmp_path), [KEY.verifier()], [restarted(LOG, 2, first)], State(LOG))
    (tmp_path / "1" / "checkpoint").unlink()
    await accepting.poll(TIME)
    assert accepting.state.partial
    with pytest.raises(Refused, match="are not known here"):
        vouch(accepting.state, UUID(int=2), MONITOR)


@pytest.mark.parametrize("note", [b"hello", Signer(LOG, bytes(32)).sign(checkpoint(LOG, []).text()).encode()])
async def test_a_log_that_answers_everything_does_not_hold_a_poll(tmp_path: Path, note: bytes) -> None:
    """Every number had a checkpoint, so a poll did not end."""
    publish(tmp_path, 1, LOG, leaves(1))
    monitor, source = following(tmp_path, lambda path: None if path.startswith("1/") else note)
    await monitor.poll(TIME)
    assert len(source.asked) < 20
    assert {*kinds(monitor)} == {"unsigned"}


@pytest.mark.parametrize(
    "origin",
    [
        *(f"{LOG}/2", f"{LOG}%2F2", f"{LOG}／2", f"{LOG}∕2", f"{LOG} /2", LOG.upper(), f"{LOG}/", f"{LOG}/0"),
        *(
            f"{LOG}/02/6-{64 * 'a'}",
            f"{LOG}/٢/6-{64 * 'a'}",
            f"{LOG}/2/6-{64 * 'A'}",
            f"{LOG}/2/06-{64 * 'a'}",
        ),
        *(
            f"{LOG}/2/6-{64 * 'a'}",
            f"{LOG}/2/0-{64 * 'a'}",
            f"{LOG}/2/0-{EMPTY_ROOT.hex()}",
            f"{LOG}/3/6-{64 * 'a'}",
            f"{LOG}/2/6-{64 * 'a'}/",
        ),
        *(LOG, f"{LOG}/1", "lоg.example", "log.example\u202e2/", "l\u200dog.example"),
    ],
)
async def test_no_other_spelling_of_the_name_opens_a_second_history(tmp_path: Path, origin: str) -> None:
    publish(tmp_path, 1, LOG, leaves(1, 2))
    monitor, _ = following(tmp_path)
    await monitor.poll(TIME)
    publish(tmp_path, 2, origin, leaves(1, word="other"))
    await monitor.poll(TIME + 1)
    assert kinds(monitor) == ["unexplained"]
    assert [*monitor.state.logs] == [1]


async def test_a_log_without_public_entries_is_followed_by_its_hashes(tmp_path: Path) -> None:
    """Nothing but "cannot be read" was said of a log with the default setting."""
    first = leaves(1, 2, count=200)
    publish(tmp_path, 1, LOG, first)
    monitor, source = following(tmp_path, closed)
    await monitor.poll(TIME)
    longer = [*first, *leaves(3, count=300)]
    publish(tmp_path, 1, LOG, longer)
    await monitor.poll(TIME + 1)
    state = monitor.state
    assert (state.unread, state.entries, kinds(monitor)) == (True, 0, [])
    assert state.logs[1].checkpoint == checkpoint(LOG, longer)
    with pytest.raises(Refused, match="were not read"):
        vouch(state, UUID(int=1), MONITOR)
    again = [*longer, (1, 0, "a fork that nobody sees")]
    publish(tmp_path, 1, LOG, again)
    publish(tmp_path, 2, restarted(LOG, 2, again[:50]), leaves(9))
    await monitor.poll(TIME + 2)
    assert (kinds(monitor), [*state.logs]) == ([], [1, 2])
    path = tmp_path / "state"
    write_state(path, state)
    assert read_state(path) == state
    publish(tmp_path, 1, LOG, leaves(7, count=len(again)))
    await monitor.poll(TIME + 3)
    assert kinds(monitor) == ["rewritten"]
    assert not [each for each in source.asked[10:] if "entries" in each and each.startswith("2/")]


async def test_a_log_cannot_hide_entries_that_were_public(tmp_path: Path) -> None:
    publish(tmp_path, 1, LOG, leaves(1, 2))
    monitor, source = following(tmp_path)
    await monitor.poll(TIME)
    publish(tmp_path, 1, LOG, [*leaves(1, 2), (1, 0, "another")])
    source.answer = closed
    with pytest.raises(NotPublic):
        await monitor.poll(TIME + 1)
    assert not monitor.state.unread


def received_from(folder: Path, name: str, data: str | bytes) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return folder / name


async def test_a_split_view_is_found_by_what_others_received(tmp_path: Path) -> None:
    """Each reader is shown a tree that only grows, and no two readers the same one."""
    here, there = leaves(1, 2), leaves(1, 2, word="other")
    publish(tmp_path, 1, LOG, [*here, *leaves(3)])
    monitor, _ = following(tmp_path)
    folder = tmp_path / "received"
    same = received_from(folder, "same.checkpoint", KEY.sign(checkpoint(LOG, here).text()))
    other = KEY.sign(checkpoint(LOG, there).text())
    received_from(folder, "proof.tlog-proof", Proof(0, (), KEY.sign(checkpoint(LOG, here).text())).text())
    received_from(
        folder, "of another log", Signer("other", bytes(32)).sign(checkpoint("other", there).text())
    )
    received_from(folder, "picture.jpg", b"\xff\xd8\xff")
    received_from(folder, "forged", Signer(LOG, bytes(32)).sign(checkpoint(LOG, there).text()))
    await monitor.poll(TIME, read_received([folder, same]))
    assert (kinds(monitor), monitor.ahead) == ([], [])
    longer = KEY.sign(checkpoint(LOG, [*here, *leaves(3), *leaves(4)]).text())
    await monitor.poll(TIME, read_received([received_from(folder, "longer", longer)]))
    assert (kinds(monitor), len(monitor.ahead)) == ([], 1)
    for name, note in (
        ("split", other),
        ("hidden", KEY.sign(Checkpoint(restarted(LOG, 2, here), 1, bytes(32)).text())),
    ):
        await monitor.poll(TIME, read_received([received_from(folder, name, note)]))
        assert kinds(monitor) == ["split"], name
    for wrong in (folder / "picture.jpg", folder / "absent"):
        with pytest.raises(SetupFailed):
            read_received([wrong])


async def test_a_bundle_shows_whether_its_reader_saw_the_same_log(tmp_path: Path) -> None:
    scene = Bundles()
    path = received_from(tmp_path / "received", "contract.asice", scene.bundle(TEXT))
    [received] = read_received([path])
    publish(tmp_path, 1, scene.key.name, leaves(1, 2, count=20), signer=scene.key)
    monitor = Monitor(Folder(tmp_path), [scene.key.verifier()], (), State(scene.key.name))
    await monitor.poll(TIME, [received])
    assert kinds(monitor) == ["split"]


async def test_tiles_that_lie_are_no_growth(tmp_path: Path) -> None:
    publish(tmp_path, 1, LOG, leaves(1, 2))
    for lie, expected in ((b"", Unavailable), (bytes(32 * 6), None)):

        def tiles_lie(path: str, lie: bytes = lie) -> bytes | None:
            closed(path)
            return lie if "/tile/" in path else None

        monitor, _ = following(tmp_path, tiles_lie)
        if expected:
            with pytest.raises(expected):
                await monitor.poll(TIME)
        else:
            await monitor.poll(TIME)
            assert kinds(monitor) == ["rewritten"]
    absent, _ = following(tmp_path, gone)
    with pytest.raises(Unavailable, match="hashes"):
        await absent.poll(TIME)


def gone(path: str) -> None:
    closed(path)
    if "/tile/" in path:
        raise ObjectMissing(path)
