"""A monitor finds every kind of fork within one poll, and calls no honest log one."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from foja.engine.monitor.follower import Monitor
from foja.engine.monitor.signer import own_signer, vouch
from foja.engine.monitor.source import Folder
from foja.engine.monitor.state import State, read_state, write_state
from foja.engine.monitor.streams import Finding
from foja.errors import NotCovered, Refused, SetupFailed, Unavailable
from foja.pure.core.note import Signer
from foja.pure.proofs.monitor_statement import parse_monitor_statement
from tests.rules.stream_logs import KEY, Leaf, checkpoint, digest, leaves, publish, restarted

LOG = KEY.name


class Scene:
    """A folder with the files of a log, and a monitor whose state is read from its file at every poll."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path, self.time = folder / "log", folder / "state", 1_700_000_000
        self.folder.mkdir()

    async def poll(self, *restarts: str) -> list[Finding]:
        """Return what one poll finds."""
        state = read_state(self.path) or State(LOG)
        monitor = Monitor(Folder(self.folder), [KEY.verifier()], restarts, state)
        self.time += 1
        await monitor.poll(self.time)
        write_state(self.path, state)
        return monitor.new

    async def kinds(self, *restarts: str) -> list[str]:
        return [each.kind for each in await self.poll(*restarts)]

    def state(self) -> State:
        state = read_state(self.path)
        assert state
        return state


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


async def test_an_honest_log_that_grows_and_restarts_is_no_fork(scene: Scene) -> None:
    first: list[Leaf] = []
    for more in (leaves(1, 2), leaves(1, start=3), leaves(*range(3, 300)), leaves(2, 400, start=0, count=0)):
        first += more
        publish(scene.folder, 1, LOG, first)
        assert await scene.kinds() == []
    longer = [*first, *leaves(1, start=6, count=300)]
    publish(scene.folder, 1, LOG, longer)  # not read before the restart
    again = [*leaves(2, start=3), *leaves(500)]
    publish(scene.folder, 2, restarted(LOG, 2, longer), again)
    assert await scene.kinds() == []
    empty = restarted(LOG, 4, again)  # the log between them had no entry, and names the same head
    publish(scene.folder, 4, empty, leaves(500, start=3))
    assert await scene.kinds() == []
    state = scene.state()
    assert [(each.number, each.closed) for each in state.logs.values()] == [
        (1, len(longer)),
        (2, len(again)),
        (4, None),
    ]
    assert len(state.rows) == 300
    later = Monitor(Folder(scene.folder), [KEY.verifier()], (), State(LOG))  # a stranger sees the same
    await later.poll(1)
    assert later.new == []
    assert later.state.rows == state.rows


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        (leaves(1, start=2, count=1, word="revoked"), "fork"),
        (leaves(1, start=0, count=1, word="other"), "fork"),
        ([*leaves(1, start=3), *leaves(1, start=4, count=1, word="other")], "fork"),
        (leaves(1, start=5, count=1), "gap"),
        (leaves(9, start=1, count=1), "gap"),
    ],
)
async def test_two_entries_of_one_number_are_found(scene: Scene, more: list[Leaf], kind: str) -> None:
    """One tree, signed and honest in itself: one bundle shows the first entry, another the second."""
    first = leaves(1, 2)
    publish(scene.folder, 1, LOG, first)
    assert await scene.kinds() == []
    publish(scene.folder, 1, LOG, [*first, *more])
    [found] = await scene.poll()
    assert (found.kind, found.entity_id) == (kind, str(UUID(int=more[0][0])))
    assert await scene.kinds() == [], "it is told once"
    assert scene.state().faults == [found]
    fresh = Monitor(Folder(scene.folder), [KEY.verifier()], (), State(LOG))
    await fresh.poll(1)
    assert fresh.new == [found]


async def test_a_second_history_under_an_invented_origin_is_found(scene: Scene) -> None:
    first = leaves(1, 2)
    publish(scene.folder, 1, LOG, first)
    assert await scene.kinds() == []
    other = leaves(1, 2, word="other")
    names = (f"{LOG}/2", restarted(LOG, 2, other), restarted(LOG, 3, first), f"{LOG}/2/3-{64 * 'a'}")
    for name in names:
        publish(scene.folder, 2, name, other)
        [found] = await scene.poll()
        assert (found.kind, found.log) == ("unexplained", name)


async def test_a_rewritten_or_shorter_tree_is_found(scene: Scene) -> None:
    first = leaves(1, 2)
    for shown in (leaves(1, 2, word="other"), leaves(1, count=2), [*leaves(1, 2, word="other"), (1, 3, "")]):
        publish(scene.folder, 1, LOG, first)
        for path in (scene.folder / "1").rglob("*.p"):
            assert path.is_dir()
        scene.path.unlink(missing_ok=True)
        assert await scene.kinds() == []
        publish(scene.folder, 1, LOG, shown)
        [found] = await scene.poll()
        assert found.kind == ("shrunk" if len(shown) < len(first) else "rewritten")
        assert [row[8:40] for row in scene.state().rows.values()] == [digest((n, 2, "")) for n in (1, 2)]
    (scene.folder / "1" / "checkpoint").unlink()
    assert await scene.kinds() == ["shrunk"]
    publish(scene.folder, 1, LOG, first, signer=Signer(LOG, bytes(32)))
    assert await scene.kinds() == ["unsigned"]


async def test_an_older_answer_of_the_same_log_is_no_fork(scene: Scene) -> None:
    first = leaves(1, 2)
    publish(scene.folder, 1, LOG, first)
    old = (scene.folder / "1" / "checkpoint").read_bytes()
    publish(scene.folder, 1, LOG, [*first, *leaves(3, count=300)])
    assert await scene.kinds() == []
    (scene.folder / "1" / "checkpoint").write_bytes(old)
    assert await scene.kinds() == []


async def test_a_stream_that_goes_back_across_a_named_restart_was_replaced(scene: Scene) -> None:
    """The log was restored from a backup of 4 entries; 6 had been published."""
    first = leaves(1, 2)
    publish(scene.folder, 1, LOG, first)
    assert await scene.kinds() == []
    name = restarted(LOG, 2, first[:4])
    publish(scene.folder, 2, name, [*leaves(1, start=2, count=2, word="new"), *leaves(3)])
    [found] = await scene.poll()
    assert (found.kind, found.is_fault, found.seq) == ("replaced", False, 2)
    assert "replaced after restart" in found.detail
    publish(scene.folder, 2, name, [*leaves(1, start=2, count=2, word="new"), *leaves(3), (1, 1, "x")])
    assert await scene.kinds() == ["fork"], "what the named head covers is never replaced"


async def test_a_restart_whose_head_is_not_shown_needs_the_word_of_the_reader(scene: Scene) -> None:
    first = leaves(1, 2, count=300)
    publish(scene.folder, 1, LOG, first)
    assert await scene.kinds() == []
    for path in (scene.folder / "1" / "tile").rglob("*"):
        if path.is_file():
            path.unlink()
    name = restarted(LOG, 2, first[:10])
    publish(scene.folder, 2, name, leaves(7))
    before = scene.path.read_bytes()
    assert await scene.kinds() == ["unexplained"]
    scene.path.write_bytes(before)
    assert await scene.kinds(name) == []


async def test_a_log_whose_entries_are_not_public_is_not_called_sound(scene: Scene) -> None:
    with pytest.raises(Unavailable, match="no checkpoint"):
        await scene.poll()
    publish(scene.folder, 1, LOG, leaves(1))
    (scene.folder / "1" / "tile" / "entries" / "000.p" / "3").unlink()
    with pytest.raises(Unavailable, match="entries"):
        await scene.poll()


async def test_a_monitor_vouches_for_what_it_saw_and_for_nothing_of_a_log_that_forked(
    scene: Scene, tmp_path: Path
) -> None:
    first = leaves(1, 2)
    publish(scene.folder, 1, LOG, first)
    await scene.poll()
    signer = own_signer(tmp_path / "home", "monitor.example")
    assert own_signer(tmp_path / "home").verifier() == signer.verifier()
    statement = parse_monitor_statement(vouch(scene.state(), UUID(int=1), signer).encode())
    assert (statement.events, statement.head) == (3, digest((1, 2, "")))
    assert (statement.checkpoint, statement.time) == (checkpoint(LOG, first), scene.time)
    with pytest.raises(NotCovered):
        vouch(scene.state(), UUID(int=9), signer)
    publish(scene.folder, 1, LOG, [*first, (2, 2, "other")])
    await scene.poll()
    with pytest.raises(Refused, match="fault"):
        vouch(scene.state(), UUID(int=1), signer)
    with pytest.raises(Refused, match="another home"):
        own_signer(tmp_path / "home", "other.example")


def test_a_damaged_state_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_state(path, State(LOG, rows={bytes(16): bytes(52)}))
    assert read_state(path) == State(LOG, rows={bytes(16): bytes(52)})
    assert read_state(tmp_path / "none") is None
    for damaged in (path.read_bytes()[:-1], b"", b"{}\n"):
        path.write_bytes(damaged)
        with pytest.raises(SetupFailed, match="beginning"):
            read_state(path)
