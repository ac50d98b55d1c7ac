"""The words of `foja jobs`."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable
from functools import partial
from uuid import UUID

Verbs = Callable[..., ArgumentParser]


def add_verbs(parent: ArgumentParser, add: Verbs, number: Callable[[str], int]) -> None:
    """Add what can be done with jobs; without a verb they are listed."""
    listing = add(
        "list",
        "jobs.verbs:listing",
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
        one("--limit", type=number, help="at most this many (100)")
    show = add("show", "jobs.verbs:show", "show all about one job")
    show.add_argument("job", type=number, metavar="ID")
    _several(
        add,
        number,
        "retry",
        "queue dead jobs anew with fresh tries, and those that wait for their time at once",
    )
    _several(add, number, "cancel", "end jobs that are not over; a worker that has one is told so")
    for name, sentence in (
        ("pause", "let no job of a type be claimed; what runs goes on"),
        ("resume", "let the jobs of a type be claimed again"),
    ):
        switch = add(name, f"jobs.verbs:{name}", sentence, f"  foja jobs {name} run_tsa", as_json=False)
        switch.add_argument("job_type", metavar="TYPE")


def _several(add: Verbs, number: Callable[[str], int], name: str, sentence: str) -> None:
    parser = add(name, f"jobs.verbs:{name}", sentence, f"  foja jobs {name} 41 42")
    parser.add_argument("jobs", type=number, metavar="ID", nargs="+")
