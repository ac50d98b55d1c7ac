"""What is answered about documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID


@dataclass(frozen=True, slots=True)
class AddedDocument:
    """A document, and whether this request added it."""

    id: UUID
    sha256: Annotated[str | None, "null if it was erased"]
    name: str | None
    size: int | None
    custody: str | None
    new: Annotated[bool, "false: it was added before"]
