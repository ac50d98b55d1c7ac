"""Runbooks as markup: the part of Markdown that they use, and nothing else of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from markupsafe import Markup, escape

_FENCE: Final = "```"
_ITEM: Final = re.compile(r"\d+\. (.*)")
_INLINE: Final = re.compile(r"`([^`]+)`|\[([^\]]+)\]\(([^)]+)\)")
_PAGE: Final = re.compile(r"(\w+)\.md")


def runbook_markup(text: str) -> Markup:
    """Return a runbook from its first heading on: paragraphs, numbered lists, commands, code and links.

    What is before it, the name and the summary, the page shows itself.
    """
    return Markup("\n").join(_blocks(text[text.index("\n## ") :]))


def _blocks(text: str) -> Iterator[Markup]:
    inside = False
    for block in re.split(r"\n{2,}", text.strip()):
        lines = block.splitlines()
        if inside or block.startswith(_FENCE):
            inside = not block.endswith(_FENCE)
            code = "\n".join(line for line in lines if not line.startswith(_FENCE))
            yield Markup("<pre><code>{}</code></pre>").format(code)
        elif block.startswith("## "):
            yield Markup("<h2>{}</h2>").format(block[3:])
        elif _ITEM.match(block):
            found = [_ITEM.match(line) for line in lines]
            items = Markup().join(Markup("<li>{}</li>").format(_inline(each[1])) for each in found if each)
            yield Markup("<ol>{}</ol>").format(items)
        else:
            yield Markup("<p>{}</p>").format(_inline(" ".join(lines)))


def _inline(text: str) -> Markup:
    """Return a line with its code and its links to other runbooks; of other links only the text."""
    parts, at = [], 0
    for found in _INLINE.finditer(text):
        parts += [escape(text[at : found.start()]), _marked(*found.groups())]
        at = found.end()
    return Markup().join([*parts, escape(text[at:])])


def _marked(code: str | None, label: str, target: str) -> Markup:
    if code is not None:
        return Markup("<code>{}</code>").format(code)
    if page := _PAGE.fullmatch(target):
        return Markup('<a href="/alerts/{}">{}</a>').format(page[1], label)
    return escape(label)
