"""The evidence as one file, judged; the same with one byte changed; and openssl, who knows nothing of us."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import zipfile
from pathlib import Path

from foja.cli.demo.story import Story
from foja.core.bundle import names
from foja.judge.report import Report, Verdict
from foja.verification import verify

OUTER = f"openssl ts -verify -data {names.ASIC_MANIFEST} -in {names.STAMP} -token_in -CAfile roots.pem"
INNER = "openssl ts -verify -data document/{name} -in evidence/tsa/01.tsr -CAfile roots.pem"


async def show_bundle(story: Story, container: bytes, trust: list[str], home: Path) -> None:
    """Judge the bundle without the database it came from, break it, judge it again, and ask openssl."""
    story.chapter("The evidence leaves as one file, and is judged offline")
    path = home / "contract.asice"
    path.write_bytes(container)
    report = verify(path, trust=trust)
    story.claim(f"{path.name}, {path.stat().st_size:,} bytes: {_words(report)}", _passed(report))
    doubted = verify(path, trust=[])
    story.claim(f"to somebody who trusts nobody: {doubted.verdict}", not _passed(doubted))
    broken = verify(_with_one_byte_changed(container), trust=trust)
    story.claim(f"with one byte changed: {_words(broken)}", broken.verdict is Verdict.TOTAL_FAILED)
    if shutil.which("openssl"):
        await _show_openssl(story, path, trust, home / "unpacked")
    else:
        story.remark("openssl is not installed here; with it, anybody could check the timestamps without us")


async def _show_openssl(story: Story, path: Path, trust: list[str], folder: Path) -> None:
    with zipfile.ZipFile(path) as container:
        container.extractall(folder)
        [name] = [each for each in container.namelist() if each.startswith(names.DOCUMENT)]
    (folder / "roots.pem").write_text("".join(each for each in trust if "BEGIN CERTIFICATE" in each))
    for command in (OUTER, INNER.format(name=shlex.quote(name.removeprefix(names.DOCUMENT)))):
        story.remark(f"$ {command}")
        story.claim("openssl agrees, without us", "Verification: OK" in await _run(command, folder))


async def _run(command: str, folder: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        *shlex.split(command), cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    return output.decode(errors="replace")


def _with_one_byte_changed(data: bytes) -> bytes:
    at = data.index(b"document.added")
    return data[:at] + b"D" + data[at + 1 :]


def _passed(report: Report) -> bool:
    return report.verdict is Verdict.TOTAL_PASSED


def _words(report: Report) -> str:
    wrong = [f"{each.evidence} {each.reason}" for each in report.evidence if each.status == "INVALID"]
    return f"{report.verdict} ({', '.join(wrong)})" if wrong else str(report.verdict)
