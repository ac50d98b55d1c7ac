"""Print the results as tables, and write `docs/benchmarks.md`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import rich.table
from rich.console import Console

from bench.outcome import Outcome, Table, Target

PREFACE = """\
# Benchmarks

Written by `{command}`. Do not edit this page; write it again.

All contenders use the same server ({server}) with the same durability (`fsync`, `synchronous_commit` and
`full_page_writes` on, everything else at its default), each its own database, from one client process.
In every round each contender has one turn, in random order: it connects, warms up, runs, and disconnects.
Ratios compare turns of the same round. They are the median of all rounds, with the lowest and the highest.
Only ratios are comparable between machines: columns that begin with *this run* depend on the machine.

The stored events are counted afterwards and must equal the appended ones.

- **raw unsafe insert** is the baseline: one table, `bigserial`, a kind, a payload; a connection per caller.
- **foja** is the public API with idempotency keys, chain, outbox and executor wake-up all on.
- **eventsourcing** lets callers choose the numbers. Here they share a lock and the last number of each
  stream in memory, with a thread and a connection each: its best case.
- **message-db** numbers a stream under a lock on its category. With one category nothing is lost, but
  writers wait for each other. With one category per stream they do not, but a reader of all may miss events.
- **Timestamp authorities** are separate processes with one client over HTTP; every token is checked.
- **pgqueuer** and **procrastinate** are only queues: their jobs append no event. Where they enqueue with an
  event, the event is a row in a plain table.
"""
WIDE = 150
QUICK = "\n> A quick run, which only tests that everything works. Its numbers mean nothing.\n"


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
    return Table("Targets", ("target", "required", "measured", "verdict"), rows)


def verdict(target: Target) -> str:
    """Return PASS or FAIL."""
    return "PASS" if target.passed else "FAIL"


def write(path: Path, outcomes: Sequence[Outcome], *, command: str, server: str, quick: bool) -> None:
    """Write the results as a Markdown page."""
    parts = [PREFACE.format(command=command, server=server), QUICK if quick else ""]
    parts.append(_markdown(targets_table(outcomes)))
    for outcome in outcomes:
        parts += map(_markdown, outcome.tables)
        parts += (f"\n{remark}\n" for remark in outcome.remarks)
    path.write_text("".join(parts), encoding="utf-8")


def _print(console: Console, table: Table) -> None:
    printed = rich.table.Table(title=table.title, title_justify="left", title_style="bold")
    for number, column in enumerate(table.columns):
        printed.add_column(column, justify="left" if number in {0, len(table.columns) - 1} else "right")
    for row in table.rows:
        printed.add_row(*row)
    console.print(printed)


def _markdown(table: Table) -> str:
    lines = [table.columns, tuple("---" for _ in table.columns), *table.rows]
    return f"\n## {table.title}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)
