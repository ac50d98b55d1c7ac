"""A process is killed with -9 while its tools run: their numbers are explained, and another goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg

import foja
from foja.app import App
from foja.domains.conversations import ConversationView
from tests.faults.killed_process import run_and_kill

CALLS: list[dict[str, Any]] = [
    {"tool_name": "search", "tool_args": {}, "tool_use_id": name} for name in ("a", "b", "c")
]


def use_tools(url: str, home: Path, talk_id: UUID, note: Path) -> None:
    asyncio.run(_use_tools(url, home, talk_id, note))


async def _use_tools(url: str, home: Path, talk_id: UUID, note: Path) -> None:
    async with foja.connect(database_url=url, home=home) as app:
        talk = await app.conversations.open(talk_id)
        async with talk.tools(CALLS, ttl=600) as tools:
            await tools[1].complete(2)
            note.write_text("answered\n" * 6)
            await asyncio.sleep(600)


async def test_a_killed_process_leaves_voided_numbers_and_another_goes_on(
    database_url: str, admin: psycopg.Connection[Any], tmp_path: Path, open_app: Callable[..., App]
) -> None:
    talk_id = uuid4()
    await asyncio.to_thread(
        run_and_kill, use_tools, database_url, tmp_path / "home", talk_id, tmp_path / "note"
    )
    admin.execute("update foja.slot set deadline = now() where state = 'open'")  # ten minutes later
    async with open_app() as app:
        talk = await app.conversations.open(talk_id)
        await app.work(until_idle=True)
        assert [item["state"] for item in ConversationView(await talk.events()).items()] == [
            *("voided", "completed", "voided"),
            *("voided", "completed", "voided"),
        ]
        async with talk.tools([CALLS[0]], requested=True) as again:
            late = await again[0].complete("second try")
        assert late.seq == 6
        states = [item["state"] for item in ConversationView(await talk.events()).items()]
        assert states == ["completed", "completed", "voided", "voided", "completed", "voided", "completed"]
