"""Simulated documents: every evidence has an explained status, and every attempt ends."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from foja.pure.models.documents.events import JOB_EVIDENCE, NETWORKS, Evidence
from foja.pure.models.documents.history import read
from foja.pure.models.documents.projection import EvidenceView, Projection, project
from foja.pure.models.documents.rules import decide
from foja.pure.models.documents.states import EvidenceStatus, State
from foja.pure.models.documents.view import EVIDENCE_NAMES, explain
from tests.rules.document_histories import EVERYTHING
from tests.rules.played_documents import RANK, WITNESSES, Played, key

ABILITIES = st.sampled_from([EVERYTHING, EVERYTHING - {"artifact"}, EVERYTHING - {"bitcoin"}])
WEIGHTS = {
    "execute": 6,
    "confirm": 6,
    "fail": 4,
    "time out": 2,
    "take back": 2,
    "request": 2,
    "provide": 3,
}  # else 1


def play(choose: Callable[[Sequence[Any]], Any], played: Played) -> str:
    """Make one move that the guards allow now; return its name."""
    moves = played.moves()
    name: str = choose([name for name in sorted(moves) for _ in range(WEIGHTS.get(name, 1))])
    choose(moves[name])()
    return name


def drawing(data: st.DataObject) -> Callable[[Sequence[Any]], Any]:
    return lambda choices: data.draw(st.sampled_from(choices))


@given(ABILITIES, st.integers(1, 30), st.data())
@settings(deadline=None)
def test_nothing_waits_without_an_explanation_and_everything_ends(
    abilities: frozenset[str], moves: int, data: st.DataObject
) -> None:
    played = Played(abilities)
    for _ in range(moves):
        play(drawing(data), played)
        check_explained(played)
    for _ in range(200):
        wrote = played.execute()
        check_explained(played, executed=True)
        if not wrote and not played.open:
            break
        for need in played.open:
            if need in played.open:
                played.time_out(need)
                check_explained(played)
    else:
        raise AssertionError("it never ended")


@given(ABILITIES, st.integers(1, 30), st.data())
@settings(deadline=None)
def test_every_attempt_is_what_the_rules_decide_from_the_events_before_it(
    abilities: frozenset[str], moves: int, data: st.DataObject
) -> None:
    played = Played(abilities)
    silent = set()
    for _ in range(moves):
        name = play(drawing(data), played)
        if name == "execute":
            silent.add((len(played.facts), played.now))
    for place, fact in enumerate(played.facts):
        decided = decide(played.facts[:place], abilities=abilities, at=fact.at, policy=played.policy)
        if fact.kind in JOB_EVIDENCE:
            assert (decided[0].kind, decided[0].payload()) == (fact.kind, fact.payload)
    for place, at in silent:
        assert decide(played.facts[:place], abilities=abilities, at=at, policy=played.policy) == []


@given(st.lists(st.booleans(), max_size=5))
def test_stages_lead_from_the_first_to_the_artifact(failures: list[bool]) -> None:
    played = Played()
    steps = zip(WITNESSES, RANK, (["tsa"], ["tsa"], ["tsa", "polygon"]), strict=True)
    for witness, stage, evidence in steps:
        played.request(witness, stage, evidence)
        while played.execute() or played.open:
            played.end(played.open[0], success=not (failures and failures.pop()))
    now = project(played.facts, abilities=EVERYTHING, at=played.now, policy=played.policy)
    given_up = [each for each in now.evidence if each.status is EvidenceStatus.GIVEN_UP]
    assert now.state is State.FINAL or given_up
    stamped = {fact.payload["witness_hash"] for fact in played.facts if fact.kind == "tsa.confirmed"}
    superseded = {each.witness_hash for each in now.evidence if each.status is EvidenceStatus.SUPERSEDED}
    assert stamped | superseded == set(WITNESSES) or given_up
    assert not stamped & superseded


def test_the_simulation_reaches_every_move_and_status() -> None:
    moves, statuses, ends = set(), set(), set()
    for seed in range(150):
        chance, played = random.Random(seed), Played(EVERYTHING - {"bitcoin"} if seed % 3 else EVERYTHING)
        for _ in range(30):
            moves.add(play(chance.choice, played))
            now = project(played.facts, abilities=played.abilities, at=played.now, policy=played.policy)
            statuses |= {(each.evidence in NETWORKS, each.status) for each in now.evidence}
            ends.add((now.state, played.over))
            check_explained(played)
    assert moves == {*WEIGHTS, "submit", "come late", "grant", "close", "require", "wait"}
    assert (
        {status for _, status in statuses}
        == {status for network, status in statuses if network}
        == set(EvidenceStatus) - {EvidenceStatus.RECORDED}  # of what the executor has not seen
    )
    assert {over for state, over in ends if state is State.FINAL} >= {"final", "archived"}


def check_explained(played: Played, *, executed: bool = False) -> None:
    """Fail unless every requested evidence has a status, and `explain` tells it."""
    now = project(played.facts, abilities=played.abilities, at=played.now, policy=played.policy)
    text = explain(now)
    assert text
    assert now.length == len(played.facts)
    check_complete(played, now)
    needs = decide(played.facts, abilities=played.abilities, at=played.now, policy=played.policy)
    requested = {(each.evidence, each.witness) for each in needs}
    assert requested == {
        (each.evidence, each.witness_hash) for each in now.evidence if each.status is EvidenceStatus.REQUESTED
    }
    assert not (executed and requested)
    for each in now.evidence:
        check_status(each, now, text, over=played.over)


def check_complete(played: Played, now: Projection) -> None:
    """Fail unless the view shows every requested evidence, in the state that the database has."""
    requested = {(Evidence(name), witness) for witness, _, names in played.requests for name in names}
    if played.requests and played.requests[-1][1] in (None, "final"):
        requested.add((Evidence.ARTIFACT, played.requests[-1][0]))
    assert {(each.evidence, each.witness_hash) for each in now.evidence} == requested
    history = read(played.facts)
    for evidence, witness in requested:
        track = history.track(evidence, witness)
        states = {
            state: need.attempt
            for need, state in played.attempts.items()
            if key(evidence, witness) == key(need.evidence, need.witness)
        }
        assert (track.open.number if track.open else None) == states.get("open")
        assert (track.confirmed is not None) == ("confirmed" in states)
        counted = played.made(evidence, witness) - played.spent.get(key(evidence, witness), 0)
        assert track.counted == counted


def check_status(each: EvidenceView, now: Projection, text: str, *, over: str | None) -> None:
    name = EVIDENCE_NAMES[each.evidence]
    if each.witness_hash != now.witness_hash:
        name = f"{name} of {each.witness_hash[:12]}…"
    if each.status is EvidenceStatus.CONFIRMED:
        assert each.confirmed_at
        return
    assert name in text or f"{name[:1].upper()}{name[1:]}" in text
    if each.witness_hash != now.witness_hash:
        assert each.status is EvidenceStatus.SUPERSEDED
        assert name in text.partition("Superseded by a later request: ")[2]
    elif each.status in (EvidenceStatus.OPEN, EvidenceStatus.SCHEDULED):
        assert each.deadline
        assert each.deadline.strftime("%Y-%m-%d %H:%M:%SZ") in text
    elif each.status is EvidenceStatus.GIVEN_UP:
        assert f"Gave up on {name}" in text
        assert each.failure_code
        assert each.failure_code in text
        assert ("foja retry" in text) == (over is None)
    elif each.status is EvidenceStatus.WAITING:
        assert over is None
        assert name in text.partition("After that: ")[2]
        assert blockers(each, now) or (now.witness_required and "A witness is required since" in text)
    elif each.status is EvidenceStatus.FAILED:
        assert over
        assert each.failure_code is None or each.failure_code in text or "taken back" in text
    elif each.status is EvidenceStatus.NOT_INSTALLED:
        assert "not installed" in text
    else:
        assert each.status is EvidenceStatus.REQUESTED
        assert over is None


def blockers(each: EvidenceView, now: Projection) -> list[EvidenceView]:
    """Return what this waits for: its timestamp, or for the artifact what is required."""
    if each.evidence in NETWORKS:
        before = [other for other in now.evidence if other.evidence is Evidence.TSA]
    else:
        before = [other for other in now.evidence if other.evidence in now.required_evidence]
    missing = [other for other in before if other.status is not EvidenceStatus.CONFIRMED]
    return [other for other in missing if other.witness_hash == each.witness_hash]
