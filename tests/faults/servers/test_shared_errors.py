"""One error that many callers of a batch get."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Sequence

import pytest

from foja.app import App
from foja.engine.ledger.event import Draft
from foja.engine.ledger.lanes.held import AppendResult
from foja.engine.ledger.writer import Writer
from foja.errors import LedgerUnavailable

CALLERS = 50


async def test_the_traceback_of_an_error_does_not_grow_with_the_callers(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: Writer, drafts: Sequence[Draft]) -> list[AppendResult]:
        return [LedgerUnavailable("the database does not answer; try again")] * len(drafts)

    monkeypatch.setattr(Writer, "append_free", fail)
    talk = await app.conversations.open()
    wanted = [talk.append("user_message_sent", {"content": "x"}) for _ in range(CALLERS)]
    failed = await asyncio.gather(*wanted, return_exceptions=True)
    assert {type(each) for each in failed} == {LedgerUnavailable}
    lengths = [
        len(traceback.extract_tb(each.__traceback__)) for each in failed if isinstance(each, Exception)
    ]
    assert max(lengths) < 10
