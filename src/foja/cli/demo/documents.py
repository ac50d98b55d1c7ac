"""A real file, a real timestamp, and its story."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from foja.app import App
from foja.cli.demo.story import Story
from foja.documents.model.projection import State

CONTRACT = "Whoever finds this sheet may keep it.\n"


async def show_protecting(story: Story, app: App, home: Path) -> UUID:
    """Protect a file, and tell what happened to it; return the document."""
    story.chapter("A file is protected: the executor decides, a worker stamps, the ledger remembers")
    path = home / "contract.txt"
    path.write_text(CONTRACT)
    document = await app.documents.add(path, name=path.name)
    await app.documents.protect(document.id, ["tsa"])
    again = await app.documents.add(path, name=path.name)
    story.claim("adding it twice is adding it once", again.id == document.id and not again.new)
    await app.work(until_idle=True)
    view = await app.documents.view(document.id)
    proven = view.state is not State.NONE
    story.claim(f"it is {view.state}: an RFC 3161 token of {view.witness_hash} was checked in full", proven)
    for moment in view.timeline:
        story.remark(f"{moment.seq}  {moment.at:%H:%M:%S.%f}  {moment.words}")
    story.claim(f"why it stands there: {view.explain}", view.explain)
    if view.note:
        story.remark(view.note)
    return document.id
