"""What `foja jobs` prints."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from datetime import datetime

from foja.interfaces.cli.output import field_lines, table
from foja.pure.models.jobs.view import ChangedJobs, JobPage, JobView, PausedType
from foja.pure.quotation import LONGEST_LINE, quoted

HEAD = ("id", "type", "state", "stream", "tries", "when", "remark")
WIDTH = 60
WORDS = ("key", "tenant", "worker", "last_error")  # of others
DONE = {"jobs.retry": "queued again", "jobs.cancel": "cancelled"}


def page(found: JobPage, _: Namespace) -> Iterator[str]:
    """Yield a table of jobs, and the paused types."""
    yield from table(HEAD, [_row(job) for job in found], "no jobs match")
    if found.paused:
        yield f"paused: {', '.join(found.paused)}"


def job(found: JobView, _: Namespace) -> Iterator[str]:
    """Yield one job in full."""
    document = found.document()
    said = {name: quoted(words, LONGEST_LINE) for name, words in document.items() if name in WORDS and words}
    yield from field_lines({**document, **said})


def changed(found: ChangedJobs, arguments: Namespace) -> Iterator[str]:
    """Yield how many jobs were changed."""
    yield f"{found.done} of {found.asked} {DONE[arguments.operation]}"
    if found.done < found.asked:
        yield "the others are running or finished; `foja jobs show ID` shows the state of each"


def paused(found: PausedType, _: Namespace) -> Iterator[str]:
    """Yield whether a type is paused."""
    yield f"{found.type} is {'paused' if found.paused else 'resumed'}"


def _row(job: JobView) -> tuple[object, ...]:
    tries = f"{job.tries}/{job.max_tries}"
    remark = quoted(job.last_error, WIDTH) if job.last_error else ""
    remark = remark or ("" if job.first else "waits for an earlier job")
    return str(job.id), job.type, job.state, job.entity_id, tries, _when(job), remark


def _when(job: JobView) -> str:
    moment: datetime = job.finished_at or (job.lease_until if job.state == "running" else None) or job.run_at
    return moment.isoformat(timespec="seconds")
