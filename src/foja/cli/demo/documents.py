"""Protect a file with a timestamp and print its timeline."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from foja.app import App
from foja.cli.demo.story import Story
from foja.documents.model.projection import State

CONTRACT = "The buyer pays within thirty days.\n"


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
