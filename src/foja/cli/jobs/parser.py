"""The words of `foja jobs`."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser
from functools import partial
from uuid import UUID

from foja.cli.parser.values import positive
from foja.cli.parser.verbs import Verbs, verbs_of


def add_jobs(add: Verbs) -> None:
    """Add what can be done with jobs; without a verb they are listed."""
    parent = add(
        "jobs",
        "jobs.commands:listing",
        "list jobs, and retry, cancel, pause and resume them",
        "  foja jobs\n  foja jobs --state dead",
    )
    inner = verbs_of(parent)
    _listing(parent, inner)
    show = inner("show", "jobs.commands:show", "show all about one job", "  foja jobs show 41")
    show.add_argument("job", type=positive, metavar="ID")
    _several(
        inner, "retry", "queue dead jobs anew with fresh tries, and those that wait for their time at once"
    )
    _several(inner, "cancel", "end jobs that are not over; a worker that has one is told so")
    _switch(
        inner,
        "pause",
        "let no job of a type be claimed; what runs goes on, and no attempt of it ends before it is resumed",
    )
    _switch(inner, "resume", "let the jobs of a type be claimed again; attempts past their deadline end now")


def _listing(parent: ArgumentParser, add: Verbs) -> None:
    listing = add(
        "list",
        "jobs.commands:listing",
        "list jobs, newest first",
        "  foja jobs list --state dead\n  foja jobs list --type run_tsa --entity ENTITY --json",
    )
    parent.set_defaults(state=None, job_type=None, entity=None, limit=100)
    for parser in (parent, listing):  # no default of the second may undo what the first was given
        one = partial(parser.add_argument, default=SUPPRESS)
        one(
            "--state",
            help="only jobs that are queued, running, succeeded, retry_scheduled, dead or cancelled",
        )
        one("--type", dest="job_type", metavar="TYPE", help="only jobs of this type")
        one("--entity", type=UUID, help="only jobs of this stream")
        one("--limit", type=positive, help="at most this many (100)")


def _several(add: Verbs, name: str, sentence: str) -> None:
    parser = add(name, f"jobs.commands:{name}", sentence, f"  foja jobs {name} 41 42")
    parser.add_argument("jobs", type=positive, metavar="ID", nargs="+")


def _switch(add: Verbs, name: str, sentence: str) -> None:
    parser = add(name, f"jobs.commands:{name}", sentence, f"  foja jobs {name} run_tsa")
    parser.add_argument("job_type", metavar="TYPE")
