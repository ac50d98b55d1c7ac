"""What a monitor remembers: a line of JSON, then a row for each stream. One file, replaced whole."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from foja.engine import private
from foja.engine.embedded.locks import opened, try_exclusive
from foja.engine.monitor.streams import ID_BYTES, ROW_BYTES, Cut, Finding
from foja.errors import SetupFailed, Tampered
from foja.files import read_file
from foja.pure.core.merkle import Frontier
from foja.pure.core.note import Checkpoint

FORM = "foja/monitor-state/v1"
MAX_FINDINGS = 1000  # of faults, and as many that are none; a log that forks so often is not trusted at all


@dataclass(slots=True)
class FollowedLog:
    """A log as far as it was read: the edge of its tree, and where a restart closed it."""

    number: int
    origin: str
    frontier: Frontier = field(default_factory=Frontier)
    closed: int | None = None
    lost: dict[str, int] = field(default_factory=dict)  # the first number of each stream, by its hex

    @property
    def checkpoint(self) -> Checkpoint:
        """The tree as far as it was read."""
        return Checkpoint(self.origin, self.frontier.size, self.frontier.root())


@dataclass(slots=True)
class State:
    """The name of the log that is followed, its logs by number, its streams, and what was found."""

    name: str
    logs: dict[int, FollowedLog] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    time: int = 0  # of the last complete poll, in seconds since 1970
    partial: bool = False  # the logs before the first one that was read are not known
    unread: bool = False  # the entries are not public: only the growth of the tree is checked
    told: dict[str, int] = field(default_factory=dict)  # how many findings each channel of alerts got
    rows: dict[bytes, bytes] = field(default_factory=dict)

    @property
    def faults(self) -> list[Finding]:
        """What was found that no honest log shows."""
        return [each for each in self.findings if each.is_fault]

    @property
    def cuts(self) -> dict[int, Cut]:
        """The closed logs, and what each restart left out."""
        logs = self.logs.values()
        return {each.number: Cut(each.closed, each.lost) for each in logs if each.closed is not None}

    @property
    def entries(self) -> int:
        """How many entries of all logs were read."""
        return 0 if self.unread else sum(each.frontier.size for each in self.logs.values())

    def encode(self) -> bytes:
        """Return the state as bytes to store."""
        logs = [
            {"number": each.number, "origin": each.origin, "closed": each.closed}
            | {"frontier": each.frontier.encode().hex(), "lost": each.lost}
            for each in self.logs.values()
        ]
        head = {"form": FORM, "name": self.name, "time": self.time, "logs": logs}
        head |= {"partial": self.partial, "unread": self.unread, "told": self.told}
        head |= {"findings": [asdict(each) for each in self.findings], "streams": len(self.rows)}
        line = json.dumps(head, ensure_ascii=False).encode() + b"\n"
        return b"".join([line, *(key + row for key, row in self.rows.items())])

    @classmethod
    def decode(cls, data: bytes) -> State:
        """Return what `encode` wrote, or raise `Tampered`."""
        line, _, rows = data.partition(b"\n")
        width = ID_BYTES + ROW_BYTES
        try:
            head = json.loads(line)
            if head["form"] != FORM or len(rows) != width * head["streams"]:
                raise ValueError(head["form"])
            logs = [
                FollowedLog(
                    each["number"], each["origin"], _frontier(each["frontier"]), each["closed"], each["lost"]
                )
                for each in head["logs"]
            ]
            findings = [Finding(**each) for each in head["findings"]]
            flags = {name: head[name] for name in ("partial", "unread", "told")}
        except (KeyError, TypeError, ValueError) as error:
            raise Tampered(f"not the state of a monitor ({error})") from None
        pieces = (rows[at : at + width] for at in range(0, len(rows), width))
        streams = {each[:ID_BYTES]: each[ID_BYTES:] for each in pieces}
        by_number = {each.number: each for each in logs}
        return cls(head["name"], by_number, findings, head["time"], rows=streams, **flags)


def read_state(path: Path) -> State | None:
    """Return the state in a file, or None without one. Raise `SetupFailed` for a damaged one."""
    try:
        return State.decode(read_file(path))
    except FileNotFoundError:
        return None
    except Tampered as error:
        raise SetupFailed(f"{path}: {error}; remove it to read the log from its beginning again") from None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the state in a file. Raise `SetupFailed` if another process holds it."""
    private.make_folder(path.parent)
    with opened(path.with_name(f".{path.name}.lock")) as lock:
        if not try_exclusive(lock):
            other = os.pread(lock, 20, 0).decode(errors="replace")
            raise SetupFailed(
                f"{path} is used by the monitor with the process number {other}; stop it, or name another"
                " file with --state"
            )
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        yield


def write_state(path: Path, state: State) -> None:
    """Replace the file by this state, and return when it survives a power cut."""
    private.make_folder(path.parent)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        private.write_file(draft, state.encode())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    private.sync(path.parent)


def _frontier(text: str) -> Frontier:
    return Frontier.decode(bytes.fromhex(text))
