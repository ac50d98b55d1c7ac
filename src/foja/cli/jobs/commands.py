"""`foja jobs list`, `show`, `retry`, `cancel`, `pause`, `resume`."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from foja.cli.installation import opened
from foja.cli.output import document, say, table
from foja.jobs.admin import Jobs, JobView

HEAD = ("id", "type", "state", "stream", "tries", "when", "what happened")
WIDTH = 60


async def listing(arguments: Namespace) -> int:
    """Print jobs, newest first."""
    async with opened(arguments) as app:
        jobs = await app.jobs.list(
            state=arguments.state,
            job_type=arguments.job_type,
            entity_id=arguments.entity,
            limit=arguments.limit,
        )
        paused = await app.jobs.paused()
    if arguments.json:
        document([job.document() for job in jobs])
        return 0
    if jobs:
        table(HEAD, [_row(job) for job in jobs])
    else:
        say("no such jobs")
    if paused:
        say(f"paused: {', '.join(paused)}")
    return 0


async def show(arguments: Namespace) -> int:
    """Print one job."""
    async with opened(arguments) as app:
        job = await app.jobs.show(arguments.job)
    if arguments.json:
        document(job.document())
    else:
        for name, value in job.document().items():
            said = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value
            say(f"{name:<16}{'-' if said is None else said}")
    return 0


async def retry(arguments: Namespace) -> int:
    """Queue jobs anew."""
    return await _steer(arguments, "queued again", lambda desk, jobs: desk.retry(jobs))


async def cancel(arguments: Namespace) -> int:
    """End jobs."""
    return await _steer(arguments, "cancelled", lambda desk, jobs: desk.cancel(jobs))


async def pause(arguments: Namespace) -> int:
    """Stop a type."""
    async with opened(arguments) as app:
        await app.jobs.pause(arguments.job_type)
    return _told(arguments, "is paused", paused=True)


async def resume(arguments: Namespace) -> int:
    """Let a type go on."""
    async with opened(arguments) as app:
        await app.jobs.resume(arguments.job_type)
    return _told(arguments, "goes on", paused=False)


def _told(arguments: Namespace, words: str, *, paused: bool) -> int:
    if arguments.json:
        document({"type": arguments.job_type, "paused": paused})
    else:
        say(f"{arguments.job_type} {words}")
    return 0


async def _steer(
    arguments: Namespace, words: str, act: Callable[[Jobs, Sequence[int]], Awaitable[int]]
) -> int:
    async with opened(arguments) as app:
        done = await act(app.jobs, arguments.jobs)
    if arguments.json:
        document({"asked": len(arguments.jobs), "done": done})
    else:
        say(f"{done} of {len(arguments.jobs)} {words}")
        if done < len(arguments.jobs):
            say("the others are at work or over; `foja jobs show ID` says how each one stands")
    return 0 if done else 1


def _row(job: JobView) -> tuple[object, ...]:
    tries = f"{job.tries}/{job.max_tries}"
    what = job.last_error or ("" if job.first else "waits for its turn")
    return str(job.id), job.type, job.state, job.entity_id, tries, _when(job), _short(what)


def _when(job: JobView) -> str:
    moment: datetime = job.finished_at or (job.lease_until if job.state == "running" else None) or job.run_at
    return moment.isoformat(timespec="seconds")


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"
