"""The benchmarks: all contenders run, their counts are right, and the page is written."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.contenders import ABSENT, FOJA, ONE_BY_ONE, OWN, RAW
from bench.harness import QUICK, Contender, Race, Workload
from bench.outcome import at_least, at_most, spread
from bench.workloads import GROUPS
from bench.workloads.protect import GOALS, Figures, targets

pytestmark = pytest.mark.timeout(600)
ROOT = Path(__file__).parents[3]
OURS = {FOJA, ONE_BY_ONE, OWN, "foja, with worker"}
EVENTSOURCING = {"eventsourcing", "eventsourcing, db functions"}
MESSAGE_DB = {"message-db", "message-db, one category per stream"}
Found = dict[str, dict[str, Any]]


class Named:
    """The attributes of a contender that a race reads."""

    def __init__(self, name: str, role: str, *, lossless: bool) -> None:
        self.name, self.role, self.lossless = name, role, lossless


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Found, str]:
    """The figures and the page of one very short run of all groups."""
    return run_bench(tmp_path_factory.mktemp("bench") / "benchmarks.md")


def run_bench(page: Path, *options: str) -> tuple[Found, str]:
    """Run the benchmarks, too short to measure anything."""
    arguments = ["--quick", "--seconds", "0.05", "--json", "--write", str(page), *options]
    done = subprocess.run(
        [sys.executable, "-m", "bench", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=540,  # every group in turn: over four minutes on a busy machine
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), page.read_text()


@pytest.mark.parametrize(
    ("middle", "last", "passed"),
    [(1.0, 1.1, True), (0.6, 0.5, True), (1.3, 1.0, False), (0.8, 1.0, False), (1.0, 1.3, False)],
)
def test_the_time_per_document_may_not_grow_at_any_step(middle: float, last: float, passed: bool) -> None:
    each = {100: [1.0], 1_000: [middle], 100_000: [last]}
    found = targets(Figures([1.0], {goal.name: each for goal in GOALS}), 1_000)
    assert [target.passed for target in found if target.name.startswith("Time per document")] == [passed] * 2


def test_a_group_can_be_run_by_itself(tmp_path: Path) -> None:
    found, page = run_bench(tmp_path / "benchmarks.md", "--only", "hot")
    assert list(found) == ["hot"]
    for counts in found["hot"]["figures"]["counts"].values():
        assert counts["found"] == counts["claimed"] > 1
    assert f"## {found['hot']['tables'][0]['title']}" in page


@pytest.fixture
def found(run: tuple[Found, str]) -> Found:
    return run[0]


@pytest.fixture
def message_db(found: Found) -> set[str]:
    """The names of the message-db contenders, if npm could install it."""
    remarks = found["appends"]["remarks"]
    if shutil.which("npm") is None:
        assert remarks == [ABSENT]
    return set() if ABSENT in remarks else MESSAGE_DB


@pytest.mark.long
def test_every_group_has_tables(found: Found) -> None:
    assert list(found) == list(GROUPS)
    for outcome in found.values():
        for table in outcome["tables"]:
            assert table["rows"]
            assert all(len(row) == len(table["columns"]) for row in table["rows"])


@pytest.mark.long
def test_all_contenders_take_part(found: Found, message_db: set[str]) -> None:
    contenders = {RAW, *OURS, *EVENTSOURCING, *message_db}
    for rates in found["appends"]["figures"]["rates"].values():
        assert rates.keys() == contenders
        assert all(rate > 0 for [rate] in rates.values())
    assert len(found["appends"]["tables"]) == len(QUICK.callers)
    [hot] = found["hot"]["figures"]["rates"].values()
    assert hot.keys() == contenders - {"message-db, one category per stream"}
    [batches] = found["batches"]["figures"]["rates"].values()
    assert batches.keys() == {RAW, "foja, append_many", "foja, append_each", *EVENTSOURCING}


@pytest.mark.long
@pytest.mark.parametrize("group", ["appends", "hot", "bodies", "batches"])
def test_the_stored_events_equal_the_appended_ones(found: Found, group: str) -> None:
    streams = 1 if group == "hot" else QUICK.streams
    for counts in found[group]["figures"]["counts"].values():
        assert counts["found"] == counts["claimed"] > streams


@pytest.mark.long
def test_our_readers_miss_nothing(found: Found, message_db: set[str]) -> None:
    tails = found["tail"]["figures"]
    assert tails.keys() >= {RAW, *EVENTSOURCING, *message_db}
    ours = [tail for name, tail in tails.items() if name.startswith("foja")]
    assert len(ours) == 4
    assert all(tail["missed"] == 0 and tail["written"] > 0 for tail in ours)


@pytest.mark.long
def test_every_group_has_its_targets(found: Found) -> None:
    counts = {group: len(outcome["targets"]) for group, outcome in found.items()}
    left_out = len(found["anchors"]["remarks"])  # networks that npm could not install
    anchors = counts.pop("anchors")
    assert counts.pop("http") == 10 - 3 * (not shutil.which("wrk")) - 2 * (not shutil.which("curl"))
    assert counts.pop("images") == 5 - len(found["images"]["remarks"])
    assert counts.pop("objects") == (6 if found["objects"]["remarks"] else 10)
    assert counts.pop("http") == (0 if found["http"]["remarks"] else 5)
    assert anchors == 6 if not left_out else 2 <= anchors < 6
    assert counts == {
        "lanes": 4,
        "appends": 4,
        "hot": 1,
        "bodies": 6,
        "batches": 0,
        "history": 3,
        "tail": 1,
        "memory": 3,
        "transcripts": 3,
        "live": 3,
        "jobs": 7,
        "timestamps": 3,
        "protect": 7,
        "verify": 7,
        "galleries": 2,
        "hygiene": 4,
        "monitor": 3,
        "pages": 1,
    }


@pytest.mark.long
def test_our_followers_over_http_lose_and_repeat_nothing(found: Found) -> None:
    live = found["live"]["figures"]
    assert (live["lost"], live["twice"]) == (0, 0)
    assert live["events"] > 0


@pytest.mark.long
def test_the_page_shows_ratios_and_targets(run: tuple[Found, str]) -> None:
    found, page = run
    assert "python -m bench --quick" in page
    for outcome in found.values():
        for table in outcome["tables"]:
            assert f"## {table['title']}" in page
        for target in outcome["targets"]:
            assert f"| {target['name']} | {target['required']} | {target['measured']} |" in page


def test_ratios_compare_turns_of_the_same_round() -> None:
    race = Race(Workload("any", 1), [], {"a": [10.0, 2.0, 30.0], "b": [5.0, 2.0, 10.0]})
    assert str(race.ratio("a", "b")) == "2.00 (1.00..3.00)"


def test_the_best_peer_is_the_fastest_or_the_fastest_lossless_one() -> None:
    field: list[Any] = [
        Named("ours", "foja", lossless=True),
        Named("floor", "baseline", lossless=False),
        Named("loses", "peer", lossless=False),
        Named("keeps", "peer", lossless=True),
    ]
    contenders: list[Contender] = field
    rates = {"ours": [9.0], "floor": [9.0], "loses": [3.0], "keeps": [2.0]}
    race = Race(Workload("any", 1), contenders, rates)
    assert race.best_peer(lossless=True) == "keeps"
    assert race.best_peer(lossless=False) == "loses"


def test_targets_are_met_at_the_limit_and_not_below() -> None:
    assert at_least("a", 1.5, spread([1.5]), "b").passed
    assert not at_least("a", 1.5, spread([1.4, 1.49, 9.0]), "b").passed
    assert at_most("a", 1.15, 1.15).passed
    assert not at_most("a", 1.15, 1.16).passed
