"""One page of a longer list: its rows, which are read as a sequence, and where the next page begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar, overload

MAX_LIMIT = 1000  # of the rows of a page
Row = TypeVar("Row", covariant=True)


class Rows(Sequence[Row]):
    """The base of a page. Its first field has the rows, `next` what the parameter `by` takes for more."""

    __slots__ = ()
    by = "before"

    @property
    def rows(self) -> Sequence[Row]:
        """The rows of this page."""
        found: Sequence[Row] = getattr(self, row_field(type(self)))
        return found

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        return self.rows[at]

    def __len__(self) -> int:
        return len(self.rows)


def row_field(page: type[Rows[Any]]) -> str:
    """Return the name of the field that has the rows of a page."""
    return fields(page)[0].name  # type: ignore[arg-type]


def next_of(page: Rows[Any]) -> Any:
    """Return what `by` takes for the page after this one; None if this is the last."""
    return getattr(page, "next", None)
