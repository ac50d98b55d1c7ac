"""Whoever asks, waits or decides is killed with -9: what was decided stays, the rest expires."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from uuid import UUID, uuid4

import foja
from foja.app import App
from tests.faults.killed_process import run_and_kill

COUNT = 40


def ask_and_wait(url: str, home: Path, talk_id: UUID, note: Path) -> None:
    asyncio.run(_ask_and_wait(url, home, talk_id, note))


async def _ask_and_wait(url: str, home: Path, talk_id: UUID, note: Path) -> None:
    async with foja.connect(database_url=url, home=home) as app:
        talk = await app.conversations.open(talk_id)
        for name in ("decided", "late", "open"):
            await talk.request_approval("pay", {}, approval_id=name, ttl=1 if name == "late" else 600)
        waits = [asyncio.ensure_future(talk.wait_for_approval("open")) for _ in range(3)]
        note.write_text("asked\n" * 6)
        await asyncio.gather(*waits)


async def test_an_approval_outlives_whoever_asked(
    database_url: str, tmp_path: Path, open_app: Callable[..., App]
) -> None:
    talk_id = uuid4()
    await asyncio.to_thread(
        run_and_kill, ask_and_wait, database_url, tmp_path / "home", talk_id, tmp_path / "note"
    )
    async with open_app() as app:
        talk = await app.conversations.open(talk_id)
        assert (await talk.decide("decided", "approved", actor="ana")).mine
        late = await talk.wait_for_approval("late")  # its time is over, whether or not anybody swept
        await app.work(until_idle=True)
        assert [(each.id, each.state) for each in await talk.approvals()] == [
            ("decided", "approved"),
            ("late", "expired"),
            ("open", "requested"),
        ]
        assert late.state == "expired"
        again = await talk.request_approval("pay", {}, approval_id="open", ttl=600)
        wait = asyncio.ensure_future(talk.wait_for_approval(again.id))
        await talk.decide("open", "denied")
        assert (await asyncio.wait_for(wait, 60)).state == "denied"
        assert len(await talk.events()) == 6


def approve_all(url: str, home: Path, talk_id: UUID, note: Path) -> None:
    asyncio.run(_approve_all(url, home, talk_id, note))


async def _approve_all(url: str, home: Path, talk_id: UUID, note: Path) -> None:
    async with foja.connect(database_url=url, home=home) as app:
        talk = await app.conversations.open(talk_id)
        for n in range(COUNT):
            said = await talk.decide(f"a{n}", "approved", actor="ana")
            with note.open("a") as diary:
                diary.write(f"a{n} {said.mine}\n")
        await asyncio.sleep(600)


async def test_a_killed_decider_has_decided_what_it_was_told_and_nothing_twice(
    database_url: str, tmp_path: Path, open_app: Callable[..., App]
) -> None:
    note = tmp_path / "note"
    async with open_app() as app:
        talk = await app.conversations.open()
        for n in range(COUNT):
            await talk.request_approval("pay", {}, approval_id=f"a{n}")
        await asyncio.to_thread(run_and_kill, approve_all, database_url, tmp_path / "home", talk.id, note)
        said = [await talk.decide(f"a{n}", "denied", actor="eva") for n in range(COUNT)]
        await app.work(until_idle=True)
        told = {line.split()[0] for line in note.read_text().splitlines()}
        states = {each.id: each.state for each in await talk.approvals()}
        assert {states[name] for name in told} == {"approved"}
        assert all(each.mine == (states[each.approval.id] == "denied") for each in said)
        decisions = [each for each in await talk.events() if each.kind == "approval_completed"]
        assert sorted(each.payload["approval_id"] for each in decisions) == sorted(states)
