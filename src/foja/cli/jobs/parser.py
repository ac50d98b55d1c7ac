"""The parser of `foja jobs`."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser
from functools import partial
from uuid import UUID

from foja.cli.parser.values import positive
from foja.cli.parser.verbs import AddVerb, add_verbs


def add_jobs(add: AddVerb) -> None:
    """Add the verb `jobs` and its verbs; without a verb the jobs are listed."""
    parent = add(
        "jobs",
        "jobs.jobs:listing",
        "list jobs, and retry, cancel, pause and resume them",
        "  foja jobs\n  foja jobs --state dead",
    )
    inner = add_verbs(parent)
    _add_list(parent, inner)
    show = inner("show", "jobs.jobs:show", "show one job in full", "  foja jobs show 41")
    show.add_argument("job", type=positive, metavar="ID")
    _add_for_jobs(inner, "retry", "queue dead jobs again with all their tries, and run scheduled jobs now")
    _add_for_jobs(inner, "cancel", "cancel unfinished jobs; a worker that runs one loses its lease")
    _add_for_type(
        inner, "pause", "claim no more jobs of a type; running jobs finish, attempts do not time out"
    )
    _add_for_type(inner, "resume", "claim jobs of a type again; attempts past their deadline end now")


def _add_list(parent: ArgumentParser, add: AddVerb) -> None:
    listing = add(
        "list",
        "jobs.jobs:listing",
        "list jobs, newest first",
        "  foja jobs list --state dead\n  foja jobs list --type run_tsa --entity ENTITY --json",
    )
    parent.set_defaults(state=None, job_type=None, entity=None, limit=100)
    for parser in (parent, listing):  # a default of the second would override the value given to the first
        add_option = partial(parser.add_argument, default=SUPPRESS)
        add_option(
            "--state",
            help="only jobs in this state: queued, running, succeeded, retry_scheduled, dead or cancelled",
        )
        add_option("--type", dest="job_type", metavar="TYPE", help="only jobs of this type")
        add_option("--entity", type=UUID, help="only jobs of this stream")
        add_option("--limit", type=positive, help="at most this many (100)")


def _add_for_jobs(add: AddVerb, name: str, sentence: str) -> None:
    parser = add(name, f"jobs.jobs:{name}", sentence, f"  foja jobs {name} 41 42")
    parser.add_argument("jobs", type=positive, metavar="ID", nargs="+")


def _add_for_type(add: AddVerb, name: str, sentence: str) -> None:
    parser = add(name, f"jobs.jobs:{name}", sentence, f"  foja jobs {name} run_tsa")
    parser.add_argument("job_type", metavar="TYPE")
