"""docs/documents.md holds the seeds' tables; the rules of documents behave as every row says."""

from __future__ import annotations

import random
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import combinations

import pytest

from foja.errors import WrongSource
from foja.pure.core.registry import BODY_ERASED, RESERVED, SLOT_VOIDED
from foja.pure.models.documents.events import DOCUMENT, NETWORKS, Evidence
from foja.pure.models.documents.history import read
from foja.pure.models.documents.lifecycle import START, TRANSITIONS, Lifecycle, lifecycle
from foja.pure.models.documents.projection import pipeline, state
from foja.pure.models.documents.states import Pipeline, State
from foja.pure.models.documents.track import REORGED
from tests.docs.pages import ROOT, prose
from tests.rules.document_histories import Fact, confirmed, failed, history
from tests.rules.models.test_documents_played import play
from tests.rules.played_documents import Played

PAGE = ROOT / "docs" / "documents.md"
TEXT = prose(PAGE)
PLAYS, MOVES = 1000, 30

SEED_001 = {
    "document.protected.requested",
    "tsa.confirmed",
    "tsa.failed",
    "anchor.submitted",
    "anchor.confirmed",
    "anchor.failed",
    "artifact.finalized",
    "artifact.failed",
}
SEED_000 = {
    "anchor.timeout",
    "rekor.confirmed",
    "job.run-tsa.required",
    "job.submit-anchor-polygon.required",
    "job.submit-anchor-bitcoin.required",
    "job.build-artifact.required",
}
SEED_STATES = {
    "protected",
    "needs_witness",
    "witness_ready",
    "in_signature_flow",
    "signed",
    "anchored",
    "revoked",
    "archived",
}
SEED_PIPELINE = {
    ("awaiting_tsa", "opened by", "document.protected.requested"),
    ("awaiting_tsa", "closed by", "tsa.confirmed"),
    ("awaiting_anchors", "opened by", "tsa.confirmed"),
    ("awaiting_anchors", "closed by", "anchor.confirmed"),
    ("awaiting_anchors", "closed by", "rekor.confirmed"),
    ("awaiting_artifact", "opened by", "anchor.confirmed"),
    ("awaiting_artifact", "opened by", "rekor.confirmed"),
    ("awaiting_artifact", "closed by", "artifact.finalized"),
}
SEED_EVENTS = {
    "awaiting_tsa": {"job.run-tsa.required", "tsa.confirmed", "tsa.failed"},
    "awaiting_anchors": {
        "job.submit-anchor-polygon.required",
        "job.submit-anchor-bitcoin.required",
        "anchor.submitted",
        "anchor.confirmed",
        "anchor.timeout",
        "anchor.failed",
    },
    "awaiting_artifact": {"job.build-artifact.required", "artifact.finalized", "artifact.failed"},
}

Row = dict[str, str]
Cells = set[tuple[str, str, str]]
KINDS = {kind.name: kind for kind in (*DOCUMENT.kinds, SLOT_VOIDED, BODY_ERASED)}


def table(text: str, *columns: str) -> list[Row]:
    """Return the rows of the table with exactly these columns."""
    head = "| " + " | ".join(columns) + " |\n"
    assert text.count(head) == 1, head
    lines = text.partition(head)[2].splitlines()[1:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        rows.append(dict(zip(columns, cells, strict=True)))
    return rows


def names(cell: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", cell))


def name(cell: str) -> str:
    [found] = names(cell)
    return found


def kind_rows(text: str) -> set[tuple[str, frozenset[str]]]:
    rows = table(text, "kind", "from", "sources")
    assert len({row["kind"] for row in rows}) == len(rows)
    return {(name(row["kind"]), frozenset(names(row["sources"]))) for row in rows}


def test_the_kinds_are_those_of_the_registry_and_of_the_seeds() -> None:
    registry = {(kind.name, frozenset(kind.sources)) for kind in KINDS.values()}
    assert kind_rows(TEXT) == {(kind, sources) for kind, sources in registry if kind not in RESERVED}
    rows = table(TEXT, "kind", "from", "sources")
    assert {name(row["kind"]) for row in rows if row["from"] == "001"} == SEED_001
    assert {name(row["kind"]) for row in rows if row["from"] == "000"} == SEED_000


@pytest.mark.parametrize(("kind", "sources"), sorted(kind_rows(TEXT), key=str))
def test_a_kind_is_accepted_from_its_sources_alone(kind: str, sources: frozenset[str]) -> None:
    everyone = {source for _, each in kind_rows(TEXT) for source in each}
    for source in everyone:
        if source in sources:
            assert DOCUMENT.kind(kind, DOCUMENT.newest(kind), source).name == kind
        else:
            with pytest.raises(WrongSource):
                DOCUMENT.kind(kind, DOCUMENT.newest(kind), source)


def transitions(text: str) -> Cells:
    """Return every transition of the page: event, state before, state after."""
    found: Cells = set()
    for row in table(text, "event", "from", "to"):
        listed = names(row["from"])
        before = listed if not row["from"].startswith("any") else set(Lifecycle) - listed
        found |= {(name(row["event"]), str(each), name(row["to"])) for each in before}
    return found


def test_the_lifecycle_is_the_table_and_has_the_states_of_the_seed() -> None:
    states = {name(row["state"]) for row in table(TEXT, "state", "meaning")}
    assert states == SEED_STATES == set(Lifecycle)
    rules = {
        (event, str(before), str(after)) for event, (froms, after) in TRANSITIONS.items() for before in froms
    }
    assert transitions(TEXT) == rules


def event_named(event: str) -> tuple[str, dict[str, object]]:
    if event == REORGED:
        return failed(Evidence.POLYGON, code=REORGED)
    return event, confirmed(Evidence.POLYGON)[1] if event == "anchor.confirmed" else {}


def paths() -> dict[Lifecycle, list[str]]:
    """Return events that lead to each state."""
    found, queue = {START: list[str]()}, deque([START])
    while queue:
        before = queue.popleft()
        for event, state_before, after in sorted(transitions(TEXT)):
            if state_before == before and Lifecycle(after) not in found:
                found[Lifecycle(after)] = [*found[before], event]
                queue.append(Lifecycle(after))
    return found


@pytest.mark.parametrize("before", Lifecycle)
def test_every_event_changes_the_lifecycle_as_its_row_says(before: Lifecycle) -> None:
    rows = {(event, state_before): after for event, state_before, after in transitions(TEXT)}
    path = paths()[before]
    for event in KINDS.keys() | {REORGED}:
        facts = history(*map(event_named, [*path, event]))
        assert lifecycle(facts[:-1]) == before
        assert lifecycle(facts) == rows.get((event, before), before), event


def pipeline_rows(text: str) -> Cells:
    columns = ("opened by", "closed by", "also opened by", "also closed by")
    return {
        (name(row["pipeline state"]), column.removeprefix("also "), kind)
        for row in table(text, "pipeline state", *columns)
        for column in columns
        for kind in names(row[column])
    }


def pipeline_events(text: str, *columns: str) -> set[tuple[str, str]]:
    return {
        (name(row["pipeline state"]), kind)
        for row in table(text, "pipeline state", "events", "also")
        for column in columns
        for kind in names(row[column])
    }


def plays() -> Iterable[Sequence[Fact]]:
    for seed in range(PLAYS):
        chance, played = random.Random(seed), Played()
        for _ in range(MOVES):
            play(chance.choice, played)
        yield played.facts


def observed() -> tuple[Cells, set[tuple[str, str]]]:
    """Return what opens and closes every pipeline state in many plays, and what workers append in it."""
    edges: Cells = set()
    events: dict[Pipeline, set[str]] = defaultdict(set)
    for facts in plays():
        before = read(())
        for place, fact in enumerate(facts, 1):
            after = read(facts[:place])
            was, now = pipeline(before), pipeline(after)
            if was != now:
                edges |= {(str(was), "closed by", fact.kind)} if was else set()
                edges |= {(str(now), "opened by", fact.kind)} if now else set()
            own = "api" not in KINDS[fact.kind].sources
            if was and own and fact.payload["witness_hash"] == before.witness:
                events[was].add(fact.kind)
            before = after
    return edges, {(str(each), kind) for each, kinds in events.items() for kind in kinds}


@pytest.mark.timeout(600)
def test_the_pipeline_opens_and_closes_as_the_table_says_and_the_seed_is_in_it() -> None:
    edges, events = observed()
    assert pipeline_rows(TEXT) == edges
    assert pipeline_events(TEXT, "events", "also") == events
    plain = {
        (name(row["pipeline state"]), column, kind)
        for row in table(TEXT, "pipeline state", "opened by", "closed by", "also opened by", "also closed by")
        for column in ("opened by", "closed by")
        for kind in names(row[column])
    }
    assert plain == SEED_PIPELINE
    assert pipeline_events(TEXT, "events") == {
        (each, kind) for each, kinds in SEED_EVENTS.items() for kind in kinds
    }
    assert {each for each, _, _ in plain} == set(Pipeline)


EVENTS = ("`tsa.confirmed`", "`anchor.confirmed` or `rekor.confirmed`", "`artifact.finalized`")
UI = ("state", "seed 001", *EVENTS)
SUBSETS = [set(each) for size in range(6) for each in combinations(Evidence, size)]


@pytest.mark.parametrize("there", SUBSETS, ids=lambda each: "+".join(sorted(each)) or "nothing")
def test_what_people_see_is_the_one_row_that_fits(there: set[Evidence]) -> None:
    facts = history(*(confirmed(each) for each in Evidence if each in there))
    confirmations = (Evidence.TSA in there, bool(there & set(NETWORKS)), Evidence.ARTIFACT in there)
    cells = dict(zip(EVENTS, ("yes" if each else "no" for each in confirmations), strict=True))
    fits = [
        row for row in table(TEXT, *UI) if all(row[each] in ("any", cell) for each, cell in cells.items())
    ]
    assert [name(row["state"]) for row in fits] == [state(read(facts))]


def test_the_states_that_people_see_are_those_of_the_seed() -> None:
    rows = {name(row["state"]): row["seed 001"] for row in table(TEXT, *UI)}
    assert set(rows) == set(State)
    assert {rows[each] for each in State if each is not State.NONE} == {"Protegido", "Reforzado", "Final"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| `rekor.confirmed` | 000 | `submit-anchor-rekor` |\n", ""),
        ("| `document.signed` | Foja | `api` |", "| `document.signed` | Foja | `api`, `sweeper` |"),
        ("| `artifact.renewed` | Foja |", "| `artifact.forgotten` | Foja |"),
    ],
)
def test_a_planted_difference_in_the_kinds_is_found(old: str, new: str) -> None:
    assert old in TEXT
    assert kind_rows(TEXT.replace(old, new)) != kind_rows(TEXT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| `document.archived` | any | `archived` |\n", ""),
        (
            "| `document.archived` | any | `archived` |",
            "| `document.archived` | any but `revoked` | `archived` |",
        ),
        ("| `reorged` | `anchored` | `protected` |", "| `reorged` | `anchored` | `signed` |"),
    ],
)
def test_a_planted_difference_in_the_lifecycle_is_found(old: str, new: str) -> None:
    assert old in TEXT
    assert transitions(TEXT.replace(old, new)) != transitions(TEXT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| `tsa.confirmed`, `document.protected.requested` |", "| `tsa.confirmed` |"),
        ("| – | `document.protected.requested`,", "| `tsa.failed` | `document.protected.requested`,"),
    ],
)
def test_a_planted_difference_in_the_pipeline_is_found(old: str, new: str) -> None:
    assert old in TEXT
    assert pipeline_rows(TEXT.replace(old, new, 1)) != pipeline_rows(TEXT)
