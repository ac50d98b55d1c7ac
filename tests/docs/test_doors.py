"""Nothing that a door offered is gone: `tests/vectors/doors` is what stood before doors read one table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.docs import doors

VECTORS = Path(__file__).parents[1] / "vectors/doors"


def frozen(name: str) -> dict[str, list[str]]:
    return dict(json.loads((VECTORS / f"{name}.json").read_text()))


def missing(before: Mapping[str, Sequence[str]], now: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what was offered and is not any more, and what is required and was not."""
    found = [f"{name} is gone" for name in before.keys() - now.keys()]
    for name in before.keys() & now.keys():
        was, offered = {*before[name]}, {word.rstrip("!") for word in now[name]}
        found += [f"{name}: {word}" for word in was if word.rstrip("!") not in offered]
        found += [f"{name}: {word} is required now" for word in {*now[name]} - was if word.endswith("!")]
    return sorted(found)


def test_http_offers_what_it_did() -> None:
    assert missing(frozen("http"), doors.http(doors.openapi())) == []


def test_commands_offer_what_they_did() -> None:
    assert missing(frozen("commands"), doors.commands()) == []


async def test_tools_offer_what_they_did() -> None:
    assert missing(frozen("tools"), await doors.tools()) == []


def test_javascript_offers_what_it_did() -> None:
    now = doors.javascript()
    for name in [*now]:  # the class that has no name for callers: `client.jobs`
        now[name.replace("JobsActs.", "Jobs.")] = now[name]
    assert missing(frozen("javascript"), now) == []


def test_a_field_that_is_gone_or_newly_required_is_found() -> None:
    before = {"POST /v1/x": ["body a!", "body b", "body as application/json", "200 id"]}
    assert missing(before, {"POST /v1/x": ["body a!", "body as application/json", "200 id"]}) == [
        "POST /v1/x: body b"
    ]
    now = {"POST /v1/x": ["body a!", "body b!", "body as application/json", "200 id"]}
    assert missing(before, now) == ["POST /v1/x: body b! is required now"]
    assert missing(before, {}) == ["POST /v1/x is gone"]
