"""A cosigner: it signs a checkpoint of a known log if it continues the last one that it saw.

A log has one history under one name: a restart of it is signed if its origin line names the head that the
cosigner saw last, or if the operator of the cosigner named that restart. Then the log before it is closed.

The protocol is c2sp.org/tlog-witness. One process signs; it answers one request after the other, and what it
has seen is on the disk before it signs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from foja.engine.embedded.cosigner.state import Seen, State, StateFile
from foja.errors import Refused, SetupFailed, Tampered
from foja.pure.core.merkle import EMPTY_ROOT, check_consistency
from foja.pure.core.note import (
    FIRST,
    Checkpoint,
    Verifier,
    number_of,
    open_note,
    parse_checkpoint,
    restart_of,
    split_note,
)
from foja.pure.proofs.cosignature import (
    MAX_NAME_BYTES,
    CosignatureAlgorithm,
    CosignerSigner,
    CosignRequest,
    parse_request,
)

SIZE_TYPE, TEXT_TYPE = "text/x.tlog.size", "text/plain; charset=utf-8"
MAX_ORIGINS = 1000  # each restart of a log has another origin
log = logging.getLogger("foja.cosigner")


@dataclass(frozen=True, slots=True)
class CosignerAnswer:
    """The answer to a request, as HTTP has it."""

    status: int
    text: str
    media_type: str = TEXT_TYPE


class _Refusal(Exception):
    """An answer that ends the checks."""

    def __init__(self, status: int, text: str, media_type: str = TEXT_TYPE) -> None:
        super().__init__(text)
        self.answer = CosignerAnswer(status, f"{text}\n", media_type)


class LocalCosigner:
    """Signs for the logs with these keys. `opened` makes one."""

    def __init__(
        self,
        file: StateFile,
        state: State,
        signer: CosignerSigner,
        logs: Sequence[Verifier],
        restarts: Collection[str],
        clock: Callable[[], float],
    ) -> None:
        self._file, self._state, self._signer, self._logs, self._clock = file, state, signer, logs, clock
        self._restarts = restarts
        self._reported = set[str]()  # origins of logs whose fork is in our log already

    @classmethod
    @contextmanager
    def opened(
        cls,
        home: Path,
        logs: Sequence[Verifier],
        *,
        name: str | None = None,
        algorithm: CosignatureAlgorithm | None = None,
        moved: bool = False,
        restarts: Collection[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> Iterator[Self]:
        """Yield the cosigner of a home, created if absent, while no other process may sign with it.

        `restarts` are origin lines that it accepts although they name a head that it did not see last.
        Raise `SetupFailed` for a copy of its folder, unless it was `moved`: the copy may be older than what
        the key has signed.
        """
        file = StateFile(home)
        signer = own_signer(home, name, algorithm)
        if not logs:
            raise Refused("no log is known; name the key of each log to sign for")
        with file.locked():
            state = file.read()
            if file.is_copy(state):
                if not moved:
                    raise SetupFailed(
                        f"{file.folder} is a copy, or was restored: it may be older than what its key has"
                        " signed. If the newest folder was moved here, start with --moved; otherwise remove"
                        " it, so that a new key is made"
                    )
                state = file.adopt(state)
            yield cls(file, state, signer, logs, restarts, clock)

    @property
    def vkey(self) -> str:
        """The public key, as text."""
        return self._signer.key().vkey()

    def reply(self, body: bytes) -> CosignerAnswer:
        """Return the answer to a request: a signature line, or why there is none."""
        try:
            request, checkpoint = _read(body)
            name = self._check_signed(request.note, checkpoint)
            seen = self._state.logs.get(checkpoint.origin)
            self._check_origin(name, checkpoint, seen)
            self._check_growth(request, checkpoint, seen)
        except _Refusal as refusal:
            return refusal.answer
        self._reported.discard(checkpoint.origin)
        now = max(int(self._clock()), seen.time if seen else 0)
        self._keep(checkpoint, Seen(request.note, now), seen)
        return CosignerAnswer(200, self._signer.cosign(split_note(request.note)[0], now))

    def _check_signed(self, note: str, checkpoint: Checkpoint) -> str:
        """Return the name of the log whose key signed the note."""
        known = [each for each in self._logs if each.signs_for(checkpoint.origin)]
        if not known:
            raise _Refusal(404, "this log is not known here")
        if len(checkpoint.origin.encode()) > MAX_NAME_BYTES:
            raise _Refusal(403, f"the origin line has over {MAX_NAME_BYTES} bytes")
        try:
            open_note(note, known)
        except Tampered as error:
            raise _Refusal(403, str(error)) from None
        return known[0].name

    def _check_origin(self, name: str, new: Checkpoint, seen: Seen | None) -> None:
        """A name has one log at a time: only the newest one grows, and the next one names its head."""
        numbers = {origin: number_of(name, origin) or 0 for origin in self._state.logs}
        newest, number = (
            max(numbers, key=lambda each: numbers[each], default=None),
            number_of(name, new.origin),
        )
        if newest == new.origin:
            return self._check_room(seen)
        if newest is None or not numbers[newest]:
            if number != FIRST and new.origin not in self._restarts:
                raise _Refusal(403, "no log before this restart was seen here; its head is asked for first")
            return self._check_room(seen)
        if seen and new == seen.checkpoint():
            return None
        last, restart = self._state.logs[newest].checkpoint(), restart_of(name, new.origin)
        if (number or 0) <= numbers[newest]:
            raise _Refusal(
                403, f"{newest} was signed already: no log before it grows, and no other has its number"
            )
        named = restart is not None and (restart.size, restart.root) == (last.size, last.root)
        if not named and new.origin not in self._restarts:
            self._report_origin(last, new)
            raise _Refusal(
                403, f"this log does not name the head of {last.size} leaves that was seen of {newest}"
            )
        return self._check_room(seen)

    def _check_room(self, seen: Seen | None) -> None:
        if seen is None and len(self._state.logs) >= MAX_ORIGINS:
            raise _Refusal(403, f"{MAX_ORIGINS} logs are known here; the limit is reached")

    def _check_growth(self, request: CosignRequest, new: Checkpoint, seen: Seen | None) -> None:
        old = seen.checkpoint() if seen else Checkpoint(new.origin, 0, EMPTY_ROOT)
        if request.old_size > new.size:
            raise _Refusal(400, f"the old size is {request.old_size}, that of the checkpoint only {new.size}")
        if request.old_size != old.size:
            raise _Refusal(409, str(old.size), SIZE_TYPE)
        if old.size == new.size and old.root != new.root:
            self._report_fork(old, new)
            raise _Refusal(409, str(old.size), SIZE_TYPE)
        try:
            check_consistency(old.size, old.root, new.size, new.root, request.proof)
        except Tampered as error:
            self._report_fork(old, new)
            raise _Refusal(422, f"the checkpoint does not continue the one of {old.size}: {error}") from None

    def _keep(self, checkpoint: Checkpoint, new: Seen, old: Seen | None) -> None:
        """Store the checkpoint. A repeated one is stored already; only its time is newer."""
        state = replace(self._state, logs={**self._state.logs, checkpoint.origin: new})
        if old is None or old.checkpoint() != checkpoint:
            self._file.write(state)
        self._state = state

    def _report_fork(self, old: Checkpoint, new: Checkpoint) -> None:
        """Log that a log has signed two histories, or that a proof was wrong, once."""
        if new.origin not in self._reported:
            self._reported.add(new.origin)
            log.error(
                "not signed: log %s does not show that its %d leaves with the root %s continue the %d leaves"
                " with the root %s that it showed before",
                *(new.origin, new.size, new.root.hex(), old.size, old.root.hex()),
            )

    def _report_origin(self, last: Checkpoint, new: Checkpoint) -> None:
        """Log that the key of a log has signed another log that does not continue it, once."""
        if new.origin not in self._reported:
            self._reported.add(new.origin)
            log.error(
                "not signed: log %s does not name the head of log %s, %d leaves with the root %s. If it is a"
                " restart from a backup, and its operator confirms it, start with --restart",
                *(new.origin, last.origin, last.size, last.root.hex()),
            )


def own_signer(
    home: Path, name: str | None = None, algorithm: CosignatureAlgorithm | None = None
) -> CosignerSigner:
    """Return the signer of the cosigner in a home. It is created if absent, with this name and algorithm."""
    file = StateFile(home)
    file.create(name, algorithm or CosignatureAlgorithm.ED25519)
    state = file.read()
    if name not in (None, state.name):
        raise Refused(f"the cosigner in {file.folder} is {state.name}; another name needs another home")
    if algorithm not in (None, state.algorithm):
        raise Refused(
            f"the cosigner in {file.folder} signs by {state.algorithm}; another algorithm needs another home"
        )
    return file.signer(state)


def seen_logs(home: Path) -> list[tuple[Checkpoint, int]]:
    """Return the newest checkpoint and the time of each log that the cosigner of a home has seen."""
    file = StateFile(home)
    if not file.folder.exists():
        return []
    return [(each.checkpoint(), each.time) for _, each in sorted(file.read().logs.items())]


def _read(body: bytes) -> tuple[CosignRequest, Checkpoint]:
    try:
        request = parse_request(body)
        return request, parse_checkpoint(split_note(request.note)[0])
    except (Tampered, Refused) as error:
        raise _Refusal(400, str(error)) from None
