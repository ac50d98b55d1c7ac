"""One evidence for one witness: its attempts, how each ended, and whether it is confirmed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from foja.pure.models.documents.events import Evidence

REORGED, TIMEOUT, SUPERSEDED = "reorged", "timeout", "superseded"
TOKEN_REFUSED = "token_refused"  # noqa: S105, by our own judge, after it was recorded
TAKEN_BACK = frozenset({REORGED, TOKEN_REFUSED})


class Ending(NamedTuple):
    """How an attempt ended; a confirmation of another attempt ends it, too."""

    seq: int
    at: datetime
    confirmed: bool
    code: str = ""
    reason: str = ""


class Attempt(NamedTuple):
    """One request for one evidence: open from its event to its ending."""

    number: int
    seq: int
    at: datetime
    run_at: datetime
    deadline: datetime
    submitted: int | None = None  # the number of its `anchor.submitted`
    ending: Ending | None = None


class Track(NamedTuple):
    """Everything that happened to one evidence for one witness."""

    evidence: Evidence
    witness: str
    attempts: tuple[Attempt, ...] = ()
    confirmed: Ending | None = None
    local: bool = False  # the confirmation is a stamp of our own authority
    lost: Ending | None = None  # the event that took the confirmation back
    spent: int = 0  # attempts that no longer count: new ones were granted, or another witness was requested
    test_network: str | None = None  # where the confirmation is, if its blocks prove no time to others
    confirmed_by: int = 0  # the attempt that the confirmation is of; 0: none is known

    @property
    def open(self) -> Attempt | None:
        """The attempt that is under way."""
        for each in reversed(self.attempts):
            if each.ending is None:
                return each
        return None

    @property
    def counted(self) -> int:
        """How many attempts of the present set were made."""
        return len(self.attempts) - self.spent

    @property
    def has_failed(self) -> bool:
        """Whether an attempt failed, whatever came after it."""
        endings = [each.ending for each in self.attempts if each.ending]
        return any(not each.confirmed and each.code != SUPERSEDED for each in endings)

    @property
    def failure(self) -> Ending | None:
        """How the newest attempt that ended failed, if it did; the next one may be open already."""
        last = next((each.ending for each in reversed(self.attempts) if each.ending), None)
        return last if last and not last.confirmed and last.code != SUPERSEDED else None


def moment(text: object, default: datetime) -> datetime:
    """Return a moment in ISO 8601, or the default if the text is not one."""
    if not isinstance(text, str):
        return default
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return default
    return found if found.tzinfo else found.replace(tzinfo=UTC)


class TrackBuilder:
    """A track while events are read. Each attempt is opened once and ended once."""

    def __init__(self, evidence: Evidence, witness: str) -> None:
        self.evidence, self.witness = evidence, witness
        self.opened: list[tuple[int, int, datetime, datetime, datetime]] = []  # numbers only grow
        self.open: set[int] = set()  # by number, as the two below
        self.submitted: dict[int, int] = {}
        self.endings: dict[int, Ending] = {}
        self.confirmed: Ending | None = None
        self.lost: Ending | None = None
        self.local, self.spent = False, 0
        self.test_network: str | None = None
        self.confirmed_by = 0

    def confirm(self, ending: Ending, local: bool, test_network: str | None = None, number: int = 0) -> None:
        """Note a confirmation, of the attempt that it names, else of the open one, else of the last."""
        last = self.opened[-1][0] if self.opened else 0
        self.confirmed_by = number or max(self.open, default=last)
        self.confirmed, self.local, self.lost = ending, local, None
        self.test_network = test_network
        self._end_all(ending)

    def supersede(self, seq: int, at: datetime) -> None:
        """End every open attempt without counting it; the next attempts are a new set."""
        self._end_all(Ending(seq, at, False, SUPERSEDED))
        self.spent = len(self.opened)

    def build(self) -> Track:
        """Return the track."""
        submitted, endings = self.submitted, self.endings
        attempts = tuple(
            [Attempt(*each, submitted.get(each[0]), endings.get(each[0])) for each in self.opened]
        )
        return Track(
            self.evidence,
            self.witness,
            attempts,
            self.confirmed,
            self.local,
            self.lost,
            self.spent,
            self.test_network,
            self.confirmed_by,
        )

    def _end_all(self, ending: Ending) -> None:
        for number in self.open:
            self.endings[number] = ending
        self.open.clear()
