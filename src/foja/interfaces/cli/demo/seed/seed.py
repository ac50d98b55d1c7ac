"""Fill an installation, and print what was added."""

from __future__ import annotations

from argparse import Namespace

from foja.app import App
from foja.interfaces.cli.demo.seed.conversations import seed_conversations
from foja.interfaces.cli.demo.seed.documents import give_up, revoke, seed_documents
from foja.interfaces.cli.demo.seed.galleries import seed_galleries
from foja.interfaces.cli.installation import read_settings
from foja.interfaces.cli.output import print_result


async def seed(arguments: Namespace) -> None:
    """Add what is not there yet, do the work that follows, and print it."""
    async with App(read_settings(arguments)) as app:
        new = await fill(app)
        home = app.settings.home
    print_result(arguments, {**new, "home": str(home)}, *added(new), "look at them: `foja up`, `foja status`")


def added(new: dict[str, int]) -> list[str]:
    """Return lines that say what was added."""
    if not any(new.values()):
        return ["everything was there already; nothing was added"]
    return [f"{count} {name} added" for name, count in new.items()]


async def fill(app: App) -> dict[str, int]:
    """Add documents, conversations and galleries; return how many of each are new."""
    conversations = await seed_conversations(app)
    galleries = await seed_galleries(app)
    documents = await seed_documents(app)
    await app.work(until_idle=True)
    await revoke(app)
    documents += await give_up(app)
    await app.work(until_idle=True)
    return {"documents": documents, "conversations": conversations, "galleries": galleries}
