"""What a backup says of itself, and the names and the order of its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from foja.domains.backup.archive import ArchiveReader, Part
from foja.errors import Malformed

DESCRIPTION, MISSING = "backup.json", "missing.txt"
HOME = ("keys", "tsa")  # folders of the home
DATABASE, LOG, OBJECTS = "database", "log", "objects"
MAX_DESCRIPTION_BYTES = 1 << 20
# What may follow what; within one kind, names ascend. So no part is there twice.
_ORDER = tuple(
    re.compile(pattern)
    for pattern in (
        re.escape(DESCRIPTION),
        rf"(?:{'|'.join(HOME)})/.+",
        rf"{DATABASE}/(?:foja|public)\.\w+/\d{{8}}\.copy",
        rf"{LOG}/\d+/(?:checkpoint|tile/.+)",
        rf"{OBJECTS}/[0-9a-f]{{64}}/(?:0|[1-9]\d{{0,8}})",
        re.escape(MISSING),
    )
)


class _Closed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Table(_Closed):
    """A table and the columns that its parts have."""

    name: str
    columns: tuple[str, ...]


class Sequence(_Closed):
    """A sequence; `called` is false if its value was not used yet."""

    name: str
    value: int
    called: bool


class SchemaStep(_Closed):
    """A schema step, with the digest of its text."""

    number: int
    name: str
    digest: str


class Description(_Closed):
    """The first part of a backup."""

    form: Literal["foja/backup/v1"] = "foja/backup/v1"
    foja: str
    at: AwareDatetime
    installation: UUID
    log_name: str  # of the settings; empty if it is derived from the installation
    epoch: str
    store: bool  # whether it contains the objects and the files of the log
    schema_steps: tuple[SchemaStep, ...]
    tables: tuple[Table, ...]
    sequences: tuple[Sequence, ...]

    def to_bytes(self) -> bytes:
        """Return it as a part of the archive."""
        return self.model_dump_json(indent=2).encode() + b"\n"


def parts_of(reader: ArchiveReader) -> tuple[Description, Iterator[Part]]:
    """Return the description of an archive, and its other parts, which must be in order."""
    parts = reader.parts()
    first = next(parts, None)
    if first is None or first.name != DESCRIPTION or first.size > MAX_DESCRIPTION_BYTES:
        raise Malformed(f"this is not a backup: it does not begin with {DESCRIPTION}")
    try:
        description = Description.model_validate_json(first.read())
    except ValidationError as error:
        problem = error.errors()[0]
        raise Malformed(
            f"{DESCRIPTION} of the backup is not valid ({problem['loc']}: {problem['msg']}); "
            "it is damaged, or a later version of Foja wrote it"
        ) from None
    return description, _in_order(parts)


def _in_order(parts: Iterator[Part]) -> Iterator[Part]:
    last = (0, DESCRIPTION)
    for part in parts:
        kind = next((at for at, pattern in enumerate(_ORDER) if pattern.fullmatch(part.name)), None)
        if kind is None or (kind, part.name) <= last:
            raise Malformed(f"the backup has a part {part.name} that is unknown, twice, or out of its order")
        last = (kind, part.name)
        yield part
