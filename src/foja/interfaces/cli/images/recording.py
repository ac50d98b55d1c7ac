"""A run of the stress test as a page and its chart, for people who were not there."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from foja.interfaces.cli.images.stress import StressReport

PAGE: Final = """# A run of the stress test

`foja stress images --writers {writers} --products {products} --seconds {seconds:g} --write FILE`
wrote this page and its chart on {day}: Foja {version}, Python {python}, {system},
{cores} processors with a load of {load:.1f}.

```text
{text}
```

![Changes in each second]({chart})

Each bar is one second: the changes that {writers} writers finished in it.
The upper part, in red, was refused because another writer was first.
"""
HEAD: Final = """<svg xmlns="http://www.w3.org/2000/svg" width="580" height="160">
<title>Changes in each second</title>
<style>svg{overflow:visible}text{font:11px sans-serif;fill:#777}.axis{stroke:#ccc}
.bar{fill:#3b6ea5}.bar.failed{fill:#b3261e}</style>
"""


def write(path: Path, seconds: float, report: StressReport, lines: Sequence[str]) -> None:
    """Write the page of a run of so many seconds to this file, and the chart beside it."""
    chart = path.with_suffix(".svg")
    page = PAGE.format(
        writers=report.writers,
        products=report.products,
        seconds=seconds,
        day=datetime.now(UTC).date().isoformat(),
        version=version("foja"),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        cores=os.cpu_count(),
        load=os.getloadavg()[0],
        text="\n".join(lines),
        chart=chart.name,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    chart.write_text(draw(report), encoding="utf-8")


def draw(report: StressReport) -> str:
    """Return the changes of each second as SVG."""
    from foja.interfaces.web.pages.frame.charts import Bar, bars  # here, since it needs foja[server]

    ended = Counter(int(each.ended) for each in report.times)
    refused = Counter(int(each.ended) for each in report.times if each.refused)
    seconds = range(max(ended, default=0) + 1)
    found = [Bar(f"{second} s", ended[second], refused[second]) for second in seconds]
    return f"{HEAD}{bars(found, 'en')}\n</svg>\n"
