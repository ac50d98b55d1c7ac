"""Protect a file; verify its bundle, a changed copy of it, and its timestamps with openssl."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import zipfile
from pathlib import Path
from uuid import UUID

from foja.app import App
from foja.interfaces.cli.demo.story import Story
from foja.pure.core.bundle import names
from foja.pure.judge.report import Report, Verdict
from foja.pure.models.documents.states import State
from foja.verification import verify

CONTRACT = "The buyer pays within thirty days.\n"
OUTER = f"openssl ts -verify -data {names.ASIC_MANIFEST} -in {names.STAMP} -token_in -CAfile roots.pem"
INNER = "openssl ts -verify -data document/{name} -in evidence/tsa/01.tsr -CAfile roots.pem"


async def show_protecting(story: Story, app: App, home: Path) -> UUID:
    """Protect a file and print its timeline; return the id of the document."""
    story.chapter("Protect a file: the executor decides, a worker stamps, the ledger records")
    path = home / "contract.txt"
    path.write_text(CONTRACT)
    document = await app.documents.add(path, name=path.name)
    await app.documents.protect(document.id, ["tsa"])
    again = await app.documents.add(path, name=path.name)
    story.claim("adding the file again returns the same document", again.id == document.id and not again.new)
    await app.work(until_idle=True)
    view = await app.documents.view(document.id)
    proven = view.state is not State.NONE
    story.claim(f"it is {view.state}: an RFC 3161 token of {view.witness_hash} was fully checked", proven)
    for moment in view.timeline:
        story.remark(f"{moment.seq}  {moment.at:%H:%M:%S.%f}  {moment.words}")
    story.claim(f"explanation: {view.explain}", view.explain)
    if view.note:
        story.remark(view.note)
    return document.id


async def show_bundle(story: Story, container: bytes, trust: list[str], home: Path) -> None:
    """Verify the bundle without its database, change it, verify it again, then run openssl."""
    story.chapter("Write the evidence as one file and verify it offline")
    path = home / "contract.asice"
    path.write_bytes(container)
    report = verify(path, trust=trust)
    story.claim(f"{path.name}, {path.stat().st_size:,} bytes: {_summary(report)}", _passed(report))
    untrusted = verify(path, trust=[])
    story.claim(f"without trust roots: {untrusted.verdict}", not _passed(untrusted))
    broken = verify(_with_one_byte_changed(container), trust=trust)
    story.claim(f"with one byte changed: {_summary(broken)}", broken.verdict is Verdict.TOTAL_FAILED)
    if shutil.which("openssl"):
        await _show_openssl(story, path, trust, home / "unpacked")
    else:
        story.remark("openssl is not installed; it could verify the timestamps without foja")


async def _show_openssl(story: Story, path: Path, trust: list[str], folder: Path) -> None:
    with zipfile.ZipFile(path) as container:
        container.extractall(folder)
        [name] = [each for each in container.namelist() if each.startswith(names.DOCUMENT)]
    (folder / "roots.pem").write_text("".join(each for each in trust if "BEGIN CERTIFICATE" in each))
    for command in (OUTER, INNER.format(name=shlex.quote(name.removeprefix(names.DOCUMENT)))):
        story.remark(f"$ {command}")
        story.claim("openssl verifies it without foja", "Verification: OK" in await _run(command, folder))


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


def _summary(report: Report) -> str:
    invalid = [f"{each.evidence} {each.reason}" for each in report.evidence if each.status == "INVALID"]
    return f"{report.verdict} ({', '.join(invalid)})" if invalid else str(report.verdict)
