"""`foja protect --wait` with an anchor that needs no block: it ends with the artifact."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.counterparties.rekor import RekorLog, running_rekor
from tests.flow.command import FOJA

Made = tuple[int, str]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[RekorLog]:
    with running_rekor() as found:
        found.grow(5)
        monkeypatch.setenv("FOJA_REKOR_URL", found.url)
        monkeypatch.setenv("FOJA_REKOR_KEY", found.vkey)
        monkeypatch.setenv("FOJA_ANCHOR_BATCH_SECONDS", "0")
        monkeypatch.setenv("FOJA_CHECKPOINT_ANCHOR_SECONDS", "0")  # or the log has one more entry
        yield found


async def foja(*words: object) -> Made:
    process = await asyncio.create_subprocess_exec(
        *FOJA, *map(str, words), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await process.communicate()
    return process.returncode or 0, out.decode()


@pytest.mark.usefixtures("home")
async def test_wait_sends_the_batch_and_ends_with_the_artifact(log: RekorLog, tmp_path: Path) -> None:
    """The attack of issue 13, finding 6: the broadcast of a batch was left to another process."""
    file = tmp_path / "contract.txt"
    file.write_text("a promise")
    assert (await foja("migrate"))[0] == 0
    code, out = await foja("anchors", "enable", "rekor")
    assert code == 0, out
    before = len(log.entries)
    code, out = await foja("protect", file, "--evidence", "tsa,rekor", "--wait")
    assert code == 0, out
    assert len(log.entries) == before + 1
    code, out = await foja("status", file, "--json")
    assert json.loads(out)["state"] == "final"
