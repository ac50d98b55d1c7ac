"""What is answered about networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any


@dataclass(frozen=True, slots=True)
class Enabled:
    """Whether documents may require a network, what is missing, and what was found there."""

    network: str
    enabled: bool
    missing: list[str]
    found: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Disabled(Enabled):
    """That documents may not require a network any more."""

    changed: Annotated[bool, "false if they might not before"]


@dataclass(frozen=True, slots=True)
class Flushed:
    """How many digests waited for others."""

    network: str
    jobs: Annotated[int, "one for each digest"]
