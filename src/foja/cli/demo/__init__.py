"""`foja demo`: the whole story in a temporary place, in plain sentences. It fails if one is not true."""

from __future__ import annotations

import tempfile
import time
from argparse import Namespace
from pathlib import Path

from foja.app import App
from foja.cli.demo.bundle import show_bundle
from foja.cli.demo.conversations import TALKS, show_slots, show_writing
from foja.cli.demo.documents import show_protecting
from foja.cli.demo.evidence import show_log, show_proof, show_tampering
from foja.cli.demo.story import Story, following
from foja.cli.output import record, say
from foja.embedded.servers import database
from foja.observe.fsck import Outside
from foja.settings import Settings

TOUCHED = 3


async def demo(arguments: Namespace) -> int:
    """Tell the story; 0 only if every sentence of it came true."""
    story, began = Story(arguments.json), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="foja-demo-") as home:
        async with database(Settings(home=Path(home), database_url="")) as url:
            await tell(story, Settings(home=Path(home), database_url=url, storage_url="", log_name=""))
    _conclude(story, time.monotonic() - began)
    return 1 if story.failed else 0


def _conclude(story: Story, seconds: float) -> None:
    if story.as_json:
        record({"failed": story.failed, "seconds": round(seconds, 1)})
    elif story.failed:
        say(f"\n✗ {len(story.failed)} of these sentences are not true")
    else:
        say(f"\nAll of it in {seconds:.1f} seconds. Next: `foja up`, and `foja --help`.")


async def tell(story: Story, settings: Settings) -> None:
    """Show everything in a new database."""
    async with App(settings) as app:
        story.chapter("An embedded PostgreSQL with a ledger in it")
        story.claim(f"it runs in {settings.home}", settings.database_url)
        talks = [await app.conversations.open() for _ in range(TALKS)]
        async with following(settings, talks[0].id) as reader:
            await show_writing(story, talks)
            await show_slots(story, app, talks[0], reader)
        await show_log(story, app, talks)
        document = await show_protecting(story, app, settings.home)
        container, trust = await app.documents.bundle(document), app.trust
        await show_proof(story, app, talks[0].id, TOUCHED)
        outside = Outside(app.store, [app.signer.verifier()])
    await show_tampering(story, settings, outside, talks[0].id, TOUCHED)
    await show_bundle(story, container, trust, settings.home)
