"""A domain that is registered by SQL alone: what a definition may leave out, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from foja.app import App
from foja.pure.core.registry import Domain, JobType, Kind
from tests.cases import all_cases

Admin = psycopg.Connection[Any]
MEMO = Domain(
    "memo",
    [Kind("memo.made", required={"text": "string|null"}, erasable=True), Kind("memo.sent", {"memo-sender"})],
    jobs=[JobType("send_memo", "memo-sender")],
)
SHORT = {
    "domain": "memo",
    "kinds": [
        {"kind": "memo.made", "required": {"text": ["string", "null"]}, "erasable": True},
        {"kind": "memo.sent", "sources": ["memo-sender"]},
    ],
    "jobs": [{"type": "send_memo", "source": "memo-sender"}],
}
REGISTER = "select foja.register_domain(%s)"


async def test_a_short_definition_has_the_defaults_of_python(
    open_app: Callable[..., App], admin: Admin
) -> None:
    """E25: what a definition leaves out is as in Python; the same domain of Python changes nothing."""
    admin.execute(REGISTER, [json.dumps(SHORT)])
    tables = "select to_jsonb(x) from foja.{} x where domain = 'memo' order by x::text"
    read = [tables.format(name).encode() for name in ("domain", "kind", "job_type", "source")]
    before = [admin.execute(each).fetchall() for each in read]
    admin.execute(REGISTER, [json.dumps(MEMO.definition())])
    assert [admin.execute(each).fetchall() for each in read] == before
    async with open_app(domains=[MEMO]) as app:
        memo = await app.streams(MEMO).open(uuid4())
        await memo.append("memo.made", {"text": "secret"})
        await memo.erase(0, reason="asked")
        assert [event.kind for event in await memo.events()] == ["memo.made", "body.erased"]


@all_cases(
    "wrong",
    [
        {},
        [],
        "memo",
        None,
        {**SHORT, "kinds": {}},
        {**SHORT, "kinds": ["memo.made"]},
        {**SHORT, "jobs": ["send_memo"]},
        {**SHORT, "jobs": None},
        {**SHORT, "head_only": None},
        {**SHORT, "domain": None},
    ],
    ids=str,
)
def test_a_definition_of_another_form_is_refused(wrong: Any, admin: Admin) -> None:
    """E25: the refusal is `FJ001` with a sentence, not an error of a table."""
    with pytest.raises(psycopg.Error) as refused:
        admin.execute(REGISTER, [json.dumps(wrong)])
    assert refused.value.sqlstate == "FJ001", refused.value


def test_sql_does_not_check_what_clients_check(admin: Admin) -> None:
    """E13: `client_checks` are stored for clients; SQL checks `required` only, as the pages say."""
    checks = {"optional": {"note": "string"}, "choices": {}, "digests": []}
    kinds = [{"kind": "memo.made", "required": {"text": ["string"]}, "client_checks": checks}]
    admin.execute(REGISTER, [json.dumps({"domain": "memo", "kinds": kinds})])
    append = "select (foja.append_event(%s, 'memo', 'memo.made', %s)).seq"
    with pytest.raises(psycopg.Error, match="bad_payload"):
        admin.execute(append, [uuid4(), json.dumps({"text": 5})])
    assert admin.execute(append, [uuid4(), json.dumps({"text": "x", "note": 5})]).fetchone() == (0,)
