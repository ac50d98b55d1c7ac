"""`foja demo`: show every feature in a temporary folder. Each printed claim is checked."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from argparse import Namespace
from pathlib import Path

from foja.app import App
from foja.domains.conversations.service import Conversation
from foja.engine.embedded.servers import database
from foja.engine.observe.fsck import Outside
from foja.engine.settings import Settings
from foja.extras import install_command, is_installed
from foja.interfaces.cli.demo.conversations import CONVERSATIONS, show_slots, show_writing
from foja.interfaces.cli.demo.documents import show_bundle, show_protecting
from foja.interfaces.cli.demo.evidence import show_log, show_proof, show_tampering
from foja.interfaces.cli.demo.seed.seed import seed
from foja.interfaces.cli.demo.story import Story, following
from foja.interfaces.cli.output import print_json_line, print_lines

TAMPERED_SEQ = 3


async def demo(arguments: Namespace) -> int:
    """Run the demo, or fill an installation with --seed; return 0 only if every claim is true."""
    if arguments.seed:
        await seed(arguments)
        return 0
    story, began = Story(arguments.json), time.monotonic()
    story.chapter("Start an embedded PostgreSQL with a ledger")
    with tempfile.TemporaryDirectory(prefix="foja-demo-") as home:
        async with database(Settings(home=Path(home), database_url="")) as url:
            settings = Settings(home=Path(home), database_url=url, storage_url="", log_name="")
            await run_chapters(story, settings)
    _conclude(story, time.monotonic() - began, arguments.next or next_command())
    return 1 if story.failed else 0


def _conclude(story: Story, seconds: float, command: str) -> None:
    if story.as_json:
        print_json_line({"failed": story.failed, "seconds": round(seconds, 1)})
    elif story.failed:
        print_lines(("", f"✗ {len(story.failed)} of these claims are not true"))
    else:
        print_lines(("", f"Everything took {seconds:.1f} seconds.", f"Next, a server with pages: {command}"))


def next_command() -> str:
    """Return what starts a server, as this shell runs it."""
    running, found = Path(sys.argv[0]), shutil.which("foja")
    program = "foja" if running.name != "foja" or found == str(running) else str(running)
    return f"{program} up" if is_installed("server") else f"{install_command('server')} && {program} up"


async def run_chapters(story: Story, settings: Settings) -> None:
    """Run all chapters in a new database."""
    async with App(settings) as app:
        story.claim(f"it runs in {settings.home}", settings.database_url)
        conversations: list[Conversation] = [await app.conversations.open() for _ in range(CONVERSATIONS)]
        async with following(settings, conversations[0].id) as reader:
            await show_writing(story, conversations)
            await show_slots(story, app, conversations[0], reader)
        await show_log(story, app, conversations)
        document = await show_protecting(story, app, settings.home)
        container, trust = await app.documents.bundle(document), app.trust
        await show_proof(story, app, conversations[0].id, TAMPERED_SEQ)
        outside = Outside(app.store, [app.signer.verifier()])
    await show_tampering(story, settings, outside, conversations[0].id, TAMPERED_SEQ)
    await show_bundle(story, container, trust, settings.home)
