"""`foja jobs list`, `show`, `retry`, `cancel`, `pause`, `resume`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime

from foja.cli.installation import open_installation
from foja.cli.output import print_fields, print_result, table
from foja.errors import Refused
from foja.jobs.admin import Jobs, JobView
from foja.quotation import LONGEST_LINE, quoted

HEAD = ("id", "type", "state", "stream", "tries", "when", "remark")
WIDTH = 60
WORDS = ("key", "tenant", "worker", "last_error")  # of others


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
    lines = list(table(HEAD, [_row(job) for job in jobs])) if jobs else ["no jobs match"]
    if paused:
        lines.append(f"paused: {', '.join(paused)}")
    print_result(arguments, [job.document() for job in jobs], *lines)
    return 0


async def show(arguments: Namespace) -> int:
    """Print one job."""
    async with open_installation(arguments) as app:
        job = await app.jobs.show(arguments.job)
    document = job.document()
    said = {name: quoted(words, LONGEST_LINE) for name, words in document.items() if name in WORDS and words}
    print_fields(arguments, document if arguments.json else {**document, **said})
    return 0


async def retry(arguments: Namespace) -> int:
    """Queue jobs again."""
    async with open_installation(arguments) as app:
        return await _change(arguments, app.jobs, app.jobs.retry, "queued again")


async def cancel(arguments: Namespace) -> int:
    """Cancel jobs."""
    async with open_installation(arguments) as app:
        return await _change(arguments, app.jobs, app.jobs.cancel, "cancelled")


async def pause(arguments: Namespace) -> int:
    """Pause a job type."""
    async with open_installation(arguments) as app:
        await app.jobs.pause(arguments.job_type, actor=arguments.actor)
    print_result(arguments, {"type": arguments.job_type, "paused": True}, f"{arguments.job_type} is paused")
    return 0


async def resume(arguments: Namespace) -> int:
    """Resume a job type."""
    async with open_installation(arguments) as app:
        await app.jobs.resume(arguments.job_type, actor=arguments.actor)
    print_result(arguments, {"type": arguments.job_type, "paused": False}, f"{arguments.job_type} is resumed")
    return 0


async def _change(
    arguments: Namespace, admin: Jobs, change: Callable[..., Awaitable[int]], result: str
) -> int:
    """Change the jobs that are named, or all that match, except those that may not be changed."""
    filters = {"state": arguments.state, "job_type": arguments.job_type, "entity_id": arguments.entity}
    filtered = any(filters.values())
    if filtered == bool(arguments.jobs):
        raise Refused("name the jobs by their ids, or choose them by --state, --type or --entity; not both")
    actor, asked, done = arguments.actor, arguments.jobs, 0
    if not filtered:
        done = await change(asked, actor=actor)
    else:
        asked = await admin.matching(**filters)
        for job in asked:
            with suppress(Refused):
                done += await change([job], actor=actor)
    lines = [f"{done} of {len(asked)} {result}"]
    if done < len(asked):
        lines.append("the others are running or finished; `foja jobs show ID` shows the state of each")
    print_result(arguments, {"asked": len(asked), "done": done}, *lines)
    return 0 if done else 1


def _row(job: JobView) -> tuple[object, ...]:
    tries = f"{job.tries}/{job.max_tries}"
    remark = quoted(job.last_error, WIDTH) if job.last_error else ""
    remark = remark or ("" if job.first else "waits for an earlier job")
    return str(job.id), job.type, job.state, job.entity_id, tries, _when(job), remark


def _when(job: JobView) -> str:
    moment: datetime = job.finished_at or (job.lease_until if job.state == "running" else None) or job.run_at
    return moment.isoformat(timespec="seconds")
