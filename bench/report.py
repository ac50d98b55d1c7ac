"""The findings for people: tables on a terminal, and `docs/benchmarks.md`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import rich.table
from rich.console import Console

from bench.outcome import Outcome, Table, Target

PREFACE = """\
# Benchmarks

Written by `{command}`; write it anew rather than edit it.

Everybody works on the same server ({server}) with the same promises (`fsync`, `synchronous_commit` and
`full_page_writes` on, everything else as it comes), each in a database of its own, from one client process.
In every round each contender has one turn, in random order: it connects, warms up, is measured, and leaves.
Ratios compare turns of the same round, and are given as the median of all rounds with the lowest and highest.
Only ratios mean something elsewhere: columns that begin with *this run* belong to the machine it ran on.

What was written is counted afterwards and must be what each contender claims.

- **raw unsafe insert** is the floor: one table, `bigserial`, a kind, a payload; a connection per caller.
- **foja** is the public API with idempotency keys, chain, outbox and executor wake-up all on.
- **eventsourcing** lets callers choose the numbers; here they share a lock and the last number of each
  stream in memory, and a thread and a connection each: the best it can hope for.
- **message-db** numbers a stream under a lock on its category. With one category nothing is lost and writers
  take turns; with a category each they do not, and no reader of all of them can be sure.
- **Timestamp authorities** are processes of their own, asked by one client over HTTP; every token is checked.
- **pgqueuer** and **procrastinate** are queues only: their jobs leave no event. Where they enqueue with an
  event, it is a row in a plain table.
"""
WIDE = 150
QUICK = "\n> A quick run, to see that everything works. Its numbers mean nothing.\n"


def show(outcomes: Sequence[Outcome]) -> None:
    """Print every table, then the targets."""
    console = Console()
    if not console.is_terminal:
        console.width = WIDE
    for outcome in outcomes:
        for table in outcome.tables:
            _print(console, table)
        for remark in outcome.remarks:
            console.print(remark)
    _print(console, targets_table(outcomes))


def targets_table(outcomes: Sequence[Outcome]) -> Table:
    """Return all targets of a run as one table."""
    rows = [
        (target.name, target.required, target.measured, verdict(target))
        for outcome in outcomes
        for target in outcome.targets
    ]
    return Table("Must reach", ("target", "required", "measured", "verdict"), rows)


def verdict(target: Target) -> str:
    """Return PASS or FAIL."""
    return "PASS" if target.passed else "FAIL"


def write(path: Path, outcomes: Sequence[Outcome], *, command: str, server: str, quick: bool) -> None:
    """Write the page that is kept."""
    parts = [PREFACE.format(command=command, server=server), QUICK if quick else ""]
    parts.append(_markdown(targets_table(outcomes)))
    for outcome in outcomes:
        parts += map(_markdown, outcome.tables)
        parts += (f"\n{remark}\n" for remark in outcome.remarks)
    path.write_text("".join(parts), encoding="utf-8")


def _print(console: Console, table: Table) -> None:
    drawn = rich.table.Table(title=table.title, title_justify="left", title_style="bold")
    for number, column in enumerate(table.columns):
        drawn.add_column(column, justify="left" if number in {0, len(table.columns) - 1} else "right")
    for row in table.rows:
        drawn.add_row(*row)
    console.print(drawn)


def _markdown(table: Table) -> str:
    lines = [table.columns, tuple("---" for _ in table.columns), *table.rows]
    return f"\n## {table.title}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)
