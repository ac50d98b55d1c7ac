"""What is answered about networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Enabled:
    """Whether documents may require a network, what is missing, and what was found there."""

    network: str
    enabled: bool
    missing: list[str]
    found: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Flushed:
    """How many jobs waited for more digests."""

    network: str
    jobs: int
