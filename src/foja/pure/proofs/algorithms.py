"""Until when algorithms count: the dates that a reader states, and those of ETSI TS 119 312."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple

from foja.pure.proofs.finding import Flaw, Reason, Status
from foja.pure.proofs.notices import OLD_ALGORITHM

_SUNSET = re.compile(r"(rsa|ecdsa|ed25519|ed448|sha256|sha384|sha512)(?:<([1-9][0-9]{2,4}))?:([0-9-]{10})")


class Sunset(NamedTuple):
    """A hash, or keys of fewer bits than stated, that do not count from a time on."""

    algorithm: str
    bits: int | None  # None: of any size
    until: datetime

    def __str__(self) -> str:
        size = "" if self.bits is None else f"<{self.bits}"
        return f"{self.algorithm}{size}:{self.until:%Y-%m-%d}"


class Use(NamedTuple):
    """An algorithm that a proof rests on, with the size of its key; a hash has none."""

    algorithm: str
    bits: int = 0

    def is_of(self, sunset: Sunset) -> bool:
        """Return whether a sunset is about this algorithm and size."""
        return self.algorithm == sunset.algorithm and (sunset.bits is None or self.bits < sunset.bits)


# Annex D of ETSI TS 119 312 V2.1.1 (2026-06). Much shorter RSA keys, SHA-1 and SHA-224 are in it too; they
# are not supported at all.
ETSI: Final = (
    Sunset("rsa", 3000, datetime(2026, 1, 1, tzinfo=UTC)),
    Sunset("ecdsa", 256, datetime(2021, 10, 1, tzinfo=UTC)),
)


def parse_sunset(text: str) -> Sunset:
    """Return what `rsa<3000:2026-01-01` or `sha256:2031-01-01` says, or raise `ValueError`."""
    found = _SUNSET.fullmatch(text)
    if found is None or (found[2] and found[1] not in ("rsa", "ecdsa")):
        raise ValueError(text)
    until = datetime.strptime(found[3], "%Y-%m-%d").replace(tzinfo=UTC)
    return Sunset(found[1], int(found[2]) if found[2] else None, until)


def check_algorithms(uses: frozenset[Use], moment: datetime, stated: Sequence[Sunset]) -> tuple[str, ...]:
    """Return remarks on what is no longer recommended at a time; raise `Flaw` for what does not count then.

    A date that is stated counts. One of the standard is a remark, unless another one is stated in its place.
    """
    for sunset in stated:
        if sunset.until <= moment and any(use.is_of(sunset) for use in uses):
            detail = (
                f"{_say(sunset)} count until {sunset.until:%Y-%m-%d}, and nothing proves that it is older"
            )
            raise Flaw(Reason.ALGORITHM_EXPIRED, detail, Status.INDETERMINATE)
    return _remarks(uses, tuple([each for each in ETSI if each.until <= moment]), tuple(stated))


@lru_cache(maxsize=256)
def _remarks(uses: frozenset[Use], passed: tuple[Sunset, ...], stated: tuple[Sunset, ...]) -> tuple[str, ...]:
    own = {(each.algorithm, each.bits) for each in stated}
    return tuple(
        f"{OLD_ALGORITHM} {_say(each)} since {each.until:%Y-%m-%d}"
        for each in passed
        if (each.algorithm, each.bits) not in own and any(use.is_of(each) for use in uses)
    )


def _say(sunset: Sunset) -> str:
    if sunset.bits is None:
        return sunset.algorithm
    return f"{sunset.algorithm} keys of fewer than {sunset.bits} bits"
