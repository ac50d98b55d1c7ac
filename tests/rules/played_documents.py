"""A simulated document: callers, executor, workers and chains act within the guards of the database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from foja.pure.models.documents.events import NETWORKS, REQUIRABLE, Evidence, Stage
from foja.pure.models.documents.rules import Need, Policy, decide
from tests.rules.document_histories import EVERYTHING, START, Fact, confirmed, failed, request

WITNESSES = ("a" * 64, "b" * 64, "c" * 64)
RANK = list(Stage)
POLICY = Policy(attempts=2)
Move = Callable[[], object]
Asked = tuple[str, str | None, tuple[str, ...]]  # witness, stage, evidence


@dataclass
class Played:
    """The history so far, and the state that the tables of the database would have."""

    abilities: frozenset[str] = EVERYTHING
    policy: Policy = POLICY
    facts: list[Fact] = field(default_factory=list)
    requests: list[Asked] = field(default_factory=list)
    attempts: dict[Need, str] = field(default_factory=dict)
    spent: dict[tuple[Evidence, str], int] = field(default_factory=dict)  # attempts that no longer count
    submitted: set[Need] = field(default_factory=set)
    over: str | None = None
    held: bool = False  # a witness is required
    now: datetime = START

    @property
    def open(self) -> list[Need]:
        """The attempts that are under way."""
        return self._attempts_in("open")

    def moves(self) -> dict[str, list[Move]]:
        """Return the moves that the guards allow now, by name."""
        ended = self._attempts_in("failed", "superseded", "reorged")
        last = self.requests[-1][0] if self.requests else None
        current = [each for each in ended if each.witness == last or each.evidence is Evidence.ARTIFACT]
        late = [each for each in ended if each.evidence in REQUIRABLE and not self._is_confirmed(each)]
        anchors = [each for each in self._attempts_in("confirmed") if each.evidence in NETWORKS]
        unsubmitted = [each for each in self.open if each.evidence in NETWORKS and each not in self.submitted]
        found: dict[str, list[Move]] = {
            "request": []
            if self.over or self.held
            else [partial(self.request, *each) for each in self._requests()],
            "execute": [self.execute],
            "confirm": [partial(self.end, each, success=True) for each in self.open],
            "submit": [partial(self.submit, each) for each in unsubmitted],
            "fail": [partial(self.end, each, success=False) for each in self.open],
            "time out": [partial(self.time_out, each) for each in self.open],
            "come late": [partial(self.come_late, each) for each in late],
            "take back": [partial(self.take_back, each) for each in anchors],
            "grant": [] if self.over else [partial(self.grant, each) for each in current],
            "close": [partial(self.close, status) for status in self._closings()],
            "require": [] if self.over in ("revoked", "archived") else [self.require],
            "provide": [self.provide] if self.held and self.over not in ("revoked", "archived") else [],
            "wait": [partial(self.wait, 3600.0)],
        }
        return {name: each for name, each in found.items() if each}

    def append(self, kind: str, body: dict[str, Any], *, after: float = 1.0) -> None:
        self.now += timedelta(seconds=after)
        self.facts.append(Fact(len(self.facts), kind, self.now, body))

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def request(self, witness: str, stage: str | None, evidence: Sequence[str]) -> None:
        self.append(*request(*evidence, witness=witness, stage=stage))
        self._drop_artifact()
        if self.requests and (before := self.requests[-1][0]) != witness:
            for each in REQUIRABLE:
                self.spent[each, before] = self.made(each, before)
            for need in self.open:
                self.attempts[need] = "superseded"
        self.requests.append((witness, stage, tuple(evidence)))

    def submit(self, need: Need) -> None:
        """Let a worker submit an anchor, once per attempt."""
        body = {"network": need.evidence.value, "witness_hash": need.witness, "attempt": need.attempt}
        self.append("anchor.submitted", body)
        self.submitted.add(need)

    def execute(self) -> Sequence[Need]:
        """Decide and append as the executor does; fail where the database would refuse it."""
        needs = decide(self.facts, abilities=self.abilities, at=self.now, policy=self.policy)
        for need in needs:
            self._check_turn(need)
            self.append(need.kind, need.payload(), after=0)
            self.attempts[need] = "open"
        return needs

    def end(self, need: Need, *, success: bool) -> None:
        """Let a worker end one attempt."""
        ending = confirmed if success else failed
        self.append(*ending(need.evidence, need.attempt, need.witness))
        self._mark(need, "confirmed" if success else "failed")

    def time_out(self, need: Need) -> None:
        """Let the sweeper end one attempt, at its deadline."""
        self.now = max(self.now, need.deadline)
        kind, body = failed(need.evidence, need.attempt, need.witness, code="timeout")
        if need.evidence in NETWORKS:
            kind = "anchor.timeout"
            body = {**body, "limit": need.deadline.isoformat()}
            del body["failure_code"]
        self.append(kind, body)
        self._mark(need, "failed")

    def come_late(self, need: Need) -> None:
        kind, body = confirmed(need.evidence, need.attempt, need.witness)
        self.append(kind, {**body, "late": True})
        self._mark(need, "confirmed")

    def take_back(self, need: Need) -> None:
        self.append(*failed(need.evidence, need.attempt, need.witness, code="reorged"))
        self._mark(need, "reorged")
        self._drop_artifact()

    def grant(self, need: Need) -> None:
        """Grant new attempts; allowed before anything is given up."""
        witness = self.requests[-1][0] if need.evidence is Evidence.ARTIFACT else need.witness
        if not self._is_confirmed(need):
            body = {"evidence": need.evidence.value, "witness_hash": witness}
            self.append("protection.retry.requested", body)
            self.spent[key(need.evidence, need.witness)] = self.made(need.evidence, need.witness)

    def close(self, status: str) -> None:
        self.append(f"document.{status}", {"reason": "r"})
        self.over = status
        self._drop_artifact()

    def require(self) -> None:
        """Require a witness: nothing goes on until it is there."""
        self.append("document.witness.required", {})
        self.held = True
        self._drop_artifact()

    def provide(self) -> None:
        """Name the witness."""
        self.append("document.witness.ready", {"witness_hash": WITNESSES[-1]})
        self.held = False

    def _attempts_in(self, *states: str) -> list[Need]:
        return [need for need, state in self.attempts.items() if state in states]

    def _is_confirmed(self, need: Need) -> bool:
        return any(_same(need, each) for each in self._attempts_in("confirmed"))

    def _mark(self, need: Need, state: str) -> None:
        self.attempts[need] = state
        if state == "confirmed":
            self._supersede(need)
        if state == "confirmed" and need.evidence is Evidence.ARTIFACT:
            self.over = "final"

    def made(self, evidence: Evidence, witness: str) -> int:
        """How many attempts there were."""
        return sum(key(each.evidence, each.witness) == key(evidence, witness) for each in self.attempts)

    def _drop_artifact(self) -> None:
        self.spent[key(Evidence.ARTIFACT, "")] = self.made(Evidence.ARTIFACT, "")
        for need in self.open:
            if need.evidence is Evidence.ARTIFACT:
                self.attempts[need] = "superseded"

    def _supersede(self, confirmed: Need) -> None:
        for need in self.open:
            if _same(need, confirmed):
                self.attempts[need] = "superseded"

    def _check_turn(self, need: Need) -> None:
        earlier = [each for each in self.attempts if _same(each, need)]
        confirmed = {(each.evidence, each.witness) for each in self._attempts_in("confirmed")}
        witness, stage, evidence = self.requests[-1]
        assert not self.over
        assert not self.held
        assert not any(self.attempts[each] in ("open", "confirmed") for each in earlier)
        assert need.attempt == max((each.attempt for each in earlier), default=0) + 1
        assert self.now <= need.run_at < need.deadline <= self.now + timedelta(days=30)
        if need.evidence is Evidence.ARTIFACT:
            assert need.witness == witness
            assert stage in (None, "final")
            assert all((Evidence(each), witness) in confirmed for each in evidence)
            return
        assert need.witness == witness
        assert need.evidence in evidence
        assert need.evidence is Evidence.TSA or (Evidence.TSA, need.witness) in confirmed

    def _closings(self) -> list[str]:
        """Return how the document may be closed: once, but what is revoked may be archived."""
        return {"archived": [], "revoked": ["archived"]}.get(self.over or "", ["revoked", "archived"])

    def _requests(self) -> Iterator[Asked]:
        """Yield new requests: equal within a stage, growing between stages, never to an earlier stage."""
        if not self.requests:
            for stage in (None, *RANK):
                yield from ((WITNESSES[0], stage, ("tsa", *each)) for each in ((), *_PAIRS))
            return
        _, last, before = self.requests[-1]
        seen = {(witness, stage or Stage.FINAL) for witness, stage, _ in self.requests}
        for stage in RANK[RANK.index(Stage(last or "final")) :]:
            more = () if stage == (last or "final") else REQUIRABLE
            for evidence in dict.fromkeys(
                (before, *((*before, each) for each in more if each not in before))
            ):
                yield from ((each, stage, evidence) for each in WITNESSES if (each, stage) not in seen)


_PAIRS = (("polygon",), ("rekor",), ("polygon", "bitcoin"), ("polygon", "bitcoin", "rekor"))


def key(evidence: Evidence, witness: str) -> tuple[Evidence, str]:
    """Return the key of a track. A document has one artifact, whatever the witness."""
    return evidence, "" if evidence is Evidence.ARTIFACT else witness


def _same(one: Need, other: Need) -> bool:
    return key(one.evidence, one.witness) == key(other.evidence, other.witness)
