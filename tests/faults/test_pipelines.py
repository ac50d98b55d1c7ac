"""A caller that is cancelled while its connection opens: the connection is not lost."""

from __future__ import annotations

import asyncio

from foja.app import App
from foja.driver.pipeline import Pipeline
from foja.driver.pipeline_pool import PipelinePool


async def test_a_caller_cancelled_after_its_pipeline_opened_leaves_it_to_the_pool(app: App) -> None:
    """The pool closes it; before, it stayed open until the process ended."""
    made: list[Pipeline] = []

    async def make() -> Pipeline:
        made.append(await Pipeline.open(app.settings.database_url, "foja_api", "recognise"))
        return made[-1]

    pool = PipelinePool(make, 1)
    async with pool._made:  # as another caller that is about to wait holds it
        asking = asyncio.create_task(pool.ask("recognise", []))
        async with asyncio.timeout(60):
            while not made:
                await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    await pool.close()
    assert [pipeline.broken for pipeline in made] == [True]
