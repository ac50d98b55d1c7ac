"""`foja keys rotate` records the new key, after it is durable; a crash between is found later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from foja.app import App
from foja.domains.system.service import System
from foja.engine.embedded.signing_keys import FOLDER, SigningKeys
from foja.errors import Unavailable
from tests.flow.command import Run


async def rotations(open_app: Callable[..., App], *, work: bool = False) -> list[dict[str, object]]:
    async with open_app() as app:
        if work:
            await app.work(until_idle=True)
        return [dict(each.payload) for each in await app.system.events() if each.kind == "key.rotated"]


def test_a_rotation_is_recorded_once_and_listed(run: Run, home: Path, open_app: Callable[..., App]) -> None:
    first = SigningKeys(home).current()
    run("jobs")
    assert run("keys", "list", "--json").document[0]["recorded_at"] is None
    rotated = run("keys", "rotate", "--json").document
    assert rotated["recorded_at"]
    shown = run("keys", "list", "--json").document
    assert [each["id"] for each in shown] == [first.id, rotated["id"]]
    assert all(each["recorded_at"] for each in shown)
    [one, two] = asyncio.run(rotations(open_app, work=True))
    assert (one["key_id"], one.get("previous")) == (first.id, None)
    assert (two["key_id"], two["previous"], two["purpose"]) == (rotated["id"], first.id, "signing")
    assert two["public_key"] == rotated["public_key"]


@pytest.mark.parametrize("saved", [False, True])
def test_a_crash_before_the_record_is_found_by_a_worker(
    run: Run, home: Path, open_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch, saved: bool
) -> None:
    """The append fails "and is not saved", then "but is saved": the key is in use, and recorded once."""
    run("jobs")
    append = System.rotate_key

    async def fail(self: System, *words: str, **more: str) -> object:
        if saved:
            await append(self, *words, **more)
        raise Unavailable("the database went away")

    with monkeypatch.context() as patch:
        patch.setattr(System, "rotate_key", fail)
        result = run("keys", "rotate")
    assert result.code == 0
    assert "in use, but not recorded yet" in result.err
    [key] = SigningKeys(home).all()
    assert [each["key_id"] for each in asyncio.run(rotations(open_app))] == ([key.id] if saved else [])
    [event] = asyncio.run(rotations(open_app, work=True))
    assert event["key_id"] == key.id
    assert run("keys", "list", "--json").document[0]["recorded_at"]


def test_the_next_rotation_records_an_earlier_key_first(
    run: Run, home: Path, open_app: Callable[..., App]
) -> None:
    run("jobs")
    earlier = [SigningKeys(home).current().id, SigningKeys(home).rotate().id]
    newest = run("keys", "rotate", "--json").document["id"]
    assert [each["key_id"] for each in asyncio.run(rotations(open_app))] == [*earlier, newest]


def test_a_damaged_key_stops_no_worker(
    home: Path, open_app: Callable[..., App], caplog: pytest.LogCaptureFixture
) -> None:
    SigningKeys(home).current()
    (home / FOLDER / "0001.pem").write_text("damaged")
    assert asyncio.run(rotations(open_app, work=True)) == []
    assert "is not a signing key of Foja" in caplog.text
