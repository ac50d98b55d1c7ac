"""A part of an installation: what last happened to it, and what that says now.

A part is named by its kind and, where there are several, by its name: `database`, `job:run_tsa`,
`authority:http://tsa.example`, `store:write`. `failing` and `paused` last until something succeeds or a
person acts, however long ago that began; `works` ends with age: then nothing is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

NO_WORKER: Final = "no_worker"  # the code of a job type that waits for one
RESTART: Final = timedelta(seconds=10)  # that a worker may be away while it is started again


class State(StrEnum):
    """What is known about a part now."""

    WORKS = "works"
    FAILING = "failing"
    PAUSED = "paused"  # by a person
    UNTRIED = "untried"  # for so long that nothing is known


@dataclass(frozen=True, slots=True)
class Record:
    """What last happened to a part, as all processes saw it."""

    part: str
    worked_at: datetime | None = None
    failed_at: datetime | None = None
    failing_since: datetime | None = None  # the first failure after the last success
    code: str | None = None
    error: str | None = None

    @property
    def tried_at(self) -> datetime | None:
        """When it was used or probed last."""
        return max(filter(None, (self.worked_at, self.failed_at)), default=None)


@dataclass(frozen=True, slots=True)
class Queued:
    """What the queue of a job type says, and the workers that announce it."""

    paused: bool = False
    paused_at: datetime | None = None
    seen_at: datetime | None = None  # when a worker said last that it does this type
    unhandled: str | None = None  # what waits, if no living worker does
    ready_at: datetime | None = None  # and since when

    @property
    def known(self) -> bool:
        """Whether anything is known about it."""
        return self.paused or self.seen_at is not None or self.unhandled is not None


@dataclass(frozen=True, slots=True)
class Part:
    """A part as it stands. `error` is for operators only: it may name servers."""

    name: str
    state: State
    since: datetime | None  # it fails, is paused, or was tried last
    checked_at: datetime | None
    now: datetime
    code: str | None = None
    error: str | None = None

    @property
    def kind(self) -> str:
        """What sort of part it is."""
        return self.name.partition(":")[0]

    @property
    def label(self) -> str:
        """Which one of its kind it is; empty if there is one."""
        return self.name.partition(":")[2]

    @property
    def ok(self) -> bool:
        """Whether nothing is known to be wrong with it."""
        return self.state in {State.WORKS, State.UNTRIED}

    @property
    def failing_seconds(self) -> float:
        """How long it has failed or been paused; 0 if it does not."""
        return 0.0 if self.ok or self.since is None else max((self.now - self.since).total_seconds(), 0.001)

    def document(self, *, words: bool) -> dict[str, Any]:
        """Return it as JSON carries it, with or without the words of its error."""
        fields: dict[str, Any] = {"ok": self.ok, "state": str(self.state)}
        fields["since"] = self.since.isoformat(timespec="seconds") if self.since else None
        if words:
            fields |= {"error": self.error, "advice": "" if self.state is State.WORKS else advice(self)}
        return fields


def part_of(record: Record, now: datetime, allowed: timedelta, queued: Queued | None = None) -> Part:
    """Return how a part does now. Without a try for longer than `allowed`, a part that worked is untried."""
    announced = queued.seen_at if queued else None
    tried = max(filter(None, (record.tried_at, announced)), default=None)

    def part(state: State, since: datetime | None, code: str | None = None, error: str | None = None) -> Part:
        return Part(record.part, state, since, tried, now, code, error)

    if queued and queued.paused:
        return part(State.PAUSED, queued.paused_at, "paused", "a person paused it")
    if record.failing_since:
        return part(State.FAILING, record.failing_since, record.code, record.error)
    if queued and queued.ready_at and now - queued.ready_at > RESTART:
        return part(State.FAILING, queued.ready_at, NO_WORKER, queued.unhandled)
    stale = tried is None or now - tried > allowed
    return part(State.UNTRIED if stale else State.WORKS, tried)


TIMESTAMPS: Final = "docs/runbooks/timestamps_failing.md"
REACH_AUTHORITY: Final = f"look whether FOJA_TSA_URLS can be reached from here; {TIMESTAMPS}"
# What to do next about a part that fails, by its kind; a more precise one by kind and code.
ADVICE: Final = {
    "database": "start the server, or correct FOJA_DATABASE_URL; docs/runbooks/database_down.md",
    "database frozen": "let it go on (`kill -CONT {process}`), or end it (`kill -9 {process}`)",
    "schema": "`foja migrate --status` shows which step differs; `foja migrate` applies what is pending",
    "log": "`foja log` shows why; docs/runbooks/log_halted.md",
    "job": "`foja jobs list --type {label}` and the log of the worker say more",
    "job no_worker": "start `foja worker`, or the program with its handler; docs/runbooks/worker_missing.md",
    "job paused": "`foja jobs resume {label}` lets it go on",
    "authority": f"its answer does not count: correct FOJA_TSA_URLS or FOJA_TSA_ROOTS; {TIMESTAMPS}",
    "authority unreachable": REACH_AUTHORITY,
    "authority hung": REACH_AUTHORITY,
    "authority unavailable": REACH_AUTHORITY,
    "authority http_status": f"it refuses: correct the path or the login in FOJA_TSA_URLS; {TIMESTAMPS}",
    "network": "`foja anchors` and `foja doctor` say what is missing; docs/runbooks/part_failing.md",
    "store": "look whether FOJA_STORAGE_URL can be reached and written; docs/runbooks/part_failing.md",
    "store store_away": "mount its disk, or put its folder back: docs/runbooks/part_failing.md",
    "store store_full": "free space there, or make it larger; docs/runbooks/store_full.md",
    "redis": "start Redis, or correct FOJA_REDIS_URL; PostgreSQL numbers conversations meanwhile",
    "decoder": "raise FOJA_IMAGE_MEMORY_MB, or install foja[images] again; docs/runbooks/part_failing.md",
    "webhooks": "several receivers fail and none takes a message: can this machine reach the network?",
    "mail": "correct FOJA_SMTP_URL; `foja alerts test` sends a message",
    "alert_webhook": "correct FOJA_ALERT_WEBHOOK_URL, or its receiver; `foja alerts test` sends a message",
}  # fmt: skip
UNTRIED_ADVICE: Final = "is a process of `foja worker` or `foja web` running? they try it now and then"


def advice(part: Part) -> str:
    """Return what to do next about a part."""
    if part.state is State.UNTRIED:
        return UNTRIED_ADVICE
    return advice_on(part.kind, part.code).format(label=part.label)


def advice_on(kind: str, code: str | None) -> str:
    """Return what to do next about a kind of part that failed with this code, such as `frozen:PROCESS`."""
    name, _, process = (code or "").partition(":")
    found = ADVICE.get(f"{kind} {name}") or ADVICE.get(kind, "docs/runbooks/part_failing.md")
    return found.replace("{process}", process)
