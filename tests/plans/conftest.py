"""Full databases: a module's `fill` fills one, with and without statistics, and each test gets a copy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.plans.filled import Admin, Copied, connected, filled


@pytest.fixture(params=["analyzed", "never analyzed"], scope="module")
def full_template(request: pytest.FixtureRequest, copied: Copied, template: str) -> Iterator[str]:
    """The name of a database after the module's `fill`."""

    def fill(conn: Admin) -> None:
        request.module.fill(conn)
        if request.param == "analyzed":
            conn.execute("analyze")

    with filled(copied, template, fill) as name:
        yield name


@pytest.fixture
def full(copied: Copied, full_template: str) -> Iterator[Admin]:
    """A connection to a copy of the full database."""
    with connected(copied, full_template) as conn:
        yield conn
