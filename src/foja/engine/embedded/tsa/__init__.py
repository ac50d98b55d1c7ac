"""A local timestamp authority (RFC 3161), used if no other is configured.

It proves order to the owner of this machine, but not time to others: the clock and the
root are those of this machine. The policy of every token states this.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from foja.engine.embedded.tsa.issuer import ROOT_NAME, is_due
from foja.engine.embedded.tsa.keystore import FOLDER, PUBLIC, KeyStore
from foja.engine.embedded.tsa.responder import ACCURACY_SECONDS, Failure, ReplyEncoder, granted, rejected
from foja.errors import Malformed
from foja.pure.proofs.tsa import ALGORITHMS, LOCAL_POLICY, Certificate, TimestampRequest, read_request
from foja.pure.proofs.tsa.oids import SIZES

MAX_REQUEST_BYTES = 4096
SYSTEM = partial(datetime.now, UTC)
ACCURACY = timedelta(seconds=ACCURACY_SECONDS)


class LocalAuthority:
    """Answers requests with the keys of one installation. Creates the keys if absent."""

    name = "local"

    def __init__(self, home: Path, clock: Callable[[], datetime] = SYSTEM) -> None:
        self._keystore, self._clock = KeyStore(home), clock
        self.root = self._keystore.root().pem
        self._latest = datetime.min.replace(tzinfo=UTC)
        self._encoder = self._new_encoder(clock())

    def reply(self, query: bytes) -> bytes:
        """Return the TimeStampResp for a TimeStampReq: a token, or a refusal with its reason."""
        if len(query) > MAX_REQUEST_BYTES:
            return rejected(Failure.BAD_DATA_FORMAT, f"a request has at most {MAX_REQUEST_BYTES} bytes")
        try:
            request = read_request(query)
        except Malformed as error:
            return rejected(Failure.BAD_DATA_FORMAT, str(error))
        if request.algorithm is None:
            return rejected(Failure.BAD_ALGORITHM, f"hash with one of {', '.join(ALGORITHMS)}")
        if len(request.imprint) != SIZES[request.algorithm]:
            return rejected(Failure.BAD_DATA_FORMAT, f"not a valid {request.algorithm} digest: wrong length")
        if request.policy not in (None, LOCAL_POLICY):
            return rejected(Failure.UNACCEPTED_POLICY, f"the only policy is {LOCAL_POLICY}")
        if request.extensions:
            return rejected(Failure.UNACCEPTED_EXTENSION, "no extension is supported")
        return self._stamp(request)

    async def ask(self, query: bytes) -> bytes:
        """Return the reply. The method of `RemoteAuthority`, without a network."""
        return self.reply(query)

    def _stamp(self, request: TimestampRequest) -> bytes:
        """Stamp with the current time. It never goes back, and always is within its accuracy."""
        now = self._clock()
        back = self._latest - now
        if back > ACCURACY:
            text = f"the clock went back by {back.total_seconds():.0f} seconds; correct it, then restart"
            return rejected(Failure.TIME_NOT_AVAILABLE, text)
        self._latest = now = max(now, self._latest)
        if is_due(self._encoder.signer, now):
            self._encoder = self._new_encoder(now)
        # 126 random bits under a fixed one: all serial numbers are unique and have the same length.
        return granted(self._encoder, request, now, 1 << 126 | secrets.randbits(126))

    def _new_encoder(self, now: datetime) -> ReplyEncoder:
        return ReplyEncoder.of(self._keystore.signer(now), LOCAL_POLICY)


def stored_root(home: Path) -> bytes | None:
    """Return the root if a local authority was ever used here: its tokens stay verifiable."""
    path = home / FOLDER / PUBLIC
    return path.read_bytes() if path.exists() else None


def is_local(root: Certificate) -> bool:
    """Return whether a root belongs to a local authority of any installation, by its name."""
    return root.name.startswith(f"CN={ROOT_NAME} ")
