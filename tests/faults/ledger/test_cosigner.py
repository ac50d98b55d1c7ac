"""A cosigner signs one history: across forks, restarts, kill -9, copies of its folder and rival processes."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from foja.engine.embedded import cosigner
from foja.engine.embedded.cosigner import SIZE_TYPE, LocalCosigner, own_signer, seen_logs
from foja.engine.embedded.cosigner.state import State, StateFile
from foja.errors import Refused, SetupFailed
from foja.interfaces.web.endpoints.cosigner import CosignerEndpoint
from foja.interfaces.web.server import address, bind, running
from foja.pure.core.merkle import check_consistency
from foja.pure.core.note import Checkpoint, Signer, parse_checkpoint, split_note
from foja.pure.proofs.cosignature import CosignatureAlgorithm, CosignRequest, parse_cosigner_key, read_answer
from tests.processes import begin
from tests.rules.logs import KEY, MemoryLog

LOG, FORK = MemoryLog(), MemoryLog(forked_at=5)
KILLED = -signal.SIGKILL


@pytest.fixture(params=CosignatureAlgorithm)
def service(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[LocalCosigner]:
    with LocalCosigner.opened(tmp_path, [KEY.verifier()], algorithm=request.param) as service:
        yield service


def accepted(service: LocalCosigner, request: bytes) -> Checkpoint | None:
    """Return the checkpoint if it was signed, after checking the signature."""
    answer = service.reply(request)
    if answer.status != 200:
        return None
    note = request.decode().partition("\n\n")[2]
    read_answer(note, answer.text, parse_cosigner_key(service.vkey))
    return parse_checkpoint(split_note(note)[0])


def test_growth_is_signed_and_a_repeated_request_too(service: LocalCosigner) -> None:
    for old, new in ((0, 0), (0, 3), (3, 3), (3, 8), (8, 100)):
        assert accepted(service, LOG.request(old, new)) == LOG.checkpoint(new)


def test_the_algorithm_belongs_to_the_key(tmp_path: Path) -> None:
    vkey = own_signer(tmp_path, "a.example", CosignatureAlgorithm.ML_DSA_44).key().vkey()
    with LocalCosigner.opened(tmp_path, [KEY.verifier()]) as service:
        assert service.vkey == vkey
        assert accepted(service, LOG.request(0, 7)), "the state that is written then keeps the algorithm"
    assert own_signer(tmp_path).key().vkey() == vkey
    with pytest.raises(Refused, match="signs by ml-dsa-44"):
        own_signer(tmp_path, algorithm=CosignatureAlgorithm.ED25519)


def test_a_log_with_a_longer_name_than_can_be_signed_is_refused(tmp_path: Path) -> None:
    name = "l" * 256
    long = MemoryLog(Signer(name, KEY.private_key), origin=name)
    with LocalCosigner.opened(tmp_path, [long.signer.verifier()]) as service:
        assert service.reply(long.request(0, 7)).status == 403


def test_each_refusal_has_its_status(service: LocalCosigner) -> None:
    stranger = MemoryLog(Signer("other.example", KEY.private_key), origin="other.example")
    forged = MemoryLog(Signer("log.example", bytes(32)))
    assert service.reply(LOG.request(0, 7)).status == 200
    refusals = {
        b"": 400,
        b"old 7\n\nnot a note": 400,
        LOG.request(8, 7): 400,
        stranger.request(0, 7): 404,
        forged.request(7, 9): 403,
        LOG.request(0, 9): 409,
        LOG.request(6, 9): 409,
        LOG.request(8, 9): 409,
        FORK.request(7, 7): 409,
        FORK.request(7, 9): 422,
        CosignRequest(7, LOG.proof(6, 9), LOG.note(9)).text().encode(): 422,
        CosignRequest(7, (), LOG.note(9)).text().encode(): 422,
    }
    for request, status in refusals.items():
        answer = service.reply(request)
        assert (answer.status, answer.text.startswith("—")) == (status, False), request
        if status == 409:
            assert (answer.text, answer.media_type) == ("7\n", SIZE_TYPE)
    assert accepted(service, LOG.request(7, 9)) == LOG.checkpoint(9)


def test_a_forked_log_gets_no_second_signature_and_is_reported_once(
    service: LocalCosigner, caplog: pytest.LogCaptureFixture
) -> None:
    assert accepted(service, LOG.request(0, 7))
    with caplog.at_level(logging.ERROR):
        for old, new in ((7, 7), (7, 8), (7, 20), (0, 7), (4, 7), (5, 7)):
            assert accepted(service, FORK.request(old, new)) is None
    [record] = [each for each in caplog.records if each.name == "foja.cosigner"]
    assert "that it showed before" in record.getMessage()
    assert accepted(service, LOG.request(7, 8))


def restarted(log: MemoryLog, size: int, number: int, forked_at: int = 0) -> MemoryLog:
    """Return the log that `foja log restart` opens after this one."""
    name = f"log.example/{number}/{size}-{log.checkpoint(size).root.hex()}"
    return MemoryLog(origin=name, forked_at=forked_at)


def test_a_restart_from_the_head_that_was_seen_is_signed_and_closes_the_old_log(
    service: LocalCosigner, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = restarted(LOG, 7, 2)
    third = restarted(again, 4, 3)
    assert accepted(service, LOG.request(0, 7))
    assert accepted(service, again.request(0, 3))
    assert accepted(service, LOG.request(7, 7)), "the old head may be asked for again"
    assert service.reply(LOG.request(7, 8)).status == 403, "the old log is closed"
    assert service.reply(third.request(0, 1)).status == 403, "the head that it names is not signed yet"
    assert accepted(service, again.request(3, 4))
    with monkeypatch.context() as full:
        full.setattr(cosigner, "MAX_ORIGINS", 2)
        assert service.reply(third.request(0, 1)).status == 403
        assert accepted(service, again.request(4, 4))
    assert accepted(service, third.request(0, 1))


def test_a_second_log_of_the_name_gets_no_signature(
    service: LocalCosigner, caplog: pytest.LogCaptureFixture
) -> None:
    """The operator invents an origin, and signs another history under it with the key of the log."""
    assert accepted(service, LOG.request(0, 7))
    smaller, other = LOG.checkpoint(5).root.hex(), bytes(32).hex()
    heads = ("2", "1", "2/7-abcd", f"2/5-{smaller}", f"2/7-{other}", f"2/8-{LOG.checkpoint(8).root.hex()}")
    with caplog.at_level(logging.ERROR):
        for head in heads:
            invented = MemoryLog(origin=f"log.example/{head}", forked_at=5)
            for size in (0, 9, 9):
                answer = service.reply(invented.request(0, size))
                assert answer.status in (403, 404), head
                assert not answer.text.startswith("—")
    named = [each for each in caplog.records if "does not name the head" in each.getMessage()]
    assert len(named) == 3, "each origin is reported once"
    assert accepted(service, LOG.request(7, 8)), "the log itself grows"


def test_a_restart_from_an_older_head_needs_the_word_of_the_operator(tmp_path: Path) -> None:
    """The log was restored from a backup of 5 leaves; the cosigner saw 7."""
    again = restarted(LOG, 5, 2)
    with LocalCosigner.opened(tmp_path, [KEY.verifier()]) as service:
        assert accepted(service, LOG.request(0, 7))
        assert service.reply(again.request(0, 3)).status == 403
    with LocalCosigner.opened(tmp_path, [KEY.verifier()], restarts=[again.origin]) as service:
        assert accepted(service, again.request(0, 3))
        assert service.reply(LOG.request(7, 8)).status == 403
    with LocalCosigner.opened(tmp_path, [KEY.verifier()]) as service:
        assert accepted(service, again.request(3, 4)), "what was accepted once grows"
        assert service.reply(restarted(LOG, 7, 2).request(0, 1)).status == 403, "no number has two logs"


def test_a_restart_that_is_seen_first_needs_the_word_of_the_operator(tmp_path: Path) -> None:
    """A cosigner that had seen nothing signed a second history, and then refused the log itself."""
    invented = MemoryLog(origin=f"log.example/2/7-{64 * 'a'}")
    with LocalCosigner.opened(tmp_path, [KEY.verifier()]) as service:
        assert service.reply(invented.request(0, 3)).status == 403
        assert accepted(service, LOG.request(0, 7))
        assert service.reply(invented.request(0, 3)).status == 403
    with LocalCosigner.opened(tmp_path / "new", [KEY.verifier()], restarts=[invented.origin]) as service:
        assert accepted(service, invented.request(0, 3))


def test_the_time_never_goes_back(tmp_path: Path) -> None:
    times = iter([1000.9, 500.0, 2000.0])
    with LocalCosigner.opened(tmp_path, [KEY.verifier()], clock=lambda: next(times)) as service:
        key = parse_cosigner_key(service.vkey)
        found = [
            read_answer(LOG.note(size), service.reply(LOG.request(size - 1, size)).text, key).time
            for size in (1, 2, 3)
        ]
    assert found == [1000, 1000, 2000]


def test_what_was_signed_is_known_after_a_restart(tmp_path: Path) -> None:
    with LocalCosigner.opened(tmp_path, [KEY.verifier()]) as service:
        assert accepted(service, LOG.request(0, 7))
        vkey = service.vkey
    with LocalCosigner.opened(tmp_path, [KEY.verifier()]) as service:
        assert service.vkey == vkey == own_signer(tmp_path).key().vkey()
        assert service.reply(FORK.request(0, 6)).text == "7\n"
    assert [each for each, _ in seen_logs(tmp_path)] == [LOG.checkpoint(7)]


def test_files_belong_to_their_owner_alone(service: LocalCosigner, tmp_path: Path) -> None:
    assert accepted(service, LOG.request(0, 7))
    folder = tmp_path / "cosigner"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {each.name for each in folder.iterdir()} == {"key", "instance", "state", "lock"}
    assert {each.stat().st_mode & 0o777 for each in folder.iterdir()} == {0o600}


def test_only_one_process_signs(service: LocalCosigner, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="another process"), LocalCosigner.opened(tmp_path, [KEY.verifier()]):
        pass


def test_a_restored_folder_is_refused_whatever_it_says(tmp_path: Path) -> None:
    """The backup has 3 leaves, the key has signed 7: the restored folder may not sign 6 others."""
    home, backup = tmp_path / "home", tmp_path / "backup"
    with LocalCosigner.opened(home, [KEY.verifier()]) as service:
        assert accepted(service, LOG.request(0, 3))
        shutil.copytree(home, backup)
        assert accepted(service, LOG.request(3, 7))
    for copy in (backup, home):  # in a new place, and in the old one
        if copy is home:
            shutil.rmtree(home)
            shutil.copytree(backup, home)
        with pytest.raises(SetupFailed, match="restored"), LocalCosigner.opened(copy, [KEY.verifier()]):
            pass
    with LocalCosigner.opened(home, [KEY.verifier()], moved=True) as service:
        assert service.reply(LOG.request(0, 9)).text == "3\n"
    with LocalCosigner.opened(home, [KEY.verifier()]):
        pass


def test_a_folder_that_was_renamed_is_the_same(tmp_path: Path) -> None:
    with LocalCosigner.opened(tmp_path / "home", [KEY.verifier()]) as service:
        assert accepted(service, LOG.request(0, 3))
    (tmp_path / "home").rename(tmp_path / "moved")
    with LocalCosigner.opened(tmp_path / "moved", [KEY.verifier()]) as service:
        assert accepted(service, LOG.request(3, 7))


@pytest.mark.parametrize("damage", ["lost", "empty", "another form", "another log", "no instance"])
def test_a_key_without_its_state_is_never_used(tmp_path: Path, damage: str) -> None:
    with LocalCosigner.opened(tmp_path, [KEY.verifier()]) as service:
        assert accepted(service, LOG.request(0, 3))
    state = tmp_path / "cosigner" / "state"
    whole = state.read_text()
    match damage:
        case "lost":
            state.unlink()
        case "empty":
            state.write_text("")
        case "another form":
            state.write_text(whole.replace("foja/cosigner/v1", "foja/cosigner/v2"))
        case "another log":
            state.write_text(whole.replace('"log.example"', '"lag.example"'))
        case "no instance":
            (tmp_path / "cosigner" / "instance").unlink()
    with pytest.raises(SetupFailed, match="signed"), LocalCosigner.opened(tmp_path, [KEY.verifier()]):
        pass


def test_a_name_is_given_once(tmp_path: Path) -> None:
    assert own_signer(tmp_path, "cosigner.example").name == "cosigner.example"
    assert own_signer(tmp_path).name == "cosigner.example"
    with pytest.raises(Refused, match="another home"):
        own_signer(tmp_path, "other.example")
    with pytest.raises(Refused, match="cannot name"):
        own_signer(tmp_path / "new", "two words")
    assert not (tmp_path / "new" / "cosigner").exists()
    with pytest.raises(Refused, match="no log"), LocalCosigner.opened(tmp_path, []):
        pass


class Mortal(StateFile):
    """A folder whose process dies when it stores the state of this many leaves."""

    def write(self, state: State) -> None:
        if os.environ["FOJA_TEST_DIES"] == "and not saved":
            os.kill(os.getpid(), signal.SIGKILL)
        super().write(state)
        os.kill(os.getpid(), signal.SIGKILL)


def ask_and_die(home: Path, moment: str) -> None:
    os.environ["FOJA_TEST_DIES"] = moment
    vars(cosigner)["StateFile"] = Mortal
    with LocalCosigner.opened(home, [KEY.verifier()]) as service:
        service.reply(LOG.request(3, 7))


@pytest.mark.parametrize(("moment", "stored"), [("and not saved", 3), ("but saved", 7)])
def test_killed_before_the_answer(tmp_path: Path, moment: str, stored: int) -> None:
    """No answer was given. The log asks again and gets its signature; a fork gets none of this size."""
    with LocalCosigner.opened(tmp_path, [KEY.verifier()]) as service:
        assert accepted(service, LOG.request(0, 3))
    process = begin(ask_and_die, tmp_path, moment)
    process.join(60)
    assert process.exitcode == KILLED
    with LocalCosigner.opened(tmp_path, [KEY.verifier()]) as service:
        assert service.reply(LOG.request(0, 7)).text == f"{stored}\n"
        if stored == 7:
            assert accepted(service, FORK.request(7, 7)) is None
        assert accepted(service, LOG.request(stored, 7)) == LOG.checkpoint(7)
        assert accepted(service, FORK.request(7, 8)) is None


@pytest.mark.parametrize("moment", ["and not saved", "but saved"])
async def test_a_disk_that_fails_signs_nothing(
    service: LocalCosigner, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    write = StateFile.write

    def fail(file: StateFile, state: State) -> None:
        if moment == "but saved":
            write(file, state)
        raise OSError("no space left")

    async with served(service) as client:
        with monkeypatch.context() as broken:
            broken.setattr(StateFile, "write", fail)
            answer = await client.post("/add-checkpoint", content=LOG.request(0, 7))
        assert (answer.status_code, "—" in answer.text) == (503, False)
        assert (await client.post("/add-checkpoint", content=LOG.request(0, 7))).status_code == 200


async def test_concurrent_requests_of_two_histories_get_one(service: LocalCosigner) -> None:
    asked = [(log, size) for size in range(6, 26) for log in (LOG, FORK)]
    async with served(service) as client:
        answers = await asyncio.gather(
            *(client.post("/add-checkpoint", content=log.request(0, size)) for log, size in asked)
        )
    signed = [each for each, answer in zip(asked, answers, strict=True) if answer.status_code == 200]
    assert len(signed) == 1, "each says that the cosigner has seen nothing, and only one is right"
    assert {answer.status_code for answer in answers} == {200, 409}
    assert {answer.text for answer in answers if answer.status_code == 409} == {f"{signed[0][1]}\n"}


@asynccontextmanager
async def served(service: LocalCosigner) -> AsyncIterator[httpx.AsyncClient]:
    with bind("127.0.0.1", 0, expose=False) as listener:
        async with (
            running(CosignerEndpoint(service.reply), listener),
            httpx.AsyncClient(base_url=address(listener)) as client,
        ):
            yield client


class OneHistory(RuleBasedStateMachine):
    """Logs that fork anywhere, requests in any order, restarts at any time: one history per log is signed."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="foja-test-"))
        self.open = ExitStack()
        self.signed = list[tuple[MemoryLog, int]]()

    @initialize()
    def start(self) -> None:
        self.service = self.open.enter_context(LocalCosigner.opened(self.home, [KEY.verifier()]))

    @rule()
    def restart(self) -> None:
        self.open.close()
        self.start()

    @rule(fork=st.none() | st.integers(0, 12), old=st.integers(0, 16), new=st.integers(0, 16))
    def ask(self, fork: int | None, old: int, new: int) -> None:
        self._ask(MemoryLog(forked_at=fork), old, new)

    @rule(fork=st.none() | st.integers(0, 12), more=st.integers(0, 5))
    def follow(self, fork: int | None, more: int) -> None:
        """Ask as a log does that was told the size."""
        size = self.signed[-1][1] if self.signed else 0
        self._ask(MemoryLog(forked_at=fork), size, size + more)

    def _ask(self, log: MemoryLog, old: int, new: int) -> None:
        if accepted(self.service, log.request(old, new)):
            self.signed.append((log, new))

    @invariant()
    def sizes_never_go_back(self) -> None:
        sizes = [size for _, size in self.signed]
        assert sizes == sorted(sizes)

    @invariant()
    def each_signed_tree_continues_the_one_before(self) -> None:
        for (one, small), (other, large) in zip(self.signed, self.signed[1:], strict=False):
            old, new = one.checkpoint(small), other.checkpoint(large)
            check_consistency(small, old.root, large, new.root, other.proof(small, large))

    def teardown(self) -> None:
        self.open.close()
        shutil.rmtree(self.home)


TestOneHistory = OneHistory.TestCase
TestOneHistory.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
