"""A report as one self-contained HTML page: no script, no image, no link; for phone, desktop and print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from foja.pure.judge.render.headline import headline
from foja.pure.judge.render.labels import ITEMS
from foja.pure.judge.render.statements import Section, section
from foja.pure.judge.render.style import ICONS, STYLE
from foja.pure.judge.render.timeline import Entry, timeline
from foja.pure.judge.render.translations import index_of, text
from foja.pure.judge.render.view import facts, view_finding
from foja.pure.judge.render.words import item_name, say_fingerprint
from foja.pure.judge.report import Report
from foja.pure.proofs.finding import Finding, TrustItem

_COMMAND = re.compile("`([^`]+)`")


def as_html(report: Report, language: str = "en") -> str:
    """Return the report as a page; the whole report is in it, as JSON."""
    head = headline(report, language)
    said = section(report, language)
    sections = (
        *(_events(said, language) if said else ()),
        _section("document", language, _facts(report, language)),
        _section("rests_on", language, _items(report.rests_on, language)),
        _section("timeline", language, _timeline(timeline(report, language))),
        _section("evidence", language, "".join(_finding(each, language) for each in report.evidence)),
    )
    return _PAGE.format(
        language=language,
        title=escape(head.first),
        style=STYLE,
        label=text("page_title", language),
        tone=head.tone,
        icon=ICONS[head.tone],
        first=escape(head.first),
        more="".join(map(_sentence, head.more)),
        sections="".join(sections),
        summary=text("whole_report", language),
        json=escape(report.json().decode()),
    )


def _section(name: str, language: str, content: str) -> str:
    empty = "rests_on_nothing" if name == "rests_on" else "no_evidence"
    body = content or f"<p>{text(empty, language)}</p>"
    return f'<section class="{name}"><h2>{text(name, language)}</h2>{body}</section>'


def _sentence(sentence: str) -> str:
    """Return one sentence of the headline, its first words as a label."""
    label, _, rest = sentence.partition(": ")
    words = _COMMAND.sub(r"<code>\1</code>", escape(rest))
    return f"<p><b>{escape(label)}:</b> {words}</p>"


def _facts(report: Report, language: str) -> str:
    rows = (
        f"<dt>{escape(label)}</dt><dd{_mono(label, language)}>{escape(value)}</dd>"
        for label, value in facts(report, language)
    )
    return f"<dl>{''.join(rows)}</dl>"


def _mono(label: str, language: str) -> str:
    return ' class="mono"' if label == text("digest", language) else ""


def _events(found: Section, language: str) -> Iterable[str]:
    items = [f"<li>{escape(said.sentence)}{''.join(map(_quoted, said.quotes))}</li>" for said in found.said]
    if found.gap_after is not None:
        items.insert(found.gap_after, f"<li>… {escape(found.gap)}</li>")
    yield _titled(found.title, f'<p>{escape(found.lead)}</p><ul class="said">{"".join(items)}</ul>')
    if found.complete:
        lines = "".join(f"<li>{escape(each)}</li>" for each in found.complete)
        yield _titled(found.title_complete, f'<ul class="said">{lines}</ul>')


def _quoted(words: str) -> str:
    return f"<blockquote>{escape(words)}</blockquote>"


def _titled(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def _items(items: Iterable[TrustItem], language: str) -> str:
    rows = "".join(
        f"<li><b>{escape(item_name(each, language))}</b> "
        f"<span>{ITEMS[each.kind][index_of(language)]}</span>"
        f'<code class="mono">{escape(say_fingerprint(each, language))}</code></li>'
        for each in items
    )
    return f'<ul class="items">{rows}</ul>' if rows else ""


def _timeline(entries: Iterable[Entry]) -> str:
    rows = "".join(
        f'<li class="{each.mark}"><time datetime="{each.at:%Y-%m-%dT%H:%M:%SZ}">{escape(each.time)}</time>'
        f"<b>{escape(each.what)}</b>{f'<span>{escape(each.source)}</span>' if each.source else ''}</li>"
        for each in entries
    )
    return f"<ol>{rows}</ol>"


def _finding(finding: Finding, language: str) -> str:
    view = view_finding(finding, language)
    code = f" <code>{view.code}</code>" if view.code else ""
    time = f'<p class="by">{escape(view.by(language))}</p>' if view.time else ""
    remarks = "".join(f"<p>{text('remark', language)}: {escape(each)}</p>" for each in view.remarks)
    return (
        f'<article class="{finding.status.value.lower()}"><header><h3>{escape(view.title)}</h3>'
        f'<p class="status">{view.status}{code}</p></header>{time}<p>{escape(view.sentence)}</p>'
        f"{remarks}{_detail(view.detail, language)}{_not_checked(view.not_checked, language)}</article>"
    )


def _detail(detail: str, language: str) -> str:
    if not detail:
        return ""
    label, words = text("technical", language), escape(detail)
    return f'<p class="detail">{label}: <span lang="en">{words}</span></p>'


def _not_checked(notices: Sequence[str], language: str) -> str:
    if not notices:
        return ""
    items = "".join(f"<li>{escape(each)}</li>" for each in notices)
    return f'<div class="unchecked"><h4>{text("not_checked", language)}</h4><ul>{items}</ul></div>'


_PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body class="{tone}">
<header class="top"><span class="mark">foja</span><span>{label}</span></header>
<main>
<section class="headline">
{icon}
<h1>{first}</h1>
<div class="more">{more}</div>
</section>
{sections}
<details><summary>{summary}</summary><pre>{json}</pre></details>
</main>
</body>
</html>
"""
