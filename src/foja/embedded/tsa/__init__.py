"""A real timestamp authority for those who have configured none.

It proves order to whoever runs it, not time to others: its clock and its root are
those of this machine. Every token says so by its policy.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from foja.embedded.tsa.issuer import ROOT_NAME, SigningIdentity, is_due
from foja.embedded.tsa.keystore import FOLDER, PUBLIC, KeyStore
from foja.embedded.tsa.responder import ACCURACY_SECONDS, Failure, ReplyEncoder, granted, pen, rejected
from foja.errors import Malformed
from foja.proofs.tsa import ALGORITHMS, LOCAL_POLICY, Certificate, TimestampRequest, read_request
from foja.proofs.tsa.oids import SIZES

MAX_REQUEST_BYTES = 4096  # of a request
SYSTEM = partial(datetime.now, UTC)
ACCURACY = timedelta(seconds=ACCURACY_SECONDS)


class LocalAuthority:
    """Answers requests under the keys of one installation; they are made if there are none."""

    name = "local"

    def __init__(self, home: Path, clock: Callable[[], datetime] = SYSTEM) -> None:
        self._keeper, self._clock = KeyStore(home), clock
        self.root = self._keeper.root().pem
        self._latest = datetime.min.replace(tzinfo=UTC)
        self._signer, self._pen = self._take_pen(clock())

    def reply(self, query: bytes) -> bytes:
        """Return the TimeStampResp to a TimeStampReq: a token, or a refusal with its reason."""
        if len(query) > MAX_REQUEST_BYTES:
            return rejected(Failure.BAD_DATA_FORMAT, f"a request has at most {MAX_REQUEST_BYTES} bytes")
        try:
            question = read_request(query)
        except Malformed as error:
            return rejected(Failure.BAD_DATA_FORMAT, str(error))
        if question.algorithm is None:
            return rejected(Failure.BAD_ALGORITHM, f"hash with one of {', '.join(ALGORITHMS)}")
        if len(question.imprint) != SIZES[question.algorithm]:
            return rejected(Failure.BAD_DATA_FORMAT, f"this is no digest by {question.algorithm}")
        if question.policy not in (None, LOCAL_POLICY):
            return rejected(Failure.UNACCEPTED_POLICY, f"the only policy here is {LOCAL_POLICY}")
        if question.extensions:
            return rejected(Failure.UNACCEPTED_EXTENSION, "no extension is known here")
        return self._stamped(question)

    async def ask(self, query: bytes) -> bytes:
        """Return the reply, as a client of another authority would get it."""
        return self.reply(query)

    def _stamped(self, question: TimestampRequest) -> bytes:
        """Stamp with the time: never an earlier one than before, never out of its accuracy."""
        now = self._clock()
        back = self._latest - now
        if back > ACCURACY:
            words = f"the clock went back by {back.total_seconds():.0f} seconds; start again once it is right"
            return rejected(Failure.TIME_NOT_AVAILABLE, words)
        self._latest = max(now, self._latest)
        return granted(self._current(self._latest), question, self._latest, _serial())

    def _current(self, now: datetime) -> ReplyEncoder:
        if is_due(self._signer, now):
            self._signer, self._pen = self._take_pen(now)
        return self._pen

    def _take_pen(self, now: datetime) -> tuple[SigningIdentity, ReplyEncoder]:
        signer = self._keeper.signer(now)
        return signer, pen(signer, LOCAL_POLICY)


def kept_root(home: Path) -> bytes | None:
    """Return the root of an authority that was ever used here: its tokens stay verifiable."""
    path = home / FOLDER / PUBLIC
    return path.read_bytes() if path.exists() else None


def is_local(root: Certificate) -> bool:
    """Say whether a root is that of a local authority, of this installation or another, by its name."""
    return root.name.startswith(f"CN={ROOT_NAME} ")


def _serial() -> int:
    """Return a number that no other token has: 127 random bits, the same length for all."""
    return 1 << 126 | secrets.randbits(126)
