"""`foja jobs list`, `show`, `retry`, `cancel`, `pause`, `resume`."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from foja.cli.installation import open_installation
from foja.cli.output import print_json, print_line, print_table
from foja.jobs.admin import Jobs, JobView

HEAD = ("id", "type", "state", "stream", "tries", "when", "remark")
WIDTH = 60


async def listing(arguments: Namespace) -> int:
    """Print jobs, newest first."""
    async with open_installation(arguments) as app:
        jobs = await app.jobs.list(
            state=arguments.state,
            job_type=arguments.job_type,
            entity_id=arguments.entity,
            limit=arguments.limit,
        )
        paused = await app.jobs.paused()
    if arguments.json:
        print_json([job.document() for job in jobs])
        return 0
    if jobs:
        print_table(HEAD, [_row(job) for job in jobs])
    else:
        print_line("no jobs match")
    if paused:
        print_line(f"paused: {', '.join(paused)}")
    return 0


async def show(arguments: Namespace) -> int:
    """Print one job."""
    async with open_installation(arguments) as app:
        job = await app.jobs.show(arguments.job)
    if arguments.json:
        print_json(job.document())
    else:
        for name, value in job.document().items():
            text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value
            print_line(f"{name:<16}{'-' if text is None else text}")
    return 0


async def retry(arguments: Namespace) -> int:
    """Queue jobs again."""
    return await _apply(arguments, "queued again", lambda admin, jobs: admin.retry(jobs))


async def cancel(arguments: Namespace) -> int:
    """Cancel jobs."""
    return await _apply(arguments, "cancelled", lambda admin, jobs: admin.cancel(jobs))


async def pause(arguments: Namespace) -> int:
    """Pause a job type."""
    async with open_installation(arguments) as app:
        await app.jobs.pause(arguments.job_type)
    return _print_type(arguments, "is paused", paused=True)


async def resume(arguments: Namespace) -> int:
    """Resume a job type."""
    async with open_installation(arguments) as app:
        await app.jobs.resume(arguments.job_type)
    return _print_type(arguments, "is resumed", paused=False)


def _print_type(arguments: Namespace, result: str, *, paused: bool) -> int:
    if arguments.json:
        print_json({"type": arguments.job_type, "paused": paused})
    else:
        print_line(f"{arguments.job_type} {result}")
    return 0


async def _apply(
    arguments: Namespace, result: str, change: Callable[[Jobs, Sequence[int]], Awaitable[int]]
) -> int:
    async with open_installation(arguments) as app:
        done = await change(app.jobs, arguments.jobs)
    if arguments.json:
        print_json({"asked": len(arguments.jobs), "done": done})
    else:
        print_line(f"{done} of {len(arguments.jobs)} {result}")
        if done < len(arguments.jobs):
            print_line("the others are running or finished; `foja jobs show ID` shows the state of each")
    return 0 if done else 1


def _row(job: JobView) -> tuple[object, ...]:
    tries = f"{job.tries}/{job.max_tries}"
    remark = job.last_error or ("" if job.first else "waits for an earlier job")
    return str(job.id), job.type, job.state, job.entity_id, tries, _when(job), _shorten(remark)


def _when(job: JobView) -> str:
    moment: datetime = job.finished_at or (job.lease_until if job.state == "running" else None) or job.run_at
    return moment.isoformat(timespec="seconds")


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"
